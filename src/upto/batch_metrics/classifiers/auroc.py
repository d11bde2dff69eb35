"""Area under the ROC curve, over all rows or within batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def auroc(labels: ArrayLike, scores: ArrayLike) -> float | None:
    r"""Return the area under the receiver operating characteristic curve.

    Parameters
    ----------
    labels
        True for rows that should score higher.
    scores
        One score per row; a tied pair counts one half.

    Returns
    -------
    float or None
        Fraction of pairs with one row of each class that are ranked correctly; None if there is
        only one class.

    See Also
    --------
    auroc_within : Over pairs of the same batch only.
    prepare : Classifiers whose scores it takes.

    Notes
    -----
    With :math:`n_1` rows that should score higher and :math:`n_0` others,

    .. math::

        \mathrm{AUROC} = \frac{1}{n_1 n_0} \sum_{i : y_i = 1} \sum_{j : y_j = 0}
        \left( [s_i > s_j] + \tfrac{1}{2} [s_i = s_j] \right)

    References
    ----------
    Hanley and McNeil (1982). The meaning and use of the area under a receiver operating
    characteristic (ROC) curve. Radiology 143, 29-36.

    Examples
    --------
    >>> from upto.batch_metrics.classifiers import auroc
    >>> auroc([True, True, False, False], [3.0, 1.0, 1.0, 0.0])
    0.875
    """
    is_positive, numbers = _checked(labels, scores)
    in_order, n_pairs = _pairs(is_positive, numbers, np.zeros(len(numbers), dtype=np.intp))
    return in_order / n_pairs if n_pairs else None


def auroc_within(labels: ArrayLike, scores: ArrayLike, batches: ArrayLike) -> float | None:
    r"""Return the area under the ROC curve over pairs of rows of the same batch.

    This is the mean area of batches with both classes, weighted by their pairs; adding a constant
    to the scores of a batch does not change it.

    Parameters
    ----------
    labels, scores
        As for `auroc`.
    batches
        Batch of each row.

    Returns
    -------
    float or None
        Fraction of pairs within batches that are ranked correctly; None if no batch has both
        classes.

    See Also
    --------
    auroc : Over all pairs.

    Notes
    -----
    With the area :math:`A_b` of batch b and its :math:`n_{1b} n_{0b}` pairs,

    .. math::

        \frac{\sum_b n_{1b} n_{0b} A_b}{\sum_b n_{1b} n_{0b}}

    Examples
    --------
    >>> from upto.batch_metrics.classifiers import auroc, auroc_within
    >>> scores = [1.0, 0.0, 11.0, 10.0]
    >>> auroc([True, False, True, False], scores)
    0.75
    >>> auroc_within([True, False, True, False], scores, ["p1", "p1", "p2", "p2"])
    1.0
    """
    is_positive, numbers = _checked(labels, scores)
    names = np.asarray(batches)
    if names.shape != numbers.shape:
        message = (
            f"there are {len(numbers)} scores and {names.size} batches: give one batch per score."
        )
        raise InputError(message)
    codes = np.unique(names, return_inverse=True)[1].reshape(-1)
    in_order, n_pairs = _pairs(is_positive, numbers, codes)
    return in_order / n_pairs if n_pairs else None


def _checked(labels: ArrayLike, scores: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    is_positive, numbers = np.asarray(labels), np.asarray(scores, dtype=np.float64)
    if is_positive.ndim != 1 or is_positive.shape != numbers.shape:
        message = (
            f"labels have shape {is_positive.shape} and scores {numbers.shape}: give one per row."
        )
        raise InputError(message)
    if not np.isin(is_positive, (0, 1)).all():
        message = "labels are neither true nor false: compare them with one class first."
        raise InputError(message)
    if np.isnan(numbers).any():
        message = f"{int(np.isnan(numbers).sum())} scores are NaN: drop those rows."
        raise InputError(message)
    return is_positive.astype(np.bool_), numbers


def _pairs(
    is_positive: NDArray[np.bool_], numbers: NDArray[Any], codes: NDArray[np.intp]
) -> tuple[float, int]:
    """Return the number of correctly ranked pairs within groups, and of all pairs."""
    if not len(numbers):
        return 0.0, 0
    order = np.lexsort((numbers, codes))
    is_positive, numbers, codes = is_positive[order], numbers[order], codes[order]
    starts_group = np.append(True, codes[1:] != codes[:-1])
    starts_tie = starts_group | np.append(True, numbers[1:] != numbers[:-1])
    # Negatives of all groups so far.
    below: NDArray[np.int64] = np.cumsum(~is_positive) - ~is_positive
    before_group = below[starts_group][np.cumsum(starts_group) - 1]
    before_tie = below[starts_tie]
    ties = np.cumsum(starts_tie) - 1
    tied = np.bincount(ties, weights=~is_positive).astype(np.int64)
    less = before_tie[ties] - before_group
    # Doubled counts are integers, so sums are exact.
    twice = int((2 * less + tied[ties])[is_positive].sum())
    sizes, counts = np.bincount(codes), np.bincount(codes, weights=is_positive).astype(np.int64)
    return twice / 2, int((counts * (sizes - counts)).sum())
