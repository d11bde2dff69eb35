"""Runs are written without the components that carry plates, and with everything else."""

from __future__ import annotations

import numpy as np
import pytest

from upto.core import Embeddings, InputError
from upto.files import open_writer, read_run
from upto.files.names import Naming, names_in
from upto.questions.batches.remove_batch import keep_biology

FEATURES = ("Cells_Area", "Cells_Count", "Nuclei_Area")
N_PLATES = 24


@pytest.fixture(scope="module")
def run():
    rng = np.random.default_rng(0)
    plate = np.repeat(np.arange(N_PLATES), 80)
    gene = np.tile(np.arange(4), 20 * N_PLATES)
    sources = rng.laplace(size=(len(plate), 3)) / 2
    sources[:, 0] += rng.choice([-2.0, 2.0], size=N_PLATES)[plate]
    sources[:, 1] += np.array([0.0, 5.0, 5.0, -5.0])[gene]
    return Embeddings(
        rows=sources @ rng.normal(size=(3, 3)) + 3.0,
        name="wells",
        ids=np.array([f"w{number}" for number in range(len(plate))]),
        columns={
            "Metadata_Plate": plate,
            "Metadata_gene": np.array(["DMSO", "a", "b", "c"])[gene],
            "Metadata_dose": np.linspace(0, 1, len(plate)),
        },
    )


def written(path, run, features=FEATURES):
    naming = Naming(features=features, ids="well_id")
    with open_writer(path, run, 3, dtype="float64", naming=naming) as out:
        out[0 : len(run)] = run.rows
    return path


ASKED = {"batch": "Plate", "label": "gene", "control": "DMSO"}


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize("features", [FEATURES, ("feature_0", "feature_1", "feature_2")])
def test_tables_keep_their_ids_columns_and_names(suffix, features, run, tmp_path):
    source, target = written(tmp_path / f"in.{suffix}", run, features), tmp_path / f"out.{suffix}"
    found = keep_biology(source, target, **ASKED)
    assert (found.batch, found.label, len(found.dropped)) == ("Metadata_Plate", "Metadata_gene", 1)
    assert names_in(target, n_features=3) == Naming(features=features, ids="well_id")
    read = read_run(target)
    assert list(read.columns) == list(run.columns)
    for name, values in run.columns.items():
        np.testing.assert_array_equal(read.columns[name], values)
    np.testing.assert_array_equal(read.ids, run.ids)
    rows = np.asarray(read.rows[:])
    assert np.linalg.matrix_rank(rows - rows.mean(axis=0), tol=1e-6) == 2
    centred = run.rows - run.rows.mean(axis=0)
    assert np.linalg.matrix_rank(rows - rows.mean(axis=0) - centred, tol=1e-6) == 1


def test_ids_that_a_user_names_keep_their_name(run, tmp_path):
    source, target = written(tmp_path / "in.csv", run), tmp_path / "out.csv"
    text = source.read_text()
    source.write_text(text.replace("well_id", "Metadata_barcode", 1))
    keep_biology(source, target, ids="Metadata_barcode", **ASKED)
    assert names_in(target, n_features=3).features == FEATURES
    assert target.read_text().splitlines()[0] == source.read_text().splitlines()[0]


def test_one_run_of_a_manifest_is_asked_for(run, tmp_path):
    written(tmp_path / "in.csv", run)
    manifest = tmp_path / "runs.toml"
    manifest.write_text('[[run]]\npath = "in.csv"\n[[run]]\npath = "in.csv"\nname = "b"\n')
    with pytest.raises(InputError, match=r"keep_biology takes one run, but .* lists 2"):
        keep_biology(manifest, tmp_path / "out.csv", ids="well_id", **ASKED)
    assert not (tmp_path / "out.csv").exists()


def test_an_annotated_file_gets_the_rows_beside_its_own(run, tmp_path):
    pytest.importorskip("h5py")
    path = tmp_path / "cells.h5ad"
    with open_writer(path, run, 3, dtype="float64", prefix="raw") as out:
        out[0 : len(run)] = run.rows
    found = keep_biology(f"{path}::X_raw", path, **ASKED)
    np.testing.assert_allclose(read_run(f"{path}::X_raw").rows[:], run.rows)
    kept = read_run(f"{path}::X_biology")
    assert kept.rows.shape == (len(run), 3)
    np.testing.assert_array_equal(kept.columns["Metadata_Plate"], run.columns["Metadata_Plate"])
    import h5py

    with h5py.File(path) as file:
        stored = file["uns/biology"]
        assert stored["batch"][()].decode() == "Metadata_Plate"
        carries = [each.decode() for each in stored["carries"][:]]
    assert carries == [effect.carries for effect in found.effects]


def test_where_nothing_can_be_dropped_safely_the_run_is_written_as_it_is(run, tmp_path):
    some = np.asarray(run.columns["Metadata_Plate"]) < 3
    few = Embeddings(
        rows=run.rows[some],
        name="few",
        columns={name: np.asarray(values)[some] for name, values in run.columns.items()},
    )
    found = keep_biology(few, tmp_path / "out.npz", **ASKED)
    assert (len(found.kept), found.dropped) == (3, ())
    assert found.says.startswith("no component can be dropped safely; ")
    assert "it cannot be shown that Metadata_gene does not shift" in found.says
    np.testing.assert_array_equal(read_run(tmp_path / "out.npz").rows[:], few.rows)


def test_kept_components_can_be_written(run, tmp_path):
    found = keep_biology(run, tmp_path / "out.npz", space="components", **ASKED)
    assert read_run(tmp_path / "out.npz").rows.shape == (len(run), 2)
    keep_biology(run, tmp_path / "out.csv", space="components", **ASKED)
    names = names_in(tmp_path / "out.csv", n_features=2).features
    assert names == tuple(f"ica_{number}" for number in found.kept)


def test_rows_without_names_are_numbered_as_features(run, tmp_path):
    keep_biology(run, tmp_path / "out.csv", **ASKED)
    names = names_in(tmp_path / "out.csv", n_features=3)
    assert names == Naming(features=("feature_0", "feature_1", "feature_2"), ids="id")


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_numeric_metadata_is_never_a_feature(suffix, run, tmp_path):
    path = written(tmp_path / f"in.{suffix}", run)
    assert read_run(path).rows.shape == (len(run), 3)
    assert names_in(path, n_features=3).features == FEATURES


def test_what_cannot_be_done_is_refused_before_anything_is_written(run, tmp_path):
    source = written(tmp_path / "in.parquet", run)
    before = source.read_bytes()
    refusals = {
        "is an input": (source, ASKED),
        "batch='Metadata_gene' and label='Metadata_gene' are the same column": (
            tmp_path / "o.csv",
            {**ASKED, "batch": "gene"},
        ),
        "batch='plat' is not among": (tmp_path / "o.csv", {**ASKED, "batch": "plat"}),
        "control='water' is not among the 4 values of Metadata_gene: choose one of DMSO, a, b, c": (
            tmp_path / "o.csv",
            {**ASKED, "control": "water"},
        ),
        "unknown space 'pca'": (tmp_path / "o.csv", {**ASKED, "space": "pca"}),
        "which upto does not write": (tmp_path / "o.xlsx", ASKED),
    }
    for message, (target, asked) in refusals.items():
        with pytest.raises(InputError) as caught:
            keep_biology(source, target, **asked)
        assert message in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]
    assert source.read_bytes() == before
