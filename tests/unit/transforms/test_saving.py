from __future__ import annotations

import json
from importlib import metadata

import anndata
import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from upto import Aligner, unmix
from upto.core import InputError, read_tensors, write_tensors
from upto.files import open_writer, read_run
from upto.ica import ICA, Whitener
from upto.transforms.in_anndata import ica_from_anndata, write_to_anndata
from upto.transforms.save import (
    describe_transform,
    load_transform,
    pack_transform,
    save_transform,
    unpack_transform,
)


@pytest.fixture
def rows(rng) -> np.ndarray:
    return rng.laplace(size=(200, 4)) @ rng.normal(size=(4, 4)) + 3


@pytest.fixture(params=["ICA", "stable ICA", "narrow ICA", "Whitener"])
def fitted(request, rows):
    made = {
        "ICA": ICA(random_state=7, tolerance=1e-5),
        "stable ICA": ICA(random_state=7, restarts=3),
        "narrow ICA": ICA(2, random_state=np.random.RandomState(0)),
        "Whitener": Whitener(),
    }
    return made[request.param].fit(rows)


def changed(path, **changes):
    """Write a transform again with other arrays or another description."""
    arrays, words = read_tensors(path)
    described = json.loads(words["transform"])
    for name, value in changes.items():
        if name in arrays:
            arrays[name] = value
        else:
            described[name] = value
    arrays = {name: array for name, array in arrays.items() if array is not None}
    write_tensors(path, arrays, {"transform": json.dumps(described)})
    return path


def test_a_loaded_transform_transforms_as_the_saved_one(tmp_path, fitted, rows):
    save_transform(tmp_path / "t.safetensors", fitted)
    loaded = load_transform(tmp_path / "t.safetensors")
    assert type(loaded) is type(fitted)
    sources = fitted.transform(rows)
    np.testing.assert_array_equal(loaded.transform(rows), sources)
    np.testing.assert_array_equal(
        loaded.inverse_transform(sources), fitted.inverse_transform(sources)
    )
    assert list(loaded.get_feature_names_out()) == list(fitted.get_feature_names_out())
    assert loaded.n_features_in_ == 4
    with pytest.raises(ValueError, match="3 features"):
        loaded.transform(rows[:, :3])


def test_a_changed_number_is_noticed(tmp_path, fitted):
    path = tmp_path / "t.safetensors"
    save_transform(path, fitted)
    damaged = bytearray(path.read_bytes())
    damaged[-3] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(InputError, match="its numbers are not those that were saved"):
        load_transform(path)


def test_every_fitted_attribute_comes_back(tmp_path, fitted):
    save_transform(tmp_path / "t.safetensors", fitted)
    loaded = load_transform(tmp_path / "t.safetensors")
    names = {name for name in vars(fitted) if name.endswith("_")}
    assert {name for name in vars(loaded) if name.endswith("_")} == names
    for name in names:
        kept, expected = getattr(loaded, name), getattr(fitted, name)
        assert type(kept) is type(expected)
        np.testing.assert_array_equal(kept, expected)
        if isinstance(expected, np.ndarray):
            assert kept.dtype == expected.dtype


def test_plain_parameters_come_back_and_the_engine_does_not(tmp_path, rows):
    ica = ICA(np.int64(3), random_state=7, tolerance=1e-5, engine="threads").fit(rows)
    save_transform(tmp_path / "t.safetensors", ica)
    loaded = load_transform(tmp_path / "t.safetensors")
    assert loaded.get_params() == ica.get_params() | {"engine": None}
    clone(loaded).fit(rows)
    ica = ICA(random_state=np.random.RandomState(0)).fit(rows)
    save_transform(tmp_path / "t.safetensors", ica)
    assert load_transform(tmp_path / "t.safetensors").random_state is None


def test_names_of_features_come_back(tmp_path, rows):
    frame = pd.DataFrame(rows, columns=["a", "b", "ε", "d"])
    ica = ICA(random_state=0).fit(frame)
    save_transform(tmp_path / "t.safetensors", ica)
    loaded = load_transform(tmp_path / "t.safetensors")
    assert list(loaded.feature_names_in_) == ["a", "b", "ε", "d"]
    np.testing.assert_array_equal(loaded.transform(frame), ica.transform(frame))
    turned = frame[["b", "a", "ε", "d"]]
    np.testing.assert_array_equal(loaded.transform(turned), ica.transform(frame))


def test_the_file_is_plain_safetensors(tmp_path, rows):
    ica = ICA(random_state=7).fit(rows)
    save_transform(tmp_path / "t.safetensors", ica)
    with safe_open(tmp_path / "t.safetensors", framework="numpy") as file:
        assert set(file.keys()) == {"mean", "components", "mixing", "whitening", "turning"}
        np.testing.assert_array_equal(file.get_tensor("mixing"), ica.mixing_)
        described = json.loads(file.metadata()["transform"])
    assert described["kind"] == "ica"
    assert described["schema"] == 1
    assert described["parameters"]["random_state"] == 7
    assert [path.name for path in tmp_path.iterdir()] == ["t.safetensors"]


def test_what_cannot_be_saved_says_so(tmp_path, rows):
    with pytest.raises(InputError, match=r"StandardScaler cannot be saved .* KernelAligner and Ne"):
        save_transform(tmp_path / "t.safetensors", StandardScaler().fit(rows))
    for estimator in (ICA(), Aligner()):
        message = f"^this {type(estimator).__name__} is not fitted: call its `fit` first"
        with pytest.raises(InputError, match=message):
            save_transform(tmp_path / "t.safetensors", estimator)
    with pytest.raises(InputError, match=r"t\.pkl does not end in \.safetensors"):
        save_transform(tmp_path / "t.pkl", ICA(random_state=0).fit(rows))
    assert list(tmp_path.iterdir()) == []


HOSTILE = {
    "another kind": ({"kind": "os.system"}, "of kind 'os.system', schema 1, which this version"),
    "a later schema": ({"schema": 99, "upto": "9.1"}, "schema 99, .*: load it with upto 9.1"),
    "no parameters": ({"parameters": None}, "not a complete transform"),
    "an unknown parameter": ({"parameters": {"fit": "x"}}, "ICA has no parameter 'fit'"),
    "the engine": ({"parameters": {"engine": "dask"}}, "ICA has no parameter 'engine'"),
    "a nested parameter": ({"parameters": {"tolerance": {"a": 1}}}, "not a complete transform"),
    "a missing array": ({"mixing": None}, "it has no mixing"),
    "infinite": ({"mean": np.full(4, np.inf)}, "mean has invalid values"),
    "whole numbers": ({"mean": np.arange(4)}, "mean has invalid values"),
    "a mask of numbers": ({"turning": np.ones(4)}, "turning has invalid values"),
    "no mask": ({"turning": None}, "it has no turning"),
    "a trace of words": ({"trace": ["a", "b"]}, "not a complete transform"),
    "a wrong shape": ({"mixing": np.ones((4, 3))}, r"mixing has the shape \(4, 3\)"),
    "a long mean": ({"mean": np.ones(5)}, r"components has the shape \(4, 4\)"),
    "a deep array": ({"mean": np.ones((4, 1))}, r"mean has the shape \(4, 1\)"),
    "nothing": ({"mean": np.ones(0)}, r"mean has the shape \(0,\)"),
    "no way back": ({"mixing": np.ones((4, 4))}, "its inverse does not invert it"),
    "names": ({"feature_names": ["a"]}, "1 names for 4 coordinates"),
    "odd names": ({"feature_names": [1, 2, 3, 4]}, "not a complete transform"),
    "odd iterations": ({"n_iter": "many"}, "not a complete transform"),
}


@pytest.mark.parametrize(("changes", "message"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_is_refused(tmp_path, rows, changes, message):
    save_transform(tmp_path / "t.safetensors", ICA(random_state=7).fit(rows))
    path = changed(tmp_path / "t.safetensors", **changes)
    with pytest.raises(InputError, match=message):
        load_transform(path)


def test_a_file_of_other_tensors_is_no_transform(tmp_path):
    write_tensors(tmp_path / "t.safetensors", {"mean": np.ones(3)}, {"format": "pt"})
    with pytest.raises(InputError, match=r"t\.safetensors is not a saved transform: make one"):
        load_transform(tmp_path / "t.safetensors")
    write_tensors(tmp_path / "t.safetensors", {"mean": np.ones(3)}, {"transform": "[" * 100_000})
    with pytest.raises(InputError, match=r"not a complete transform"):
        load_transform(tmp_path / "t.safetensors")
    with pytest.raises(InputError, match="cannot be read"):
        load_transform(tmp_path / "nothing.safetensors")


def test_arrays_that_the_description_does_not_name_are_ignored(rows):
    ica = ICA(random_state=7).fit(rows)
    entries = pack_transform(ica) | {"__class__": np.ones(3), "fit": "x"}
    loaded = unpack_transform(entries, "here")
    assert loaded.__class__ is ICA
    np.testing.assert_array_equal(loaded.transform(rows), ica.transform(rows))


@pytest.fixture
def adata(rows) -> anndata.AnnData:
    made = anndata.AnnData(rows)
    made.obsm["X_pca"] = rows[:, :3] * 2
    return made


def test_components_go_into_anndata_and_back(tmp_path, adata, fitted, rows):
    sources = fitted.transform(rows)
    write_to_anndata(adata, fitted, sources)
    adata.write_h5ad(tmp_path / "x.h5ad")
    read = anndata.read_h5ad(tmp_path / "x.h5ad")
    np.testing.assert_array_equal(read.obsm["X_ica"], sources)
    centred = fitted.inverse_transform(sources) - fitted.mean_
    np.testing.assert_allclose(sources @ read.varm["ica_mixing"].T, centred, atol=1e-12)
    loaded = ica_from_anndata(read)
    assert type(loaded) is type(fitted)
    np.testing.assert_array_equal(loaded.transform(rows), sources)
    assert read.uns["ica"]["basis"] == "X"


@pytest.mark.parametrize("by", ["object", "command"])
def test_a_reader_of_the_file_needs_no_upto(tmp_path, rng, by):
    frame = pd.DataFrame(
        rng.laplace(size=(200, 3)) @ rng.normal(size=(3, 3)), columns=["a", "b", "c"]
    )
    adata = anndata.AnnData(frame.to_numpy(), var=pd.DataFrame(index=frame.columns))
    path = tmp_path / "x.h5ad"
    if by == "object":
        ica = ICA(random_state=5).fit(frame)
        write_to_anndata(adata, ica, ica.transform(frame))
        adata.write_h5ad(path)
    else:
        adata.write_h5ad(path)
        unmix(f"{path}::X", output=path, seed=5)
    read = anndata.read_h5ad(path)
    stored = read.uns["ica"]
    assert list(stored["feature_names"]) == ["a", "b", "c"]
    assert stored["kind"] == "ica"
    assert stored["contrast"] == "logcosh"
    assert stored["solver"] in ("picard", "fastica")
    assert stored["version"] == metadata.version("upto")
    assert (int(stored["seed"]), bool(stored["converged"])) == (5, True)
    assert int(stored["n_iterations"]) > 0
    sources = (read.X - stored["mean"]) @ stored["components"].T
    np.testing.assert_allclose(sources, read.obsm["X_ica"], atol=1e-10)
    np.testing.assert_allclose(sources @ stored["mixing"].T + stored["mean"], read.X, atol=1e-10)
    # Each value is an array, a number or a short text; no iteration is among them.
    assert '"trace"' not in stored["transform"]
    assert all(len(value) < 1000 for value in stored.values() if isinstance(value, str))
    read.write_h5ad(tmp_path / "again.h5ad")
    again = ica_from_anndata(anndata.read_h5ad(tmp_path / "again.h5ad"))
    assert (again.converged_, again.trace_) == (True, ())
    np.testing.assert_allclose(again.transform(frame), sources, atol=1e-10)


def test_a_file_with_the_iterations_of_older_versions_is_still_loaded(adata, rows):
    ica = ICA(random_state=0).fit(rows)
    adata.uns["ica"] = pack_transform(ica)
    assert ica_from_anndata(adata).trace_ == ica.trace_


def test_a_basis_that_is_not_the_variables_has_no_varm(adata):
    basis = adata.obsm["X_pca"]
    ica = ICA(random_state=0).fit(basis)
    write_to_anndata(adata, ica, ica.transform(basis), key="own", basis="X_pca")
    assert "own_mixing" not in adata.varm
    np.testing.assert_array_equal(adata.obsm["X_own"], ica.transform(basis))
    np.testing.assert_array_equal(
        ica_from_anndata(adata, "own").transform(basis), ica.transform(basis)
    )


def test_components_of_something_else_are_refused(adata, rows):
    ica = ICA(random_state=0).fit(rows[:, :3])
    with pytest.raises(InputError, match=r"fitted to 3 coordinates and X has 4 variables: name"):
        write_to_anndata(adata, ica, ica.transform(rows[:, :3]))
    with pytest.raises(InputError, match=r"there are 10 rows of components and 200 observations"):
        write_to_anndata(adata, ica, rows[:10], basis="X_pca")
    assert list(adata.obsm) == ["X_pca"]
    assert "ica" not in adata.uns
    with pytest.raises(InputError, match=r"uns\['ica'\] is not a transform: write one with"):
        ica_from_anndata(adata)
    adata.uns["ica"] = {"params": {"n": 2}}
    with pytest.raises(InputError, match=r"is not a transform"):
        ica_from_anndata(adata)


def test_an_annotated_file_and_an_annotated_object_hold_the_same(tmp_path, adata, rows):
    adata.write_h5ad(tmp_path / "x.h5ad")
    ica = ICA(random_state=0).fit(rows)
    sources = ica.transform(rows)
    write_to_anndata(adata, ica, sources)
    run = read_run(tmp_path / "x.h5ad", key="X")
    options = {"dtype": "float64", "mixing": ica.mixing_, "stored": describe_transform(ica)}
    with open_writer(tmp_path / "x.h5ad", run, 4, **options) as writer:
        writer[:] = sources
    read = anndata.read_h5ad(tmp_path / "x.h5ad")
    np.testing.assert_array_equal(read.obsm["X_ica"], adata.obsm["X_ica"])
    np.testing.assert_array_equal(read.varm["ica_mixing"], adata.varm["ica_mixing"])
    assert set(read.uns["ica"]) == set(adata.uns["ica"])
    assert read.uns["ica"]["basis"] == adata.uns["ica"]["basis"] == "X"
    np.testing.assert_array_equal(ica_from_anndata(read).transform(rows), sources)


def test_the_mixing_beside_variables_is_in_their_order(rng):
    names = ["a", "b", "c"]
    frame = pd.DataFrame(rng.laplace(size=(200, 3)) @ rng.normal(size=(3, 3)), columns=names)
    ica = ICA(random_state=0).fit(frame)
    turned = frame[["c", "a", "b"]]
    adata = anndata.AnnData(turned.to_numpy(), var=pd.DataFrame(index=turned.columns))
    write_to_anndata(adata, ica, ica.transform(frame))
    centred = adata.X - adata.X.mean(axis=0)
    np.testing.assert_allclose(adata.obsm["X_ica"] @ adata.varm["ica_mixing"].T, centred, atol=1e-9)
    adata.var_names = ["c", "a", "d"]
    with pytest.raises(InputError, match=r"fitted to a, b, c.* but the variables are c, a, d"):
        write_to_anndata(adata, ica, ica.transform(frame))
