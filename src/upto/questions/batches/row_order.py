"""An order of rows by what they hold, whatever the units, the order or the type of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata

from upto.core import random_stream

if TYPE_CHECKING:
    from numpy.typing import NDArray


def rank_keys(rows: NDArray[Any], seed: int) -> NDArray[np.uint64]:
    """Return a number for each row, made of the rank of each of its values in its column.

    Numbers drawn for ranks add up over columns: columns that grow with the given ones, in another
    order or other units, have the same. So have numbers of another type, unless rounding makes
    values equal that were not.

    Parameters
    ----------
    rows
        The rows.
    seed
        Of the numbers drawn.
    """
    drawn = random_stream(seed, "ranks").integers(2**64, size=len(rows) + 1, dtype=np.uint64)
    found = np.zeros(len(rows), dtype=np.uint64)
    for column in rows.T:
        found += drawn[rankdata(column, method="min")]
    return found
