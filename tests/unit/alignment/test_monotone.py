"""Monotone maps: against scikit-learn's isotonic regression, ties, ends, order."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from sklearn.isotonic import IsotonicRegression

from upto import Aligner
from upto.alignment import MonotoneFit, monotone_errors
from upto.core import InputError
from upto.engines import ThreadsEngine


def test_few_rows_give_the_isotonic_regression(rng):
    x, y = rng.normal(size=(2, 40, 1))
    y = x + y
    found = MonotoneFit(x, y).fit().predict(x)
    expected = IsotonicRegression().fit_transform(x[:, 0], y[:, 0])
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-12)


@pytest.mark.parametrize("n", [500, 3000])
def test_many_rows_come_close_to_it(n, rng):
    x = rng.normal(size=(n, 1))
    y = np.exp(x) + 0.1 * rng.normal(size=(n, 1))
    expected = IsotonicRegression().fit(x[:, 0], y[:, 0])
    new = np.linspace(-2, 2, 50)
    found = MonotoneFit(x, y).fit().predict(new[:, None])[:, 0]
    np.testing.assert_allclose(found, expected.predict(new), atol=0.2)
    assert (np.diff(found) >= 0).all()


def test_coordinates_are_matched_by_rank_correlation(rng):
    x = rng.normal(size=(400, 5))
    order = rng.permutation(5)
    y = np.sinh(x[:, order]) * [1, -1, 1, -1, 1] + 0.3 * rng.normal(size=(400, 5))
    fitted = MonotoneFit(x, y).fit()
    np.testing.assert_array_equal(fitted.index, order)
    for j, i in enumerate(order):
        slope = scipy.stats.spearmanr(x[:, i], y[:, j]).statistic
        assert np.sign(fitted.values[-1, j] - fitted.values[0, j]) == np.sign(slope)


def test_signs_and_places_of_coordinates_change_nothing(rng):
    x, y = rng.normal(size=(2, 1500, 4))
    y = x**3 + y
    plain = MonotoneFit(x, y).fit().predict(x)
    signs, order = [1, -1, -1, 1], [2, 0, 3, 1]
    moved = (x * signs)[:, order]
    np.testing.assert_allclose(MonotoneFit(moved, y).fit().predict(moved), plain, atol=1e-12)


def test_equal_values_have_one_prediction_whatever_the_order(rng):
    x = rng.integers(0, 4, (600, 2)).astype(float)
    y = x**2 + rng.normal(size=(600, 2))
    order = rng.permutation(600)
    one, other = MonotoneFit(x, y).fit(), MonotoneFit(x[order], y[order]).fit()
    np.testing.assert_allclose(one.predict(x), other.predict(x), atol=1e-12)
    for value in range(4):
        at = x[:, 0] == value
        expected = y[at, np.flatnonzero(one.index == 0)[0]].mean()
        np.testing.assert_allclose(
            one.predict(x)[at, np.flatnonzero(one.index == 0)[0]], expected, atol=0.2
        )


def test_beyond_its_ends_a_function_goes_on_straight(rng):
    x = np.sort(rng.normal(size=(300, 1)), axis=0)
    fitted = MonotoneFit(x, 2 * x + 1).fit()
    np.testing.assert_allclose(fitted.predict([[100.0], [-50.0]]), [[201.0], [-99.0]], rtol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 17])
def test_a_handful_of_rows(n, rng):
    x = rng.normal(size=(n, 3))
    np.testing.assert_allclose(MonotoneFit(x, x**3).fit().predict(x), x**3, atol=1e-12)


def test_a_wider_target_keeps_its_mean_where_nothing_is_left_to_match(rng):
    x = rng.normal(size=(200, 2))
    y = np.c_[np.exp(x), rng.normal(size=200) + 7]
    fitted = MonotoneFit(x, y).fit()
    assert list(fitted.index) == [0, 1, -1]
    np.testing.assert_allclose(fitted.predict(x)[:, 2], y[:, 2].mean())


def test_errors_block_by_block_are_those_of_all_rows(rng):
    x = rng.normal(size=(500, 3))
    y = x**3 + rng.normal(size=x.shape)
    fitted = MonotoneFit(x, y).fit()
    expected = np.linalg.norm(y - fitted.predict(x), axis=1)
    engine = ThreadsEngine(n_threads=2, block_rows=64)
    np.testing.assert_allclose(monotone_errors(engine, x, y, fitted), expected, rtol=1e-12)
    keep = rng.random(500) < 0.3
    np.testing.assert_allclose(
        monotone_errors(engine, x, y, fitted, keep), expected[keep], rtol=1e-12
    )


def test_the_estimator_maps_new_rows_and_says_what_it_cannot(rng):
    x = rng.normal(size=(800, 3))
    y = np.exp(x)[:, [2, 0, 1]]
    aligner = Aligner("monotone-permutation").fit(x[:600], y[:600])
    left = y[600:] - aligner.transform(x[600:])
    assert 1 - left.var() / y[600:].var() > 0.95
    assert aligner.linear_ is None
    with pytest.raises(InputError, match="other direction"):
        aligner.inverse_transform(y)
    with pytest.raises(InputError, match="least squares only"):
        Aligner("monotone-permutation", norm="supremum").fit(x, y)
