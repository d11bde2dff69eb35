"""Maps of every estimator are saved with their lengths and names, and hostile files are refused."""

from __future__ import annotations

import json
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

from upto import (
    Aligner,
    KernelAligner,
    NetworkAligner,
    RidgeAligner,
    apply_transform,
    load_transform,
    save_transform,
)
from upto.alignment import AffineMap, KernelMap, LengthMap, NetworkMap
from upto.core import InputError, read_tensors, write_tensors
from upto.engines import ThreadsEngine


@pytest.fixture
def runs(rng):
    source = rng.normal(size=(400, 4))
    target = np.tanh(source @ rng.normal(size=(4, 3)))
    return source, target / np.linalg.norm(target, axis=1)[:, None]


def linear(runs):
    return runs[0], runs[0] @ np.arange(12.0).reshape(4, 3)


def network(**options):
    if find_spec("torch") is None:
        pytest.skip("torch is not installed")
    return NetworkAligner(n_hidden=16, n_epochs=40, **options)


MAKERS = {
    "group": (lambda **more: Aligner("affine", **more), AffineMap, AffineMap),
    "matching": (lambda **more: Aligner("signed-permutation", **more), AffineMap, AffineMap),
    "ridge": (lambda **more: RidgeAligner(rank="auto", **more), AffineMap, AffineMap),
    "kernel": (lambda **more: KernelAligner(n_centres=30, **more), KernelMap, AffineMap),
    "network": (network, NetworkMap, AffineMap),
}


@pytest.mark.parametrize("length", [None, "target"])
@pytest.mark.parametrize("is_linear", [False, True])
@pytest.mark.parametrize(("make", "curved", "straight"), MAKERS.values(), ids=MAKERS)
def test_a_saved_map_is_the_same_map(tmp_path, runs, make, curved, straight, length, is_linear):
    rows = linear(runs) if is_linear else runs
    aligner = make(length=length).fit(*rows)
    assert isinstance(aligner.map_, LengthMap) is (length is not None and not is_linear)
    inner = getattr(aligner.map_, "map", aligner.map_)
    assert type(inner) is (straight if is_linear else curved)
    aligner.source_name_, aligner.target_name_ = "model v1", None
    save_transform(tmp_path / "map.safetensors", aligner)
    loaded = load_transform(tmp_path / "map.safetensors")
    assert type(loaded) is type(aligner)
    names = {name for name in vars(aligner) if name.endswith("_")}
    assert {name for name in vars(loaded) if name.endswith("_")} == names
    for name in names - {"map_"}:
        assert getattr(loaded, name) == getattr(aligner, name), name
    assert loaded.get_params() == aligner.get_params()
    wanted = aligner.transform(rows[0])
    np.testing.assert_array_equal(loaded.transform(rows[0]), wanted)
    short = ThreadsEngine(block_rows=7)
    path = tmp_path / "out.npy"
    assert apply_transform(loaded, rows[0], output=path, engine=short) == ()
    np.testing.assert_allclose(np.load(path), wanted, atol=1e-12)


@pytest.mark.parametrize("name", ["ridge", "kernel", "network"])
def test_columns_are_matched_by_name(tmp_path, runs, name):
    frame = pd.DataFrame(runs[0], columns=list("abcd"))
    target = pd.DataFrame(runs[1], columns=list("xyz"))
    aligner = MAKERS[name][0](length="target").fit(frame, target)
    frame[["c", "a", "d", "b"]].to_parquet(tmp_path / "run.parquet", index=False)
    said = apply_transform(aligner, tmp_path / "run.parquet", output=tmp_path / "out.parquet")
    assert "not in the order" in said[0]
    out = pd.read_parquet(tmp_path / "out.parquet")
    assert list(out.columns) == list("xyz") == list(aligner.get_feature_names_out())
    np.testing.assert_allclose(out, aligner.transform(frame), atol=1e-12)


def test_nonlinear_maps_and_lengths_are_not_undone_in_files(tmp_path, runs):
    cases = {
        "kernel map is not affine": KernelAligner(n_centres=30).fit(*runs),
        "scales rows to the length 1": RidgeAligner(length="target").fit(*runs),
    }
    for message, aligner in cases.items():
        with pytest.raises(InputError, match=message):
            apply_transform(aligner, runs[1], output=tmp_path / "back.npy", inverse=True)
    assert list(tmp_path.iterdir()) == []


WRITTEN_BEFORE = {
    "kind": "aligner",
    "schema": 1,
    "upto": "0.1.0",
    "parameters": {"up_to": "affine", "norm": "least-squares", "rank_tolerance": 1e-12},
    "feature_names": ["a", "b"],
    "worst_error": 0.5,
    "target_names": ["x", "y", "z"],
}


def test_a_file_written_before_lengths_and_names_is_loaded(tmp_path):
    arrays = {
        "source_mean": np.array([1.0, 2.0]),
        "target_mean": np.array([0.0, 1.0, 2.0]),
        "scale": np.ones(3),
        "matrix": np.array([[1.0, 0.0, 2.0], [0.0, -1.0, 0.5]]),
    }
    write_tensors(tmp_path / "m.safetensors", arrays, {"transform": json.dumps(WRITTEN_BEFORE)})
    loaded = load_transform(tmp_path / "m.safetensors")
    np.testing.assert_allclose(loaded.map_.predict([[2.0, 4.0]]), [[1.0, -1.0, 5.0]])
    assert (loaded.length_, loaded.source_name_, loaded.target_name_) == (None, None, None)
    assert (loaded.worst_error_, loaded.target_names_) == (0.5, ("x", "y", "z"))


def test_the_description_of_a_map_is_plain(tmp_path, runs):
    aligner = KernelAligner(n_centres=30, length="target").fit(*runs)
    aligner.source_name_, aligner.target_name_ = "old", "new"
    save_transform(tmp_path / "m.safetensors", aligner)
    arrays, words = read_tensors(tmp_path / "m.safetensors")
    described = json.loads(words["transform"])
    assert described["kind"] == "kernel-aligner"
    assert described["schema"] == 1
    assert (described["source"], described["target"]) == ("old", "new")
    assert described["length"] == pytest.approx(1.0)
    # As docs say it can be applied without upto.
    centred = runs[0] - arrays["source_mean"]
    distance = ((runs[0][:, None] - arrays["centres"]) ** 2).sum(axis=2)
    kernel = np.exp(-distance / (2 * described["bandwidth"] ** 2))
    found = centred @ arrays["matrix"] + kernel @ arrays["coefficients"] + arrays["constant"]
    found *= described["length"] / np.linalg.norm(found, axis=1)[:, None]
    np.testing.assert_allclose(found, aligner.transform(runs[0]), atol=1e-10)


def changed(path, **changes):
    arrays, words = read_tensors(path)
    described = json.loads(words["transform"])
    for name, value in changes.items():
        into = arrays if name in arrays else described
        into[name] = value
    arrays = {name: array for name, array in arrays.items() if array is not None}
    write_tensors(path, arrays, {"transform": json.dumps(described)})


NAN = np.full(3, np.nan)
HOSTILE = {
    "no centres": ("kernel", {"centres": None}, "it has no centres"),
    "wide centres": ("kernel", {"centres": np.ones((30, 5))}, r"centres has the shape \(30, 5\)"),
    "few weights": ("kernel", {"coefficients": np.ones((29, 3))}, r"shape \(29, 3\)"),
    "infinite": ("kernel", {"coefficients": np.full((30, 3), np.inf)}, "has invalid values"),
    "constant": ("kernel", {"constant": NAN}, "constant has invalid values"),
    "no bandwidth": ("kernel", {"bandwidth": None}, "it has no bandwidth"),
    "zero bandwidth": ("kernel", {"bandwidth": 0.0}, "its bandwidth is 0.0"),
    "below": ("kernel", {"bandwidth": -2.0}, "its bandwidth is -2.0"),
    "huge": ("kernel", {"bandwidth": 1e300}, r"its bandwidth is 1e\+300"),
    "word": ("kernel", {"bandwidth": "wide"}, "not a complete transform"),
    "length": ("kernel", {"length": -1.0}, "the length of its rows is -1.0"),
    "no length": ("ridge", {"length": 0.0}, "the length of its rows is 0.0"),
    "long": ("group", {"length": 1e300}, r"the length of its rows is 1e\+300"),
    "length word": ("ridge", {"length": "target"}, "not a complete transform"),
    "no shrinkage": ("ridge", {"shrinkage": None}, "it has no shrinkage"),
    "negative": ("ridge", {"shrinkage": -1.0}, "its shrinkage is -1.0"),
    "rank": ("ridge", {"rank": 99}, "its rank is 99"),
    "number": ("ridge", {"source": 3}, "not a complete transform"),
    "names": ("ridge", {"target_names": ["a"]}, "1 names for 3 coordinates"),
    "other kind": ("ridge", {"kind": "kernel-aligner"}, "KernelAligner has no parameter 'rank'"),
    "hidden": ("network", {"hidden_bias": np.ones(15)}, r"hidden_bias has the shape|has the shape"),
    "output": ("network", {"output_weights": np.ones((16, 4))}, "output_weights has the shape"),
    "device": ("network", {"parameters": {"device": "cpu"}}, "has no parameter 'device'"),
    "epochs": ("network", {"n_iter": None}, "it has no n_iter"),
    "weights": ("network", {"hidden_weights": np.full((4, 16), 1e300)}, "has invalid values"),
}


@pytest.mark.parametrize(("name", "changes", "message"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_is_refused(tmp_path, runs, name, changes, message):
    path = tmp_path / "map.safetensors"
    save_transform(path, MAKERS[name][0](length="target").fit(*runs))
    changed(path, **changes)
    with pytest.raises(InputError, match=message) as refused:
        load_transform(path)
    assert "\n" not in str(refused.value)
