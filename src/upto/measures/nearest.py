"""Exact search for the nearest rows of queries, by cosine, inner product or distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from upto.core import InputError
from upto.core.array_types import Float, Index

if TYPE_CHECKING:
    from collections.abc import Iterator

Metric = Literal["cosine", "inner-product", "euclidean"]
METRICS: tuple[Metric, ...] = get_args(Metric)

_BLOCK_VALUES = 2**23
"""Largest number of scores in memory at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Searchable:
    """Queries and rows in one space, whose product, plus an offset of the row, is their score.

    The nearest row of a query has the largest score. Scores of one query can be compared with each
    other; those of different queries cannot, if the metric is the distance.
    """

    queries: Float
    rows: Float
    offsets: Float | None = None

    @classmethod
    def by(cls, metric: Metric, queries: Float, rows: Float) -> Searchable:
        """Prepare queries and rows for a metric.

        Under the cosine, a row of zeros has the score 0 with every query.

        Raises
        ------
        InputError
            If there is no such metric, or the widths differ.
        """
        if metric not in METRICS:
            message = f"metric is {metric!r}: choose one of {', '.join(METRICS)}."
            raise InputError(message)
        queries, rows = (np.asarray(each, dtype=np.float64) for each in (queries, rows))
        if queries.shape[1] != rows.shape[1]:
            message = (
                f"the queries have {queries.shape[1]} coordinates but the rows have "
                f"{rows.shape[1]}: they are searched in one space only."
            )
            raise InputError(message)
        if metric == "cosine":
            return cls(unit_rows(queries), unit_rows(rows))
        if metric == "inner-product":
            return cls(queries, rows)
        # Distances do not change, and products of rows far from the origin would lose digits.
        centre = rows.mean(axis=0)
        rows = rows - centre
        return cls(queries - centre, rows, -0.5 * np.einsum("ij,ij->i", rows, rows))

    def scores(self, queries: slice) -> Float:
        """Return the score of every row for some queries."""
        found: Float = self.queries[queries] @ self.rows.T
        if self.offsets is not None:
            found += self.offsets
        return found

    def blocks(self) -> Iterator[slice]:
        """Yield slices of queries whose scores fit into memory."""
        step = max(1, _BLOCK_VALUES // max(1, len(self.rows)))
        for start in range(0, len(self.queries), step):
            yield slice(start, min(start + step, len(self.queries)))


def nearest_rows(queries: Float, rows: Float, count: int, *, metric: Metric = "cosine") -> Index:
    """Return the positions of the nearest rows of every query, the nearest first.

    Every row is compared with every query, so the result is exact.

    Parameters
    ----------
    queries, rows
        Arrays of shape (n, n_features) in memory.
    count
        Number of rows to find for each query.
    metric
        ``"cosine"``, ``"inner-product"`` or ``"euclidean"``.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_rows(np.array([[1.0, 0.1]]), np.eye(2), 2).tolist()
    [[0, 1]]
    """
    if not 1 <= count <= len(rows):
        message = f"count is {count}, but it must be from 1 to the number of rows, {len(rows)}."
        raise InputError(message)
    space = Searchable.by(metric, queries, rows)
    found = np.empty((len(queries), count), dtype=np.intp)
    for block in space.blocks():
        found[block] = largest(space.scores(block), count)
    return found


def largest(scores: Float, count: int) -> Index:
    """Return the positions of the largest numbers of each row, the largest first."""
    if count < scores.shape[1]:
        places = np.argpartition(scores, -count, axis=1)[:, -count:]
    else:
        places = np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
    order = np.argsort(-np.take_along_axis(scores, places, axis=1), axis=1, kind="stable")
    return np.take_along_axis(places, order, axis=1)


def unit_rows(rows: Float) -> Float:
    """Scale every row to unit length; rows of zeros stay zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    units: Float = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return units
