"""Resamples of the bootstrap, and the intervals they give."""

from __future__ import annotations

import numpy as np
import pytest

from upto.evidence.intervals import RESAMPLES, _drawn, _pooled, mean_intervals


def test_counts_of_resamples_have_multinomial_moments():
    n_rows, n_pool = 300, 50
    counts = _drawn(n_rows, n_pool, 7)
    assert counts.shape == (RESAMPLES, n_pool)
    assert (counts.sum(axis=1) == n_rows).all()
    share = 1 / n_pool
    variance = n_rows * share * (1 - share)
    assert counts.mean(axis=0) == pytest.approx(
        n_rows * share, abs=5 * (variance / RESAMPLES) ** 0.5
    )
    assert counts.var() == pytest.approx(variance, rel=0.03)
    covariance = np.cov(counts.T)[np.triu_indices(n_pool, 1)].mean()
    assert covariance == pytest.approx(-n_rows * share**2, rel=0.03)
    assert not np.array_equal(counts, _drawn(n_rows, n_pool, 8))


def test_interval_of_a_mean_is_that_of_its_standard_error(rng):
    values = rng.normal(5.0, 1.0, size=(400, 2))
    for column, found in zip(values.T, mean_intervals(values, 0), strict=True):
        half = 1.96 * column.std(ddof=1) / 20
        assert found.value == pytest.approx(column.mean())
        assert found.value - found.low == pytest.approx(half, rel=0.15)
        assert found.high - found.value == pytest.approx(half, rel=0.15)


@pytest.mark.parametrize("n_others", [7, 13, 30, 37])
def test_the_order_of_the_rows_does_not_matter(n_others, rng):
    """Those fitted to were fitted too well, so that the rows stand for them."""
    values = rng.standard_t(1.5, size=(13, 2)) ** 2
    others = 1e-3 * rng.random((n_others, 2))
    found = mean_intervals(values, 0, others=others)
    again = mean_intervals(values[rng.permutation(13)], 0, others=others[::-1])
    for one, other in zip(found, again, strict=True):
        assert [other.low, other.high] == pytest.approx([one.low, one.high])


@pytest.mark.parametrize("times", [1, 2, 3])
def test_rows_that_stand_for_others_change_nothing(times, rng):
    values = rng.random((13, 2))
    repeated = _pooled(values, np.zeros((times * 13, 2)))
    assert np.sort(repeated, axis=0) == pytest.approx(
        np.sort(np.tile(values, (times + 1, 1)), axis=0)
    )
