"""Ranks and functions of ranks: what they span, what they find, and what does not change them."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest
import scipy.linalg
import scipy.stats

from upto.core import InputError
from upto.measures.dependence import (
    coefficients,
    held_coefficients,
    ranks,
    rdc_features,
    rdc_weights,
)
from upto.measures.matching import MCC, MCC_RDC
from upto.measures.moments import pair_moments

pytestmark = pytest.mark.slow

ROUNDING = 1e-12
SAME = 1e-7


def waves_of(column, count):
    slopes, phases = rdc_weights(count)
    shares = scipy.stats.rankdata(column) / len(column)
    waves = np.sin(np.outer(shares, slopes) + phases)
    return waves - waves.mean(axis=0)


def canonical(first, second):
    """Return the largest canonical correlation by orthogonal bases of the columns."""
    bases = [scipy.linalg.orth(columns, rcond=1e-6) for columns in (first, second)]
    return np.linalg.svd(bases[0].T @ bases[1], compute_uv=False)[0]


def test_equal_values_share_their_mean_rank():
    rows = np.array([[3.0, 0.0], [1.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    np.testing.assert_array_equal(ranks(rows).T, [[4, 1.5, 1.5, 3], [2.5] * 4])


@pytest.mark.parametrize("count", [1, 3, 20, 50])
def test_features_span_the_random_waves_and_are_few(count, rng):
    column = rng.normal(size=(400, 1))
    features = rdc_features(column, count)
    assert features.shape[1] <= min(count, 6)
    basis = np.column_stack([features, np.ones(400)])
    waves = waves_of(column[:, 0], count)
    left = waves - basis @ np.linalg.lstsq(basis, waves)[0]
    assert np.linalg.norm(left) < 1e-6 * np.linalg.norm(waves)
    np.testing.assert_allclose(features.std(axis=0), 1, atol=0.02)
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=0.02)


def test_features_of_a_coordinate_do_not_depend_on_the_others(rng):
    rows = np.round(rng.normal(size=(50, 3)), 1)
    features = rdc_features(rows).reshape(50, 3, -1)
    for column in range(3):
        np.testing.assert_array_equal(features[:, column], rdc_features(rows[:, [column]]))
    for value in np.unique(rows[:, 0]):
        equal = features[rows[:, 0] == value, 0]
        np.testing.assert_array_equal(equal, np.broadcast_to(equal[0], equal.shape))


@pytest.mark.parametrize("count", [3, 20])
@pytest.mark.parametrize("decimals", [8, 0], ids=["different values", "ties"])
def test_coefficients_are_canonical_correlations_of_features(count, decimals, rng):
    first = rng.laplace(size=(300, 4))
    second = np.cos(first @ rng.normal(size=(4, 3))) + 0.3 * rng.normal(size=(300, 3))
    first, second = np.round(2 * first, decimals), np.round(2 * second, decimals)
    moments = pair_moments(rdc_features(first, count), rdc_features(second, count))
    found = coefficients(moments, count)
    blocks = [
        np.split(rdc_features(rows, count), rows.shape[1], axis=1) for rows in (first, second)
    ]
    centred = [[block - block.mean(axis=0) for block in run] for run in blocks]
    expected = [[canonical(x, y) for y in centred[1]] for x in centred[0]]
    np.testing.assert_allclose(found, expected, atol=SAME)
    pairs = np.array([0, 1, 3]), np.array([2, 0, 0])
    again = held_coefficients(moments, moments, count, pairs)
    np.testing.assert_allclose(again, found[pairs], atol=SAME)


def test_for_coordinates_of_two_values_it_is_their_correlation(rng):
    first = rng.choice([0.0, 5.0], size=(200, 2))
    second = np.where(rng.uniform(size=(200, 2)) < 0.7, first, rng.choice([0.0, 5.0], (200, 2)))
    moments = pair_moments(rdc_features(first), rdc_features(second))
    expected = np.abs(np.corrcoef(first.T, second.T)[:2, 2:])
    np.testing.assert_allclose(coefficients(moments, 20), expected, atol=SAME)


@pytest.mark.parametrize(
    "function", [np.square, np.abs, lambda x: np.cos(2 * x)], ids=["square", "size", "cosine"]
)
def test_it_finds_functions_that_correlation_misses(function, rng):
    rows = rng.uniform(-1.5, 1.5, size=(2000, 3))
    other = function(rows[:, [2, 0, 1]])
    assert MCC(rows, other) < 0.1
    assert MCC_RDC(rows, other) > 0.95
    moments = [
        pair_moments(rdc_features(rows[part]), rdc_features(other[part]))
        for part in (slice(None, 1000), slice(1000, None))
    ]
    assert MCC_RDC.scored(*moments) > 0.95


def test_the_order_of_rows_does_not_matter(rng):
    rows, other = rng.normal(size=(2, 300, 3))
    value = MCC_RDC(rows, other)
    for _ in range(5):
        order = rng.permutation(300)
        assert MCC_RDC(rows[order], other[order]) == pytest.approx(value, abs=SAME)


def test_memory_grows_with_rows_and_not_with_their_square(rng):
    rows = rng.normal(size=(20_000, 2))
    MCC_RDC(rows[:10], rows[:10])
    tracemalloc.start()
    MCC_RDC(rows, rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60 * 20 * 20_000 * 8 / 10


def test_another_number_of_features_is_used_everywhere(rng):
    rows = rng.laplace(size=(100, 2))
    other = rows**2 + 0.3 * rng.normal(size=rows.shape)
    few = pickle.loads(pickle.dumps(MCC_RDC.with_parameter(2)))
    assert few.name == "mcc-rdc:2"
    moments = pair_moments(rdc_features(rows, 2), rdc_features(other, 2))
    assert few(rows, other) == few.scored(moments, moments)
    assert few(rows, other) < MCC_RDC(rows, other) - 0.01
    assert few.with_parameter(20)(rows, other) == MCC_RDC(rows, other)


@pytest.mark.parametrize("count", [0, 2.5, -3, 201, np.nan, np.inf])
def test_a_number_of_features_that_counts_nothing_is_refused(count):
    with pytest.raises(InputError, match=f"{count:g} random features requested: .* 1 to 200"):
        MCC_RDC.with_parameter(count)
