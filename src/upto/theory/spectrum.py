"""Detect a separate group of small singular values, as caused by rounding or noise.

Noise of one standard deviation in q directions of K rows has singular values between √K - √q and
√K + √q deviations, with a gap to the signal. Numbers that were rounded and then centred, rotated or
added up no longer show the bits of their type, but they do show such a group.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WIDE = 10.0
_WIDE_FLATNESS = 3.0
"""A gap this wide counts for almost any group below it."""
_NARROW = 1.5
_NARROW_FLATNESS = 1.2
_FEWEST = 8
_MANY_ROWS = 4
"""A narrow gap counts above this many values, as flat as noise, with this many rows each."""


def noise_directions(values: NDArray[np.float64], n_rows: int) -> int:
    """Count the smallest singular values separated from the others; zero if none are.

    A single one does not count, as a rare class causes one too. At most half do: with a few large
    values above many of one size, as in most heads, the few are the exception.

    Parameters
    ----------
    values
        Singular values of centred rows, the largest first, all positive.
    n_rows
        Number of rows.
    """
    width = len(values)
    for count in range(width // 2, 1, -1):
        first = width - count
        gap = float(values[first - 1] / values[first])
        flatness = float(values[first] / values[-1])
        spread = math.sqrt(count / (n_rows - 1))
        noise = (1.0 + spread) / (1.0 - spread)
        if gap >= _WIDE and flatness <= _WIDE_FLATNESS * noise:
            return count
        many = count >= _FEWEST and n_rows >= _MANY_ROWS * width
        if many and gap >= _NARROW and flatness <= _NARROW_FLATNESS * noise:
            return count
    return 0
