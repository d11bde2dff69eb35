"""The k nearest rows of each row, ties included, from the distances between all rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from upto.measures.kinds import as_count
from upto.measures.relations import ROUNDING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core.array_types import Float

    Flags = NDArray[np.bool_]

_SMALLEST_PART = 4
"""Size of parts of a row below which their minima save no work."""


def near_rows(distances: Float, scale: Float, k: float) -> tuple[Flags, Float]:
    """Return which rows are nearest, and the slack within which distances count as equal."""
    refuse_neighbours(k, len(distances))
    np.fill_diagonal(distances, np.inf)
    farthest = smallest(distances, int(k))
    slack = ROUNDING * (scale + farthest)
    is_near = distances <= (farthest + slack)[:, None]
    np.fill_diagonal(distances, 0.0)
    np.fill_diagonal(is_near, val=False)
    return is_near, slack


def smallest(distances: Float, k: int) -> Float:
    """Return the k-th smallest number of each row."""
    n_rows, width = distances.shape
    n_parts = math.isqrt(k * width)
    size = width // n_parts
    if size < _SMALLEST_PART:
        return np.partition(distances, k - 1, axis=1)[:, k - 1]
    # It is in one of the k parts of the row with the smallest minima: their minima are k numbers no
    # larger than any in the other parts.
    parts = distances[:, : size * n_parts].reshape(n_rows, size, n_parts)
    chosen = np.argpartition(parts.min(axis=1), k - 1, axis=1)[:, None, :k]
    numbers = np.take_along_axis(parts, chosen, axis=2).reshape(n_rows, size * k)
    rest = distances[:, size * n_parts :]
    return np.partition(np.hstack([numbers, rest]), k - 1, axis=1)[:, k - 1]


def rank_rows(ranks: NDArray[np.float32], distances: Float, is_near: Flags, slack: Float) -> None:
    """Write the ranks of near rows; tied ones share the harmonic mean of theirs."""
    row, column = places_of(is_near)
    order = np.lexsort((distances[row, column], row))
    row, column = row[order], column[order]
    counts = np.count_nonzero(is_near, axis=1)
    inverse = 1.0 / (np.arange(1, len(row) + 1) - (np.cumsum(counts) - counts)[row])
    is_new = np.ones(len(row), dtype=np.bool_)
    is_new[1:] = (np.diff(row) > 0) | (np.diff(distances[row, column]) > slack[row[1:]])
    starts = np.flatnonzero(is_new)
    sizes = np.diff(starts, append=len(row))
    ranks[row, column] = np.repeat(sizes / np.add.reduceat(inverse, starts), sizes)


def places_of(flags: Flags) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows and columns of true flags, in order."""
    # Several times as fast as np.nonzero.
    row, column = np.divmod(np.flatnonzero(flags), flags.shape[1])
    return row, column


def refuse_neighbours(k: float, n_samples: int) -> None:
    """Raise if there are not that many other rows."""
    as_count(
        k,
        f"nearest rows requested from {n_samples} rows",
        most=n_samples - 1,
        up_to=f" to less than {n_samples}, or give more rows",
    )
