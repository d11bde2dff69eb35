"""Distinct rows in hash order, with equal rows merged into one point.

Equal rows are identified by their bytes, never by a rounded distance, and sums run in an order that
does not depend on the order of rows; so scores do not depend on it either, bit for bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from upto.batch_metrics.value_names import as_names
from upto.core import InputError
from upto.core.array_types import Float, Index
from upto.measures.kinds import as_rows as finite_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

Names = Sequence[Any] | NDArray[Any]
Metric = Literal["euclidean", "cosine"]
METRICS: tuple[Metric, ...] = ("euclidean", "cosine")

BLOCK_VALUES = 2**22
"""Distances in memory at a time."""


class UndefinedScoreError(Exception):
    """Raised if a score is undefined for these rows; the message is the reason."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Points:
    """Distinct rows.

    Parameters
    ----------
    values
        The distinct rows, in the order of a hash of their content.
    counts
        Number of rows equal to each.
    order
        Positions of the input rows, sorted by point.
    of_row
        Point of each row in that order.
    """

    values: Float
    counts: Index
    order: Index
    of_row: Index

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.of_row)

    @property
    def n_points(self) -> int:
        """Number of distinct rows."""
        return len(self.counts)

    def members(self, codes: Index, n_codes: int) -> Any:
        """Return the number of rows of each code at each point, as a sparse matrix."""
        ones = np.ones(len(codes))
        shape = (self.n_points, n_codes)
        return sparse.csr_matrix((ones, (self.of_row, codes)), shape=shape)

    def rows_of(self, points: slice) -> slice:
        """Return the slice of rows of a slice of points."""
        first, last = np.searchsorted(self.of_row, [points.start, points.stop])
        return slice(int(first), int(last))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Grouping:
    """Group of each row, in the order of the points."""

    codes: Index
    sizes: Index

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.sizes)


def as_rows(rows: Any, *, what: str = "the array of rows") -> Float:
    """Return rows as finite float64, with equal bytes for equal rows, or raise an error."""
    # Minus zero differs from zero in its bytes.
    return np.ascontiguousarray(finite_rows(rows, what)) + 0.0


def as_codes(names: Sequence[Any] | NDArray[Any], n_samples: int, *, what: str) -> Index:
    """Return the group codes of rows, or raise an error if a name is missing."""
    given = as_names(names)
    if given.ndim != 1 or len(given) != n_samples:
        message = f"there are {given.size} {what} for {n_samples} rows: give one per row."
        raise InputError(message)
    known, codes = np.unique(given, return_inverse=True)
    if "" in known:
        missing = np.count_nonzero(given == "")
        message = f"{missing} of {n_samples} {what} are missing: leave those rows out."
        raise InputError(message)
    return codes.reshape(-1)


def find_points(rows: Float, *codes: Index) -> tuple[Points, tuple[Grouping, ...]]:
    """Return the distinct rows, and the groups of all rows in that order.

    Parameters
    ----------
    rows
        Finite rows.
    codes
        Group codes from zero; equal rows are sorted by these.
    """
    hashes = b"".join(hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in rows)
    keys = np.frombuffer(hashes, dtype=">u8").reshape(-1, 2)
    order: Index = np.lexsort((*codes[::-1], keys[:, 1], keys[:, 0]))
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (keys[order[1:]] != keys[order[:-1]]).any(axis=1)
    of_row: Index = np.cumsum(is_first) - 1
    points = Points(
        values=rows[order[is_first]],
        counts=np.bincount(of_row).astype(np.intp),
        order=order,
        of_row=of_row,
    )
    groupings = tuple(
        Grouping(codes=each[order], sizes=np.bincount(each).astype(np.intp)) for each in codes
    )
    return points, groupings


def within(outer: Grouping, inner: Grouping) -> tuple[Grouping, Index]:
    """Return the groups of `inner` within `outer`, and the outer group of each."""
    pairs = outer.codes * inner.n_groups + inner.codes
    names, codes = np.unique(pairs, return_inverse=True)
    nested = Grouping(codes=codes.reshape(-1), sizes=np.bincount(codes.reshape(-1)))
    return nested, names // inner.n_groups


def distance_blocks(values: Float, *, metric: Metric | None = None) -> Iterator[DistanceBlock]:
    """Yield blocks of distances to all rows, for one metric or, by default, for both.

    Both use one matrix product of centred rows.
    """
    centre = values.mean(axis=0)
    centred = values - centre
    squares = np.einsum("ij,ij->i", centred, centred)
    along = centred @ centre
    norms = np.linalg.norm(values, axis=1)
    inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0.0)
    n_points, width = values.shape
    block = max(1, BLOCK_VALUES // n_points)
    doubt = 8.0 * np.finfo(np.float64).eps * (width**0.5 + 4.0) * (squares + squares.max())
    for start in range(0, n_points, block):
        some = slice(start, min(start + block, n_points))
        inner = centred[some] @ centred.T
        own = (np.arange(some.stop - start), np.arange(start, some.stop))
        cosine = None
        if metric != "euclidean":
            cosine = inner + along[some, None]
            cosine += along
            cosine += centre @ centre
            cosine *= inverse[some, None]
            cosine *= inverse
            np.subtract(1.0, cosine, out=cosine)
            np.clip(cosine, 0.0, 2.0, out=cosine)
            cosine[own] = 0.0
        if metric != "cosine":
            inner *= -2.0
            inner += squares[some, None]
            inner += squares
            np.maximum(inner, 0.0, out=inner)
            inner[own] = 0.0
        yield DistanceBlock(
            points=some,
            squared=None if metric == "cosine" else inner,
            doubt=doubt[some],
            cosine=cosine,
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DistanceBlock:
    """Distances of a slice of points to all points.

    Parameters
    ----------
    points
        The slice.
    squared
        Squared distances, if requested.
    doubt
        Error bound on the squared distances of each point of the slice.
    cosine
        One minus the cosine, if requested; 1 to a row of zeros, which has no direction.
    """

    points: slice
    squared: Float | None
    doubt: Float
    cosine: Float | None


def points_and_groups(rows: Any, **names: Names) -> tuple[Points, tuple[Grouping, ...]]:
    """Return the distinct rows, and the groups of rows by each of the names."""
    values = as_rows(rows)
    codes = [as_codes(each, len(values), what=what) for what, each in names.items()]
    return find_points(values, *codes)
