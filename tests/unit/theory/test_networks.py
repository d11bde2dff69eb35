"""Certified networks: closed forms, rounding, and what cannot be certified."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from upto.core import InputError
from upto.simulate import leaky_mixing
from upto.theory import certify_network, leaky_bound
from upto.theory.leaky_networks import verified_extremes

OVERFLOWS = "overflows, so nothing is promised"


@pytest.mark.parametrize("leak", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_orthogonal_layers_have_the_closed_form(leak, count):
    promise = leaky_bound(leak, count)
    assert float(promise) == pytest.approx(leak**-count)
    assert promise.constant("Λ scaled") == pytest.approx(leak ** (-count / 2))
    assert promise.constant("Λ of the paper") == pytest.approx(leak ** -(count + 1))


@pytest.mark.parametrize("leak", [0.1, 0.5, 1.0])
def test_a_certificate_of_orthogonal_layers_is_the_closed_form(leak):
    mixing = leaky_mixing((3, 5, 5, 9), leak=leak, seed=0)
    promise = certify_network([weight.T for weight in mixing.weights], [leak, leak])
    assert float(promise) == pytest.approx(float(leaky_bound(leak, 2)), rel=1e-11)
    # Never below it, not even by rounding.
    assert float(promise) >= leak**-2
    assert promise.constant("Λ scaled") >= 1 / leak
    assert promise.holds is True


def test_single_precision_weights_are_certified_as_they_are():
    frame, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(64, 8)))
    promise = certify_network([frame.astype(np.float32)], [])
    assert 1.0 < float(promise) < 1 + 1e-6


def test_singular_values_multiply():
    promise = certify_network([np.diag([2.0, 0.5]), np.diag([3.0, 0.25])], [0.5])
    assert promise.constant("σ₊") == pytest.approx(6.0)
    assert promise.constant("σ₋") == pytest.approx(0.5 * 0.25 * 0.5)
    assert float(promise) == pytest.approx(16.0)
    assert promise.constant("Λ scaled") == pytest.approx(math.sqrt(96))


def test_a_leak_above_one_stretches():
    promise = certify_network([np.eye(2), np.eye(2)], [3.0])
    assert float(promise) == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("weights", "leaks", "holds", "reason"),
    [
        ([np.eye(4, 2), np.eye(3, 4)], [0.5], False, "layer 2 shrinks from 4 to 3"),
        ([np.eye(2), np.eye(2)], [0.0], False, "the leak of activation 1 is 0"),
        ([np.ones((3, 2))], [], None, "layer 1 is not proved to be injective"),
        ([np.diag([1.0, 1e-18])], [], None, "layer 1 is not proved to be injective"),
        ([1e-200 * np.eye(2)] * 2, [1.0], None, OVERFLOWS),
        ([1e200 * np.eye(2)] * 2, [1.0], None, OVERFLOWS),
        ([1e-320 * np.eye(2)], [], None, OVERFLOWS),
        ([np.eye(2), np.eye(2)], [1e-320], None, OVERFLOWS),
    ],
)
def test_what_cannot_be_certified_says_why(weights, leaks, holds, reason):
    promise = certify_network(weights, leaks)
    assert (promise.value, promise.holds) == (None, holds)
    assert reason in promise.condition


def test_digits_lost_on_the_way_are_not_certified():
    # The product of the first two stretches has four digits left, and the third brings it back.
    sizes = (1.2345e-200, 1.0e-120, 1e300)
    exact = 1 / math.prod(Fraction(size) for size in sizes)
    promise = certify_network([size * np.eye(2) for size in sizes], [1.0, 1.0])
    assert promise.value is None or Fraction(promise.value) >= exact
    assert promise.holds is None


@pytest.mark.parametrize(("leak", "count"), [(0.5, 10**6), (1e-300, 2), (1e-320, 1)])
def test_a_closed_form_beyond_the_largest_number_promises_nothing(leak, count):
    promise = leaky_bound(leak, count)
    assert (promise.value, promise.holds) == (None, None)
    assert OVERFLOWS in promise.condition


def test_a_dead_activation_has_no_closed_form():
    promise = leaky_bound(0.0, 2)
    assert (promise.value, promise.holds) == (None, False)
    assert float(leaky_bound(0.0, 0)) == 1.0


def exact_square_extremes(matrix):
    """Return squared singular values of a 2×2 matrix, from exact traces and determinants."""
    a, b, c, d = (Fraction(float(entry)) for entry in matrix.ravel())
    trace, determinant = a * a + b * b + c * c + d * d, (a * d - b * c) ** 2
    return trace, determinant


@pytest.mark.parametrize("seed", range(40))
def test_verified_extremes_enclose_exact_singular_values(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(2, 2)) * 10.0 ** rng.integers(-8, 9, size=(2, 1))
    low, high = verified_extremes(matrix)
    trace, determinant = exact_square_extremes(matrix)

    def polynomial(value):
        square = Fraction(value) ** 2
        return square * square - trace * square + determinant

    # λ² - trace λ + determinant is positive below the smallest root and above the largest.
    middle = trace / 2
    assert Fraction(low) ** 2 <= middle
    assert polynomial(low) >= 0
    assert Fraction(high) ** 2 >= middle
    assert polynomial(high) >= 0
    largest = np.linalg.svd(matrix, compute_uv=False)[0]
    assert high <= largest * (1 + 1e-12)


def test_verified_extremes_are_tight_on_large_matrices():
    frame, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(784, 500)))
    low, high = verified_extremes(frame)
    assert 1 - 1e-8 < low < 1 < high < 1 + 1e-8


@pytest.mark.parametrize(
    ("weights", "leaks", "words"),
    [
        ([], [], "no layers"),
        ([np.eye(2)], [0.5], "1 layers and 1 leaks"),
        ([np.ones(3)], [], "shape"),
        ([np.full((2, 2), np.nan)], [], "not finite"),
        ([np.eye(3, 2), np.eye(4)], [0.5], "layer 1 has 3 outputs"),
        ([np.eye(2), np.eye(2)], [-0.5], "leak 1 is -0.5"),
    ],
)
def test_impossible_networks_are_refused(weights, leaks, words):
    with pytest.raises(InputError, match=words):
        certify_network(weights, leaks)


@pytest.mark.parametrize(("leak", "count", "words"), [(1.5, 2, "between 0 and 1"), (0.5, -1, "-1")])
def test_impossible_closed_forms_are_refused(leak, count, words):
    with pytest.raises(InputError, match=words):
        leaky_bound(leak, count)
