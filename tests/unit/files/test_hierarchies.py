from __future__ import annotations

import json
import warnings

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import zarr

from upto.core import InputError
from upto.files import read_run
from upto.files.hierarchies import ArrayRows


@pytest.fixture(scope="session")
def adata(values) -> anndata.AnnData:
    index = [f"cell{i}" for i in range(37)]
    obs = pd.DataFrame(
        {
            "type": pd.Categorical((["T", "B", "NK", None] * 10)[:37]),
            "note": pd.array(["a", None, *"b" * 35], dtype="string"),
            "level": pd.Categorical([None, 1, *[2] * 35]),
            "nothing": pd.Categorical([None] * 37),
            "text": [f"t{i}" for i in range(37)],
            "count": pd.array([None, *range(36)], dtype="Int64"),
            "whole": pd.array(range(37), dtype="Int64"),
            "depth": np.linspace(0, 1, 37),
            "dose": pd.Categorical(([0.5, 2.0] * 19)[:37]),
        },
        index=index,
    )
    made = anndata.AnnData(values.astype(np.float64) * 2, obs=obs)
    made.obsm["X_pca"] = values
    made.obsm["frame"] = pd.DataFrame({"q": values[:, 0]}, index=index)
    return made


def saved(adata: anndata.AnnData, path) -> str:
    if path.suffix == ".zarr":
        with warnings.catch_warnings():
            # AnnData tells which zarr format it writes; both are read here.
            warnings.simplefilter("ignore")
            adata.write_zarr(path)
    else:
        adata.write_h5ad(path)
    return str(path)


@pytest.fixture(scope="session", params=["run.h5ad", "run.h5", "run.zarr"])
def annotated(request, tmp_path_factory, adata) -> str:
    return saved(adata, tmp_path_factory.mktemp("annotated") / request.param)


def test_anndata_gives_a_matrix_the_columns_of_obs_and_its_index(annotated, adata, values):
    run = read_run(f"{annotated}::X_pca")
    assert isinstance(run.rows, ArrayRows)
    np.testing.assert_array_equal(run.rows[:], values)
    np.testing.assert_array_equal(run.ids, adata.obs_names)
    assert sorted(run.columns) == sorted(adata.obs)
    np.testing.assert_array_equal(run.columns["note"][:3], ["a", "", "b"])
    np.testing.assert_array_equal(run.columns["level"][:3], [np.nan, 1, 2])
    np.testing.assert_array_equal(run.columns["nothing"], [""] * 37)
    np.testing.assert_array_equal(run.columns["type"][:4], ["T", "B", "NK", ""])
    np.testing.assert_array_equal(run.columns["text"], adata.obs["text"])
    np.testing.assert_array_equal(run.columns["count"][:3], [np.nan, 0, 1])
    np.testing.assert_array_equal(run.columns["whole"], np.arange(37))
    np.testing.assert_array_equal(run.columns["depth"], adata.obs["depth"])
    np.testing.assert_array_equal(run.columns["dose"][:3], [0.5, 2, 0.5])
    assert run.name == "X_pca"


def test_matrices_of_anndata_have_long_and_short_keys(annotated, values):
    np.testing.assert_array_equal(read_run(annotated, key="obsm/X_pca").rows[:], values)
    np.testing.assert_array_equal(read_run(annotated, key="X").rows[:], values.astype(float) * 2)


def test_x_and_obsm_are_a_choice(annotated):
    with pytest.raises(
        InputError, match=r"holds 2 arrays .* X \(37 × 5 float64\), obsm/X_pca \(37 × 5 float32\)"
    ):
        read_run(annotated)


def test_a_sparse_matrix_says_how_to_make_it_dense(tmp_path, adata, values):
    adata = adata.copy()
    adata.X = scipy.sparse.csr_matrix(values)
    path = saved(adata, tmp_path / "run.h5ad")
    assert read_run(path).n_features == 5
    with pytest.raises(
        InputError, match=r"::X is sparse, and embeddings are dense: choose a dense"
    ):
        read_run(path, key="X")
    del adata.obsm["X_pca"], adata.obsm["frame"]
    adata.layers["raw"] = scipy.sparse.csr_matrix(values)
    path = saved(adata, tmp_path / "only.h5ad")
    with pytest.raises(InputError, match=r"only\.h5ad::X is sparse.*adata\.X\.toarray\(\)"):
        read_run(path)


def test_columns_and_ids_of_obs_can_be_named(annotated, adata):
    run = read_run(annotated, key="X", ids="text", columns=["type"])
    np.testing.assert_array_equal(run.ids, adata.obs["text"])
    assert list(run.columns) == ["type"]
    with pytest.raises(InputError, match=r"has no column 'plate': its columns are "):
        read_run(annotated, key="X", columns=["plate"])


def test_categories_of_old_anndata_files_are_written_out(tmp_path, values):
    with h5py.File(tmp_path / "old.h5ad", "w") as file:
        file["X"] = values
        file["obs/index"] = np.array([f"c{i}".encode() for i in range(37)])
        file["obs/type"] = np.array([0, 1, -1] * 12 + [0], dtype=np.int8)
        file["obs/__categories/type"] = np.array([b"B", b"T"])
        file["obs"].attrs["_index"] = "index"
    run = read_run(tmp_path / "old.h5ad")
    np.testing.assert_array_equal(run.columns["type"][:3], ["B", "T", ""])
    assert run.ids[36] == "c36"


def test_missing_text_of_obs_is_empty(tmp_path, values):
    with h5py.File(tmp_path / "run.h5ad", "w") as file:
        file["X"] = values
        file["obs/note/values"] = ["a", "b"] * 18 + ["c"]
        file["obs/note/mask"] = [False, True] * 18 + [False]
    run = read_run(tmp_path / "run.h5ad")
    np.testing.assert_array_equal(run.columns["note"][-3:], ["a", "", "c"])


def test_a_column_of_an_unknown_kind_is_refused_only_when_asked_for(tmp_path, values):
    with h5py.File(tmp_path / "odd.h5ad", "w") as file:
        file["X"] = values
        file["obs/plate"] = np.arange(37)
        file.create_group("obs/odd")
        file["obs/wide"] = values
    assert list(read_run(tmp_path / "odd.h5ad").columns) == ["plate"]
    with pytest.raises(InputError, match=r"has no column 'odd': its columns are plate\."):
        read_run(tmp_path / "odd.h5ad", columns=["odd"])


def test_a_h5ad_without_obs_has_no_columns(tmp_path, values):
    with h5py.File(tmp_path / "bare.h5ad", "w") as file:
        file["X"] = values
    run = read_run(tmp_path / "bare.h5ad")
    assert run.ids is None
    assert run.columns == {}


def test_a_block_of_a_chunked_file_reads_no_other_rows(tmp_path, adata, values, monkeypatch):
    rows = read_run(saved(adata, tmp_path / "run.h5ad"), key="X_pca").rows
    asked = []
    real = h5py.Dataset.__getitem__

    def watched(self, args, **options):
        asked.append((self.name, args))
        return real(self, args, **options)

    monkeypatch.setattr(h5py.Dataset, "__getitem__", watched)
    np.testing.assert_array_equal(rows[10:14], values[10:14])
    assert asked == [("/obsm/X_pca", slice(10, 14, None))]


def test_vectors_of_plain_hdf5_become_ids_and_columns(tmp_path, values):
    with h5py.File(tmp_path / "run.hdf5", "w") as file:
        file["group/emb"] = values
        file["ids"] = [f"s{i}" for i in range(37)]
        file["meta/plate"] = np.arange(37)
        file["notes"] = np.array([b"x"] * 4)
    run = read_run(tmp_path / "run.hdf5")
    assert run.ids[2] == "s2"
    assert list(run.columns) == ["meta/plate"]
    assert read_run(tmp_path / "run.hdf5", key="emb").name == "emb"
    assert read_run(tmp_path / "run.hdf5", key="/group/emb/").n_samples == 37


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_vectors_of_zarr_become_ids_and_columns(tmp_path, values, zarr_format):
    group = zarr.open_group(tmp_path / "run.zarr", mode="w", zarr_format=zarr_format)
    group.create_array("emb", data=values)
    names = group.create_array("sample_id", shape=(37,), dtype=str)
    names[:] = np.array([f"s{i}" for i in range(37)], dtype=object)
    group.create_array("plate", data=np.arange(37))
    run = read_run(tmp_path / "run.zarr")
    assert run.ids[2] == "s2"
    assert run.ids.dtype.kind == "U"
    np.testing.assert_array_equal(run.columns["plate"], np.arange(37))


def change(path, **changes):
    described = json.loads(path.read_text())
    path.write_text(json.dumps(described | changes))


PICKLING = {"id": "pickle", "protocol": 5}


@pytest.mark.parametrize("step", [{"compressor": PICKLING}, {"filters": [PICKLING]}])
@pytest.mark.parametrize("name", ["emb", "plate"])
def test_a_zarr_array_that_would_be_unpickled_is_refused(tmp_path, values, name, step):
    group = zarr.open_group(tmp_path / "run.zarr", mode="w", zarr_format=2)
    group.create_array("emb", data=values)
    group.create_array("plate", data=np.arange(37))
    change(tmp_path / "run.zarr" / name / ".zarray", **step)
    with pytest.raises(InputError, match=r"holds Python objects \(a pickle\), which upto never"):
        read_run(tmp_path / "run.zarr")


def test_a_pickle_behind_a_codec_for_text_is_refused(tmp_path, values):
    group = zarr.open_group(tmp_path / "run.zarr", mode="w", zarr_format=2)
    group.create_array("emb", data=values)
    group.create_array("ids", shape=(37,), dtype=str)
    filters = [{"id": "vlen-utf8"}, PICKLING]
    change(tmp_path / "run.zarr/ids/.zarray", filters=filters)
    with pytest.raises(
        InputError, match=r"ids holds Python objects \(a pickle\), which upto never"
    ):
        read_run(tmp_path / "run.zarr")


def test_a_zarr_array_of_an_unknown_type_is_reported(tmp_path, values):
    group = zarr.open_group(tmp_path / "run.zarr", mode="w", zarr_format=2)
    group.create_array("emb", data=values)
    change(tmp_path / "run.zarr/emb/.zarray", dtype="<q9")
    with pytest.raises(InputError, match=r"run\.zarr is damaged or truncated \(.*<q9"):
        read_run(tmp_path / "run.zarr")


@pytest.mark.parametrize("kept", [600, 40])
def test_a_truncated_hdf5_file_is_reported(tmp_path, values, kept):
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file["emb"] = values
    (tmp_path / "run.h5").write_bytes((tmp_path / "run.h5").read_bytes()[:kept])
    with pytest.raises(InputError, match=r"run\.h5 is damaged or truncated \(.*copy or save it"):
        read_run(tmp_path / "run.h5")


def test_a_damaged_zarr_folder_is_reported(tmp_path):
    (tmp_path / "run.zarr").mkdir()
    (tmp_path / "run.zarr" / "zarr.json").write_text("{")
    with pytest.raises(InputError, match=r"run\.zarr is damaged or truncated \("):
        read_run(tmp_path / "run.zarr")


def test_an_hdf5_file_without_arrays_says_so(tmp_path):
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file.create_group("nothing")
    with pytest.raises(InputError, match=r"no two-dimensional numeric array: it holds nothing"):
        read_run(tmp_path / "run.h5")
