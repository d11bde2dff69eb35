"""Exponents of power laws."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from upto.core import Estimate, InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

MIN_REPEATS = 10
"""Minimum number of repeats for an interval."""


def power_rate(sizes: ArrayLike, values: ArrayLike) -> Estimate:
    """Return the slope of log values over log sizes, by least squares.

    Parameters
    ----------
    sizes
        Two or more different positive sizes.
    values
        Positive values, one per size, or one row of them per repeat. The slope is that of the mean
        over repeats, and its interval reflects their variation.

    Examples
    --------
    >>> round(power_rate([1, 10, 100], [2.0, 0.2, 0.02]).value, 9)
    -1.0
    """
    x, y = np.asarray(sizes, dtype=np.float64), np.atleast_2d(np.asarray(values, dtype=np.float64))
    if x.ndim != 1 or y.ndim != 2 or y.shape[1] != len(x) or len(set(x.tolist())) < 2:
        message = (
            f"sizes of shape {x.shape} and values of shape {y.shape} define no rate: give two or "
            "more different sizes, and one value per size."
        )
        raise InputError(message)
    n_bad = int((~(np.isfinite(x) & (x > 0))).sum() + (~(np.isfinite(y) & (y > 0))).sum())
    if n_bad:
        message = (
            f"{n_bad} sizes or values are not positive, so they have no logarithm: remove them."
        )
        raise InputError(message)
    centred = np.log(x) - np.log(x).mean()
    weights = centred / (centred @ centred)
    slope = float(np.log(y.mean(axis=0)) @ weights)
    n_repeats = len(y)
    if n_repeats < MIN_REPEATS:
        return Estimate(value=slope)
    # To first order a repeat changes the slope by its values over their means, times the weights.
    moves = (y / y.mean(axis=0)) @ weights
    half = float(stdtrit(n_repeats - 1, 0.975) * moves.std(ddof=1)) / math.sqrt(n_repeats)
    return Estimate(value=slope, low=slope - half, high=slope + half)
