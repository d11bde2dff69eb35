from __future__ import annotations

import errno
import os
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import anndata
import h5py
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import zarr
from safetensors.numpy import load_file

from upto.core import Embeddings, InputError, MissingExtraError
from upto.engines import ThreadsEngine
from upto.files import check_output, open_writer, read_run
from upto.files.plan import Plan

SUFFIXES = (
    "npy",
    "npz",
    "csv",
    "tsv",
    "parquet",
    "pq",
    "h5ad",
    "h5",
    "hdf5",
    "zarr",
    "safetensors",
)
LABELLED = ("npz", "csv", "tsv", "parquet", "h5ad", "h5", "zarr")
N_SAMPLES, N_COLUMNS = 23, 4


@pytest.fixture
def sources(rng) -> np.ndarray:
    return rng.laplace(size=(N_SAMPLES, N_COLUMNS))


@pytest.fixture
def like(rng) -> Embeddings:
    return Embeddings(
        rows=rng.normal(size=(N_SAMPLES, 6)),
        ids=np.array([f"s{i:03}" for i in range(N_SAMPLES)]),
        columns={
            "gene": np.array(['plain, "quoted"', "ε ≤ 0\tx", ""] * 8)[:N_SAMPLES],
            "Metadata_Plate": np.arange(N_SAMPLES) % 3,
            "dose": np.where(np.arange(N_SAMPLES) < 2, np.nan, 0.1),
        },
    )


def write(path, like, sources, *, block=5, **options) -> None:
    with open_writer(path, like, sources.shape[1], **options) as writer:
        for start in range(0, len(sources), block):
            writer[start : start + block] = sources[start : start + block]


def held_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def content(path: Path) -> dict[str, bytes]:
    files = [each for each in path.rglob("*") if each.is_file()] if path.is_dir() else [path]
    return {str(each.relative_to(path.parent)): each.read_bytes() for each in files}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_written_is_read_again(tmp_path, like, sources, suffix, dtype):
    write(tmp_path / f"out.{suffix}", like, sources, dtype=dtype)
    run = read_run(tmp_path / f"out.{suffix}")
    stored = sources.astype(dtype)
    np.testing.assert_array_equal(run.rows[:].astype(dtype), stored)
    np.testing.assert_array_equal(run.rows[7:11].astype(dtype), stored[7:11])
    if suffix not in ("csv", "tsv"):
        assert run.rows.dtype == dtype
    assert held_in(tmp_path) == [f"out.{suffix}"]


@pytest.mark.parametrize("suffix", LABELLED)
def test_ids_and_columns_are_kept(tmp_path, like, sources, suffix):
    write(tmp_path / f"out.{suffix}", like, sources)
    run = read_run(tmp_path / f"out.{suffix}")
    np.testing.assert_array_equal(run.ids, like.ids)
    assert sorted(run.columns) == sorted(like.columns)
    for name, values in like.columns.items():
        np.testing.assert_array_equal(run.columns[name], values)
        assert run.columns[name].dtype.kind == values.dtype.kind
    assert run.n_features == N_COLUMNS


@pytest.mark.parametrize("suffix", ["npy", "safetensors"])
def test_formats_of_numbers_hold_the_array_only(tmp_path, like, sources, suffix):
    write(tmp_path / f"out.{suffix}", like, sources)
    run = read_run(tmp_path / f"out.{suffix}")
    assert run.ids is None
    assert run.columns == {}


@pytest.mark.parametrize("suffix", LABELLED)
def test_a_run_without_ids_and_columns_is_written_too(tmp_path, sources, suffix):
    write(tmp_path / f"out.{suffix}", Embeddings(rows=sources), sources)
    run = read_run(tmp_path / f"out.{suffix}")
    np.testing.assert_array_equal(run.rows[:].astype(np.float32), sources.astype(np.float32))
    assert run.columns == {}
    if suffix == "h5ad":
        np.testing.assert_array_equal(run.ids, np.arange(N_SAMPLES).astype(str))
    else:
        assert run.ids is None


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("group_bytes", [1, 100, 2**24])
def test_groups_and_blocks_of_any_length_give_the_same_rows(
    tmp_path, like, sources, suffix, group_bytes, monkeypatch
):
    monkeypatch.setattr("upto.files.plan._GROUP_BYTES", group_bytes)
    for block in (1, 7, 100):
        write(tmp_path / f"out.{suffix}", like, sources, block=block, dtype="float64")
        np.testing.assert_array_equal(read_run(tmp_path / f"out.{suffix}").rows[:], sources)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_engine_writes_through_it(tmp_path, like, suffix):
    with open_writer(tmp_path / f"out.{suffix}", like, 3, dtype="float64") as writer:
        assert writer.shape == (N_SAMPLES, 3)
        engine = ThreadsEngine(block_rows=4, n_threads=3)
        engine.map_blocks(lambda _xp, x: (2 * x[:, :3],), like.rows, out=writer)
    np.testing.assert_array_equal(
        read_run(tmp_path / f"out.{suffix}").rows[:], 2 * like.rows[:, :3]
    )


def test_tables_name_their_columns(tmp_path, like, sources):
    names = ["id", *like.columns, *(f"white_{i}" for i in range(N_COLUMNS))]
    write(tmp_path / "out.csv", like, sources, prefix="white")
    assert (tmp_path / "out.csv").read_text().splitlines()[0] == ",".join(names)
    write(tmp_path / "out.parquet", like, sources, prefix="white")
    assert pq.read_schema(tmp_path / "out.parquet").names == names
    assert read_run(tmp_path / "out.parquet::white_").n_features == N_COLUMNS


@pytest.mark.parametrize("prefix", ["ica", "white", "unica", "feature"])
def test_numbers_beside_coordinates_stay_labels(tmp_path, like, sources, prefix):
    for suffix in ("csv", "parquet"):
        write(tmp_path / f"out.{suffix}", like, sources, prefix=prefix)
        run = read_run(tmp_path / f"out.{suffix}")
        assert run.n_features == N_COLUMNS
        assert "dose" in run.columns


def test_a_parquet_table_is_written_group_by_group(tmp_path, like, sources, monkeypatch):
    monkeypatch.setattr("upto.files.plan._GROUP_BYTES", 10 * N_COLUMNS * 4)
    write(tmp_path / "out.parquet", like, sources)
    metadata = pq.read_metadata(tmp_path / "out.parquet")
    sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    assert sizes == [10, 10, 3]


def test_an_archive_is_one_numpy_reads_and_its_array_can_be_mapped(tmp_path, like, sources):
    write(tmp_path / "out.npz", like, sources)
    with np.load(tmp_path / "out.npz") as archive:
        assert set(archive) == {"ica", "id", *like.columns}
        np.testing.assert_array_equal(archive["ica"], sources.astype(np.float32))
    with zipfile.ZipFile(tmp_path / "out.npz") as archive:
        assert archive.testzip() is None
    assert type(read_run(tmp_path / "out.npz").rows).__name__ == "StoredRows"


def test_the_libraries_of_the_formats_read_the_rest(tmp_path, like, sources):
    expected = sources.astype(np.float32)
    for suffix in ("npy", "safetensors", "h5", "zarr"):
        write(tmp_path / f"out.{suffix}", like, sources)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)
    np.testing.assert_array_equal(load_file(tmp_path / "out.safetensors")["ica"], expected)
    with h5py.File(tmp_path / "out.h5") as file:
        np.testing.assert_array_equal(file["ica"][:], expected)
        assert file["gene"].asstr()[1] == "ε ≤ 0\tx"
    group = zarr.open_group(tmp_path / "out.zarr", mode="r")
    np.testing.assert_array_equal(group["ica"][:], expected)
    assert group["gene"][1] == "ε ≤ 0\tx"


@pytest.mark.parametrize("suffix", LABELLED)
def test_names_that_are_taken_give_way(tmp_path, sources, suffix):
    columns = {name: np.arange(N_SAMPLES) for name in ("id", "ica", "_index", "7", "nan")}
    columns["ica_1"] = columns["ica_12"] = np.zeros(N_SAMPLES)
    like = Embeddings(rows=sources, ids=np.arange(N_SAMPLES)[::-1], columns=columns)
    write(tmp_path / f"out.{suffix}", like, sources)
    run = read_run(tmp_path / f"out.{suffix}")
    np.testing.assert_array_equal(run.ids.astype(int), like.ids)
    np.testing.assert_array_equal(run.rows[:].astype(np.float32), sources.astype(np.float32))
    assert len(run.columns) == 5
    assert not {"ica_1", "ica_12"} & set(run.columns)


def test_objects_become_text(tmp_path, sources):
    values = np.array(["a", 1, None] * 8, dtype=object)[:N_SAMPLES]
    like = Embeddings(rows=sources, columns={"mixed": values})
    for suffix in LABELLED:
        write(tmp_path / f"out.{suffix}", like, sources)
        mixed = read_run(tmp_path / f"out.{suffix}").columns["mixed"]
        np.testing.assert_array_equal(mixed[:3], ["a", "1", "None"])


def failing(path, like, sources, error, *, after=10):
    with open_writer(path, like, N_COLUMNS) as writer:
        writer[:after] = sources[:after]
        raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt("stop"), ZeroDivisionError("stop")])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_goes_wrong_elsewhere_leaves_the_old_file_and_nothing_else(
    tmp_path, like, sources, suffix, error
):
    path = tmp_path / f"out.{suffix}"
    with pytest.raises(type(error), match="stop"):
        failing(path, like, sources, error)
    assert held_in(tmp_path) == []
    write(path, like, sources)
    before = content(path)
    with pytest.raises(type(error), match="stop"):
        failing(path, like, sources, error)
    assert content(path) == before
    assert held_in(tmp_path) == [path.name]


LIMITED = """
import resource, sys
import numpy as np
from upto.core import Embeddings, InputError
from upto.files import open_writer

rows = np.random.default_rng(0).normal(size=(5000, 8))
ids = np.array([f"row {i}" for i in range(5000)])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
for path in sys.argv[2:]:
    try:
        with open_writer(path, Embeddings(rows=rows, ids=ids), 8, dtype="float64") as writer:
            for start in range(0, 5000, 100):
                writer[start : start + 100] = rows[start : start + 100]
    except InputError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no file limits to set")
@pytest.mark.parametrize(
    "limit", [100, *(pytest.param(size, marks=pytest.mark.slow) for size in (30_000, 150_000))]
)
@pytest.mark.slow
def test_files_that_may_not_grow_are_reported_in_one_sentence(tmp_path, like, sources, limit):
    # HDF5 crashes when it is told that the disk is full, now or when the process ends.
    paths = [tmp_path / f"out.{suffix}" for suffix in SUFFIXES]
    for path in paths:
        write(path, like, sources)
    before = content(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(limit), *map(str, paths)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    for path, sentence in zip(paths, done.stdout.splitlines(), strict=True):
        assert sentence.startswith(f"{path} could not be written: the disk was full after ")
        assert sentence.endswith("of 5000 rows. Free some space or write to another disk.")
    assert content(tmp_path) == before


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_disk_that_is_full_at_last_is_reported_too(tmp_path, like, sources, suffix, monkeypatch):
    path = tmp_path / f"out.{suffix}"
    write(path, like, sources)
    before = content(path)

    def full(_descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("upto.core.files.os.fsync", full)
    with pytest.raises(InputError, match=r"the disk was full after 23 of 23 rows\. Free some"):
        write(path, like, 2 * sources)
    assert content(path) == before
    assert held_in(tmp_path) == [path.name]


def test_the_file_the_rows_come_from_is_an_input_unsaid(tmp_path, like, sources):
    for suffix in ("npy", "npz", "parquet", "h5", "zarr", "safetensors"):
        path = tmp_path / f"run.{suffix}"
        write(path, like, sources)
        before = content(path)
        with pytest.raises(InputError, match=rf"run\.{suffix} is an input: writing"):
            write(path, read_run(path), sources)
        assert content(path) == before


@pytest.mark.parametrize("failing_rename", [1, 2])
def test_a_folder_that_cannot_be_replaced_comes_back(
    tmp_path, like, sources, monkeypatch, failing_rename
):
    path = tmp_path / "out.zarr"
    write(path, like, sources)
    before = content(path)
    rename, calls = Path.rename, []

    def fail_once(self, target):
        calls.append(target)
        if len(calls) == failing_rename:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_once)
    with pytest.raises(InputError, match=r"could not be written after 23 of 23 rows \(.*error\)"):
        write(path, like, 2 * sources)
    assert content(path) == before
    assert held_in(tmp_path) == ["out.zarr"]


def test_a_replaced_folder_keeps_nothing_of_the_old_one(tmp_path, like, sources):
    write(tmp_path / "out.zarr", like, sources)
    write(tmp_path / "out.zarr", Embeddings(rows=sources), sources[:, :2])
    run = read_run(tmp_path / "out.zarr")
    assert run.n_features == 2
    assert run.columns == {}
    assert held_in(tmp_path) == ["out.zarr"]


def test_a_link_stays_a_link_and_permissions_stay(tmp_path, like, sources):
    write(tmp_path / "real.npy", like, sources)
    (tmp_path / "real.npy").chmod(0o600)
    (tmp_path / "link.npy").symlink_to(tmp_path / "real.npy")
    write(tmp_path / "link.npy", like, 3 * sources, dtype="float64")
    assert (tmp_path / "link.npy").is_symlink()
    np.testing.assert_array_equal(np.load(tmp_path / "real.npy"), 3 * sources)
    assert (tmp_path / "real.npy").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_with_rows_missing_is_not_written(tmp_path, like, sources, suffix):
    with (
        pytest.raises(InputError, match=r"was not written: only 10 of 23 rows were passed\."),
        open_writer(tmp_path / f"out.{suffix}", like, N_COLUMNS) as writer,
    ):
        writer[:10] = sources[:10]
    assert held_in(tmp_path) == []


@pytest.mark.parametrize(
    ("where", "block"),
    [(slice(5, 10), (5, 4)), (slice(0, 5), (4, 4)), (slice(0, 5), (5, 3))],
)
def test_blocks_come_in_order_and_in_shape(tmp_path, like, where, block):
    with (
        pytest.raises(InputError, match=r"cannot be written after 0 of 23 rows of 4 coordinates"),
        open_writer(tmp_path / "out.npy", like, N_COLUMNS) as writer,
    ):
        writer[where] = np.zeros(block)


def test_a_closed_writer_takes_nothing(tmp_path, like, sources):
    with open_writer(tmp_path / "out.npy", like, N_COLUMNS) as writer:
        writer[:] = sources
    with pytest.raises(InputError, match="while the file is open"):
        writer[23:] = sources[:0]


@pytest.mark.slow
def test_rows_are_not_kept_in_memory(tmp_path, monkeypatch):
    rows = np.broadcast_to(np.float32(1.5), (20_000, 500))
    like = Embeddings(rows=rows)
    monkeypatch.setattr("upto.files.plan._GROUP_BYTES", 2**20)
    for suffix in ("npy", "npz", "parquet", "h5", "h5ad", "zarr", "safetensors"):
        write(tmp_path / f"warm.{suffix}", Embeddings(rows=rows[:10]), rows[:10])
        tracemalloc.start()
        write(tmp_path / f"out.{suffix}", like, rows, block=1000)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 12e6 < rows.size * 4, (suffix, peak)


REFUSALS = {
    "out.xyz": r"ends in \.xyz, which upto does not write: end it in \.npy, \.npz, \.csv",
    "out": r"out has no suffix, which upto does not write",
    "nowhere/out.npy": r"the folder .*nowhere does not exist: make it first\.",
    "folder.npy": r"folder\.npy is a folder, which would be lost: choose a file name\.",
    "folder.zarr": r"folder\.zarr is a folder, but not zarr, and would be lost",
    "file.zarr": r"file\.zarr is a file, not a folder: remove it or choose another",
    "run.npz": r"run\.npz is an input: writing the result there would destroy it\.",
    "run.zarr": r"run\.zarr is an input: writing the result there would destroy it\.",
}


@pytest.mark.parametrize(("name", "message"), REFUSALS.items(), ids=REFUSALS)
def test_a_place_that_must_not_be_written_to_is_refused_at_once(
    tmp_path, like, sources, name, message
):
    (tmp_path / "folder.npy").mkdir()
    (tmp_path / "folder.zarr").mkdir()
    (tmp_path / "file.zarr").touch()
    write(tmp_path / "run.zarr", like, sources)
    (tmp_path / "run.npz").touch()
    before = content(tmp_path)
    inputs = (f"{tmp_path}/run.npz::a", tmp_path / "sub" / ".." / "run.zarr")
    (tmp_path / "sub").mkdir()
    for refuse in (check_output, lambda *a, **k: open_writer(*a, like, N_COLUMNS, **k)):
        with pytest.raises(InputError, match=message):
            refuse(tmp_path / name, inputs=inputs)
    assert content(tmp_path) == before


@pytest.mark.parametrize(
    ("suffix", "package", "extra"),
    [
        ("parquet", "pyarrow", "tables"),
        ("h5ad", "h5py", "anndata"),
        ("h5", "h5py", "hdf5"),
        ("zarr", "zarr", "zarr"),
    ],
)
def test_a_missing_library_names_the_extra(tmp_path, monkeypatch, suffix, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"writing out\.{suffix} .*upto\[{extra}\]"):
        check_output(tmp_path / f"out.{suffix}")


def test_a_folder_without_permission_is_reported(tmp_path, like, sources, monkeypatch):
    def refuse(self, *_args, **_options):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=r"after 0 of 23 rows \(Permission denied\): correct"):
        write(tmp_path / "out.npy", like, sources)
    assert held_in(tmp_path) == []


def test_a_name_that_a_format_cannot_have_is_reported(tmp_path, sources):
    like = Embeddings(rows=sources, columns={"a": np.ones(23), "a/b": np.ones(23)})
    with pytest.raises(InputError, match=r"out\.h5 could not be written after 0 of 23 rows \("):
        write(tmp_path / "out.h5", like, sources)
    assert held_in(tmp_path) == []


@pytest.fixture
def annotated(tmp_path, rng) -> Path:
    obs = pd.DataFrame(
        {"type": pd.Categorical(["T", "B", None] * 7 + ["T", "B"]), "depth": np.arange(23.0)},
        index=[f"cell{i}" for i in range(23)],
    )
    made = anndata.AnnData(rng.normal(size=(23, 6)), obs=obs)
    made.obsm["X_pca"] = rng.normal(size=(23, 6))
    made.uns["note"] = "kept"
    made.write_h5ad(tmp_path / "cells.h5ad")
    return tmp_path / "cells.h5ad"


STORED = {"transform": '{"kind": "ica"}', "mean": np.arange(6.0), "n_iter": 7, "converged": True}


@pytest.mark.parametrize("name", ["cells.h5ad", "other.h5ad"])
def test_an_annotated_file_is_copied_or_changed_in_place(tmp_path, annotated, sources, rng, name):
    before, mixing = anndata.read_h5ad(annotated), rng.normal(size=(6, N_COLUMNS))
    original = annotated.read_bytes()
    run = read_run(f"{annotated}::X")
    options = {"inputs": [annotated], "mixing": mixing, "stored": STORED}
    write(tmp_path / name, run, sources, **options)
    after = anndata.read_h5ad(tmp_path / name)
    np.testing.assert_array_equal(after.obsm["X_ica"], sources.astype(np.float32))
    np.testing.assert_array_equal(after.varm["ica_mixing"], mixing)
    assert after.uns["ica"]["transform"] == '{"kind": "ica"}'
    np.testing.assert_array_equal(after.uns["ica"]["mean"], np.arange(6.0))
    assert after.uns["ica"]["n_iter"] == 7
    assert after.uns["ica"]["converged"]
    assert after.uns["note"] == "kept"
    np.testing.assert_array_equal(after.X, before.X)
    np.testing.assert_array_equal(after.obsm["X_pca"], before.obsm["X_pca"])
    pd.testing.assert_frame_equal(after.obs, before.obs)
    assert held_in(tmp_path) == sorted({"cells.h5ad", name})
    if name == "other.h5ad":
        assert annotated.read_bytes() == original


def test_writing_in_place_again_replaces_the_old_components(annotated, sources):
    for factor in (1, 2):
        run = read_run(f"{annotated}::X_pca")
        write(annotated, run, factor * sources[:, : 4 - factor], stored={"n": factor})
    after = anndata.read_h5ad(annotated)
    np.testing.assert_array_equal(after.obsm["X_ica"], 2 * sources[:, :2].astype(np.float32))
    assert after.uns["ica"] == {"n": 2, "basis": "X_pca"}


def test_only_variables_have_a_mixing(annotated, tmp_path, sources):
    write(tmp_path / "out.h5ad", read_run(f"{annotated}::X_pca"), sources, mixing=np.ones((6, 4)))
    assert "ica_mixing" not in anndata.read_h5ad(tmp_path / "out.h5ad").varm


def test_the_source_can_be_named(annotated, tmp_path, sources):
    like = Embeddings(rows=np.ones((23, 6)))
    source = f"{annotated}::X"
    write(tmp_path / "out.h5ad", like, sources, mixing=np.ones((6, 4)), source=source)
    assert anndata.read_h5ad(tmp_path / "out.h5ad").varm["ica_mixing"].shape == (6, 4)


def test_an_interrupt_in_place_leaves_the_file_as_it_was(annotated, tmp_path, sources):
    before = annotated.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        failing(annotated, read_run(f"{annotated}::X"), sources, KeyboardInterrupt())
    assert annotated.read_bytes() == before
    assert held_in(tmp_path) == ["cells.h5ad"]


def test_a_new_annotated_file_is_one_anndata_reads(tmp_path, like, sources):
    write(tmp_path / "out.h5ad", like, sources, stored=STORED)
    adata = anndata.read_h5ad(tmp_path / "out.h5ad")
    assert adata.shape == (23, 0)
    assert adata.X is None
    np.testing.assert_array_equal(adata.obsm["X_ica"], sources.astype(np.float32))
    assert list(adata.obs_names) == list(like.ids)
    assert list(adata.obs.columns) == list(like.columns)
    adata.write_h5ad(tmp_path / "again.h5ad")


def test_slashes_do_not_make_groups_of_a_table(tmp_path, sources):
    like = Embeddings(rows=sources, columns={"meta/plate": np.arange(23)})
    write(tmp_path / "out.h5ad", like, sources)
    assert list(anndata.read_h5ad(tmp_path / "out.h5ad").obs) == ["meta_plate"]


def test_a_table_of_an_old_anndata_is_refused(tmp_path, sources):
    with h5py.File(tmp_path / "old.h5ad", "w") as file:
        file["X"] = np.ones((23, 3))
        file["varm"] = np.zeros(3, dtype=[("PCs", "f4", (2,))])
    run = read_run(tmp_path / "old.h5ad", key="X")
    with pytest.raises(InputError, match=r"one table, as versions before 0\.7 wrote it: read"):
        write(tmp_path / "out.h5ad", run, sources, mixing=np.ones((3, N_COLUMNS)))
    assert held_in(tmp_path) == ["old.h5ad"]


def test_an_annotated_file_is_not_replaced_by_one_without_its_content(annotated, sources):
    before = annotated.read_bytes()
    like = Embeddings(rows=np.ones((23, 6)))
    with pytest.raises(InputError, match=r"cells\.h5ad is an input: writing the result there"):
        write(annotated, like, sources, inputs=[f"{annotated}::X"])
    short = Embeddings(rows=np.ones((20, 6)))
    with pytest.raises(InputError, match="the run has 20 rows but its AnnData file 23: write"):
        write(annotated, short, sources[:20], source=f"{annotated}::X")
    assert annotated.read_bytes() == before


def test_a_group_is_as_long_as_memory_allows(like):
    plan = Plan(path=Path("x"), like=like, n_columns=3, dtype=np.dtype("float64"), prefix="ica")
    assert plan.group_rows == N_SAMPLES
    long = Embeddings(rows=np.broadcast_to(0.0, (10**6, 2)))
    for n_columns, rows in ((1, 65_536), (2**21, 1), (2**14, 128)):
        wide = Plan(
            path=Path("x"), like=long, n_columns=n_columns, dtype=np.dtype("float64"), prefix="a"
        )
        assert wide.group_rows == rows
