"""Misspecified regressions: every closed form against quadrature, grids and fits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.integrate

from upto.alignment import Aligner
from upto.core import InputError
from upto_studies.regressions import CURVES, draw_regression, fit_linear

PROBLEMS = [["cubic"], ["line", "parabola"], ["exponential", "absolute", "sine"]]


@pytest.mark.parametrize("curve", CURVES.values(), ids=lambda curve: curve.name)
def test_the_slope_and_the_range_of_a_curve_are_right(curve):
    integral, _ = scipy.integrate.quad(lambda z: z * curve.function(z), -1, 1, points=[0.0])
    assert curve.slope == pytest.approx(3 * integral / 2, abs=1e-12)
    grid = np.linspace(-1, 1, 200_001)
    left = curve.function(grid) - curve.slope * grid
    assert left.min() == pytest.approx(curve.low, abs=1e-9)
    assert left.max() == pytest.approx(curve.high, abs=1e-9)


@pytest.mark.parametrize("names", PROBLEMS, ids="+".join)
def test_the_best_coefficients_are_those_of_the_population(names):
    regression = draw_regression(names, noise=0.0, seed=3)
    x, y = regression.draw(400_000, seed=0)
    population = np.linalg.solve(x.T @ x, x.T @ y)
    gap = regression.difference(population, regression.coefficients)
    assert gap < 5 * regression.expected_error(400_000) + 1e-12


@pytest.mark.parametrize("names", PROBLEMS, ids="+".join)
def test_no_row_is_farther_from_the_best_model_than_its_worst_error(names):
    regression = draw_regression(names, noise=0.0, seed=5)
    x, y = regression.draw(300_000, seed=1)
    left = np.abs(y - x @ regression.coefficients).max()
    assert left <= regression.nearest_error * (1 + 1e-12)
    assert left > 0.85 * regression.nearest_error
    assert regression.worst_error(regression.coefficients) == pytest.approx(
        regression.nearest_error, abs=1e-5
    )


def test_example_one_with_a_cubic_is_known_by_hand():
    regression = draw_regression(["cubic"], noise=0.0, seed=0)
    weight = abs(regression.weights[0])
    # x = ±2z, so that 0.6·w·z is 0.3·w·x.
    assert abs(regression.coefficients[0]) == pytest.approx(0.3 * weight)
    assert regression.nearest_error == pytest.approx(0.4 * weight)


@pytest.mark.parametrize("names", PROBLEMS, ids="+".join)
def test_the_difference_of_two_models_is_the_epsilon_of_definition_one(names, rng):
    regression = draw_regression(names, seed=1)
    corners = np.array(list(itertools.product([-1.0, 1.0], repeat=len(names)))) @ regression.matrix
    first, second = rng.normal(size=(2, len(names)))
    aligner = Aligner("identity", norm="supremum")
    aligner.fit((corners @ first)[:, None], (corners @ second)[:, None])
    assert regression.difference(first, second) == pytest.approx(aligner.worst_error_)


@pytest.mark.parametrize("names", PROBLEMS, ids="+".join)
def test_fits_differ_by_what_the_sandwich_formula_expects(names):
    regression = draw_regression(names, noise=0.3, seed=2)
    fits = [fit_linear(*regression.draw(1000, seed=seed)) for seed in range(600)]
    gaps = [regression.difference(*pair) for pair in zip(fits[::2], fits[1::2], strict=True)]
    spread = np.std(gaps) / np.sqrt(len(gaps))
    assert abs(np.mean(gaps) - regression.expected_gap(1000)) < 4 * spread
    errors = [regression.difference(fit, regression.coefficients) for fit in fits]
    assert abs(np.mean(errors) - regression.expected_error(1000)) < 4 * np.std(errors) / np.sqrt(
        600
    )


def test_a_singular_covariance_leaves_coefficients_to_the_start(rng):
    regression = draw_regression(["cubic", "sine"], n_observed=4, seed=0)
    rows = regression.draw(500, seed=0)
    assert not regression.is_identifiable
    assert np.linalg.matrix_rank(rows[0].T @ rows[0]) == 2
    starts = rng.normal(size=(2, 4))
    first, second = (fit_linear(*rows, start=start) for start in starts)
    assert np.linalg.norm(first - second) == pytest.approx(regression.unseen_gap(*starts))
    assert regression.unseen_gap(*starts) > 0.1
    assert regression.difference(first, second) < 1e-12


def test_an_invertible_covariance_leaves_nothing_to_the_start(rng):
    regression = draw_regression(["cubic", "sine"], seed=0)
    rows = regression.draw(500, seed=0)
    assert regression.is_identifiable
    starts = rng.normal(size=(2, 2))
    np.testing.assert_allclose(*(fit_linear(*rows, start=start) for start in starts), atol=1e-12)
    assert regression.unseen_gap(*starts) == pytest.approx(0, abs=1e-12)


def test_what_is_observed_does_not_change_the_truth():
    seen = draw_regression(["cubic", "sine"], seed=4)
    hidden = draw_regression(["cubic", "sine"], n_observed=5, seed=4)
    np.testing.assert_array_equal(seen.weights, hidden.weights)
    np.testing.assert_array_equal(seen.draw(10, seed=0)[1], hidden.draw(10, seed=0)[1])
    assert seen.nearest_error == hidden.nearest_error


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: draw_regression(["cube"], seed=0), "no curve"),
        (lambda: draw_regression([], seed=0), "no curve given"),
        (lambda: draw_regression(["sine"] * 3, n_observed=2, seed=0), "2 observed inputs"),
    ],
)
def test_what_is_no_regression_is_refused_in_words(call, words):
    with pytest.raises(InputError, match=words):
        call()
