"""The map of a row of a comparison, as a fitted estimator."""

from __future__ import annotations

import gc
import json
import weakref
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

import upto
from upto.core import Embeddings, Group, InputError
from upto.engines import choose_engine
from upto.evidence.held_out_rows import choose_held_out

ROWS, SEED = 600, 4


@pytest.fixture(scope="module")
def runs():
    rng = np.random.default_rng(7)
    first = rng.laplace(size=(ROWS, 4)) * [1, 2, 3, 4] + 5
    second = np.sinh(first[:, [2, 0, 3, 1]] / 9) @ (np.eye(4) + 0.1 * rng.normal(size=(4, 4)))
    return first, second + 0.05 * rng.normal(size=second.shape)


@pytest.fixture(scope="module")
def result(runs):
    return upto.compare(*runs, seed=SEED, refits=1)


@pytest.fixture(scope="module")
def held_out(runs):
    embeddings = [
        Embeddings(rows=rows, name=name)
        for rows, name in zip(runs, ("first", "second"), strict=True)
    ]
    split, _ = choose_held_out(choose_engine(None), embeddings, 0.3, SEED)
    return split.parts == 1


@pytest.mark.parametrize("name", [*map(str, Group), "ica", "ica-scaled"])
def test_the_aligner_of_a_row_has_its_held_out_error(runs, result, held_out, name):
    first, second = (rows[held_out] for rows in runs)
    aligner, fit = result.aligner(name), result.fit(name)
    assert result.n_held_out == held_out.sum()
    errors = np.linalg.norm(aligner.transform(first) - second, axis=1)
    diameter = result.second.diameter.value
    assert errors.mean() / diameter == pytest.approx(fit.held_out.mean.value, rel=1e-9)
    assert errors.max() / diameter == pytest.approx(fit.held_out.worst, rel=1e-9)
    assert aligner.score(first, second) == pytest.approx(fit.held_out.r2, abs=1e-9)
    if name not in ("ica", "ica-scaled"):
        ours = upto.Aligner(name).fit(*(rows[~held_out] for rows in runs))
        np.testing.assert_allclose(aligner.transform(first), ours.transform(first), atol=1e-9)
        assert aligner.get_params() == ours.get_params()
    else:
        assert aligner.up_to == "affine"


def test_the_default_is_the_group_of_the_verdict(runs, result):
    assert result.up_to is not None
    wanted = result.aligner(result.up_to).transform(runs[0])
    np.testing.assert_array_equal(result.aligner().transform(runs[0]), wanted)


def test_runs_of_other_width_and_without_held_out_rows_have_maps_too(runs):
    first, second = runs
    narrow = upto.compare(first, second[:, :3], held_out=0, ica=False, refits=0, up_to="affine")
    aligner = narrow.aligner("affine")
    assert narrow.n_held_out == 0
    score = aligner.score(first, second[:, :3])
    assert score == pytest.approx(narrow.affine.in_sample.r2, abs=1e-9)


def test_a_map_goes_through_a_file(tmp_path, runs, result):
    upto.save_transform(tmp_path / "map.safetensors", result.aligner("rigid"))
    upto.apply_transform(tmp_path / "map.safetensors", runs[0], output=tmp_path / "out.npy")
    wanted = result.aligner("rigid").transform(runs[0])
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), wanted, atol=1e-12)


def test_maps_know_the_names_of_columns(tmp_path, runs):
    frame = pd.DataFrame(runs[0], columns=list("abcd"))
    frame.to_csv(tmp_path / "first.csv", index=False)
    np.save(tmp_path / "second.npy", runs[1])
    options = {"ica": False, "refits": 0, "up_to": "rigid"}
    for first in (frame, tmp_path / "first.csv"):
        aligner = upto.compare(first, tmp_path / "second.npy", **options).aligner("rigid")
        assert list(aligner.feature_names_in_) == list("abcd")
    assert not hasattr(upto.compare(*runs, **options).aligner("rigid"), "feature_names_in_")


def test_maps_are_no_part_of_json_repr_or_equality(result):
    text = result.to_json()
    assert "maps" not in json.loads(text)
    again = upto.CompareResult.from_json(text)
    assert again == result
    assert "AffineMap" not in repr(result)
    with pytest.raises(InputError, match="read from a file, which has no maps: compare the runs"):
        again.aligner("rigid")
    forged = json.dumps(json.loads(text) | {"maps": {"maps": {"rigid": 1}}})
    assert upto.CompareResult.from_json(forged).maps is None


def test_what_has_no_map_says_so(runs, result):
    with pytest.raises(InputError, match=r"no row 'conformal': choose one of identity, signed-"):
        result.aligner("conformal")
    with pytest.raises(InputError, match="no row ''"):
        result.aligner("")
    with pytest.raises(InputError, match=r"the verdict names no group: choose one of identity"):
        replace(result, up_to=None).aligner()
    three = upto.compare(*runs, runs[0], ica=False, up_to="rigid")
    with pytest.raises(InputError, match=r"kept for two runs, but this result has 3: compare two"):
        three.aligner()


def test_a_result_keeps_no_rows(runs):
    first, second = (rows.copy() for rows in runs)
    found = upto.compare(first, second, refits=0, up_to="affine")
    ends = [weakref.ref(rows) for rows in (first, second)]
    del first, second
    gc.collect()
    assert [end() for end in ends] == [None, None]
    for each in found.maps.maps.values():
        for field in fields(each):
            array = getattr(each, field.name)
            while array is not None:
                assert array.nbytes <= 4 * 4 * 8
                array = array.base


def test_a_map_of_narrow_directions_keeps_no_rows(rng):
    second = rng.normal(size=(400, 3)) * [1, 1, 1e-9]
    first = second @ rng.normal(size=(3, 3))
    found = upto.compare(first, second, ica=False, refits=0)
    assert found.maps.maps["affine"].matrix.base is None
    aligned = found.aligner("affine").transform(first)
    np.testing.assert_allclose(aligned, second, atol=1e-12)
