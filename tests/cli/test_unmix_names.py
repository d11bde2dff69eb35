"""Saved transforms know the columns they were fitted to, whatever their order in another table."""

from __future__ import annotations

import json

import anndata
import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save_file

import upto
from upto.core import InputError
from upto.core.tensors import read_tensors

NAMES = ["height", "weight", "pulse", "age"]
SUFFIXES = ("csv", "tsv", "parquet")


def save(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")


@pytest.fixture
def frame(rng):
    rows = rng.laplace(size=(300, 4)) @ rng.normal(size=(4, 4)) + [150, 60, 70, 40]
    return pd.DataFrame(rows, columns=NAMES)


@pytest.fixture
def unmix(upto):
    def run(*args):
        return upto("unmix", *args, "--no-progress")

    return run


@pytest.fixture
def fitted(unmix, tmp_path, frame):
    """Save a transform of the frame and return its components."""
    save(frame, tmp_path / "run.csv")
    found = unmix("run.csv", "-o", "components.csv", "--save", "ica.safetensors")
    assert found.exit_code == 0, found.output
    return pd.read_csv(tmp_path / "components.csv")


def apply(unmix, source, target, *more):
    return unmix(source, "-o", target, "--apply", "ica.safetensors", *more)


def test_a_saved_transform_stores_the_names(fitted, tmp_path):
    assert list(upto.load_transform(tmp_path / "ica.safetensors").feature_names_in_) == NAMES


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_columns_in_another_order_are_found_by_name(unmix, tmp_path, frame, fitted, suffix):
    for order in (NAMES[::-1], ["pulse", "height", "age", "weight"]):
        save(frame[order], tmp_path / f"other.{suffix}")
        found = apply(unmix, f"other.{suffix}", "out.csv")
        assert found.exit_code == 0, found.output
        np.testing.assert_allclose(pd.read_csv(tmp_path / "out.csv"), fitted, atol=1e-9)
        assert "the columns of other are not in the order" in found.stderr
    save(frame, tmp_path / f"same.{suffix}")
    found = apply(unmix, f"same.{suffix}", "out.csv")
    assert "not in the order" not in found.stderr


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_way_back_has_the_names_it_came_with(unmix, tmp_path, frame, fitted, suffix):
    save(fitted[["ica_2", "ica_0", "ica_3", "ica_1"]], tmp_path / f"turned.{suffix}")
    for source in ("components.csv", f"turned.{suffix}"):
        found = apply(unmix, source, f"back.{suffix}", "--inverse")
        assert found.exit_code == 0, found.output
        path = tmp_path / f"back.{suffix}"
        read = pd.read_parquet if suffix == "parquet" else pd.read_csv
        back = read(path, **({"sep": "\t"} if suffix == "tsv" else {}))
        assert list(back.columns) == NAMES
        np.testing.assert_allclose(back, frame, atol=1e-9)


CHANGES = {
    "missing": (lambda x: x.drop(columns="pulse"), "other has no pulse"),
    "more": (lambda x: x.assign(mood=1.0, rank=x["age"]), "mood and rank"),
    "another": (lambda x: x.rename(columns={"pulse": "mood"}), "other has no pulse"),
}


@pytest.mark.parametrize(("change", "message"), CHANGES.values(), ids=CHANGES)
def test_other_columns_are_refused_in_one_sentence(unmix, tmp_path, frame, fitted, change, message):
    save(change(frame), tmp_path / "other.parquet")
    found = apply(unmix, "other.parquet", "out.csv")
    assert found.exit_code == 3
    assert message in " ".join(found.stderr.split())
    assert not (tmp_path / "out.csv").exists()


def test_rows_without_names_are_taken_as_they_come(unmix, tmp_path, frame, fitted):
    np.save(tmp_path / "other.npy", frame.to_numpy())
    frame.to_csv(tmp_path / "bare.csv", index=False, header=False)
    for source in ("other.npy", "bare.csv"):
        found = apply(unmix, source, "out.csv")
        assert found.exit_code == 0, found.output
        np.testing.assert_allclose(pd.read_csv(tmp_path / "out.csv"), fitted, atol=1e-9)


def test_a_transform_of_rows_without_names_has_none(unmix, tmp_path, frame):
    frame.to_csv(tmp_path / "bare.csv", index=False, header=False)
    assert unmix("bare.csv", "--save", "ica.safetensors").exit_code == 0
    assert not hasattr(upto.load_transform(tmp_path / "ica.safetensors"), "feature_names_in_")
    save(frame, tmp_path / "run.csv")
    assert apply(unmix, "run.csv", "out.csv").exit_code == 0


def test_an_older_file_without_names_still_applies(unmix, tmp_path, frame, fitted):
    arrays, words = read_tensors(tmp_path / "ica.safetensors")
    described = json.loads(words["transform"])
    del described["feature_names"]
    for name in ("fun", "tol", "w_init", "algorithm", "max_iter", "whiten_solver", "fun_args"):
        described["parameters"].pop(name, None)
    described["parameters"]["rank_tolerance"] = 1e-10
    assert load_file(tmp_path / "ica.safetensors").keys() == arrays.keys()
    save_file(
        arrays,
        tmp_path / "ica.safetensors",
        {"transform": json.dumps(described)},
    )
    found = apply(unmix, "run.csv", "out.csv")
    assert found.exit_code == 0, found.output
    np.testing.assert_allclose(pd.read_csv(tmp_path / "out.csv"), fitted, atol=1e-9)


def test_variables_of_annotated_files_have_names_too(unmix, tmp_path, frame):
    adata = anndata.AnnData(frame.to_numpy(), var=pd.DataFrame(index=NAMES))
    adata.write_h5ad(tmp_path / "run.h5ad")
    assert unmix("run.h5ad::X", "-o", "a.npy", "--save", "ica.safetensors").exit_code == 0
    assert list(upto.load_transform(tmp_path / "ica.safetensors").feature_names_in_) == NAMES
    adata[:, NAMES[::-1]].copy().write_h5ad(tmp_path / "other.h5ad")
    found = apply(unmix, "other.h5ad::X", "out.h5ad")
    assert found.exit_code == 0, found.output
    out = anndata.read_h5ad(tmp_path / "out.h5ad")
    np.testing.assert_allclose(out.obsm["X_ica"], np.load(tmp_path / "a.npy"), atol=1e-9)
    # What is kept beside the variables is in their order.
    centred = out.X - out.X.mean(axis=0)
    np.testing.assert_allclose(out.obsm["X_ica"] @ out.varm["ica_mixing"].T, centred, atol=1e-9)


def test_frames_are_taken_by_name_in_python(tmp_path, frame):
    upto.unmix(frame, save=tmp_path / "ica.safetensors", output=tmp_path / "a.npy")
    turned = frame[NAMES[::-1]]
    said = upto.apply_transform(tmp_path / "ica.safetensors", turned, output=tmp_path / "b.npy")
    assert "not in the order" in said[0]
    np.testing.assert_allclose(np.load(tmp_path / "b.npy"), np.load(tmp_path / "a.npy"), atol=1e-9)
    with pytest.raises(InputError, match="run has no age"):
        upto.apply_transform(
            tmp_path / "ica.safetensors", frame[NAMES[:3]], output=tmp_path / "b.npy"
        )


def test_a_saved_map_onto_another_run_is_applied_by_the_same_option(unmix, tmp_path, frame):
    target = frame[NAMES[::-1]].to_numpy() / 2
    aligner = upto.compare(frame, target, ica=False, refits=0).aligner("similarity")
    upto.save_transform(tmp_path / "ica.safetensors", aligner)
    frame = frame[["age", "pulse", "height", "weight"]].assign(id=[f"r{i}" for i in range(300)])
    save(frame, tmp_path / "run.parquet")
    found = apply(unmix, "run.parquet", "out.csv")
    assert found.exit_code == 0, found.output
    out = pd.read_csv(tmp_path / "out.csv")
    assert list(out.columns) == ["id", *(f"aligned_{number}" for number in range(4))]
    np.testing.assert_allclose(out.drop(columns="id"), target, atol=1e-9)
    assert "the columns of run are not in the order" in found.stderr
    found = apply(unmix, "out.csv", "back.csv", "--inverse")
    assert found.exit_code == 0, found.output
    back = pd.read_csv(tmp_path / "back.csv")
    np.testing.assert_allclose(back[list(frame)[:4]], frame.drop(columns="id"), atol=1e-9)
    aligner = upto.Aligner("affine").fit(frame[NAMES], target[:, :2])
    upto.save_transform(tmp_path / "ica.safetensors", aligner)
    np.save(tmp_path / "narrow.npy", target[:, :2])
    found = apply(unmix, "narrow.npy", "back.csv", "--inverse")
    assert found.exit_code == 3
    assert "rank 2 on 4 source coordinates and no inverse" in " ".join(found.stderr.split())
