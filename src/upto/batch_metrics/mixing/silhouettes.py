"""Silhouette widths of groups of rows, overall or within labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from upto.batch_metrics.mixing.points import Grouping, Points, UndefinedScoreError
from upto.core import InputError

if TYPE_CHECKING:
    from upto.core.array_types import Float, Index

Between = Literal["nearest", "mean-other", "furthest"]
BETWEEN: tuple[Between, ...] = get_args(Between)


class SilhouetteSums:
    """Collector of the silhouette width of every row from blocks of distances.

    Parameters
    ----------
    points
        The distinct rows.
    groups
        Cluster of each row.
    outer
        For each cluster, in ascending order, the outer group within which it is compared.
    between
        Other cluster to compare with: the ``nearest`` or ``furthest`` by mean distance, or
        ``mean-other``, all rows of other clusters.
    """

    def __init__(self, points: Points, groups: Grouping, outer: Index, between: Between) -> None:
        if between not in BETWEEN:
            message = f"there is no distance {between!r}: choose one of {', '.join(BETWEEN)}."
            raise InputError(message)
        self.points = points
        self.groups = groups
        self.outer = outer
        self.between = between
        self.widths = np.zeros(points.n_samples)
        self._members = points.members(groups.codes, groups.n_groups).T.tocsr()
        self._starts = np.flatnonzero(np.diff(outer, prepend=-1))
        self._outer_sizes = np.add.reduceat(groups.sizes, self._starts)

    def take(self, some: slice, distances: Float) -> None:
        """Add the distances of a slice of points to all points."""
        rows = self.points.rows_of(some)
        local = self.points.of_row[rows] - some.start
        sums = np.ascontiguousarray((self._members @ distances.T).T)
        if len(local) != len(sums) or self.points.counts[some].max() > 1:
            sums = sums[local]
        own = self.groups.codes[rows]
        every = np.arange(len(own))
        sizes = self.groups.sizes
        inside = sums[every, own]
        others = self._outer_sizes[self.outer[own]] - sizes[own]
        if self.between == "mean-other":
            # The own sum is excluded, not subtracted: a small remainder would be lost to rounding.
            sums[every, own] = 0.0
            total = np.add.reduceat(sums, self._starts, axis=1)[every, self.outer[own]]
            outside = total / np.maximum(others, 1)
        else:
            reduce, none = (
                (np.minimum, np.inf) if self.between == "nearest" else (np.maximum, -np.inf)
            )
            sums /= sizes
            sums[every, own] = none
            outside = reduce.reduceat(sums, self._starts, axis=1)[every, self.outer[own]]
        inside /= np.maximum(sizes[own] - 1, 1)
        # A row alone in its group, or without other groups, has no width and counts as zero.
        is_defined = (sizes[own] > 1) & (others > 0)
        outside = np.where(is_defined, outside, 0.0)
        largest = np.maximum(inside, outside)
        self.widths[rows] = np.divide(
            outside - inside,
            largest,
            out=np.zeros_like(largest),
            where=is_defined & (largest > 0.0),
        )


def label_width(widths: Float, labels: Grouping, *, rescale: bool = True) -> float:
    """Return the mean width over rows, from 0 to 1 if rescaled."""
    if labels.n_groups < 2:
        message = "There is one label: silhouettes need two."
        raise UndefinedScoreError(message)
    mean = float(widths.mean())
    return (mean + 1.0) / 2.0 if rescale else mean


def batch_width(widths: Float, labels: Grouping, outer: Index, *, rescale: bool = True) -> float:
    """Return the mean over labels of the mean |width| of batches within them."""
    n_batches = np.bincount(outer, minlength=labels.n_groups)
    counts = (n_batches > 1) & (n_batches < labels.sizes)
    if not counts.any():
        message = "No label has rows in two batches and two rows in one of them."
        raise UndefinedScoreError(message)
    means = np.bincount(labels.codes, weights=np.abs(widths)) / labels.sizes
    value = float(means[counts].mean())
    return 1.0 - value if rescale else value


def isolated_width(
    widths: Float,
    labels: Grouping,
    outer: Index,
    *,
    most_batches: int | None = None,
    rescale: bool = True,
) -> float:
    """Return the mean width of the labels in the fewest batches, averaged over labels."""
    if labels.n_groups < 2:
        message = "There is one label: silhouettes need two."
        raise UndefinedScoreError(message)
    n_batches = np.bincount(outer, minlength=labels.n_groups)
    chosen = n_batches <= (n_batches.min() if most_batches is None else most_batches)
    if not chosen.any():
        message = f"No label is in {most_batches} or fewer batches."
        raise UndefinedScoreError(message)
    means = np.bincount(labels.codes, weights=widths) / labels.sizes
    value = float(means[chosen].mean())
    return (value + 1.0) / 2.0 if rescale else value
