"""Range of magnitudes whose squares can be summed in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Float = NDArray[np.floating[Any]]


def scale_limits(n_values: int) -> tuple[float, float]:
    """Return the smallest spread and the largest magnitude allowed for `n_values` values.

    Centring at most doubles a value, and sums of squares must not overflow; at the other end,
    the square of a relative error of 1e-9 must not underflow.
    """
    numbers = np.finfo(np.float64)
    least, most = float(numbers.tiny) * 1e8, float(numbers.max) / (4.0 * n_values)
    return float(np.sqrt(least)), float(np.sqrt(most))


def refuse_scale(name: str, low: Float, high: Float, n_values: int, *, what: str) -> None:
    """Refuse values whose magnitude is too large or whose spread is too small.

    Parameters
    ----------
    name
        Name of the data, for the message.
    low, high
        Minimum and maximum of each coordinate; constant data are accepted.
    n_values
        Largest number of values summed.
    what
        What to rescale, for the message.

    Raises
    ------
    InputError
        If their squares cannot be summed in float64.
    """
    least, most = scale_limits(n_values)
    size = float(max(np.abs(low).max(), np.abs(high).max()))
    if size > most:
        message = (
            f"{name} has values of magnitude {size:.2g}, whose squares overflow float64: "
            f"rescale {what}."
        )
        raise InputError(message)
    spread = float(np.max(high - low))
    if 0.0 < spread < least:
        message = (
            f"{name} has values that differ by at most {spread:.2g}, whose squares underflow "
            f"float64: rescale {what}."
        )
        raise InputError(message)
