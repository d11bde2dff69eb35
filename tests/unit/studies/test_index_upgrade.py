"""Pairs of models are read with care, and what their recall is made of is what it says."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from upto.core import Estimate, InputError
from upto.measures.nearest import Searchable
from upto.measures.recall import depth_for, search
from upto_studies.run import run_study
from upto_studies.upgrade_recall import (
    PredictedSize,
    elsewhere,
    fewer_pairs,
    predicted_sizes,
    recall_difference,
)
from upto_studies.upgraded_models import (
    SOURCES,
    TEXTS_FILE,
    Upgrade,
    next_version,
    read_upgrade,
)


def write(folder, rng, **changes):
    arrays = {
        "wordllama": rng.normal(size=(40, 3)).astype(np.float16),
        "minilm": rng.normal(size=(40, 5)).astype(np.float16),
        "is_verse": np.arange(40) < 30,
    }
    np.savez(folder / TEXTS_FILE, **{**arrays, **changes})


def test_texts_are_verses_and_passages(tmp_path, rng):
    (tmp_path / "reps").mkdir()
    write(tmp_path / "reps", rng)
    upgrade = read_upgrade("texts", tmp_path)
    assert (upgrade.old.shape, upgrade.new.shape) == ((30, 3), (30, 5))
    assert [rows.shape for rows in upgrade.elsewhere] == [(10, 3), (10, 5)]
    assert upgrade.old.dtype == np.float64


@pytest.mark.parametrize("name", SOURCES)
def test_what_is_missing_says_how_to_get_it(name, tmp_path, monkeypatch):
    with pytest.raises(InputError, match=rf"has no {SOURCES[name].file}: .* as --data\.$"):
        read_upgrade(name, tmp_path)
    monkeypatch.delenv("UPTO_DATA", raising=False)
    with pytest.raises(InputError, match=r"do not come with upto: .* as --data"):
        read_upgrade(name, None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"minilm": np.ones((39, 5))}, "40 rows of wordllama and 39 of minilm"),
        ({"minilm": np.ones(40)}, "no rows of a model in an array minilm"),
        ({"wordllama": np.full((40, 3), np.nan)}, "values in wordllama that are not finite"),
        ({"is_verse": np.ones(7, dtype=bool)}, "all arrays must be of the same inputs"),
        ({"is_verse": np.array([{}] * 40)}, "cannot be read as arrays"),
    ],
)
def test_rows_of_other_inputs_are_refused(changes, message, tmp_path, rng):
    write(tmp_path, rng, **changes)
    with pytest.raises(InputError, match=message):
        read_upgrade("texts", tmp_path)


def test_a_simulated_version_is_a_rotation_but_for_its_drift(rng):
    rows = rng.normal(size=(4000, 6)) @ rng.normal(size=(6, 6)) + 3.0
    turned = next_version(rows, 0.0, 1)
    np.testing.assert_allclose(turned @ turned.T, rows @ rows.T, rtol=1e-9, atol=1e-9)
    drifted = next_version(rows, 0.2, 1)
    centred = [each - each.mean(axis=0) for each in (rows, drifted)]
    left = centred[1] - centred[0] @ np.linalg.lstsq(*centred, rcond=None)[0]
    assert (left**2).sum() / (centred[1] ** 2).sum() == pytest.approx(0.2, abs=0.02)
    assert np.trace(np.cov(drifted.T)) == pytest.approx(np.trace(np.cov(rows.T)), rel=0.05)


def test_rows_of_one_length_keep_it(rng):
    rows = rng.normal(size=(200, 4))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    lengths = np.linalg.norm(next_version(rows, 0.1, 0), axis=1)
    np.testing.assert_allclose(lengths, 1.0)


def test_the_difference_of_two_recalls_is_that_of_their_means(rng):
    rows = rng.normal(size=(600, 5))
    noisy = rows + 0.3 * rng.normal(size=rows.shape)
    spaces = {
        "same": Searchable.by("euclidean", rows, rows),
        "noisy": Searchable.by("euclidean", noisy, noisy),
    }
    found = search(spaces["same"], spaces, 600, depth_for(10))
    gain = recall_difference(found, "same", "noisy", 0)
    assert gain.value == pytest.approx(1.0 - found.recalls([10])["noisy"].mean())
    assert gain.low < gain.value < gain.high
    assert gain.low > 0.1
    assert recall_difference(found, "noisy", "noisy", 0) == Estimate(value=0.0, low=0.0, high=0.0)


def test_a_prediction_is_covered_by_its_interval_only():
    def predicted(value, low, high):
        return PredictedSize(
            case="a", search="rigid", n_searched=500, n_rows=2000,
            predicted=Estimate(value=value, low=low, high=high), measured=0.5,
        )  # fmt: skip

    assert predicted(0.6, 0.45, 0.7).is_covered
    assert not predicted(0.6, 0.55, 0.7).is_covered
    assert predicted(0.5, 0.4, 0.6).height_error == 0.0
    # Two doublings: half of the distance of 0.8413 from 0.5 on the scale of the normal quantile.
    assert predicted(0.84134, 0.4, 0.9).height_error == pytest.approx(0.5, abs=1e-3)


def test_a_quarter_of_the_pairs_is_two_halvings_below_all():
    from upto.questions.align.result import PairsPoint

    curve = tuple(
        PairsPoint(n_pairs=n, name="ridge", recall=Estimate(value=value))
        for n, value in ((50, 0.1), (100, 0.3), (200, 0.5), (400, 0.6))
    )
    assert fewer_pairs(curve, "ridge", 2) == pytest.approx(0.5)
    assert fewer_pairs(curve, "ridge", 4) is None
    assert fewer_pairs(curve, "rigid", 1) is None


@pytest.fixture
def settings():
    return SimpleNamespace(
        metric="euclidean", searched=0.7, n_queries=500, halvings=2, most_parts=2
    )


@pytest.fixture
def upgrade(rng):
    """Return a pair that differs by noise, and rows elsewhere that are turned otherwise."""
    old = rng.normal(size=(2400, 6))
    turns = [np.linalg.qr(rng.normal(size=(6, 6)))[0] for _ in range(2)]
    new = old @ turns[0] + 0.1 * rng.normal(size=old.shape)
    away = rng.normal(size=(600, 6)) + 9.0
    return Upgrade(name="drawn", title="", old=old, new=new, elsewhere=(away, away @ turns[1]))


def test_an_index_is_predicted_from_its_parts(upgrade, settings):
    found = predicted_sizes(upgrade, "rigid", settings, 0)
    assert [(each.n_searched, each.search) for each in found] == [
        (size, name) for size in (840, 840, 420, 420) for name in ("rigid", "old model")
    ]
    assert {each.n_rows for each in found} == {1680}
    assert {each.measured for each in found if each.search == "rigid"} == {found[0].measured}
    assert all(0.4 < each.measured < 0.9 for each in found)
    assert all(abs(each.predicted.value - each.measured) < 0.08 for each in found)


def test_a_map_of_the_pairs_loses_where_the_models_are_turned_otherwise(upgrade, settings):
    found = elsewhere(upgrade, "rigid", settings, 0)
    assert found.by_own.value == 1.0
    assert found.difference.value == pytest.approx(found.by_pairs.value - 1.0)
    assert found.difference.high < -0.3
    assert found.unlike > 0.9
    assert found.n_fitted == (1680, 420)


@pytest.mark.slow
def test_the_tiny_study_needs_no_data_and_finds_what_we_expect():
    result = run_study("index-upgrade", size="tiny")
    by_name = {each.name: each for each in result.quantities}
    assert by_name["simulated: recall@10, drift 0"].measured.value == 1.0
    assert by_name["carried"].measured.value == 0.0
    assert all(each.meets in (None, "yes", "open") for each in result.quantities)
    assert by_name["excerpt: back@10 by the best map of Drift-Adapter"].measured.value < 0.9
