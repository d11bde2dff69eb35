"""What all pairs of runs say together: their mean, and an order of the runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from upto.core import Estimate, random_stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.measure.kinds import Measure

    Float = NDArray[np.float64]

MIN_RUNS = 4
"""Fewer runs give no interval for other runs."""
RESAMPLES = 999
_LEVEL = 0.95


def mean_over_pairs(values: Float, measure: Measure, seed: int) -> Estimate:
    """Return the mean of a K×K matrix off its diagonal, with an interval for other runs.

    Runs are drawn with replacement, and a pair counts as often as both of its runs were drawn; a
    run is never paired with its own copy. Give runs in an order that their content decides.
    """
    count = len(values)
    off = ~np.eye(count, dtype=bool)
    mean = float(values[off].mean())
    if count < MIN_RUNS:
        return Estimate(value=mean)
    rng = random_stream(seed, "runs of a mean")
    drawn = rng.multinomial(count, np.full(count, 1.0 / count), size=RESAMPLES)
    weights = drawn[:, :, None] * drawn[:, None, :] * off
    totals = weights.sum(axis=(1, 2))
    # One run drawn throughout has no pair.
    weights, totals = weights[totals > 0], totals[totals > 0]
    means = np.einsum("bij,ij->b", weights, np.where(off, values, 0.0)) / totals
    low, high = np.quantile(means, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    # With equal values, sums of weights round differently from the mean.
    return Estimate(
        value=mean,
        low=measure.within(min(float(low), mean)),
        high=measure.within(max(float(high), mean)),
        level=_LEVEL,
    )


def order_of_runs(values: Float, measure: Measure) -> tuple[int, ...]:
    """Return the leaves of an average-linkage tree, turned so that neighbours are similar."""
    count = len(values)
    if count < 3:
        return tuple(range(count))
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    closeness = np.array([[measure.oriented(value) for value in row] for row in values])
    closeness = (closeness + closeness.T) / 2
    off = ~np.eye(count, dtype=bool)
    best = measure.oriented(measure.high if measure.closer == "higher" else measure.low)
    if not math.isfinite(best):
        best = float(closeness[off].max())
    away = np.where(off, np.maximum(best - closeness, 0.0), 0.0)
    tree = linkage(squareform(away, checks=False), "average", optimal_ordering=True)
    leaves = [int(leaf) for leaf in leaves_list(tree)]
    # A tree read backwards is the same tree.
    return tuple(leaves if leaves[0] < leaves[-1] else leaves[::-1])
