"""Order rows by content, independent of units, order and type of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata

from upto.core import random_stream

if TYPE_CHECKING:
    from numpy.typing import NDArray


def rank_keys(rows: NDArray[Any], seed: int) -> NDArray[np.uint64]:
    """Return a key for each row, computed from the ranks of its values within columns.

    Each rank has a random number, and these are summed over columns, so keys do not change with
    the order of columns or their increasing transforms, nor with the type, unless rounding makes
    different values equal.

    Parameters
    ----------
    rows
        The rows.
    seed
        Seed of the random number generator.
    """
    drawn = random_stream(seed, "ranks").integers(2**64, size=len(rows) + 1, dtype=np.uint64)
    found = np.zeros(len(rows), dtype=np.uint64)
    for column in rows.T:
        found += drawn[rankdata(column, method="min")]
    return found
