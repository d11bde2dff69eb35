"""Summarise all pairs of runs: their mean, and an ordering of the runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from upto.evidence.intervals import mean_of_pairs

if TYPE_CHECKING:
    from upto.core import Estimate
    from upto.core.array_types import Float
    from upto.measures.kinds import Measure


def mean_over_pairs(values: Float, measure: Measure) -> Estimate:
    """Return the off-diagonal mean of a K×K matrix, with an interval over runs."""
    return mean_of_pairs(values, low=measure.low, high=measure.high)


def order_of_runs(values: Float, measure: Measure) -> tuple[int, ...]:
    """Return the leaves of an average-linkage tree, ordered so that neighbours are similar."""
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
    # Leaf orders are equivalent under reversal, so one is chosen.
    return tuple(leaves if leaves[0] < leaves[-1] else leaves[::-1])
