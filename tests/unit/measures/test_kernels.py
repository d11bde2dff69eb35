"""Gaussian kernel alignment where its value is known."""

from __future__ import annotations

import numpy as np
import pytest

from upto.core import InputError
from upto.measures.alignment import BIASED_LINEAR_CKA, DEBIASED_LINEAR_CKA
from upto.measures.kernels import (
    BIASED_RBF_CKA,
    DEBIASED_RBF_CKA,
    gaussian_kernel,
    squared_distances,
)

pytestmark = pytest.mark.slow

LINE = np.array([[0.0], [1.0], [3.0], [7.0]])


def test_the_bandwidth_is_a_fraction_of_the_median_distance():
    # Squared distances are 1, 4, 9, 16, 36 and 49: the median is 12.5.
    kernel = gaussian_kernel(*squared_distances(LINE), 2.0)
    np.testing.assert_allclose(kernel, np.exp(-((LINE - LINE.T) ** 2) / (2 * 4 * 12.5)))


def test_three_rows_on_a_line_have_a_known_alignment():
    # Kernels of gaps (1, 1, 2) and (1, 2, 3) about medians of 1 and 4, centred by hand.
    value = BIASED_RBF_CKA(LINE[:3] / [[1], [1], [1.5]], LINE[:3])
    expected = []
    for squares, median in (([1, 4, 1], 1), ([1, 9, 4], 4)):
        a, b, c = np.exp(-np.array(squares) / (2 * median))
        kernel = np.array([[1, a, b], [a, 1, c], [b, c, 1]])
        centring = np.eye(3) - 1 / 3
        expected.append(centring @ kernel @ centring)
    first, second = expected
    cosine = np.sum(first * second) / np.sqrt(np.sum(first**2) * np.sum(second**2))
    assert value == pytest.approx(cosine, abs=1e-7)
    assert value < 0.999


def test_any_two_rows_are_aligned():
    assert BIASED_RBF_CKA([[0.0], [1.0]], [[5.0, 1.0], [2.0, 2.0]]) == pytest.approx(1)


def unbiased_by_triples(first, second):
    """Estimate the product over all choices of different rows, as the estimate is defined."""
    n = len(first)
    total = 0.0
    for i in range(n):
        for j in set(range(n)) - {i}:
            for q in set(range(n)) - {i, j}:
                for r in set(range(n)) - {i, j, q}:
                    total += first[i, j] * (second[i, j] + second[q, r] - 2 * second[i, q])
    return total


def test_the_debiased_value_averages_over_choices_of_four_different_rows(rng):
    first, second = rng.normal(size=(2, 7, 2))
    x, y = (gaussian_kernel(*squared_distances(rows), 1.0) for rows in (first, second))
    own = [unbiased_by_triples(each, each) for each in (x, y)]
    expected = unbiased_by_triples(x, y) / np.sqrt(own[0] * own[1])
    assert DEBIASED_RBF_CKA(first, second) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(
    ("rbf", "linear"),
    [(DEBIASED_RBF_CKA, DEBIASED_LINEAR_CKA), (BIASED_RBF_CKA, BIASED_LINEAR_CKA)],
    ids=["debiased", "biased"],
)
def test_a_wide_kernel_is_linear(rbf, linear, rng):
    first = rng.normal(size=(50, 4))
    second = first @ rng.normal(size=(4, 6)) + rng.normal(size=(50, 6))
    wide = rbf.with_parameter(300)(first, second)
    assert wide == pytest.approx(linear(first, second), abs=1e-5)
    assert abs(wide - rbf(first, second)) > 1e-3


def test_a_narrow_kernel_tells_nothing_but_equal_rows_apart(rng):
    first, second = rng.normal(size=(2, 30, 3))
    assert BIASED_RBF_CKA.with_parameter(0.001)(first, second) == pytest.approx(1)
    assert DEBIASED_RBF_CKA.with_parameter(0.001)(first, second) == 0


def test_where_most_pairs_are_equal_rows_the_kernel_says_which_are_equal():
    rows = np.array([[0.1, 0.7]] * 9 + [[0.3, 0.2], [4.0, 4.0]])
    np.testing.assert_array_equal(
        gaussian_kernel(*squared_distances(rows), 1.0), np.eye(11) + np.pad(1.0 - np.eye(9), (0, 2))
    )


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, np.nan, np.inf, 1e9, 1e-9])
def test_a_bandwidth_of_no_use_is_refused(bandwidth, rng):
    rows = rng.normal(size=(5, 2))
    with pytest.raises(InputError, match=r"median distances: .* from 0.001 to 1000"):
        DEBIASED_RBF_CKA.with_parameter(bandwidth)(rows, rows)
