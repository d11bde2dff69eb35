"""Class vectors as checked matrices, centred block by block in double precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg

from upto.core import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from upto.core.array_types import Float

_EXTREME = 1e100
_ROWS = 4096


def centred_rank(rows: ArrayLike) -> int:
    """Return the number of directions in which rows (classes or samples) vary.

    For representations f(x), one per row, this is the second and weaker condition: with M
    directions the class vectors are determined too, up to the inverse map and a constant vector.

    Parameters
    ----------
    rows
        Matrix of real numbers, one class or sample per row.

    Returns
    -------
    int
        The rank of the rows after subtracting their mean.

    See Also
    --------
    head_diversity : The first condition, with its margin.

    References
    ----------
    Roeder et al. (2021). On linear identifiability of learned representations. International
    Conference on Machine Learning.

    Examples
    --------
    >>> from upto.theory import centred_rank
    >>> centred_rank([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    1
    """
    return centred_values(as_head(rows, "the run"))[1]


def centred_triangle(columns: Sequence[Any], shares: Float | None = None) -> Float:
    """Return R of the QR factorisation of centred rows, block by block.

    Its singular values are those of the centred rows. Forming their covariance instead would
    square the condition number.

    Parameters
    ----------
    columns
        Matrices with one row per class, concatenated by columns.
    shares
        Weight of each row, summing to one: rows are centred at the weighted mean and scaled by the
        square roots of their weights.
    """
    n_rows, width = len(columns[0]), sum(each.shape[1] for each in columns)
    means = [mean_of(each, shares) for each in columns]
    triangle = np.empty((0, width))
    length = max(4 * width, _ROWS)
    for start in range(0, n_rows, length):
        part = slice(start, start + length)
        block = np.hstack(
            [as_float(each[part]) - mean for each, mean in zip(columns, means, strict=True)]
        )
        if shares is not None:
            block *= np.sqrt(shares[part])[:, None]
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, block]), mode="r"))
    return triangle


def as_head(head: ArrayLike, name: str = "the head") -> NDArray[Any]:
    """Return class vectors as a matrix of finite real numbers, of unchanged type.

    Parameters
    ----------
    head
        K×M class vectors, one row per class.
    name
        Name of the matrix in errors.

    Returns
    -------
    ndarray of shape (K, M)
        The same numbers.

    Raises
    ------
    InputError
        If they are no matrix of finite real numbers, or their squares overflow.

    See Also
    --------
    head_diversity : The diversity of class vectors.
    linear_map_between : The map between two of them.

    Examples
    --------
    >>> from upto.theory import as_head
    >>> as_head([[1, 0], [0, 1], [1, 1]]).shape
    (3, 2)
    """
    vectors = np.asarray(head)
    if vectors.ndim != 2 or 0 in vectors.shape or vectors.dtype.kind not in "fiub":
        message = (
            f"{name} has shape {vectors.shape} and type {vectors.dtype}: give K×M real numbers, "
            "one row per class."
        )
        raise InputError(message)
    if not np.isfinite(vectors).all():
        message = f"{name} has values that are not finite: give numbers."
        raise InputError(message)
    largest = float(np.abs(vectors.astype(np.float64)).max())
    if largest and not 1.0 / _EXTREME <= largest <= _EXTREME:
        message = (
            f"the largest value of {name} is {largest:.3g}, whose square overflows: divide all by "
            "one number, which does not affect identifiability."
        )
        raise InputError(message)
    return vectors


def as_frequencies(frequencies: ArrayLike | None, n_classes: int) -> Float:
    """Return the fraction of each class; equal by default."""
    if frequencies is None:
        return np.full(n_classes, 1.0 / n_classes)
    counts = np.asarray(frequencies, dtype=np.float64)
    if counts.shape != (n_classes,):
        message = (
            f"frequencies of shape {counts.shape} do not fit {n_classes} classes: give one number "
            "for each class."
        )
        raise InputError(message)
    if not np.isfinite(counts).all() or counts.min() < 0 or np.sum(counts > 0) < 2:
        message = (
            f"{int(np.sum(counts > 0))} of {n_classes} frequencies are positive and the smallest "
            f"is {counts.min():g}: give counts of which two are positive and none is negative."
        )
        raise InputError(message)
    shares: Float = counts / counts.sum()
    return shares


def centred_values(rows: NDArray[Any]) -> tuple[Float, int]:
    """Return the singular values of the centred rows, and their rank."""
    n_rows, width = rows.shape
    values = np.zeros(width)
    found = scipy.linalg.svdvals(centred_triangle([rows]))
    # Centring leaves one direction less than there are rows; the rest is rounding.
    kept = min(n_rows - 1, width)
    values[:kept] = found[:kept]
    tolerance = values[0] * max(n_rows, width) * np.finfo(np.float64).eps
    return values, int(np.sum(values > tolerance))


def as_float(values: Any) -> Float:
    """Return numbers in double precision."""
    return np.asarray(values, dtype=np.float64)


def mean_of(vectors: Any, shares: Float | None = None) -> Float:
    """Return the mean of rows, weighted by `shares` if given."""
    if shares is None:
        return np.asarray(np.mean(vectors, axis=0, dtype=np.float64), dtype=np.float64)
    weights = np.split(shares, range(_ROWS, len(shares), _ROWS))
    return np.asarray(
        sum(weight @ as_float(part) for weight, part in zip(weights, _blocks(vectors), strict=True))
    )


def _blocks(vectors: Any) -> list[Any]:
    return [vectors[start : start + _ROWS] for start in range(0, len(vectors), _ROWS)]
