"""Numbers a theorem can be given."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from upto.core import InputError
from upto.theory import (
    certify_network,
    ica_promise,
    leaky_bound,
    lipschitz_from_isometry,
    rigid_promise,
    statistical_from_structural,
    whitening_promise,
)
from upto.theory.valid_numbers import check_count, check_finite, check_size, check_spectrum


@pytest.mark.parametrize("kind", [float, np.float32, np.float64, Fraction])
def test_real_numbers_of_any_kind_are_sizes(kind):
    found = check_size(kind(0.5), "L")
    assert (type(found), found) == (float, 0.5)


@pytest.mark.parametrize("kind", [int, float, np.int64, np.uint8, np.float32])
def test_whole_numbers_of_any_kind_are_counts(kind):
    found = check_count(kind(3), "n")
    assert (type(found), found) == (int, 3)


@pytest.mark.parametrize("value", ["0.1", None, True, False, np.True_, 1j, [0.1], math.nan])
@pytest.mark.parametrize("check", [check_size, check_finite, check_count])
def test_what_is_no_number_is_refused(check, value):
    with pytest.raises(InputError, match=r"the number is .*, but it must be a number"):
        check(value, "the number")


@pytest.mark.parametrize("value", [math.inf, -math.inf, 10**400, 2.5, 0, -1])
def test_what_is_no_count_is_refused(value):
    with pytest.raises(InputError, match="it must be a whole number of at least 1"):
        check_count(value, "n")


def test_numbers_too_large_for_a_float_are_infinite():
    assert check_size(10**400, "L") == math.inf
    with pytest.raises(InputError, match="zero or more"):
        check_size(-(10**400), "L")


def test_a_variance_is_compared_without_squaring_the_radius():
    assert check_spectrum(1e-301, 1e-150) == (1e-301, 1e-150)
    assert check_spectrum(1.0, 1e200) == (1.0, 1e200)
    with pytest.raises(InputError, match="check that they are not exchanged"):
        check_spectrum(1e-200, 1e-170)


USES = {
    "L": lambda value: rigid_promise(value, n_dimensions=2, diameter=1.0),
    "dimension": lambda value: rigid_promise(0.1, n_dimensions=value, diameter=1.0),
    "diameter": lambda value: rigid_promise(0.1, n_dimensions=2, diameter=value),
    "curvature": lambda value: ica_promise(0.1, radius=1.0, curvature=value, n_dimensions=2),
    "eigenvalue": lambda value: whitening_promise(0.1, radius=1.0, smallest_eigenvalue=value),
    "error": statistical_from_structural,
    "deviation": lipschitz_from_isometry,
    "activations": lambda value: leaky_bound(0.5, value),
    "leak": lambda value: certify_network([np.eye(2), np.eye(2)], [value]),
}


@pytest.mark.parametrize("value", ["0.1", None, True])
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_no_bound_takes_what_is_no_number(use, value):
    with pytest.raises(InputError, match="must be a number"):
        use(value)
