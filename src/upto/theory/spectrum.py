"""Whether the smallest singular values of a matrix lie apart, as those of rounding or noise do.

Noise of one deviation in q directions of K rows has singular values between √K - √q and √K + √q
deviations, and nothing in between them and what is no noise. Numbers that were rounded, and then
centred, turned or added up, show no bits of the type they had; such a group of values they show.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WIDE = 10.0
_WIDE_FLATNESS = 3.0
"""A gap this wide is one, whatever the group below it looks like, within reason."""
_NARROW = 1.5
_NARROW_FLATNESS = 1.2
_FEWEST = 8
_MANY_ROWS = 4
"""A narrow gap is one above this many values, as flat as noise, with so many rows a coordinate."""


def noise_directions(values: NDArray[np.float64], n_rows: int) -> int:
    """Count the smallest singular values that lie apart from the others; zero where none do.

    One alone does not count, for a rare class makes one too. At most half do: of a few large values
    above many of one size, as most heads have them, the few are the exception.

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
