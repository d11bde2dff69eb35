"""Comparisons of dissimilarities where their value is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from scipy.stats import rankdata, spearmanr

from upto.measures.dissimilarities import (
    CORRELATION_RSA_PEARSON,
    CORRELATION_RSA_SPEARMAN,
    DISTANCE_CORRELATION,
    EUCLIDEAN_RSA_PEARSON,
    EUCLIDEAN_RSA_SPEARMAN,
    SQUARED_EUCLIDEAN_RSA_COSINE,
    UNBIASED_DISTANCE_CORRELATION,
    places,
    ranked,
)

pytestmark = pytest.mark.slow

SINGLE = 1e-6


@pytest.mark.parametrize(
    ("measure", "value"),
    [
        (EUCLIDEAN_RSA_PEARSON, 1 / 2),
        (EUCLIDEAN_RSA_SPEARMAN, 1 / 2),
        (SQUARED_EUCLIDEAN_RSA_COSINE, 89 / 98),
    ],
    ids=lambda each: getattr(each, "name", None),
)
def test_three_rows_on_a_line_have_known_values(measure, value):
    # Distances are (1, 3, 2) and (2, 3, 1).
    assert measure([[0], [1], [3]], [[0], [2], [3]]) == pytest.approx(value, abs=SINGLE)


def test_pearson_and_spearman_part_where_distances_are_stretched():
    # Distances (1, 3, 2) and (1, 10, 9) have the same order.
    first, second = [[0], [1], [3]], [[0], [1], [10]]
    assert EUCLIDEAN_RSA_SPEARMAN(first, second) == pytest.approx(1, abs=SINGLE)
    expected = np.corrcoef([1, 3, 2], [1, 10, 9])[0, 1]
    assert EUCLIDEAN_RSA_PEARSON(first, second) == pytest.approx(expected, abs=SINGLE)


def test_correlations_between_rows_have_known_values():
    # Rows correlate by (1, -1, -1) and by (-1, 1, -1): as far as one pair in three may be.
    first = [[1, 2, 3], [2, 4, 6], [3, 2, 1]]
    second = [[1, 2, 3], [3, 2, 1], [1, 2, 3]]
    for measure in (CORRELATION_RSA_PEARSON, CORRELATION_RSA_SPEARMAN):
        assert measure(first, second) == pytest.approx(-0.5, abs=SINGLE)


@pytest.mark.parametrize("measure", [CORRELATION_RSA_PEARSON, CORRELATION_RSA_SPEARMAN])
def test_correlations_between_rows_ignore_the_level_and_length_of_every_row(measure, rng):
    first = rng.normal(size=(30, 6))
    second = first + rng.normal(size=(30, 6))
    moved = first * rng.uniform(0.1, 10, size=(30, 1)) + rng.normal(size=(30, 1))
    assert measure(moved, second) == pytest.approx(measure(first, second), abs=SINGLE)


@pytest.mark.parametrize("width", [3, 10, 37])
def test_a_flat_row_correlates_with_none(width, rng):
    first, second = rng.normal(size=(2, 5, width))
    first[1], first[3] = 0.1, 7.3
    between = np.ones((5, 5))
    varies = np.ix_([0, 2, 4], [0, 2, 4])
    between[varies] = 1 - np.corrcoef(first[[0, 2, 4]])
    pairs = between[np.triu_indices(5, 1)]
    expected = np.corrcoef(pairs, pdist(second, "correlation"))[0, 1]
    assert CORRELATION_RSA_PEARSON(first, second) == pytest.approx(expected, abs=SINGLE)


def test_independent_bits_are_uncorrelated_and_the_unbiased_estimate_is_below_zero():
    first, second = [[0], [0], [1], [1]], [[0], [1], [0], [1]]
    assert DISTANCE_CORRELATION(first, second) == pytest.approx(0, abs=1e-3)
    assert UNBIASED_DISTANCE_CORRELATION(first, second) == pytest.approx(-1 / 2, abs=SINGLE)


def test_distance_correlation_sees_what_correlation_does_not():
    first = np.linspace(-1, 1, 201)[:, None]
    second = first**2
    assert np.corrcoef(first[:, 0], second[:, 0])[0, 1] == pytest.approx(0, abs=1e-12)
    assert DISTANCE_CORRELATION(first, second) > 0.4
    assert UNBIASED_DISTANCE_CORRELATION(first, second) > 0.2


def test_the_unbiased_estimate_is_right_on_average():
    rng = np.random.default_rng(0)
    values = [UNBIASED_DISTANCE_CORRELATION(*rng.normal(size=(2, 20, 30))) for _ in range(300)]
    assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(len(values))
    assert min(values) < 0


@pytest.mark.parametrize("levels", [2, 3, 1000])
@pytest.mark.parametrize("chosen", [np.arange(32), np.arange(0, 32, 3), np.array([7, 2])])
def test_ranks_are_those_of_scipy_also_among_some_rows(levels, chosen, rng):
    values = squareform(rng.integers(1, levels, size=496) / 7)
    (found,) = ranked(places(values)[np.ix_(chosen, chosen)])
    expected = rankdata(squareform(values[np.ix_(chosen, chosen)]))
    expected -= expected.mean()
    expected /= max(np.sqrt(2) * np.linalg.norm(expected), 1e-300)
    np.testing.assert_allclose(squareform(found), expected, atol=SINGLE)


def test_values_that_only_rounding_tells_apart_share_a_place():
    values = np.array([3.0, 0.3, 1.0, 0.1 + 0.2, 1.0 - 1e-15, 2.0])
    assert squareform(places(squareform(values))).tolist() == [4, 1, 2, 1, 2, 3]


@pytest.mark.parametrize("offset", [0.0, 1 / 3, 1000.1])
def test_tied_distances_are_tied_whatever_the_rows_are_centred_on(offset, rng):
    first, second = rng.integers(0, 3, size=(2, 60, 4)).astype(np.float64)
    expected = spearmanr(pdist(first, "sqeuclidean"), pdist(second, "sqeuclidean")).statistic
    value = EUCLIDEAN_RSA_SPEARMAN(first + offset, second)
    assert value == pytest.approx(expected, abs=SINGLE)


def test_tied_correlations_are_tied(rng):
    # Of two coordinates rows are ordered one way or the other: correlations are 1 or -1.
    first, second = rng.normal(size=(2, 50, 2))
    signs = [np.sign(rows[:, 1] - rows[:, 0]) for rows in (first, second)]
    upper = np.triu_indices(50, 1)
    expected = np.corrcoef(*(np.outer(each, each)[upper] for each in signs))[0, 1]
    value = CORRELATION_RSA_SPEARMAN(first, second)
    assert value == pytest.approx(expected, abs=SINGLE)
