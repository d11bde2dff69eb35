"""The map between representations that two heads determine: refusals and records."""

import numpy as np
import pytest

from upto.core import Group, InputError
from upto.theory import linear_map_between

METHODS = ("least-squares", "pairs")


@pytest.mark.parametrize("method", METHODS)
def test_a_second_head_without_diversity_is_refused(rng, method):
    head = rng.normal(size=(20, 3))
    flat = head.copy()
    flat[:, 2] = flat[:, 0]
    with pytest.raises(InputError, match="2 independent differences among 20 classes and needs 3"):
        linear_map_between(head, flat, method=method)


@pytest.mark.parametrize("method", METHODS)
def test_a_first_head_without_diversity_gives_a_map_that_has_no_inverse(rng, method):
    head = rng.normal(size=(20, 3))
    flat = head.copy()
    flat[:, 2] = 0.0
    found = linear_map_between(flat, head, method=method)
    assert found.condition is None
    with pytest.raises(InputError, match="not invertible"):
        found.apply_to_head(flat)


def test_heads_of_unrelated_models_do_not_fit(rng):
    found = linear_map_between(rng.normal(size=(200, 4)), rng.normal(size=(200, 4)))
    assert 0.9 < found.head_error < 1.0


def test_the_residual_is_that_of_the_regression_of_one_head_on_the_other(rng):
    first, second = rng.normal(size=(30, 4)), rng.normal(size=(30, 4))
    counts = rng.integers(1, 9, size=30).astype(float)
    found = linear_map_between(first, second, frequencies=counts)
    shares = counts / counts.sum()
    ours, theirs = second - shares @ second, first - shares @ first
    root = np.sqrt(shares)[:, None]
    expected = np.linalg.lstsq(root * ours, root * theirs, rcond=None)[0]
    np.testing.assert_allclose(found.matrix, expected, atol=1e-12)
    left = np.linalg.norm(root * (ours @ expected - theirs)) / np.linalg.norm(root * theirs)
    np.testing.assert_allclose(found.head_error, left)


def test_biases_that_no_shift_explains_are_an_error(rng):
    head = rng.normal(size=(30, 3))
    bias = rng.normal(size=30)
    found = linear_map_between(head, head, first_bias=bias)
    design = head - head.mean(axis=0)
    centred = bias - bias.mean()
    shift = np.linalg.lstsq(design, centred, rcond=None)[0]
    np.testing.assert_allclose(found.shift, shift, atol=1e-12)
    np.testing.assert_allclose(found.bias_error, np.std(centred - design @ shift))


def test_the_promise_has_every_constant(rng):
    head = rng.normal(size=(50, 3))
    found = linear_map_between(head, head)
    promise = found.promise(0.01, reach=2.0)
    variance = np.linalg.eigvalsh(np.cov(head.T, ddof=0))[0]
    np.testing.assert_allclose(promise.constant("σ") ** 2, variance)
    np.testing.assert_allclose(float(promise), 0.01 / np.sqrt(variance))
    assert promise.up_to is Group.AFFINE
    assert promise.holds
    assert not promise.is_vacuous
    assert found.promise(10.0, reach=2.0).is_vacuous
    pairs = linear_map_between(head, head, method="pairs")
    bound = 2 * 0.01 * np.sqrt(3) / pairs.promise(0.01).constant("σ")
    np.testing.assert_allclose(float(pairs.promise(0.01)), bound)


@pytest.mark.parametrize("error", [-1.0, float("nan"), "0.1", True])
def test_an_error_or_a_reach_that_is_none_is_refused(rng, error):
    head = rng.normal(size=(5, 2))
    found = linear_map_between(head, head)
    with pytest.raises(InputError, match="the error of log-probabilities is"):
        found.promise(error)
    with pytest.raises(InputError, match="the reach is"):
        found.promise(0.1, reach=error)


def test_an_infinite_reach_is_no_ceiling(rng):
    head = rng.normal(size=(5, 2))
    assert linear_map_between(head, head).promise(0.1, reach=float("inf")).ceiling is None


def test_an_infinite_error_promises_nothing(rng):
    head = rng.normal(size=(5, 2))
    promise = linear_map_between(head, head).promise(float("inf"))
    assert (promise.value, promise.holds) == (None, None)
    assert promise.is_vacuous
    assert "so nothing is promised" in promise.condition
    assert all(each.value is None or np.isfinite(each.value) for each in promise.constants)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"second_head": np.ones((5, 3))}, "same classes and the same width"),
        ({"method": "guess"}, "neither"),
        ({"first_bias": np.ones(4)}, "one finite number for each"),
        ({"second_bias": np.full(5, np.nan)}, "one finite number for each"),
    ],
)
def test_what_does_not_fit_is_refused(rng, options, message):
    arguments = {"first_head": rng.normal(size=(5, 2)), "second_head": rng.normal(size=(5, 2))}
    with pytest.raises(InputError, match=message):
        linear_map_between(**(arguments | options))
