"""Between which sizes the squares of numbers can be summed in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Float = NDArray[np.floating[Any]]


def scale_limits(n_values: int) -> tuple[float, float]:
    """Return the smallest range and the largest size that so many values may have.

    Centred values are at most twice as large as values, and sums of their squares must not
    overflow. At the other end, the square of an error of 1e-9 must not yet be zero.
    """
    numbers = np.finfo(np.float64)
    least, most = float(numbers.tiny) * 1e8, float(numbers.max) / (4.0 * n_values)
    return float(np.sqrt(least)), float(np.sqrt(most))


def refuse_scale(name: str, low: Float, high: Float, n_values: int, *, what: str) -> None:
    """Refuse values that are too large, or whose largest range is too small.

    Parameters
    ----------
    name
        What has these values.
    low, high
        The range of each coordinate; where none varies, there is no scale to refuse.
    n_values
        How many values are summed at most.
    what
        What is to be rescaled, in words.

    Raises
    ------
    InputError
        If their squares cannot be summed in float64.
    """
    least, most = scale_limits(n_values)
    size = float(max(np.abs(low).max(), np.abs(high).max()))
    if size > most:
        message = (
            f"{name} has values of size {size:.2g}, whose squares leave the range of float64: "
            f"rescale {what}."
        )
        raise InputError(message)
    spread = float(np.max(high - low))
    if 0.0 < spread < least:
        message = (
            f"{name} has values that differ by at most {spread:.2g}, whose squares are too small "
            f"for float64: rescale {what}."
        )
        raise InputError(message)
