"""Numbers a theorem can be given, and what is said where a bound is no number."""

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
    """Return a real number, of Python or of numpy, that is not undefined."""
    # True is a number to Python, and a word like "0.1" would become one.
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
    """Return a number that may be zero or infinite, but neither negative nor undefined."""
    number = check_number(value, name)
    if number < 0.0:
        message = f"{name} is {number:g}, but it must be zero or more."
        raise InputError(message)
    return number


def check_finite(value: float, name: str) -> float:
    """Return a size that is not infinite either."""
    number = check_size(value, name)
    if math.isinf(number):
        message = f"{name} is infinite: a bound needs a number."
        raise InputError(message)
    return number


def check_count(value: int, name: str, *, least: int = 1) -> int:
    """Return a whole number that is large enough."""
    number = check_number(value, name)
    if not least <= number <= _LARGEST_COUNT or not number.is_integer():
        message = f"{name} is {number:g}, but it must be a whole number from {least} on."
        raise InputError(message)
    return int(number)


def check_spectrum(smallest_eigenvalue: float, radius: float) -> tuple[float, float]:
    """Return a smallest variance and the norm no row exceeds; the first cannot be the larger."""
    eigenvalue = check_finite(smallest_eigenvalue, "the smallest eigenvalue")
    norm = check_finite(radius, "the radius")
    # The variance in any direction is a mean of squared projections.
    if math.sqrt(eigenvalue) > norm * (1.0 + 1e-9):
        message = (
            f"the smallest eigenvalue is {eigenvalue:g}, but rows no longer than {norm:g} have "
            f"variances of at most {norm * norm:g}: check which number is which."
        )
        raise InputError(message)
    return eigenvalue, norm


def infinite_says_nothing(promise: Promise) -> Promise:
    """Say why nothing is promised where a bound is no number though its condition may hold."""
    # The condition of a bound within this one may have said so already.
    condition = promise.condition.replace(_NOTHING, "")
    if promise.value is None and promise.holds is not False:
        return replace(promise, condition=condition + _NOTHING, holds=None)
    return replace(promise, condition=condition)
