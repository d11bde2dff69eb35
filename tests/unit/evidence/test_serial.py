"""Dependence of neighbouring rows, against the closed forms of autoregressive ones."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal

from upto.evidence.serial import (
    alternating_blocks,
    autocorrelation,
    effective_rows,
    serial_dependence,
)


def autoregressive(rng, n_rows, width, correlation):
    noise = np.sqrt(1 - correlation**2) * rng.normal(size=(n_rows, width))
    return scipy.signal.lfilter([1.0], [1.0, -correlation], noise, axis=0)


@pytest.mark.parametrize("correlation", [0.5, 0.9, 0.95])
def test_effective_rows_are_those_of_the_closed_form(rng, correlation):
    rows = autoregressive(rng, 60_000, 3, correlation)
    found, error = autocorrelation(rows - rows.mean(axis=0), 1)
    np.testing.assert_allclose(found, correlation, atol=0.02)
    np.testing.assert_allclose(error, 1 / np.sqrt(60_000), rtol=2)
    wanted = 60_000 * (1 - correlation) / (1 + correlation)
    assert effective_rows(rows) == pytest.approx(wanted, rel=0.3)
    dependence = serial_dependence(rows)
    assert dependence.is_clear
    assert dependence.time == pytest.approx(60_000 / effective_rows(rows))


@pytest.mark.parametrize(("correlation", "lag"), [(-0.9, 1), (0.9, 7), (-0.8, 5)])
def test_time_is_that_of_means_or_of_mean_squares(rng, correlation, lag):
    noise = rng.normal(size=(40_000, 2))
    rows = scipy.signal.lfilter([1.0], [1.0, *[0] * (lag - 1), -correlation], noise, axis=0)
    dependence = serial_dependence(rows)
    assert dependence.is_clear
    assert dependence.lag == lag
    assert dependence.correlation == pytest.approx(correlation, abs=0.03)
    of_means = (1 + correlation) / (1 - correlation)
    of_squares = (1 + correlation**2) / (1 - correlation**2)
    assert dependence.time == pytest.approx(max(of_means, of_squares), rel=0.35)
    assert dependence.length == lag * dependence.time


@pytest.mark.parametrize("draw", ["normal", "standard_cauchy", "laplace"])
def test_independent_rows_are_seldom_called_dependent(draw):
    clear = 0
    for seed in range(200):
        rows = getattr(np.random.default_rng(seed), draw)(size=(400, 4))
        clear += serial_dependence(rows).is_clear
    assert clear <= 1


def test_far_rows_beside_each_other_are_no_dependence(rng):
    rows = rng.laplace(size=(3000, 5))
    rows[:25] *= 30
    assert not serial_dependence(rows).is_clear


def test_few_or_equal_rows_are_not_dependent():
    for rows in (np.ones((2, 3)), np.ones((50, 3)), np.arange(2.0)[:, None]):
        assert not serial_dependence(rows).is_clear
    assert serial_dependence(np.arange(50.0)[:, None]).is_clear


@pytest.mark.parametrize(("share", "time"), [(0.5, 2.0), (0.2, 2.0), (0.5, 30.0), (0.3, 1e4)])
def test_blocks_are_as_many_rows_as_asked_for_and_long(share, time):
    parts = alternating_blocks(10_000, time, share)
    assert parts.mean() == pytest.approx(share, abs=0.1)
    changes = np.flatnonzero(np.diff(parts)) + 1
    lengths = np.diff(np.concatenate([[0], changes, [10_000]]))
    assert len(lengths) >= 2
    assert lengths.min() >= min(10 * time, 0.29 * 10_000) - 1
