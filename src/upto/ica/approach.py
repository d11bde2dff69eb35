"""Approach the components by FastICA steps that evaluate only those that still turn.

Most components settle long before the last. The update of a settled component hardly depends on
where it is evaluated (its error is of third order in the distance), so it is kept until the
component has turned far from there. Steps then cost as much as the components that still turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.engines.algebra import compute
from upto.ica.solver import Point, orthogonal_factor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from upto.core.array_types import Float
    from upto.engines.base import Arrays
    from upto.ica.solver import Problem


FAR = (0.2, 0.05)
"""Distances from where a component was evaluated at which it is evaluated again, in turn."""
PATIENCE = 8
"""Steps after which to give up if no fewer components turn, because some never settle."""
STEPS = 60


def approach(problem: Problem, start: Float, dtype: str) -> Iterator[tuple[Point, float]]:
    """Yield a point after every step, with the share of the components that was evaluated.

    The last point is near the components, unless some of them never settle. The means of a point
    are those of where its components were evaluated.
    """
    k, rotation, problem = len(start), start, problem.roughly()
    seen, slope = np.zeros_like(start), np.empty(k)
    products = np.empty((k, problem.inner.shape[1]))
    turning = np.ones(k, dtype=bool)
    fewest, since, distances = k + 1, 0, list(FAR)
    for _ in range(STEPS):
        products[turning], slope[turning], _ = problem.raw_means([rotation[turning]], dtype)
        seen[turning] = rotation[turning]
        rotation, cross, moved = compute(_stepped, products, problem.inner, slope, seen)
        point = Point(
            rotation=rotation,
            value=None,
            cross=cross,
            slope=slope.copy(),
            noise=problem.noise,
            frozen=problem.frozen,
        )
        yield point, np.count_nonzero(turning) / k
        while distances and not np.any(moved > distances[0]):
            distances.pop(0)
            fewest = k + 1
        if not distances:
            return
        turning = moved > distances[0]
        count = int(np.count_nonzero(turning))
        since = 0 if count < fewest else since + 1
        fewest = min(fewest, count)
        if since >= PATIENCE and count < k:
            return


def _stepped(xp: Any, products: Any, inner: Any, slope: Any, seen: Any) -> Arrays:
    """Return the next rotation, g(s)sᵀ where components were evaluated, and how far that is."""
    products = xp.matmul(products, inner.T)
    update = slope[:, None] * seen - products
    own = xp.linalg.vecdot(update, seen)
    # Components must not flip in every step.
    signs = xp.where(own < 0, -xp.ones_like(own), xp.ones_like(own))
    rotation = orthogonal_factor(xp, signs[:, None] * update)
    away = rotation - seen
    return rotation, xp.matmul(products, seen.T), xp.sqrt(xp.linalg.vecdot(away, away))
