"""Linear kernel alignment on rows whose answer is known, whole and in batches."""

from __future__ import annotations

import numpy as np
import pytest

from upto.core import InputError
from upto.measures.alignment import BIASED_LINEAR_CKA, DEBIASED_LINEAR_CKA, minibatch_linear_cka

pytestmark = pytest.mark.slow

ROUNDING = 1e-9


def related(rng, n_samples=200, widths=(6, 4)):
    source = rng.laplace(size=(n_samples, max(widths)))
    return tuple(
        source @ rng.normal(size=(source.shape[1], width)) + rng.normal(size=(n_samples, width)) + 1
        for width in widths
    )


def batches(first, second, size):
    return [(first[i : i + size], second[i : i + size]) for i in range(0, len(first), size)]


def unbiased_product(first, second):
    """Return the estimate of Song et al. from kernels without their diagonals."""
    n = len(first)
    own, other = (each @ each.T for each in (first, second))
    np.fill_diagonal(own, 0)
    np.fill_diagonal(other, 0)
    inner = (own * other).sum() + own.sum() * other.sum() / ((n - 1) * (n - 2))
    return (inner - 2 * own.sum(axis=0) @ other.sum(axis=0) / (n - 2)) / (n * (n - 3))


def test_figures_printed_in_the_demonstration_of_its_authors():
    draws = np.random.RandomState(1337)
    first = draws.randn(100, 10)
    second = draws.randn(100, 10) + first
    assert BIASED_LINEAR_CKA(first, second) == pytest.approx(0.55761, abs=5e-6)
    assert DEBIASED_LINEAR_CKA(first, second) == pytest.approx(0.51346, abs=5e-6)


def test_orthogonal_coordinates_are_weighed_by_their_variances(rng):
    correlations = np.array([0.9, 0.6, 0.3])
    ones = np.ones((80, 1))
    columns = np.linalg.qr(np.hstack([ones, rng.normal(size=(80, 6))]))[0][:, 1:]
    second = correlations * columns[:, :3] + np.sqrt(1 - correlations**2) * columns[:, 3:]
    x, y = np.array([5.0, 2.0, 1.0]), np.array([4.0, 3.0, 0.5])
    wanted = (x**2 * y**2) @ correlations**2 / np.sqrt((x**4).sum() * (y**4).sum())
    found = BIASED_LINEAR_CKA(columns[:, :3] * x + 1, second * y)
    assert found == pytest.approx(wanted, abs=ROUNDING)


def test_unbiased_products_are_those_of_kernels_without_their_diagonals(rng):
    first, second = related(rng, 30)
    squares = unbiased_product(first, first) * unbiased_product(second, second)
    wanted = unbiased_product(first, second) / np.sqrt(squares)
    assert DEBIASED_LINEAR_CKA(first, second) == pytest.approx(wanted, abs=ROUNDING)


def test_one_batch_of_all_rows_is_linear_cka(rng):
    first, second = related(rng)
    found = minibatch_linear_cka([(first, second)])
    assert found == pytest.approx(DEBIASED_LINEAR_CKA(first, second), abs=ROUNDING)


@pytest.mark.parametrize("size", [4, 7, 50])
def test_products_are_averaged_over_batches_before_their_ratio_is_taken(rng, size):
    first, second = related(rng, 42)
    kept = [each for each in batches(first, second, size) if len(each[0]) >= 4]
    both, own, other = (
        np.mean([unbiased_product(pair[i], pair[j]) for pair in kept])
        for i, j in ((0, 1), (0, 0), (1, 1))
    )
    wanted = both / np.sqrt(own * other)
    assert minibatch_linear_cka(iter(kept)) == pytest.approx(wanted, abs=ROUNDING)


def test_small_batches_approach_all_rows_where_biased_ones_do_not(rng):
    first, second = related(rng, 20_000, widths=(30, 30))
    wanted = DEBIASED_LINEAR_CKA(first, second)
    blocks = batches(first, second, 20)
    assert minibatch_linear_cka(blocks) == pytest.approx(wanted, abs=0.02)
    assert np.mean([BIASED_LINEAR_CKA(*block) for block in blocks]) > wanted + 0.2


def test_batches_of_unrelated_runs_stay_in_the_range_and_constant_ones_score_nothing(rng):
    for _ in range(50):
        blocks = batches(*rng.normal(size=(2, 8, 3)), 4)
        assert -1 <= minibatch_linear_cka(blocks) <= 1
    assert minibatch_linear_cka([(np.ones((5, 2)), rng.normal(size=(5, 2)))]) == 0


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([(np.ones((3, 2)), np.ones((3, 2)))], "batch 0 has 3 rows of the first run and 3 of"),
        ([(np.eye(5), np.eye(5)), (np.eye(5), np.eye(6))], "batch 1 has 5 rows of the first run"),
        ([], "no batches were given: give at least one"),
        ([(np.full((5, 1), np.nan), np.ones((5, 1)))], "5 non-finite values"),
    ],
    ids=["three rows", "unequal", "none", "not finite"],
)
def test_batches_that_have_no_estimate_are_refused_in_words(blocks, message):
    with pytest.raises(InputError, match=message):
        minibatch_linear_cka(blocks)
