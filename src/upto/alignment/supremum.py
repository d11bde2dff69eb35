"""Smallest worst error over a group: the ε of Definition 1, on the given rows.

Least squares minimises the mean square; Definition 1 is about the supremum. Lawson's method
multiplies the weight of every row by its error and refits, so that the weight concentrates on the
rows that determine the supremum. Every iterate is an element of the group, so the best worst error
so far is an upper bound on ε for these rows; the weighted mean square of a fit is a lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from upto.alignment.maps import AffineMap, fit_map, fit_maps, needs_full_scatter
from upto.alignment.residuals import row_errors
from upto.core import Group
from upto.engines import (
    RANK_TOLERANCE,
    ThreadsEngine,
    choose_engine,
    cross_moments,
    rotation_slack,
    side_by_side,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    found = smallest_worst_errors(
        source,
        target,
        {group: start},
        max_iterations=max_iterations,
        tolerance=tolerance,
        rank_tolerance=rank_tolerance,
        engine=engine,
    )[group]
    # As the map predicts: passes round in another order.
    worst = float(np.linalg.norm(target - found.map.predict(source), axis=1).max())
    return Refinement(found.map, worst, min(found.bound, worst))


def smallest_worst_errors(
    source: Float,
    target: Float,
    starts: Mapping[Group, AffineMap],
    *,
    max_iterations: int = 50,
    tolerance: float = 5e-3,
    rank_tolerance: float = RANK_TOLERANCE,
    engine: Engine | None = None,
) -> dict[Group, Refinement]:
    """Refine the maps of several groups, which share the first fit: all rows have equal weight."""
    engine = choose_engine(engine)
    errors = row_errors(engine, source, target, list(starts.values())).max(axis=0)
    largest, runs = float(np.abs(target).max(initial=0.0)), (source, target)
    rounding = _ROUNDOFF * largest
    searches = {
        group: _Search(group, start, float(worst), rounding)
        for (group, start), worst in zip(starts.items(), errors, strict=True)
    }
    size = _Size(largest, float(np.ptp(target, axis=0).max(initial=0.0)), *map(_radius, runs))
    unfinished = [each for each in searches.values() if not each.is_done(tolerance)]
    if max_iterations and unfinished:
        groups = [each.group for each in unfinished]
        full = any(needs_full_scatter(group, source, target) for group in groups)
        moments = cross_moments(engine, source, target, full=full)
        fitted = fit_maps(groups, moments, rank_tolerance=rank_tolerance)
        found = row_errors(engine, source, target, list(fitted.values()))
        for each, own in zip(unfinished, found.T, strict=True):
            each.take(fitted[each.group], own, moments, size)
    if len(unfinished) > 1:
        # Each search has one thread: threads within passes would wait for each other.
        engine = ThreadsEngine(n_threads=1, block_rows=len(source))

    def search(each: _Search) -> None:
        full = needs_full_scatter(each.group, source, target)
        is_exact = _has_exact_fit(each.group, source.shape[1], target.shape[1])
        for _ in range((max_iterations if is_exact else min(max_iterations, _INEXACT_FITS)) - 1):
            if each.is_done(tolerance):
                break
            moments = cross_moments(engine, source, target, each.weights, full=full)
            fit = fit_map(each.group, moments, rank_tolerance=rank_tolerance)
            each.take(fit, row_errors(engine, source, target, [fit])[:, 0], moments, size)

    side_by_side([partial(search, each) for each in unfinished])
    return {
        group: Refinement(each.best, each.worst, each.bound) for group, each in searches.items()
    }


_INEXACT_FITS = 5
"""Most fits of a group without an exact one: they are slow and give no lower bound."""


@dataclass(frozen=True, slots=True)
class _Size:
    """The target's largest value and extent, and how far rows of both runs are from their means."""

    largest: float
    extent: float
    source_radius: float
    target_radius: float


def _radius(rows: Float) -> float:
    return float(np.linalg.norm(rows - rows.mean(axis=0), axis=1).max(initial=0.0))


class _Search:
    """The best map of a group so far, and the weights of the next fit."""

    def __init__(self, group: Group, start: AffineMap, worst: float, rounding: float) -> None:
        self.group, self.best, self.worst, self._rounding = group, start, worst, rounding
        # The identity is the only element of its group.
        self.bound = worst if group is Group.IDENTITY else 0.0
        self.weights: Float | None = None

    def is_done(self, tolerance: float) -> bool:
        """Return whether the bracket is narrow enough."""
        return self.worst <= max((1 + tolerance) * self.bound, self._rounding)

    def take(self, fitted: AffineMap, errors: Float, moments: CrossMoments, size: _Size) -> None:
        """Judge a fit, and weight every row by its error."""
        weights = np.full(len(errors), 1.0 / len(errors)) if self.weights is None else self.weights
        if errors.max() < self.worst:
            self.best, self.worst = fitted, float(errors.max())
        if _has_exact_fit(self.group, len(fitted.source_mean), len(fitted.target_mean)):
            # The fit minimises the weighted mean square, and no worst error is below its own
            # weighted mean: this bounds the worst error of the group.
            mean_square = float(weights @ errors**2) / float(weights.sum())
            lost = _lost_to_rounding(self.group, fitted, moments, size, mean_square)
            proved = float(np.sqrt(max(mean_square - lost, 0.0)))
            proved -= _fit_rounding(self.group, moments, size)
            self.bound = max(self.bound, min(proved, self.worst))
        weighted = weights * errors
        total = float(weighted.sum())
        # Every row keeps a little weight, or a row with zero error could never regain any.
        self.weights = np.maximum(weighted / total, 1e-9 / len(errors)) if total > 0 else weights


def _has_exact_fit(group: Group, source_width: int, target_width: int) -> bool:
    # If coordinates are dropped, only these groups have an exact least-squares fit.
    exact = group in (Group.AFFINE, Group.SCALED_PERMUTATION)
    return exact or source_width <= target_width


def _lost_to_rounding(
    group: Group, fitted: AffineMap, moments: CrossMoments, size: _Size, mean_square: float
) -> float:
    """Return how far the mean square of a fit may be above the smallest.

    A rotation or matching is chosen by its total covariance, which rounding limits.
    """
    if group in (Group.IDENTITY, Group.AFFINE):
        return 0.0
    own, other = size.source_radius, size.target_radius
    if group is Group.SCALED_PERMUTATION:
        own, scale = other, 1.0
    else:
        scale = float(np.abs(fitted.scale).max(initial=0.0))
    rounding = _ROUNDINGS * moments.weight * own * other
    if group in (Group.RIGID, Group.SIMILARITY):
        least = _NEGLIGIBLE * mean_square * moments.weight / scale if scale > 0 else np.inf
        slack = rotation_slack(moments.cross, rounding, below=least)
    else:
        slack = 2 * len(fitted.scale) * rounding
    return 2 * scale * slack / moments.weight


def _fit_rounding(group: Group, moments: CrossMoments, size: _Size) -> float:
    """Return how far rounding alone can keep a fit from the smallest mean square.

    An affine map solves normal equations, whose condition number is the square of that of the rows.
    """
    condition = moments.source.condition if group is Group.AFFINE else 1.0
    return _ROUNDINGS * (size.largest + condition * size.extent)


_ROUNDINGS = 10 * float(np.finfo(np.float64).eps)
"""Relative error that rounding can cause in a sum over rows, and in the error of a row."""
_NEGLIGIBLE = 1e-7
"""Share of a mean square that may be lost to rounding without a closer look."""
