"""Pairings and half-samples that share what is fitted: the same scores, and p-values that hold."""

from __future__ import annotations

import numpy as np
import pytest

from upto.measures.calibration import adjusted_p_values, p_value
from upto.measures.catalogue import find_measures
from upto.measures.families import pairings_per_fit
from upto.measures.kinds import MomentMeasure
from upto.measures.moments import pair_moments
from upto.measures.permutation import score_pairs
from upto.measures.resample import (
    Pairings,
    draw_halves,
    draw_pairings,
    share_fits,
    share_halves,
)

UNSEPARATED = MomentMeasure(
    name="unseparated", title="", says="", source="", low=-np.inf, high=np.inf, ignores=frozenset(),
    score=lambda fit, held: float(np.vdot(fit.cross, held.cross)), symmetric=False,
)  # fmt: skip
FITTED = (
    *find_measures(["mean-cca", "procrustes", "mcc", "r2", "r2-cebra", "pwcca", "svcca:3"]),
    *find_measures(["soft-correlation-match", "semi-correlation-match", "shape:0.5", "rcca"]),
    UNSEPARATED,
)
PARTS = (np.arange(40) % 2).astype(int)
CELLS = np.sort(PARTS)


def shared_orders(count=23, shared=4, seed=0):
    pairings = draw_pairings(CELLS, count, seed)
    return pairings.orders, share_fits(pairings, 20, shared, seed).orders


@pytest.mark.parametrize(("count", "shared"), [(23, 4), (24, 5), (19, 3), (7, 8)])
def test_successive_pairings_share_fitted_rows_and_differ_in_others(count, shared):
    own, orders = shared_orders(count, shared)
    np.testing.assert_array_equal(orders[:, 20:], own[:, 20:])
    for order in orders:
        assert (CELLS[order] == CELLS).all()
        assert sorted(order) == list(range(40))
    fits, counts = np.unique(orders[:, :20], axis=0, return_counts=True)
    # The true pairing has a place as well.
    is_true = (fits == np.arange(20)).all(axis=1)
    sizes = sorted(counts + is_true) if is_true.any() else sorted([*counts, 1])
    blocks = [min(shared, count + 1 - start) for start in range(0, count + 1, shared)]
    assert sizes == sorted(blocks)


def test_every_place_of_the_true_pairing_is_taken_with_the_same_chance():
    alone = 0
    for seed in range(400):
        _, orders = shared_orders(8, 2, seed)
        alone += not (orders[:, :20] == np.arange(20)).all(axis=1).any()
    # Of nine places in pairs the last is alone.
    assert 400 / 9 - 30 < alone < 400 / 9 + 30


def test_all_pairings_of_few_rows_are_not_shared():
    complete = Pairings(orders=np.array([[1, 0, 2], [0, 2, 1]]), complete=True)
    assert share_fits(complete, 2, 4, 0) is complete


def test_successive_halves_share_fitted_rows():
    halves = draw_halves(CELLS, 10, 0)
    blocks = share_halves(halves, 20, 4)
    assert [len(block) for block in blocks] == [4, 4, 2]
    flat = [half for block in blocks for half in block]
    for half, own in zip(flat, halves, strict=True):
        np.testing.assert_array_equal(half[half >= 20], own[own >= 20])
    for block in blocks:
        for half in block:
            np.testing.assert_array_equal(half[half < 20], block[0][block[0] < 20])
    assert [[*half] for half in flat] != [[*half] for half in halves]


@pytest.mark.parametrize("widths", [(5, 5), (30, 25)], ids=["narrow", "wide"])
@pytest.mark.parametrize("measure", FITTED, ids=str)
def test_scores_that_share_a_fit_are_those_of_the_measure_itself(measure, widths, rng):
    source = rng.normal(size=(40, 4))
    x, y = (source @ rng.normal(size=(4, width)) + rng.normal(size=(40, width)) for width in widths)
    options = {"parts": PARTS, "permutations": 23, "half_samples": 8, "shared": 4, "seed": 0}
    pairs = [(0, 1)] if measure.symmetric else [(0, 1), (1, 0)]
    arranged = np.argsort(PARTS, kind="stable")
    bare = [x[arranged], y[arranged]]
    _, orders = shared_orders()
    halves = [half for block in share_halves(draw_halves(CELLS, 8, 0), 20, 3) for half in block]

    def directly(first, second, fitted):
        return measure.scored(
            *(pair_moments(first[part], second[part]) for part in (fitted, ~fitted))
        )

    for each in score_pairs([x, y], pairs, [measure], **options):
        fitted = np.arange(40) < 20
        a, b = bare[each.first], bare[each.second]
        for order, value in zip(orders, each.null, strict=True):
            turned = (a, b[order]) if each.first < each.second else (a[order], b)
            assert value == pytest.approx(directly(*turned, fitted), abs=1e-10)
        for half, value in zip(halves, each.halves, strict=True):
            assert value == pytest.approx(directly(a[half], b[half], half < 20), abs=1e-10)


def test_measures_without_a_fit_keep_independent_pairings(rng):
    runs = [rng.normal(size=(40, 5)) for _ in range(2)]
    measures = find_measures(["linear-cka", "mutual-knn:3", "udr"])
    options = {"parts": PARTS, "permutations": 20, "half_samples": 10}
    usual = score_pairs(runs, [(0, 1)], measures, **options)
    shared = score_pairs(runs, [(0, 1)], measures, shared=5, **options)
    for one, other in zip(usual, shared, strict=True):
        np.testing.assert_allclose(one.null, other.null, atol=1e-6)
        np.testing.assert_allclose(one.halves, other.halves, atol=1e-6)


def test_only_fitted_measures_of_wide_runs_share(rng):
    wide, narrow = rng.normal(size=(2, 700, 300)), rng.normal(size=(2, 700, 10))
    fitted, plain = find_measures(["mean-cca", "linear-cka"]), find_measures(["linear-cka"])
    assert pairings_per_fit(fitted, wide, 350) == 8
    assert pairings_per_fit(plain, wide, 350) == 1
    assert pairings_per_fit(fitted, narrow, 350) == 1
    assert pairings_per_fit(fitted, wide, 0) == 1
    assert pairings_per_fit(fitted, wide, 670) == 1


@pytest.mark.slow
@pytest.mark.parametrize("shared", [1, 5, 10])
def test_p_values_of_unrelated_runs_are_uniform(shared):
    measures = find_measures(["mean-cca", "procrustes", "mcc", "linear-cka"])
    trials, found, adjusted = 600, [], []
    rng = np.random.default_rng(1)
    scales = np.array([5.0, 2.0, 1.0, 0.5])
    for seed in range(trials):
        x, y = (rng.standard_t(4, size=(40, 4)) * scales for _ in range(2))
        scored = score_pairs(
            [x, y], [(0, 1)], measures, parts=PARTS, permutations=39, half_samples=0,
            shared=shared, seed=seed,
        )  # fmt: skip
        found.append([p_value(each) for each in scored])
        adjusted.append(min(adjusted_p_values(scored)))
    for level in (0.05, 0.1, 0.25, 0.5):
        slack = 4 * np.sqrt(level * (1 - level) / trials)
        shares = np.mean(np.array(found) <= level + 1e-9, axis=0)
        assert (shares <= level + slack).all(), (level, shares)
        assert (shares >= level - slack).all(), (level, shares)
        assert np.mean(np.array(adjusted) <= level + 1e-9) <= level + slack
