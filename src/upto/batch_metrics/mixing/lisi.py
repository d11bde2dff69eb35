"""Local inverse Simpson index: effective number of batches or labels around a row."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from upto.batch_metrics.mixing.points import Grouping, Points, UndefinedScoreError

if TYPE_CHECKING:
    from upto.batch_metrics.mixing.nearest_rows import Neighbours
    from upto.core.array_types import Float

TOLERANCE = 1e-5
_TRIES = 50


def inverse_simpson(
    points: Points, near: Neighbours, groups: Grouping, *, perplexity: float | None = None
) -> Float:
    """Return the effective number of groups among the neighbours of every row.

    Neighbours have weight exp(-β distance), with β such that the entropy of the weights is that of
    `perplexity` equal ones; by default a third of the neighbours, rounded down. The search for β
    is that of scib-metrics, with its tolerance of 1e-5 in entropy.
    """
    target = math.floor(near.k / 3) if perplexity is None else perplexity
    if near.k < 3 or target <= 0:
        message = f"There are {near.k} rows: neighbours need at least three."
        raise UndefinedScoreError(message)
    weights = _weights(near, math.log(target))
    totals = np.asarray(near.matrix(weights * near.shares) @ _dense(points, groups))
    own = near.own(weights * near.shares)[points.of_row]
    here = totals[points.of_row, groups.codes]
    # The row is at its own point, but is not its own neighbour.
    simpson = np.einsum("ij,ij->i", totals, totals)[points.of_row] - 2.0 * own * here + own * own
    inverse: Float = 1.0 / simpson
    return inverse


def scaled_ilisi(lisi: Float, batches: Grouping) -> float:
    """Return the median, scaled to 0 for neighbours of one batch and 1 for all batches equally."""
    if batches.n_groups < 2:
        message = "There is one batch: mixing needs two."
        raise UndefinedScoreError(message)
    return float((np.median(lisi) - 1.0) / (batches.n_groups - 1))


def scaled_clisi(lisi: Float, labels: Grouping) -> float:
    """Return the median, scaled to 1 for neighbours of one label and 0 for all labels equally."""
    if labels.n_groups < 2:
        message = "There is one label: separating labels needs two."
        raise UndefinedScoreError(message)
    return float((labels.n_groups - np.median(lisi)) / (labels.n_groups - 1))


def _dense(points: Points, groups: Grouping) -> Float:
    dense: Float = points.members(groups.codes, groups.n_groups).toarray()
    return dense


def _weights(near: Neighbours, target: float) -> Float:
    """Return the weight of one row of each entry; the weights of a row's places sum to one."""
    places = near.places
    first = np.minimum.reduceat(np.where(places > 0.0, near.distances, np.inf), near.starts)
    # Entropy is invariant to a shift of distances; without it the weights of far rows underflow.
    distances = near.distances - first[near.owners]
    n_points = len(near.starts)
    beta = np.ones(n_points)
    low, high = np.full(n_points, -np.inf), np.full(n_points, np.inf)
    for attempt in range(_TRIES + 1):
        weights = np.exp(-np.maximum(distances, 0.0) * beta[near.owners])
        mass = weights * places
        total = np.add.reduceat(mass, near.starts)
        mean = np.add.reduceat(mass * distances, near.starts) / total
        excess = np.log(total) + beta * mean - target
        open_ = np.abs(excess) >= TOLERANCE
        if attempt == _TRIES or not open_.any():
            break
        wide = open_ & (excess > 0.0)
        narrow = open_ & ~wide
        new = beta.copy()
        new[wide] = np.where(np.isinf(high), beta * 2.0, (beta + high) / 2.0)[wide]
        new[narrow] = np.where(np.isinf(low), beta / 2.0, (beta + low) / 2.0)[narrow]
        low[wide], high[narrow] = beta[wide], beta[narrow]
        beta = new
    weights /= total[near.owners]
    return weights
