"""Distances between rows, centring and the inner product that relation measures share.

A relation is centred and scaled to unit norm once per run, so a pair of runs, or a permutation of
its pairing, costs one sum of products.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from upto.core.array_types import Float, Index
    from upto.measures.kinds import Relation


MOST_BYTES = 2**31
"""Size limit of an n×n array."""
_BLOCK = 128
ROUNDING = 1e-13
"""Numbers closer than this fraction of the numbers they were computed from count as equal."""


def euclidean_squares(rows: Float) -> tuple[Float, Float]:
    """Return squared distances between rows scaled to one, and squared norms of rows.

    Norms are about the median. Distances within rounding are zero.
    """
    # Scale before squaring, which could overflow or underflow.
    rows = _scaled(rows, np.abs(rows).max())
    # A few distant rows would shift the mean and cost all other distances their precision.
    rows = rows - np.median(rows, axis=0)
    rows = _scaled(rows, np.abs(rows).max())
    lengths: Float = np.einsum("ij,ij->i", rows, rows)
    return _squares(rows, lengths), lengths


def cosine_distances(rows: Float) -> Float:
    """Return one minus the cosine between rows; a zero row is orthogonal to all."""
    rows = _unit_rows(rows)
    return _squares(rows, np.ones(len(rows))) / 2.0


def correlation_distances(rows: Float) -> Float:
    """Return one minus the correlation between rows across their coordinates.

    A row whose coordinates are all equal has correlation zero with every row.
    """
    rows = _unit_rows(rows)
    rows = rows - rows.mean(axis=1, keepdims=True)
    rows[np.linalg.norm(rows, axis=1) <= ROUNDING] = 0.0
    return cosine_distances(rows)


def about_mean(values: Float) -> Float:
    """Return off-diagonal values minus their mean; the diagonal is zero."""
    n = len(values)
    centred: Float = values - (values.sum() - np.trace(values)) / max(n * (n - 1), 1)
    np.fill_diagonal(centred, 0.0)
    return centred


def doubly_centred(values: Float) -> Float:
    """Return values minus their row and column means, plus the grand mean."""
    means = values.mean(axis=0)
    centred: Float = values - means - means[:, None] + means.mean()
    return centred


def unbiasedly_centred(values: Float) -> Float:
    """Return U-centred values, whose inner products are unbiased.

    This is the U-centring of Székely and Rizzo (2014): the inner product of two U-centred matrices
    is n(n − 3) times the estimate of Song et al. (2012). With fewer than four rows all values are
    zero.
    """
    n = len(values)
    if n < 4:
        return np.zeros_like(values)
    centred: Float = values.copy()
    np.fill_diagonal(centred, 0.0)
    sums = centred.sum(axis=0)
    centred -= sums / (n - 2) - sums.sum() / ((n - 1) * (n - 2))
    centred -= sums[:, None] / (n - 2)
    np.fill_diagonal(centred, 0.0)
    return centred


def unit_length(centred: Float, values: Float) -> tuple[NDArray[np.float32]]:
    """Return a relation of unit norm, or zeros if centring left only rounding."""
    length = np.linalg.norm(centred)
    if length <= ROUNDING * np.linalg.norm(values):
        return (np.zeros(centred.shape, dtype=np.float32),)
    found = np.empty(centred.shape, dtype=np.float32)
    return (np.divide(centred, length, out=found, casting="same_kind"),)


def inner_product(first: Relation, second: Relation, *_: float) -> float:
    """Return the sum of the product of two symmetric relations."""
    y = second[0]
    return _sum_of_products(first[0], lambda start: y[start : start + _BLOCK, start:])


def permuted_inner_product(first: Relation, second: Relation, order: Index, *_: float) -> float:
    """Return the same with the rows of the second reordered, without a copy of its relation."""
    y = second[0]
    return _sum_of_products(
        first[0], lambda start: y.take(order[start : start + _BLOCK], 0).take(order[start:], 1)
    )


def _sum_of_products(x: NDArray[Any], blocks: Callable[[int], NDArray[Any]]) -> float:
    """Sum over blocks of rows, from the diagonal on: relations are symmetric.

    A block fits the cache. The order of summation does not depend on the pairing, so pairings that
    only exchange equal rows score exactly the same.
    """
    total = 0.0
    for start in range(0, len(x), _BLOCK):
        own, other = x[start : start + _BLOCK, start:], blocks(start)
        # Single precision suffices for the sum over a row, but not for the sum over rows.
        rows = np.vecdot(own, other).sum(dtype=np.float64)
        corner = np.vecdot(own[:, :_BLOCK], other[:, :_BLOCK]).sum(dtype=np.float64)
        total += 2.0 * float(rows) - float(corner)
    return total


def refuse_many_rows(n_samples: int) -> None:
    """Raise if there are too many rows for an n×n array."""
    size = n_samples * n_samples * np.dtype(np.float64).itemsize
    if size > MOST_BYTES:
        message = (
            f"{n_samples} rows need {size / 2**30:.3g} GiB for the relations between all of them, "
            f"but the limit is {MOST_BYTES / 2**30:.3g} GiB: use at most "
            f"{int((MOST_BYTES / 8) ** 0.5)} rows."
        )
        raise InputError(message)


def _squares(rows: Float, lengths: Float) -> Float:
    refuse_many_rows(len(rows))
    squares: Float = rows @ rows.T
    squares *= -2.0
    squares += lengths
    squares += lengths[:, None]
    squares[squares <= ROUNDING * (lengths + lengths[:, None])] = 0.0
    np.fill_diagonal(squares, 0.0)
    return squares


def _unit_rows(rows: Float) -> Float:
    rows = _scaled(rows, np.abs(rows).max(axis=1, keepdims=True))
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Float = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0.0)
    return unit


def _scaled(rows: Float, largest: Any) -> Float:
    """Divide by the power of two above the largest number, which is exact in floating point."""
    scaled: Float = np.ldexp(rows, -np.frexp(largest)[1])
    return scaled
