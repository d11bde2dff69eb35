"""Scores as separate functions of arrays; None where a score is undefined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.batch_metrics.mixing import kbet as tests
from upto.batch_metrics.mixing import lisi, whole
from upto.batch_metrics.mixing.nearest_rows import find_neighbours
from upto.batch_metrics.mixing.points import (
    METRICS,
    Grouping,
    Metric,
    Points,
    UndefinedScoreError,
    as_codes,
    as_rows,
    distance_blocks,
    find_points,
    within,
)
from upto.batch_metrics.mixing.silhouettes import (
    Between,
    SilhouetteSums,
    batch_width,
    isolated_width,
    label_width,
)
from upto.batch_metrics.mixing.view import GRAPH_NEIGHBOURS, KBET_NEIGHBOURS, LISI_NEIGHBOURS
from upto.core import InputError

if TYPE_CHECKING:
    from upto.core.array_types import Float, Index

Names = Sequence[Any] | NDArray[Any]


def silhouette_label(
    rows: Float, labels: Names, *, metric: Metric = "euclidean", rescale: bool = True
) -> float | None:
    """Return the mean silhouette width of labels (ASW)."""
    points, (groups,) = _points(rows, labels=labels)
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
    """Return one minus the mean absolute silhouette width of batches within labels."""
    points, (groups, others) = _points(rows, labels=labels, batches=batches)
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
    """Return the cosine batch silhouette against all other batches of a label."""
    return silhouette_batch(rows, batches, labels, metric=metric, between=between)


def isolated_labels(
    rows: Float,
    batches: Names,
    labels: Names,
    *,
    most_batches: int | None = None,
    rescale: bool = True,
) -> float | None:
    """Return the label silhouette of the labels in the fewest batches."""
    points, (groups, others) = _points(rows, labels=labels, batches=batches)
    flat = np.zeros(groups.n_groups, dtype=np.intp)
    widths = _widths(points, groups, flat, "euclidean", "nearest")
    outer = within(groups, others)[1]
    try:
        return isolated_width(widths, groups, outer, most_batches=most_batches, rescale=rescale)
    except UndefinedScoreError:
        return None


def ilisi(
    rows: Float,
    batches: Names,
    *,
    neighbours: int = LISI_NEIGHBOURS,
    perplexity: float | None = None,
) -> float | None:
    """Return the scaled number of batches around a row: 0 for one, 1 for all equally."""
    points, (groups,) = _points(rows, batches=batches)
    near = find_neighbours(points.values, points.counts, neighbours)
    try:
        inverse = lisi.inverse_simpson(points, near, groups, perplexity=perplexity)
        return lisi.scaled_ilisi(inverse, groups)
    except UndefinedScoreError:
        return None


def clisi(
    rows: Float,
    labels: Names,
    *,
    neighbours: int = LISI_NEIGHBOURS,
    perplexity: float | None = None,
) -> float | None:
    """Return the scaled number of labels around a row: 1 for one, 0 for all equally."""
    points, (groups,) = _points(rows, labels=labels)
    near = find_neighbours(points.values, points.counts, neighbours)
    try:
        inverse = lisi.inverse_simpson(points, near, groups, perplexity=perplexity)
        return lisi.scaled_clisi(inverse, groups)
    except UndefinedScoreError:
        return None


def kbet(
    rows: Float,
    batches: Names,
    labels: Names,
    *,
    neighbours: int = KBET_NEIGHBOURS,
    alpha: float = 0.05,
    components: int = 100,
) -> float | None:
    """Return the fraction of rows whose neighbours follow the batch distribution of their label."""
    points, (groups, others) = _points(rows, labels=labels, batches=batches)
    near = find_neighbours(points.values, points.counts, neighbours)
    try:
        return tests.acceptance(points, near, others, groups, alpha=alpha, n_components=components)
    except UndefinedScoreError:
        return None


def graph_connectivity(rows: Float, labels: Names, *, neighbours: int = GRAPH_NEIGHBOURS) -> float:
    """Return the mean fraction of a label's rows that its neighbour graph connects."""
    points, (groups,) = _points(rows, labels=labels)
    near = find_neighbours(points.values, points.counts, neighbours)
    return whole.connectivity(points, near, groups)


def batch_variance(rows: Float, batches: Names) -> float | None:
    """Return the fraction of variance between batches (principal component regression)."""
    values = as_rows(rows)
    try:
        return whole.explained_by(values, as_codes(batches, len(values), what="batches"))
    except UndefinedScoreError:
        return None


def pcr_comparison(before: Float, rows: Float, batches: Names) -> float | None:
    """Return the fraction of the variance between batches that a correction removed."""
    if len(before) != len(rows):
        message = f"there are {len(before)} rows before and {len(rows)} rows now."
        raise InputError(message)
    first, second = batch_variance(before, batches), batch_variance(rows, batches)
    if first is None or second is None:
        return None
    try:
        return whole.removed(first, second)
    except UndefinedScoreError:
        return None


def kmeans_agreement(rows: Float, labels: Names, *, seed: int = 0) -> whole.ClusterAgreement | None:
    """Compare labels with as many k-means clusters."""
    points, (groups,) = _points(rows, labels=labels)
    try:
        return whole.agreement(points.values[points.of_row], points.n_points, groups, seed)
    except UndefinedScoreError:
        return None


def _points(rows: Float, **names: Names) -> tuple[Points, tuple[Grouping, ...]]:
    values = as_rows(rows)
    codes = [as_codes(each, len(values), what=what) for what, each in names.items()]
    return find_points(values, *codes)


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
