"""Checks of numbers that many functions take, each worded once."""

from __future__ import annotations

import math
import numbers
from typing import Any

from upto.core.errors import InputError


def check_whole(least: int = 0, **given: Any) -> None:
    """Refuse what is not a whole number of at least `least`.

    Raises
    ------
    InputError
        With the name of the argument and its value.
    """
    for name, value in given.items():
        is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        if not is_whole or value < least:
            message = f"{name} is {value!r}, but it must be a whole number of at least {least}."
            raise InputError(message)


def check_fraction(**given: Any) -> None:
    """Refuse what is not a fraction from 0 to below 1.

    Raises
    ------
    InputError
        With the name of the argument and its value.
    """
    for name, value in given.items():
        if not _is_number(value) or not 0 <= value < 1:
            message = f"{name} is {value!r}, but it must be a fraction from 0 to below 1."
            raise InputError(message)


def check_not_negative(**given: Any) -> None:
    """Refuse what is not a finite number of at least 0.

    Raises
    ------
    InputError
        With the name of the argument and its value.
    """
    for name, value in given.items():
        if not _is_number(value) or value < 0:
            message = f"{name} is {value!r}, but it must be a finite number of at least 0."
            raise InputError(message)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and math.isfinite(value)
