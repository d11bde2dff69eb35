"""Check the arguments of theorems, and handle infinite bounds."""

from __future__ import annotations

import math
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any

from upto.core import InputError

if TYPE_CHECKING:
    from upto.core import Promise

_LARGEST_COUNT = 2**53
_NOTHING = "; but the bound is infinite or overflows, so nothing is promised"


def check_number(value: Any, name: str) -> float:
    """Return a real number, of Python or NumPy, that is not NaN."""
    # Python treats True as a number, and float() would accept text such as "0.1".
    if isinstance(value, bool) or not isinstance(value, Real):
        message = f"{name} is {value!r}, but it must be a number."
        raise InputError(message)
    try:
        number = float(value)
    except OverflowError:
        number = -math.inf if value < 0 else math.inf
    if math.isnan(number):
        message = f"{name} is nan, but it must be a number."
        raise InputError(message)
    return number


def check_size(value: float, name: str) -> float:
    """Return a number that is at least zero, possibly infinite, and not NaN."""
    number = check_number(value, name)
    if number < 0.0:
        message = f"{name} is {number:g}, but it must be zero or more."
        raise InputError(message)
    return number


def check_finite(value: float, name: str) -> float:
    """Return a finite number of at least zero."""
    number = check_size(value, name)
    if math.isinf(number):
        message = f"{name} is infinite: a bound needs a finite number."
        raise InputError(message)
    return number


def check_count(value: int, name: str, *, least: int = 1) -> int:
    """Return a whole number of at least `least`."""
    number = check_number(value, name)
    if not least <= number <= _LARGEST_COUNT or not number.is_integer():
        message = f"{name} is {number:g}, but it must be a whole number of at least {least}."
        raise InputError(message)
    return int(number)


def check_spectrum(smallest_eigenvalue: float, radius: float) -> tuple[float, float]:
    """Check a smallest eigenvalue of a covariance against the largest norm of a row."""
    eigenvalue = check_finite(smallest_eigenvalue, "the smallest eigenvalue")
    norm = check_finite(radius, "the radius")
    # The variance in any direction is a mean of squared projections.
    if math.sqrt(eigenvalue) > norm * (1.0 + 1e-9):
        message = (
            f"the smallest eigenvalue is {eigenvalue:g}, but rows no longer than {norm:g} have "
            f"variances of at most {norm * norm:g}: check that they are not exchanged."
        )
        raise InputError(message)
    return eigenvalue, norm


def infinite_says_nothing(promise: Promise) -> Promise:
    """Add to the condition of an infinite bound that nothing is promised."""
    # The condition of a nested bound may contain it already.
    condition = promise.condition.replace(_NOTHING, "")
    if promise.value is None and promise.holds is not False:
        return replace(promise, condition=condition + _NOTHING, holds=None)
    return replace(promise, condition=condition)
