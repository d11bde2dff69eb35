"""Lemmas A.5 and A.6: their numbers, their edges, and what they refuse."""

from __future__ import annotations

import math

import pytest

from upto.core import Group, InputError
from upto.theory import rotation_promise, whitening_promise

GIVEN = {"radius": 2.0, "smallest_eigenvalue": 0.5}


def test_whitening_has_the_constant_worked_out_by_hand():
    promise = whitening_promise(0.1, **GIVEN)
    assert promise.constant("K") == pytest.approx(12.72792, rel=1e-6)
    assert float(promise) == pytest.approx(1.272792, rel=1e-6)
    assert promise.holds is True


def test_a_linear_map_has_both_constants_worked_out_by_hand():
    promise = rotation_promise(0.1, **GIVEN, smallest_singular=0.5, largest_singular=2.0)
    assert promise.constant("K") == pytest.approx(91.92388, rel=1e-6)
    assert promise.constant("K simple") == pytest.approx(364.86710, rel=1e-6)
    assert promise.up_to is Group.RIGID


def test_a_rotation_costs_nothing():
    assert float(rotation_promise(0.1, **GIVEN)) == float(whitening_promise(0.1, **GIVEN))


def test_white_rows_are_never_further_apart_than_twice_their_length():
    promise = whitening_promise(1.0, **GIVEN)
    assert promise.ceiling == pytest.approx(2 * 2.0 / math.sqrt(0.5))
    assert promise.is_vacuous
    assert not whitening_promise(0.1, **GIVEN).is_vacuous


@pytest.mark.parametrize("error", [0.0, 0.1])
def test_a_direction_without_variance_cannot_be_whitened(error):
    promise = whitening_promise(error, radius=2.0, smallest_eigenvalue=0.0)
    assert promise.value is None
    assert promise.holds is False
    assert promise.is_vacuous


def test_a_map_that_is_not_injective_promises_nothing():
    promise = rotation_promise(0.1, **GIVEN, smallest_singular=0.0, largest_singular=1.0)
    assert (promise.value, promise.holds) == (None, False)


@pytest.mark.parametrize("bound", [whitening_promise, rotation_promise])
@pytest.mark.parametrize(
    "changes",
    [
        {"radius": 1.0, "smallest_eigenvalue": 1e-210},
        {"radius": 1e200, "smallest_eigenvalue": 1e-3},
        {"error": math.inf},
    ],
)
def test_a_bound_beyond_the_largest_number_promises_nothing(bound, changes):
    promise = bound(**{"error": 0.1} | GIVEN | changes)
    assert (promise.value, promise.holds) == (None, None)
    assert "overflows, so nothing is promised" in promise.condition


@pytest.mark.parametrize("size", [1e200, 1e300])
def test_a_map_that_stretches_beyond_the_largest_number_promises_nothing(size):
    promise = rotation_promise(0.1, **GIVEN, smallest_singular=1 / size, largest_singular=size)
    assert (promise.value, promise.holds) == (None, None)
    assert "overflows, so nothing is promised" in promise.condition


def test_bounds_near_the_ends_of_the_numbers_keep_their_digits():
    promise = whitening_promise(1e-100, radius=1e-150, smallest_eigenvalue=1e-301)
    # R/√λ is √10, so K is 11/√λ.
    assert float(promise) == pytest.approx(11.0 * 1e-100 / math.sqrt(1e-301))
    small = rotation_promise(1e-9, **GIVEN, smallest_singular=1e-120, largest_singular=1e-120)
    assert float(small) == pytest.approx(float(whitening_promise(1e-9, **GIVEN)))


def test_the_radius_is_no_diameter():
    assert whitening_promise(0.1, **GIVEN).constant("R") == 2.0


def test_equal_runs_stay_equal():
    assert whitening_promise(0.0, **GIVEN).value == 0.0


def test_one_direction_may_have_all_the_variance_there_can_be():
    assert whitening_promise(0.1, radius=1.5, smallest_eigenvalue=2.25).holds is True


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"error": -1.0}, "the error is -1"),
        ({"error": math.nan}, "the error is nan"),
        ({"radius": math.inf}, "the radius is infinite"),
        ({"smallest_eigenvalue": -0.1}, "the smallest eigenvalue is -0.1"),
        ({"smallest_eigenvalue": 5.0}, "variances of at most 4"),
        ({"smallest_singular": 3.0, "largest_singular": 2.0}, "exchange them"),
    ],
)
def test_impossible_numbers_are_refused(arguments, words):
    given = {"error": 0.1} | GIVEN | arguments
    with pytest.raises(InputError, match=words):
        rotation_promise(given.pop("error"), **given)
