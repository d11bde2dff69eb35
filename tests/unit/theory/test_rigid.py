"""Theorem 1: its numbers, its edges, and what it refuses."""

from __future__ import annotations

import math

import pytest

from upto.core import Group, InputError
from upto.theory import (
    isometry_constant,
    relative_defect,
    rigid_mean_promise,
    rigid_mean_promise_from_defect,
    rigid_promise,
    rigid_promise_from_defect,
)


@pytest.mark.parametrize(
    ("n", "bracket"),
    [
        (1, 4.096), (2, 5.182), (3, 6.130), (4, 7.000), (8, 10.00), (10, 11.33), (16, 14.93),
        (32, 22.99), (64, 36.18), (128, 57.79), (384, 123.9), (768, 202.3),
    ],
)  # fmt: skip
def test_the_constant_has_the_values_worked_out_by_hand(n, bracket):
    assert isometry_constant(n, 0.0) == pytest.approx(bracket, rel=5e-4)


def test_the_constant_grows_with_the_defect_as_a_square_root():
    assert isometry_constant(5, 6.0) == pytest.approx(2 * isometry_constant(5, 0.0))


def test_a_flat_needs_a_smaller_constant():
    assert isometry_constant(8, 0.0, n_flat=1) == pytest.approx(1 + math.sqrt(2) * 3)
    assert isometry_constant(8, 0.0, n_flat=20) == isometry_constant(8, 0.0)


@pytest.mark.parametrize(
    ("lipschitz", "e", "worst", "mean"),
    [(0.01, 0.0201, 1.42485, 0.284970), (0.1, 0.21, 4.81716, 0.963431)],
)
def test_theorem_1_in_eight_dimensions(lipschitz, e, worst, mean):
    promise = rigid_promise(lipschitz, n_dimensions=8, diameter=1.0)
    assert promise.constant("e") == pytest.approx(e)
    assert float(promise) == pytest.approx(worst, rel=2e-6)
    assert float(rigid_mean_promise(lipschitz, n_dimensions=8, diameter=1.0)) == pytest.approx(
        mean, rel=2e-6
    )
    assert promise.up_to is Group.RIGID
    assert promise.holds is None
    assert "convex" in promise.condition


@pytest.mark.parametrize(("n", "factor"), [(2, 1.414), (8, 2.0), (16, 2.378), (384, 5.264)])
def test_the_mean_square_factor(n, factor):
    promise = rigid_mean_promise(0.1, n_dimensions=n, diameter=1.0)
    assert promise.constant("c") == pytest.approx(factor, rel=5e-4)


def test_the_value_is_c_root_e_diameter():
    promise = rigid_promise(0.3, n_dimensions=3, diameter=2.5)
    product = promise.constant("c") * math.sqrt(promise.constant("e")) * promise.constant("Δ")
    assert float(promise) == pytest.approx(product)


def test_two_decoders_have_their_own_constants():
    assert relative_defect(0.1, 0.5) == pytest.approx(0.65)
    assert relative_defect(math.inf, 0.0) == math.inf
    same = rigid_promise(0.2, n_dimensions=3, diameter=1.0)
    apart = rigid_promise(0.2, second_lipschitz=0.2, n_dimensions=3, diameter=1.0)
    assert float(same) == float(apart)
    assert (apart.constant("L₁"), apart.constant("L₂")) == (0.2, 0.2)


def test_a_tiny_excess_is_not_lost_to_rounding():
    assert relative_defect(1e-17) == pytest.approx(2e-17)


@pytest.mark.parametrize("make", [rigid_promise, rigid_mean_promise])
def test_an_isometry_leaves_no_error(make):
    promise = make(0.0, n_dimensions=4, diameter=1.0)
    assert promise.value == 0.0
    assert not promise.is_vacuous


@pytest.mark.parametrize("make", [rigid_promise, rigid_mean_promise])
def test_without_a_constant_nothing_is_promised(make):
    promise = make(math.inf, n_dimensions=4, diameter=1.0)
    assert promise.value is None
    assert promise.ceiling is None
    assert promise.is_vacuous
    assert "so nothing is promised" in promise.condition
    assert make(math.inf, n_dimensions=4, diameter=0.0).value == 0.0
    assert make(1e200, n_dimensions=4, diameter=1.0).value is None


@pytest.mark.parametrize("make", [rigid_promise, rigid_mean_promise])
@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e170, 1e200, 1e300])
def test_bounds_scale_with_the_diameter_however_small_or_large(make, size):
    unit = float(make(0.1, n_dimensions=3, diameter=1.0))
    assert float(make(0.1, n_dimensions=3, diameter=size)) / size == pytest.approx(unit)


@pytest.mark.parametrize(
    "make", [rigid_promise_from_defect, rigid_mean_promise_from_defect], ids=["worst", "mean"]
)
@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e170, 1e200, 1e300])
def test_bounds_scale_with_defect_and_diameter_together(make, size):
    unit = float(make(0.21, n_dimensions=3, diameter=1.0))
    scaled = make(0.21 * size, n_dimensions=3, diameter=size)
    assert float(scaled) / size == pytest.approx(unit)


def test_a_change_that_underflows_is_still_bounded():
    promise = rigid_promise(1e-200, n_dimensions=8, diameter=1e-200)
    assert float(promise) * 1e300 == pytest.approx(10.0 * math.sqrt(2.0))


def test_only_the_first_diameter_enters():
    promise = rigid_promise(0.1, n_dimensions=3, diameter=2.0)
    assert "both latent supports are convex, the first with a diameter of at most 2" in (
        promise.condition
    )


def test_a_defect_gives_the_same_bound_as_the_constant_that_causes_it():
    by_constant = rigid_promise(0.1, n_dimensions=4, diameter=3.0)
    by_defect = rigid_promise_from_defect(0.21 * 3.0, n_dimensions=4, diameter=3.0)
    assert float(by_defect) == pytest.approx(float(by_constant))
    assert by_defect.holds is True
    by_constant = rigid_mean_promise(0.1, n_dimensions=4, diameter=3.0)
    by_defect = rigid_mean_promise_from_defect(0.21 * 3.0, n_dimensions=4, diameter=3.0)
    assert float(by_defect) == pytest.approx(float(by_constant))


def test_one_place_that_becomes_two_is_bounded_by_their_distance():
    promise = rigid_promise_from_defect(0.5, n_dimensions=2, diameter=0.0)
    assert float(promise) == pytest.approx(isometry_constant(2, 0.0) * 0.5 / math.sqrt(2))


def test_a_bound_above_what_always_holds_is_vacuous():
    promise = rigid_promise(0.1, n_dimensions=8, diameter=2.0)
    assert promise.ceiling == pytest.approx((2 + 0.21) / math.sqrt(2) * 2.0)
    assert promise.is_vacuous
    assert not rigid_promise(1e-4, n_dimensions=8, diameter=2.0).is_vacuous
    mean = rigid_mean_promise(0.1, n_dimensions=8, diameter=2.0)
    assert mean.ceiling == pytest.approx(math.sqrt((1 + 1.21**2) / 2) * 2.0)
    assert not mean.is_vacuous


def test_the_limit_of_the_cited_lemma_is_named():
    promise = rigid_promise(1.0, n_dimensions=2, diameter=1.0)
    assert "requires e ≤ 1 (here 3)" in promise.condition


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"lipschitz": -0.1}, "L is -0.1"),
        ({"lipschitz": math.nan}, "L is nan"),
        ({"n_dimensions": 0}, "n_dimensions is 0"),
        ({"n_dimensions": 2.5}, "n_dimensions is 2.5"),
        ({"diameter": -1.0}, "the diameter is -1"),
        ({"diameter": math.inf}, "the diameter is infinite"),
        ({"second_lipschitz": -1.0}, "the second L is -1"),
        ({"n_flat": -1}, "n_flat is -1"),
    ],
)
def test_impossible_numbers_are_refused(arguments, words):
    given = {"lipschitz": 0.1, "n_dimensions": 3, "diameter": 1.0} | arguments
    with pytest.raises(InputError, match=words):
        rigid_promise(given.pop("lipschitz"), **given)


def test_a_negative_defect_is_refused():
    with pytest.raises(InputError, match="the defect is -1"):
        rigid_promise_from_defect(-1.0, n_dimensions=2, diameter=1.0)
