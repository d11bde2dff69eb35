"""Contrasts: their derivatives, their means over a Gaussian, and what users may get wrong."""

from __future__ import annotations

import pickle

import array_api_strict
import numpy as np
import pytest
import scipy.integrate

from upto.core import InputError
from upto.ica import choose_contrast
from upto.ica.contrasts import Cube, Custom, Exp, LogCosh, gaussian_moments

CONTRASTS = {
    "logcosh": (LogCosh(), lambda u: np.log(np.cosh(u))),
    "logcosh 1.5": (LogCosh(1.5), lambda u: np.log(np.cosh(1.5 * u)) / 1.5),
    "logcosh 2": (LogCosh(2.0), lambda u: np.log(np.cosh(2 * u)) / 2),
    "exp": (Exp(), lambda u: -np.exp(-(u**2) / 2)),
    "cube": (Cube(), lambda u: u**4 / 4),
}

each_contrast = pytest.mark.parametrize(("contrast", "formula"), CONTRASTS.values(), ids=CONTRASTS)


def over_gaussian(function) -> float:
    value, _ = scipy.integrate.quad(
        lambda u: function(u) * np.exp(-(u**2) / 2) / np.sqrt(2 * np.pi), -12, 12, limit=200
    )
    return value


def at(contrast, u):
    """Return G, g and g′ at one place."""
    return (float(part[0]) for part in contrast(np, np.array([u])))


@each_contrast
def test_a_contrast_and_its_derivatives_are_those_of_the_formula(contrast, formula):
    u = np.linspace(-4, 4, 81)
    value, score, slope = contrast(np, u)
    np.testing.assert_allclose(value, formula(u), atol=1e-12)
    step = 1e-4
    np.testing.assert_allclose(score, (formula(u + step) - formula(u - step)) / 2e-4, atol=1e-6)
    second = (formula(u + step) - 2 * formula(u) + formula(u - step)) / step**2
    np.testing.assert_allclose(slope, second, atol=1e-5)
    alone = contrast.derivatives(np, u)
    np.testing.assert_array_equal(alone[0], score)
    np.testing.assert_array_equal(alone[1], slope)


@each_contrast
def test_a_contrast_keeps_to_the_array_api_and_to_the_type_of_the_sources(contrast, formula):
    for dtype in ("float32", "float64"):
        u = np.linspace(-3, 3, 12, dtype=dtype).reshape(4, 3)
        found = contrast(array_api_strict, array_api_strict.asarray(u))
        for part, wanted in zip(found, contrast(np, u), strict=True):
            assert str(part.dtype).endswith(dtype)
            np.testing.assert_allclose(np.asarray(part), wanted, rtol=1e-6)


@each_contrast
def test_far_out_sources_give_finite_numbers(contrast, formula):
    with np.errstate(over="raise", invalid="raise"):
        for part in contrast(np, np.array([-1e4, -50.0, 0.0, 50.0, 1e4])):
            assert np.isfinite(part).all()


@each_contrast
def test_moments_over_a_gaussian_are_those_of_quadrature(contrast, formula):
    mean, deviation = gaussian_moments(contrast)
    np.testing.assert_allclose(mean, over_gaussian(formula), rtol=1e-6)

    def excess(u):
        _, score, slope = at(contrast, u)
        return slope - score * u

    # The part that follows the square of a source is taken out: variances are one.
    weight = over_gaussian(lambda u: excess(u) * (u**2 - 1)) / 2
    wanted = over_gaussian(lambda u: (excess(u) - weight * (u**2 - 1)) ** 2)
    np.testing.assert_allclose(deviation, np.sqrt(wanted), rtol=1e-3)


@each_contrast
def test_a_contrast_survives_pickle(contrast, formula):
    assert pickle.loads(pickle.dumps(contrast)) == contrast


def test_names_mean_these_contrasts():
    assert choose_contrast("logcosh") == LogCosh(1.0)
    assert choose_contrast("logcosh", 1.3) == LogCosh(1.3)
    assert choose_contrast("exp", 1.3) == Exp()
    assert choose_contrast("cube") == Cube()
    assert choose_contrast(Exp()) == Exp()
    assert [choose_contrast(name).name for name in ("logcosh", "exp", "cube")] == [
        "logcosh",
        "exp",
        "cube",
    ]


def sixth(xp, u):
    return u**6 / 6, u**5, 5 * u**4


def wrong_score(xp, u):
    return u**6 / 6, u**4, 4 * u**3


def wrong_slope(xp, u):
    return u**6 / 6, u**5, 4 * u**4


def flipped_score(xp, u):
    return u**6 / 6, -(u**5), -5 * u**4


def odd(xp, u):
    return u**3 / 3, u**2, 2 * u


def two_parts(xp, u):
    return u**4, 4 * u**3


def summed(xp, u):
    return xp.sum(u**4), 4 * u**3, 12 * u**2


def without_namespace(u):
    return u**4, 4 * u**3, 12 * u**2


def not_a_number(xp, u):
    return xp.sqrt(u), u, u


def unknown_function(xp, u):
    return xp.no_such_function(u), u, u


def test_a_right_function_is_taken_and_named():
    contrast = choose_contrast(sixth)
    assert contrast == Custom(sixth)
    assert contrast.name == "sixth"
    u = np.linspace(-1, 1, 5)
    for found, wanted in zip(contrast(np, u), sixth(np, u), strict=True):
        np.testing.assert_array_equal(found, wanted)
    for found, wanted in zip(contrast.derivatives(np, u), sixth(np, u)[1:], strict=True):
        np.testing.assert_array_equal(found, wanted)


WRONG = {
    "score": (wrong_score, "wrong_score returns g(-1.00) = 1, but the slope of its G there is -1"),
    "slope": (wrong_slope, "the contrast wrong_slope returns g′("),
    "sign": (flipped_score, "return G, its derivative and its second derivative"),
    "odd": (odd, "the contrast odd is not even, so signs would matter: use an even G"),
    "two parts": (two_parts, "must take (xp, sources) and return the three arrays G, g and g′"),
    "shape": (summed, "returned arrays of shapes (), (61, 1) and (61, 1) for sources of shape"),
    "arguments": (without_namespace, "must take (xp, sources)"),
    "unknown": (unknown_function, "must take (xp, sources)"),
    "name": ("tanh", "no contrast 'tanh': choose one of logcosh, exp, cube, or give a function"),
}


@pytest.mark.parametrize(("function", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_function_is_refused_in_words(function, message):
    with pytest.raises(InputError) as caught:
        choose_contrast(function)
    assert message in str(caught.value)


@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_a_function_that_is_not_a_number_somewhere_is_refused_in_words():
    with pytest.raises(InputError, match="not_a_number returns"):
        choose_contrast(not_a_number)


@pytest.mark.parametrize("alpha", [0.0, 0.99, 2.01, -1.0, np.nan])
def test_a_parameter_out_of_range_is_refused_in_words(alpha):
    with pytest.raises(InputError, match="must be between 1 and 2"):
        choose_contrast("logcosh", alpha)
