"""Rows that follow or copy each other, in `similarity`, `consensus` and `inspect`."""

import numpy as np
import pytest
import scipy.signal
from checks.unrelated import UNRELATED

import upto
from upto.evidence.pairings import _bounded
from upto.measures.resample import draw_halves, draw_shifts

MEASURES = ("linear-cka", "rank-knn:10", "mean-cca")


def codes(result):
    return {finding.code for finding in result.findings}


def small_p_values(kind, n_samples, trials, **options):
    count = dict.fromkeys(MEASURES, 0)
    found = set()
    for trial in range(trials):
        runs = UNRELATED[kind](np.random.default_rng((11, trial)), n_samples, 4)
        result = upto.similarity(
            *runs, measures=MEASURES, permutations=19, half_samples=0, seed=trial, **options
        )
        for row in result.rows:
            count[row.measure] += row.p_value <= 0.05
        found |= codes(result)
    return count, found


@pytest.mark.parametrize(
    ("kind", "n_samples", "code"),
    [
        pytest.param("memory 0.5", 200, "UP036", marks=pytest.mark.slow),
        pytest.param("memory 0.9", 1200, "UP036", marks=pytest.mark.slow),
        pytest.param("near copies in fives", 200, "UP037", marks=pytest.mark.slow),
        ("near copies in pairs", 200, "UP037"),
        ("one very far row", 200, "UP039"),
        pytest.param("3 % far rows", 200, "UP039", marks=pytest.mark.slow),
    ],
)
def test_unrelated_runs_of_such_rows_are_not_similar(kind, n_samples, code):
    trials = 20
    count, found = small_p_values(kind, n_samples, trials)
    assert code in found
    # Six of twenty have a chance of 3 in 10,000 at a level of 5 %; it was twenty of twenty.
    assert max(count.values()) < 6, count


@pytest.mark.parametrize("kind", ["random walks", "memory 0.99"])
def test_rows_that_are_worth_too_few_have_no_p_value(kind):
    x, y = UNRELATED[kind](np.random.default_rng(0), 400, 4)
    result = upto.similarity(x, y)
    assert result.n_pairings == 0
    assert {(row.p_value, row.chance, row.limit) for row in result.rows} == {(1.0, None, None)}
    assert "are not distinguishable from chance" in result.verdict
    (remark,) = (each.message for each in result.findings if each.code == "UP028")
    assert "a test needs 30" in remark


def test_related_time_series_are_similar():
    x, noise = UNRELATED["memory 0.9"](np.random.default_rng(0), 1200, 4)
    result = upto.similarity(
        x, x + 0.5 * noise, measures=MEASURES, permutations=39, half_samples=20
    )
    assert all(row.p_value <= 0.05 for row in result.rows)
    assert all(row.value.low < row.value.value < row.value.high for row in result.rows)


def test_values_are_those_of_the_rows_as_they_are():
    # Only what is called chance depends on their order.
    x, noise = UNRELATED["memory 0.9"](np.random.default_rng(0), 1500, 4)
    runs = x, x + 0.5 * noise
    order = np.random.default_rng(1).permutation(1500)
    ordered = upto.similarity(*runs, measures="linear-cka")
    shuffled = upto.similarity(*(run[order] for run in runs), measures="linear-cka")
    assert "UP036" in codes(ordered) - codes(shuffled)
    assert ordered.rows[0].value.value == pytest.approx(shuffled.rows[0].value.value, rel=1e-9)
    assert ordered.rows[0].limit > shuffled.rows[0].limit


def test_far_rows_that_runs_share_beside_all_else_do_not_hide_it():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 4))
    x[:6] *= 30
    result = upto.similarity(x, x + 0.3 * rng.normal(size=x.shape), measures=MEASURES)
    assert "UP039" in codes(result)
    assert all(row.p_value <= 0.05 for row in result.rows)


def test_shifts_keep_what_follows_what_within_parts():
    parts = np.repeat([0, 1], [30, 20])
    orders = draw_shifts(parts, 4, 50, 0).orders
    assert orders.shape == (50, 50)
    for part, size in ((0, 30), (1, 20)):
        moved = orders[:, parts == part] - (0 if part == 0 else 30)
        np.testing.assert_array_equal(np.sort(moved, axis=1), np.tile(np.arange(size), (50, 1)))
        assert set(np.unique(np.diff(moved, axis=1) % size)) == {1}
        by = moved[:, 0]
        assert by.min() >= 4
        assert by.max() <= size - 4
        assert len(np.unique(by)) > 5


def test_parts_too_short_to_move_have_no_shifts():
    assert draw_shifts(np.repeat([0, 1], [30, 5]), 4, 50, 0).orders.shape == (0, 35)


def test_half_samples_of_stretches_are_half_of_every_part():
    parts = np.repeat([0, 1], [60, 40])
    for half in draw_halves(parts, 20, 0, stretch=5):
        assert np.bincount(parts[half]).tolist() == [30, 20]
        starts = half[np.concatenate([[True], np.diff(half) > 1])]
        assert set(starts % 5) == {0}


@pytest.mark.parametrize("up_to", ["rigid", "ica", "signed-permutation"])
def test_time_series_that_share_nothing_have_no_consensus(up_to):
    rng = np.random.default_rng(3)
    runs = [UNRELATED["memory 0.9"](rng, 2000, 3)[0] for _ in range(3)]
    result = upto.consensus(*runs, up_to=up_to)
    assert "UP036" in codes(result)
    assert result.in_every_run == ()
    assert sum(run.belongs for run in result.runs) == 0


def test_time_series_that_share_all_have_one():
    rng = np.random.default_rng(3)
    rows = np.cumsum(rng.laplace(size=(6000, 3)), axis=0)
    rows = rows[1:] - 0.9 * rows[:-1]
    runs = [rows @ np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(3)]
    result = upto.consensus(*runs)
    assert "UP036" in codes(result)
    assert result.in_every_run == (0, 1, 2)


def test_dependent_gaussian_rows_are_inspected_as_such():
    for seed in range(2):
        x = UNRELATED["memory 0.9"](np.random.default_rng(seed), 10_000, 5)[0]
        result = upto.inspect(x, seed=seed)
        assert codes(result) >= {"UP003", "UP036"}
        assert result.n_near_gaussian == 5
    (remark,) = (each.message for each in result.findings if each.code == "UP036")
    assert "in every run" not in remark


def test_rows_worth_too_few_are_not_called_gaussian_or_not():
    x = UNRELATED["memory 0.99"](np.random.default_rng(0), 10_000, 5)[0]
    result = upto.inspect(x)
    assert result.n_near_gaussian is None
    assert "Gaussianity of components not tested" in result.verdict
    assert any("worth 30 independent rows" in each.message for each in result.findings)


@pytest.mark.parametrize("kind", ["copies", "negative memory", "a season of twenty"])
def test_gaussian_rows_that_repeat_each_other_have_no_identifiable_component(kind):
    found = set()
    for seed in range(3):
        rng = np.random.default_rng(seed)
        if kind == "copies":
            rows = np.repeat(rng.normal(size=(500, 4)), 4, axis=0)[rng.permutation(2000)]
            rows += 1e-3 * rng.normal(size=rows.shape)
        else:
            after = [1.0, 0.95] if kind == "negative memory" else [1.0, *[0.0] * 19, -0.98]
            noise = rng.normal(size=(3000, 5))
            rows = scipy.signal.lfilter([1.0], after, noise, axis=0)[1000:]
        result = upto.unmix(rows, seed=seed)
        assert not result.n_identifiable
        found |= codes(result)
    assert ("UP037" if kind == "copies" else "UP033") in found


def test_rows_without_anything_new_are_no_trouble():
    # Warnings are errors here: a length of zero is not divided by.
    rows = np.zeros((8, 2))
    rows[-1] = 1.0
    np.testing.assert_allclose(_bounded(rows), np.zeros((8, 2)))
    np.testing.assert_allclose(_bounded(np.zeros((0, 2))), np.zeros((0, 2)))


def test_short_walks_that_share_nothing_are_seldom_related():
    related = 0
    for seed in range(12):
        walks = np.random.default_rng(seed).normal(size=(2, 30, 3)).cumsum(axis=1)
        found = upto.compare(*walks, ica=False, refits=0, seed=seed)
        related += found.agreement not in ("chance", "undecided")
    # Of so few rows, none showed a memory before, and nine of twelve were related.
    assert related <= 2
