"""Appendix A.4: bi-Lipschitz constants from singular values."""

from __future__ import annotations

import math

import pytest

from upto.core import InputError
from upto.theory import lipschitz_from_isometry, lipschitz_from_singular_values


@pytest.mark.parametrize(
    ("deviation", "paper", "sharper"), [(0.1, 1.222222, 1.111111), (0.3, 1.857143, 1.428571)]
)
def test_dynamical_isometry_has_the_values_worked_out_by_hand(deviation, paper, sharper):
    promise = lipschitz_from_isometry(deviation)
    assert float(promise) == pytest.approx(sharper, abs=5e-7)
    assert promise.constant("Λ of the paper") == pytest.approx(paper, abs=5e-7)
    assert promise.constant("L") == pytest.approx(float(promise) - 1)


@pytest.mark.parametrize(
    ("smallest", "largest", "stretch", "scaled"),
    [(1.0, 1.0, 1.0, 1.0), (0.5, 1.25, 2.0, 1.5811388), (2.0, 8.0, 8.0, 2.0), (3.0, 3.0, 3.0, 1.0)],
)
def test_singular_values_give_the_larger_of_stretch_and_shrinkage(
    smallest, largest, stretch, scaled
):
    promise = lipschitz_from_singular_values(smallest, largest)
    assert float(promise) == pytest.approx(stretch)
    assert promise.constant("Λ scaled") == pytest.approx(scaled)
    assert promise.holds is True


@pytest.mark.parametrize(
    "promise", [lipschitz_from_isometry(1.0), lipschitz_from_singular_values(0.0, 1.0)]
)
def test_a_lost_direction_promises_nothing(promise):
    assert (promise.value, promise.holds) == (None, False)
    assert promise.constant("L") == math.inf


@pytest.mark.parametrize(
    ("smallest", "largest"), [(1.0, math.inf), (math.inf, math.inf), (1e-320, 1.0)]
)
def test_a_constant_beyond_the_largest_number_promises_nothing(smallest, largest):
    promise = lipschitz_from_singular_values(smallest, largest)
    assert (promise.value, promise.holds) == (None, None)
    assert "overflows, so nothing is promised" in promise.condition


def test_extremes_in_the_wrong_order_are_refused():
    with pytest.raises(InputError, match="exchange them"):
        lipschitz_from_singular_values(2.0, 1.0)
    with pytest.raises(InputError, match=r"δ is -0\.1"):
        lipschitz_from_isometry(-0.1)
