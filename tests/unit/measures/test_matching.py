"""Matched coordinates: values that can be worked out, what is fitted, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats

from upto.core import InputError
from upto.measures.correlations import MEAN_CCA
from upto.measures.matching import (
    HARD_CORRELATION_MATCH,
    MCC,
    MCC_RDC,
    MCC_SPEARMAN,
    SEMI_CORRELATION_MATCH,
    SOFT_CORRELATION_MATCH,
    WEAK_MCC,
)
from upto.measures.moments import pair_moments
from upto.measures.udr import UDR, udr_scores

pytestmark = pytest.mark.slow

ROUNDING = 1e-12
MATCHING = (MCC, MCC_SPEARMAN, MCC_RDC, WEAK_MCC, HARD_CORRELATION_MATCH, SOFT_CORRELATION_MATCH)
FITTED = (*MATCHING, SEMI_CORRELATION_MATCH)


def held_out(measure, first, second, cut=None):
    """Fit a measure on the first rows and score it on the rest."""
    cut = cut or len(first) // 2
    parts = [
        pair_moments(measure.prepared(first[rows]), measure.prepared(second[rows]))
        for rows in (slice(None, cut), slice(cut, None))
    ]
    return measure.scored(*parts)


def signed_permutation(rng, rows):
    order = rng.permutation(rows.shape[1])
    return rows[:, order] * rng.choice([-1.0, 1.0], size=len(order))


@pytest.mark.parametrize(
    "measure", [MCC, MCC_SPEARMAN], ids=lambda each: getattr(each, "name", None)
)
def test_signed_permutations_score_one(measure, rng):
    rows = rng.laplace(size=(200, 6))
    other = signed_permutation(rng, rows) * rng.uniform(0.1, 10, size=6) + rng.normal(size=6)
    assert measure(rows, other) == pytest.approx(1, abs=ROUNDING)
    assert held_out(measure, rows, other) == pytest.approx(1, abs=ROUNDING)


@pytest.mark.parametrize(
    "measure",
    [HARD_CORRELATION_MATCH, SOFT_CORRELATION_MATCH],
    ids=lambda each: getattr(each, "name", None),
)
def test_correlation_match_scores_one_for_permutations_but_not_for_signs(measure, rng):
    rows = rng.laplace(size=(200, 6))
    assert measure(rows, rows[:, ::-1]) == pytest.approx(1, abs=ROUNDING)
    assert measure(rows, -rows) < 0.3


@pytest.mark.parametrize(
    "measure", [MCC, HARD_CORRELATION_MATCH], ids=lambda each: getattr(each, "name", None)
)
@pytest.mark.parametrize("widths", [(4, 4), (3, 5), (5, 3)])
def test_the_matching_is_the_best_of_all(measure, widths, rng):
    first, second = (rng.normal(size=(30, width)) for width in widths)
    table = np.corrcoef(first.T, second.T)[: widths[0], widths[0] :]
    table = np.abs(table) if measure is MCC else table
    table = table if widths[0] <= widths[1] else table.T
    best = max(
        np.mean([table[i, j] for i, j in enumerate(chosen)])
        for chosen in itertools.permutations(range(max(widths)), min(widths))
    )
    assert measure(first, second) == pytest.approx(best, abs=ROUNDING)


@pytest.mark.parametrize("angle", [0.0, np.arccos(0.89), np.pi / 4, 1.2])
def test_a_rotation_of_laplace_latents_costs_strong_but_not_weak_mcc(angle, rng):
    rows = rng.laplace(size=(40_000, 2))
    turned = rows @ [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    expected = max(np.cos(angle), np.sin(angle))
    assert MCC(rows, turned) == pytest.approx(expected, abs=0.01)
    assert held_out(MCC, rows, turned) == pytest.approx(expected, abs=0.02)
    assert WEAK_MCC(rows, turned) == pytest.approx(1, abs=ROUNDING)
    assert held_out(WEAK_MCC, rows, turned) == pytest.approx(1, abs=ROUNDING)


@pytest.mark.parametrize(
    "measure", [MCC_SPEARMAN, MCC_RDC, UDR], ids=lambda each: getattr(each, "name", None)
)
def test_increasing_functions_of_coordinates_leave_ranks_as_they_are(measure, rng):
    rows = rng.laplace(size=(200, 4))
    other = rows + 0.5 * rng.normal(size=rows.shape)
    value = measure(rows, other)
    assert measure(rows, np.sinh(3 * other)) == pytest.approx(value, abs=ROUNDING)
    assert measure(np.arctan(rows), other) == pytest.approx(value, abs=ROUNDING)
    assert abs(MCC(rows, np.sinh(3 * other)) - MCC(rows, other)) > 0.1


@pytest.mark.parametrize(
    ("measure", "at_least"),
    [
        (MCC, 0.1),
        (MCC_SPEARMAN, 0.1),
        (MCC_RDC, 0.2),
        (WEAK_MCC, 0.1),
        (HARD_CORRELATION_MATCH, 0.07),
        (SOFT_CORRELATION_MATCH, 0.07),
        (SEMI_CORRELATION_MATCH, 0.07),
    ],
    ids=lambda each: getattr(each, "name", None),
)
def test_noise_scores_nothing_where_it_was_not_fitted(measure, at_least):
    fresh, fitted = [], []
    for seed in range(30):
        first, second = np.random.default_rng(seed).normal(size=(2, 400, 6))
        fresh.append(held_out(measure, first, second))
        fitted.append(measure(first[:200], second[:200]))
    assert np.mean(fitted) > at_least
    assert abs(np.mean(fresh)) < 4 * np.std(fresh) / np.sqrt(30)
    assert np.std(fresh) < 0.06


@pytest.mark.parametrize(
    "measure",
    [MCC, MCC_SPEARMAN, HARD_CORRELATION_MATCH],
    ids=lambda each: getattr(each, "name", None),
)
def test_signs_are_fitted_with_the_matching(measure, rng):
    rows = rng.normal(size=(100, 3))
    other = rows.copy()
    other[50:] *= -1
    assert held_out(measure, rows, other) == pytest.approx(-1, abs=ROUNDING)


@pytest.mark.parametrize("constant", [0.0, 0.1, 3.3, 1e9 + 0.1])
@pytest.mark.parametrize(
    "measure", [MCC, MCC_SPEARMAN, MCC_RDC], ids=lambda each: getattr(each, "name", None)
)
def test_a_constant_coordinate_correlates_with_nothing(measure, constant, rng):
    """Also not with another one, though both are their rounded mean away from it."""
    rows = np.column_stack([rng.normal(size=(20_000, 3)), np.full(20_000, constant)])
    assert measure(rows, rows) == pytest.approx(0.75, abs=1e-9)
    assert held_out(measure, rows, rows) == pytest.approx(0.75, abs=1e-9)


@pytest.mark.parametrize("measure", FITTED, ids=lambda each: getattr(each, "name", None))
def test_what_varies_only_where_it_is_fitted_or_only_elsewhere_counts_nothing(measure, rng):
    rows = rng.normal(size=(4000, 2))
    for still in (slice(None, 2000), slice(2000, None)):
        other = rows.copy()
        other[still] = 2.0
        assert held_out(measure, rows, other) == 0
        assert held_out(measure, other, rows) == 0
        assert held_out(measure, other, other) == 0


@pytest.mark.parametrize("measure", FITTED, ids=lambda each: getattr(each, "name", None))
def test_rounding_of_rows_that_do_not_vary_is_not_scored(measure, rng):
    """So many equal numbers are a rounding away from their mean, in both runs."""
    rows = rng.normal(size=(60_000, 2))
    rows[30_000:] = 3.3
    assert held_out(measure, rows, rows) == 0


@pytest.mark.parametrize("measure", [*FITTED, UDR], ids=lambda each: getattr(each, "name", None))
def test_a_run_without_variance_scores_zero(measure, rng):
    rows = rng.normal(size=(20, 3))
    assert measure(rows, np.ones((20, 2))) == 0
    assert measure(np.ones((20, 2)), rows) == 0


@pytest.mark.parametrize(
    "measure",
    [MCC, MCC_SPEARMAN, MCC_RDC, WEAK_MCC, HARD_CORRELATION_MATCH],
    ids=lambda each: getattr(each, "name", None),
)
def test_a_run_of_some_coordinates_of_another_matches_them(measure, rng):
    rows = rng.laplace(size=(200, 7))
    assert measure(rows, rows[:, [5, 1, 2]]) == pytest.approx(1, abs=1e-9)
    assert measure(rows[:, [5, 1, 2]], rows) == pytest.approx(1, abs=1e-9)


def test_matches_that_use_coordinates_repeatedly_depend_on_which_run_is_first(rng):
    rows = rng.normal(size=(100, 2))
    between = np.corrcoef(rows.T)[0, 1]
    semi = SEMI_CORRELATION_MATCH
    assert semi(rows, rows[:, :1]) == pytest.approx((1 + between) / 2, abs=ROUNDING)
    assert semi(rows[:, :1], rows) == pytest.approx(1, abs=ROUNDING)
    expected = (1 + (1 + between) / 2) / 2
    assert SOFT_CORRELATION_MATCH(rows, rows[:, :1]) == pytest.approx(expected, abs=ROUNDING)
    assert HARD_CORRELATION_MATCH(rows, rows[:, :1]) == pytest.approx(1, abs=ROUNDING)


def test_weak_mcc_is_the_mean_of_the_leading_canonical_correlations(rng):
    planted = np.array([0.9, 0.6, 0.3])
    first, rest = rng.normal(size=(2, 100_000, 3))
    second = planted * first + np.sqrt(1 - planted**2) * rest
    first, second = first @ rng.normal(size=(3, 3)), second @ rng.normal(size=(3, 5))
    for count in (1, 2, 3, 20):
        expected = planted[:count].mean()
        measure = WEAK_MCC.with_parameter(count)
        assert measure(first, second) == pytest.approx(expected, abs=0.01)
        assert held_out(measure, first, second) == pytest.approx(expected, abs=0.02)


def test_with_fewer_rows_than_coordinates_weak_mcc_sees_everything_only_in_sample(rng):
    first, second = rng.normal(size=(2, 40, 30))
    assert WEAK_MCC(first[:20], second[:20]) == pytest.approx(1, abs=1e-9)
    assert abs(held_out(WEAK_MCC, first, second)) < 0.3


def test_weak_mcc_of_every_component_is_mean_cca_on_other_rows_too(rng):
    source = rng.laplace(size=(60, 8))
    first, second = (source @ rng.normal(size=(8, d)) + rng.normal(size=(60, d)) for d in (50, 40))
    value = held_out(WEAK_MCC.with_parameter(50), first, second)
    assert value == pytest.approx(held_out(MEAN_CCA, first, second), abs=ROUNDING)


@pytest.mark.parametrize("count", [0, 2.5, -1, np.nan, np.inf])
def test_a_number_of_components_that_counts_nothing_is_refused(count, rng):
    rows = rng.normal(size=(20, 3))
    with pytest.raises(InputError, match=f"{count:g} canonical components requested"):
        WEAK_MCC.with_parameter(count)(rows, rows)


def strength_of(first, second):
    """Return the score of a pair by its definition, one correlation at a time."""
    table = np.array(
        [[abs(scipy.stats.spearmanr(x, y).statistic) for y in second.T] for x in first.T]
    )
    return (
        np.mean(table.max(0) ** 2 / table.sum(0)) + np.mean(table.max(1) ** 2 / table.sum(1))
    ) / 2


def test_udr_of_a_pair_is_its_definition(rng):
    first = rng.laplace(size=(80, 4))
    second = first[:, :3] @ rng.normal(size=(3, 3)) + rng.normal(size=(80, 3))
    assert UDR(first, second) == pytest.approx(strength_of(first, second), abs=ROUNDING)


def test_udr_is_one_where_every_coordinate_has_one_partner():
    rows = np.array(list(itertools.product([0.0, 1.0, 2.0], repeat=3)))
    assert UDR(rows, -np.exp(rows[:, [2, 0, 1]])) == pytest.approx(1, abs=ROUNDING)


def test_udr_leaves_out_coordinates_that_hardly_vary_unless_told(rng):
    runs = [rng.laplace(size=(80, 3)) @ rng.normal(size=(3, 3)) for _ in range(3)]
    quiet = [np.column_stack([run, 0.01 * rng.normal(size=80)]) for run in runs]
    expected = udr_scores(runs)
    np.testing.assert_allclose(udr_scores(quiet), expected, atol=ROUNDING)
    every = [np.ones(4, dtype=bool)] * 3
    assert np.abs(udr_scores(quiet, every) - expected).max() > 0.01
    first_three = [np.arange(4) < 3] * 3
    np.testing.assert_allclose(udr_scores(quiet, first_three), expected, atol=ROUNDING)


def test_udr_of_a_run_is_the_median_over_the_others(rng):
    runs = [rng.laplace(size=(80, width)) for width in (3, 4, 3, 5)]
    pairs = [[UDR(first, second) for second in runs] for first in runs]
    medians = [np.median(np.delete(row, i)) for i, row in enumerate(pairs)]
    np.testing.assert_allclose(udr_scores(runs), medians, atol=ROUNDING)


def test_a_run_with_nothing_informative_scores_zero(rng):
    runs = [rng.normal(size=(30, 2)) for _ in range(3)]
    masks = [np.zeros(2, dtype=bool), np.ones(2, dtype=bool), np.ones(2, dtype=bool)]
    assert udr_scores(runs, masks)[0] == 0


@pytest.mark.parametrize(
    ("runs", "masks", "message"),
    [
        ([np.ones((3, 2))], None, "the number of runs is 1"),
        ([np.ones((3, 2)), np.ones((4, 2))], None, "3 to 4 rows"),
        ([np.ones((3, 2)), np.ones(3)], None, r"run 2 has shape \(3,\)"),
        ([np.ones((3, 2))] * 2, [np.ones(2, dtype=bool)], "1 masks for 2 runs"),
        ([np.ones((3, 2))] * 2, [np.ones(2)] * 2, "a mask of float64"),
        ([np.ones((3, 2))] * 2, [np.ones(3, dtype=bool)] * 2, r"shape \(3,\), but its run has 2"),
    ],
    ids=["one run", "lengths", "a vector", "too few masks", "not a mask", "too wide a mask"],
)
def test_udr_of_what_are_no_runs_is_refused_in_words(runs, masks, message):
    with pytest.raises(InputError, match=message):
        udr_scores(runs, masks)
