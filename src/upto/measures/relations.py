"""What relation measures share: distances between rows, centring, and one inner product.

A relation is centred and brought to unit length when it is made, so that two runs, and every
permutation of their pairing, cost no more than the sum of a product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core.arrays import Float
    from upto.measures.kinds import Relation


MOST_BYTES = 2**31
"""Size of the largest n×n array that is made."""
ROUNDING = 1e-13
"""Numbers closer than this fraction of those they were computed from are taken as equal."""


def euclidean_squares(rows: Float) -> tuple[Float, Float]:
    """Return squared distances between rows on a scale of one, and squared lengths of rows.

    Lengths are about the median. Distances that are not above rounding are zero.
    """
    # The scale goes before squares are taken: they would overflow or vanish.
    rows = _scaled(rows, np.abs(rows).max())
    # A few far rows would take the mean, and the precision of all other distances, with them.
    rows = rows - np.median(rows, axis=0)
    rows = _scaled(rows, np.abs(rows).max())
    lengths: Float = np.einsum("ij,ij->i", rows, rows)
    return _squares(rows, lengths), lengths


def cosine_distances(rows: Float) -> Float:
    """Return one minus the cosine between rows; a row of zeros is at right angles to all."""
    rows = _unit_rows(rows)
    return _squares(rows, np.ones(len(rows))) / 2.0


def correlation_distances(rows: Float) -> Float:
    """Return one minus the correlation between rows across their coordinates.

    A row whose coordinates are all equal is correlated with none.
    """
    rows = _unit_rows(rows)
    rows = rows - rows.mean(axis=1, keepdims=True)
    rows[np.linalg.norm(rows, axis=1) <= ROUNDING] = 0.0
    return cosine_distances(rows)


def about_mean(values: Float) -> Float:
    """Return what is between different rows less its mean."""
    n = len(values)
    centred: Float = values - (values.sum() - np.trace(values)) / max(n * (n - 1), 1)
    np.fill_diagonal(centred, 0.0)
    return centred


def doubly_centred(values: Float) -> Float:
    """Return values less the mean of their row and of their column, and more that of all."""
    means = values.mean(axis=0)
    centred: Float = values - means - means[:, None] + means.mean()
    return centred


def unbiasedly_centred(values: Float) -> Float:
    """Return what is between different rows, centred so that products of two are unbiased.

    This is the U-centring of Székely and Rizzo (2014): the sum of the product of two matrices
    centred so is the estimate of Song et al. (2012), times n(n − 3). Fewer than four rows leave
    nothing.
    """
    n = len(values)
    if n < 4:
        return np.zeros_like(values)
    values = values - np.diag(np.diag(values))
    sums = values.sum(axis=0)
    centred: Float = values - (sums + sums[:, None]) / (n - 2) + sums.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(centred, 0.0)
    return centred


def unit_length(centred: Float, values: Float) -> tuple[NDArray[np.float32]]:
    """Return a relation of unit length, or zeros where centring the values left only rounding."""
    length = np.linalg.norm(centred)
    if length <= ROUNDING * np.linalg.norm(values):
        return (np.zeros(centred.shape, dtype=np.float32),)
    return ((centred / length).astype(np.float32),)


def inner_product(first: Relation, second: Relation, *_: float) -> float:
    """Return the sum of the product of two symmetric relations."""
    # A transpose is itself here, and rows that lie together in memory are read much faster.
    x, y = (each if each.flags.c_contiguous else each.T for each in (first[0], second[0]))
    # Sums over rows are short enough for single precision; the sum of n of them is not.
    return float(np.vecdot(x, y).sum(dtype=np.float64))


def refuse_many_rows(n_samples: int) -> None:
    """Refuse rows that are too many to relate every one to every other."""
    size = n_samples * n_samples * np.dtype(np.float64).itemsize
    if size > MOST_BYTES:
        message = (
            f"{n_samples} rows make {size / 2**30:.3g} GiB of numbers between every two of them, "
            f"but at most {MOST_BYTES / 2**30:.3g} GiB are made: measure at most "
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
    """Divide by the power of two above the largest number, which is exact."""
    scaled: Float = np.ldexp(rows, -np.frexp(largest)[1])
    return scaled
