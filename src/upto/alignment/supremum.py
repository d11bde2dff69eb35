"""Smallest worst error over a group: the ε of Definition 1, on the given rows.

Least squares minimises the mean square; Definition 1 is about the supremum. Lawson's method
multiplies the weight of every row by its error and refits, so that the weight concentrates on the
rows that determine the supremum. Every iterate is an element of the group, so the best worst error
so far is an upper bound on ε for these rows; the weighted mean square of a fit is a lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.alignment.maps import AffineMap, fit_map, needs_full_scatter
from upto.core import Group
from upto.engines import RANK_TOLERANCE, choose_engine, cross_moments

if TYPE_CHECKING:
    from upto.core.array_types import Float
    from upto.engines import CrossMoments, Engine


_ROUNDOFF = 1e-12
"""Worst error, relative to the largest value, that counts as rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Refinement:
    """A map refined towards the smallest worst error.

    `bound` is a proven lower bound: no map of the group has a smaller worst error on these rows. It
    is zero if nothing can be proven.
    """

    map: AffineMap
    worst: float
    bound: float


def smallest_worst_error(
    group: Group,
    source: Float,
    target: Float,
    start: AffineMap,
    *,
    max_iterations: int = 50,
    tolerance: float = 5e-3,
    rank_tolerance: float = RANK_TOLERANCE,
    engine: Engine | None = None,
) -> Refinement:
    """Refine a map towards the smallest worst error on rows in memory.

    Parameters
    ----------
    group
        Group of the map.
    source, target
        Row-aligned embeddings.
    start
        Least-squares map; the result is never worse.
    max_iterations, tolerance
        Largest number of iterations, and relative gap to the lower bound at which they stop.
    rank_tolerance
        Directions whose variance is below this fraction of the largest count as absent.
    engine
        Engine of the passes.

    Returns
    -------
    Refinement
        The best map, its worst error, and the lower bound for the group.
    """
    engine = choose_engine(engine)
    errors = np.linalg.norm(target - start.predict(source), axis=1)
    best, worst, bound = start, float(errors.max()), 0.0
    if group is Group.IDENTITY:
        return Refinement(best, worst, worst)
    # Every row keeps a little weight, or a row with zero error could never regain any.
    floor = 1e-9 / len(source)
    weights = np.full(len(source), 1.0 / len(source))
    # If coordinates are dropped, only these groups have an exact least-squares fit.
    exact = group in (Group.AFFINE, Group.SCALED_PERMUTATION)
    bounded = exact or source.shape[1] <= target.shape[1]
    largest = float(np.abs(target).max(initial=0.0))
    size = largest, float(np.ptp(target, axis=0).max(initial=0.0))
    for _ in range(max_iterations):
        if worst <= max((1 + tolerance) * bound, _ROUNDOFF * largest):
            break
        moments = cross_moments(
            engine, source, target, weights, full=needs_full_scatter(group, source, target)
        )
        fitted = fit_map(group, moments, rank_tolerance=rank_tolerance)
        errors = np.linalg.norm(target - fitted.predict(source), axis=1)
        if errors.max() < worst:
            best, worst = fitted, float(errors.max())
        if bounded:
            # The fit minimises the weighted mean square, and no worst error is below its own
            # weighted mean: this bounds the worst error of the group.
            mean_square = float(weights @ errors**2) / float(weights.sum())
            proved = float(np.sqrt(mean_square)) - _fit_rounding(group, moments, size)
            bound = max(bound, min(proved, worst))
        weights = weights * errors
        weights = np.maximum(weights / weights.sum(), floor)
    return Refinement(best, worst, bound)


def _fit_rounding(group: Group, moments: CrossMoments, size: tuple[float, float]) -> float:
    """Return how far rounding alone can keep a fit from the smallest mean square.

    An affine map solves normal equations, whose condition number is the square of that of the rows.
    `size` contains the target's largest value and its extent.
    """
    largest, extent = size
    condition = 1.0
    if group is Group.AFFINE:
        deviation = np.sqrt(np.diag(moments.source.scatter))
        unit = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
        scatter = moments.source.scatter * np.outer(unit, unit)
        inverse = moments.source.inverse * np.outer(deviation, deviation)
        condition = float(np.linalg.norm(scatter) * np.linalg.norm(inverse))
    return 10 * float(np.finfo(np.float64).eps) * (largest + condition * extent)
