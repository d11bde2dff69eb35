"""Resamples of the bootstrap, and the intervals they give."""

from __future__ import annotations

import numpy as np
import pytest

from upto.evidence.intervals import RESAMPLES, _drawn, mean_intervals


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
