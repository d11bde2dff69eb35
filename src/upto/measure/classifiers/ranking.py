"""How well scores rank one class above the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata

from upto.core import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def auroc(labels: ArrayLike, scores: ArrayLike) -> float | None:
    """Return the area under the receiver operating characteristic curve.

    Parameters
    ----------
    labels
        True for rows that should score higher.
    scores
        One number a row; of two that are equal each counts as half above the other.

    Returns
    -------
    float or None
        The share of pairs of one row of each class that are in the right order; None where there is
        one class only.
    """
    is_positive, numbers = _checked(labels, scores)
    return _area(is_positive, numbers)


def auroc_within(labels: ArrayLike, scores: ArrayLike, batches: ArrayLike) -> float | None:
    """Return the area over pairs of rows of one batch only.

    It is the mean of the areas of batches with both classes, weighted by their pairs, so that
    scores which differ by a constant for each batch have the same.
    """
    is_positive, numbers = _checked(labels, scores)
    names = np.asarray(batches)
    if names.shape != numbers.shape:
        message = f"there are {len(numbers)} scores and {names.size} batches: give one for each."
        raise InputError(message)
    total, n_pairs = 0.0, 0
    for name in np.unique(names):
        inside = names == name
        area = _area(is_positive[inside], numbers[inside])
        if area is not None:
            count = int(is_positive[inside].sum())
            pairs = count * (int(inside.sum()) - count)
            total, n_pairs = total + area * pairs, n_pairs + pairs
    return total / n_pairs if n_pairs else None


def _checked(labels: ArrayLike, scores: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    is_positive, numbers = np.asarray(labels), np.asarray(scores, dtype=np.float64)
    if is_positive.ndim != 1 or is_positive.shape != numbers.shape:
        message = (
            f"labels have shape {is_positive.shape} and scores {numbers.shape}: give one each."
        )
        raise InputError(message)
    if not np.isin(is_positive, (0, 1)).all():
        message = "labels are neither true nor false: compare them with one class first."
        raise InputError(message)
    if np.isnan(numbers).any():
        message = f"{int(np.isnan(numbers).sum())} scores are not a number: drop those rows."
        raise InputError(message)
    return is_positive.astype(np.bool_), numbers


def _area(is_positive: NDArray[np.bool_], numbers: NDArray[Any]) -> float | None:
    count = int(is_positive.sum())
    n_pairs = count * (len(is_positive) - count)
    if n_pairs == 0:
        return None
    # Ranks are halves at worst, so sums of twice them are whole numbers and exact.
    twice = int((2 * rankdata(numbers)[is_positive]).sum())
    return (twice - count * (count + 1)) / (2 * n_pairs)
