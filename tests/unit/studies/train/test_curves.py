"""Curves through pairs: exact ones are found, and intervals cover."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from upto_studies.train.curves import FORMS, correlation, fit_curve, mean_estimate

AGAIN = {"n_resamples": 300, "seed": 0}


@pytest.mark.parametrize("form", list(FORMS))
def test_a_curve_that_holds_exactly_is_found(form):
    excess = np.linspace(0.0, 0.5, 12)
    shape, with_intercept = FORMS[form]
    error = 0.3 * shape(excess) + (0.05 if with_intercept else 0.0)
    curve = fit_curve(form, excess, error, **AGAIN)
    assert curve.slope.value == pytest.approx(0.3)
    assert curve.intercept == pytest.approx(0.05 if with_intercept else 0.0, abs=1e-12)
    assert curve.r_squared.value == pytest.approx(1.0)
    assert np.allclose(curve.at(excess), error)


def test_the_shapes_are_those_of_the_theorem():
    excess = np.array([0.0, 0.25])
    assert FORMS["a·√(2L+L²)"][0](excess) == pytest.approx([0.0, 0.75])
    assert FORMS["a·(2L+L²)"][0](excess) == pytest.approx([0.0, 0.5625])


def test_r_squared_is_relative_to_the_mean(rng):
    excess, error = rng.uniform(0, 1, 30), rng.uniform(1, 2, 30)
    curve = fit_curve("a·√(2L+L²) + b", excess, error, **AGAIN)
    x = np.sqrt(2 * excess + excess**2)
    expected = scipy.stats.linregress(x, error)
    assert curve.slope.value == pytest.approx(expected.slope)
    assert curve.intercept == pytest.approx(expected.intercept)
    assert curve.r_squared.value == pytest.approx(expected.rvalue**2)
    # Errors that do not begin at zero are worse predicted through the origin than by their mean.
    assert fit_curve("a·(2L+L²)", excess, error, **AGAIN).r_squared.value < 0


def test_correlations_are_those_of_scipy(rng):
    first, second = rng.normal(size=(2, 40))
    found = correlation(first, second, **AGAIN)
    assert found.value == pytest.approx(scipy.stats.pearsonr(first, second)[0])
    ranked = correlation(first, second, **AGAIN, ranks=True)
    assert ranked.value == pytest.approx(scipy.stats.spearmanr(first, second)[0])
    assert -1 <= found.low < found.value < found.high <= 1


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    covered = 0
    for seed in range(100):
        values = np.random.default_rng(seed).normal(size=40)
        found = mean_estimate(values, n_resamples=200, seed=seed)
        covered += found.low <= 0 <= found.high
    assert 86 <= covered <= 99


def test_intervals_are_drawn_from_the_seed(rng):
    values = rng.normal(size=20)
    first, again = (mean_estimate(values, n_resamples=50, seed=1) for _ in range(2))
    assert (first.low, first.high) == (again.low, again.high)
    assert first.low != mean_estimate(values, n_resamples=50, seed=2).low


@pytest.mark.parametrize("values", [[], [0.5], [0.5, 0.6], [0.5, 0.5, 0.5]])
def test_too_few_or_equal_pairs_have_no_relation(values):
    values = np.array(values)
    assert correlation(values, values, **AGAIN) is None
    assert fit_curve("a·(2L+L²)", values, values, **AGAIN) is None


def test_a_mean_of_two_pairs_has_no_interval():
    found = mean_estimate(np.array([0.5, 0.7]), **AGAIN)
    assert (found.value, found.low) == (pytest.approx(0.6), None)


def test_resamples_of_equal_pairs_do_not_spoil_the_interval():
    found = correlation(np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.1, 1.0]), **AGAIN)
    assert np.isfinite([found.value, found.low, found.high]).all()
