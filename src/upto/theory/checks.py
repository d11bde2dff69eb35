"""Numbers a theorem can be given: each check says what was given and what is needed."""

from __future__ import annotations

import math

from upto.core import InputError


def check_size(value: float, name: str) -> float:
    """Return a number that may be zero or infinite, but neither negative nor undefined."""
    number = float(value)
    if math.isnan(number) or number < 0.0:
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
    if value != int(value) or value < least:
        message = f"{name} is {value:g}, but it must be a whole number from {least} on."
        raise InputError(message)
    return int(value)


def check_spectrum(smallest_eigenvalue: float, radius: float) -> tuple[float, float]:
    """Return a smallest variance and the norm no row exceeds; the first cannot be the larger."""
    eigenvalue = check_finite(smallest_eigenvalue, "the smallest eigenvalue")
    norm = check_finite(radius, "the radius")
    # The variance in any direction is a mean of squared projections.
    if eigenvalue > norm * norm * (1.0 + 1e-9):
        message = (
            f"the smallest eigenvalue is {eigenvalue:g}, but rows no longer than {norm:g} have "
            f"variances of at most {norm * norm:g}: check which number is which."
        )
        raise InputError(message)
    return eigenvalue, norm
