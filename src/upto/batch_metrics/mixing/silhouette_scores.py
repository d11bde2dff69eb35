"""Silhouettes of labels and of batches, from arrays; None where undefined."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.batch_metrics.mixing.points import (
    METRICS,
    Grouping,
    Metric,
    Points,
    UndefinedScoreError,
    distance_blocks,
    points_and_groups,
    within,
)
from upto.batch_metrics.mixing.silhouettes import (
    Between,
    SilhouetteSums,
    batch_width,
    isolated_width,
    label_width,
)
from upto.core import InputError

if TYPE_CHECKING:
    from upto.batch_metrics.mixing.points import Names
    from upto.core.array_types import Float, Index


def silhouette_label(
    rows: Float, labels: Names, *, metric: Metric = "euclidean", rescale: bool = True
) -> float | None:
    r"""Return the mean silhouette width of labels (ASW).

    Parameters
    ----------
    rows
        Array of shape (n_samples, n_features).
    labels
        Label of each row.
    metric
        ``euclidean`` or ``cosine`` distances.
    rescale
        Whether to map the mean from [-1, 1] to [0, 1].

    Returns
    -------
    float or None
        The score; None if there is one label.

    See Also
    --------
    silhouette_batch : The same of batches, within labels.
    isolated_labels : The same of the labels in the fewest batches.
    evaluate_mixing : All scores at once.

    Notes
    -----
    With a the mean distance of row i to the other rows of its label, and b the smallest mean
    distance to the rows of another label,

    .. math::

        s_i = \frac{b_i - a_i}{\max(a_i, b_i)}, \qquad \mathrm{ASW} = \frac{1}{2} (1 + \bar s)

    Random labels score about one half.

    References
    ----------
    Rousseeuw (1987). Silhouettes: A graphical aid to the interpretation and validation of cluster
    analysis. Journal of Computational and Applied Mathematics 20, 53-65.

    Luecken et al. (2022). Benchmarking atlas-level data integration in single-cell genomics. Nature
    Methods 19, 41-50.

    Examples
    --------
    >>> from upto.batch_metrics.mixing import silhouette_label
    >>> rows = [[0.0], [1.0], [10.0], [11.0]]
    >>> round(silhouette_label(rows, ["x", "x", "y", "y"]), 3)
    0.95
    """
    points, (groups,) = points_and_groups(rows, labels=labels)
    flat = np.zeros(groups.n_groups, dtype=np.intp)
    widths = _widths(points, groups, flat, metric, "nearest")
    try:
        return label_width(widths, groups, rescale=rescale)
    except UndefinedScoreError:
        return None


def silhouette_batch(
    rows: Float,
    batches: Names,
    labels: Names,
    *,
    metric: Metric = "euclidean",
    between: Between = "nearest",
    rescale: bool = True,
) -> float | None:
    r"""Return one minus the mean absolute silhouette width of batches within labels.

    Parameters
    ----------
    rows
        Array of shape (n_samples, n_features).
    batches, labels
        Batch and label of each row.
    metric
        ``euclidean`` or ``cosine`` distances.
    between
        Batch to compare with: the ``nearest`` or ``furthest`` other one of the label, or
        ``mean-other``, all rows of the others.
    rescale
        Whether to subtract the mean from one, so that mixed batches score 1.

    Returns
    -------
    float or None
        The score; None if no label has two batches.

    See Also
    --------
    bras : The variant that cannot be gamed by pairs of batches.
    silhouette_label : The same of labels.
    evaluate_mixing : All scores at once.

    Notes
    -----
    With the widths :math:`s_i` of rows among the batches of their label l, and L labels with two or
    more batches and two rows in one of them,

    .. math::

        1 - \frac{1}{L} \sum_l \frac{1}{n_l} \sum_{i \in l} |s_i|

    References
    ----------
    Luecken et al. (2022). Benchmarking atlas-level data integration in single-cell genomics. Nature
    Methods 19, 41-50.

    Examples
    --------
    >>> from upto.batch_metrics.mixing import silhouette_batch
    >>> rows = [[0.0], [1.0], [0.0], [1.0]]
    >>> round(silhouette_batch(rows, ["p", "p", "q", "q"], ["x"] * 4), 3)
    0.5
    """
    points, (groups, others) = points_and_groups(rows, labels=labels, batches=batches)
    nested, outer = within(groups, others)
    widths = _widths(points, nested, outer, metric, between)
    try:
        return batch_width(widths, groups, outer, rescale=rescale)
    except UndefinedScoreError:
        return None


def bras(
    rows: Float,
    batches: Names,
    labels: Names,
    *,
    metric: Metric = "cosine",
    between: Between = "mean-other",
) -> float | None:
    """Return the cosine batch silhouette against all other batches of a label.

    Parameters
    ----------
    rows
        Array of shape (n_samples, n_features).
    batches, labels
        Batch and label of each row.
    metric, between
        As for `silhouette_batch`.

    Returns
    -------
    float or None
        The score; None if no label has two batches.

    See Also
    --------
    silhouette_batch : The same by Euclidean distance to the nearest batch, with the formula.
    evaluate_mixing : All scores at once.

    References
    ----------
    Rautenstrauch and Ohler (2025). Shortcomings of silhouette in single-cell integration
    benchmarking. Nature Biotechnology.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.batch_metrics.mixing import bras
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(200, 3))
    >>> batches, labels = np.array([0, 1] * 100), ["x"] * 200
    >>> apart = rows + 4.0 * batches[:, None]
    >>> round(bras(rows, batches, labels), 2), round(bras(apart, batches, labels), 2)
    (0.87, 0.34)
    """
    return silhouette_batch(rows, batches, labels, metric=metric, between=between)


def isolated_labels(
    rows: Float,
    batches: Names,
    labels: Names,
    *,
    most_batches: int | None = None,
    rescale: bool = True,
) -> float | None:
    """Return the label silhouette of the labels in the fewest batches.

    Parameters
    ----------
    rows
        Array of shape (n_samples, n_features).
    batches, labels
        Batch and label of each row.
    most_batches
        Labels in at most this many batches count; by default those in the fewest.
    rescale
        Whether to map the mean from [-1, 1] to [0, 1].

    Returns
    -------
    float or None
        The mean over these labels; None if there is one label, or no label in so few batches.

    See Also
    --------
    silhouette_label : The same of all labels, with the formula.
    evaluate_mixing : All scores at once.

    References
    ----------
    Luecken et al. (2022). Benchmarking atlas-level data integration in single-cell genomics. Nature
    Methods 19, 41-50.

    Examples
    --------
    >>> from upto.batch_metrics.mixing import isolated_labels
    >>> rows = [[0.0], [0.0], [10.0], [10.0]]
    >>> isolated_labels(rows, ["p", "q", "p", "p"], ["x", "x", "y", "y"])
    1.0
    """
    points, (groups, others) = points_and_groups(rows, labels=labels, batches=batches)
    flat = np.zeros(groups.n_groups, dtype=np.intp)
    widths = _widths(points, groups, flat, "euclidean", "nearest")
    outer = within(groups, others)[1]
    try:
        return isolated_width(widths, groups, outer, most_batches=most_batches, rescale=rescale)
    except UndefinedScoreError:
        return None


def _widths(
    points: Points, groups: Grouping, outer: Index, metric: Metric, between: Between
) -> Float:
    if metric not in METRICS:
        message = f"there is no metric {metric!r}: choose one of {', '.join(METRICS)}."
        raise InputError(message)
    sums = SilhouetteSums(points, groups, outer, between)
    for block in distance_blocks(points.values, metric=metric):
        if block.cosine is not None:
            sums.take(block.points, block.cosine)
        elif block.squared is not None:
            sums.take(block.points, np.sqrt(block.squared, out=block.squared))
    return sums.widths
