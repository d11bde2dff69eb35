"""The smallest worst error over a group: the ε of Definition 1, on the rows at hand.

Least squares makes the mean square small; Definition 1 asks for the supremum. Lawson's method
multiplies the weight of every row by its error and fits again, so that the weight gathers on the
rows that decide. Every iterate is an element of the group, so the best worst error seen is always a
valid upper bound on ε for these rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.align.maps import AffineMap, fit_map
from upto.engines import RANK_TOLERANCE, choose_engine, cross_moments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core import Group
    from upto.engines import Engine

    Float = NDArray[np.float64]


def smallest_worst_error(
    group: Group,
    source: Float,
    target: Float,
    start: AffineMap,
    *,
    max_iterations: int = 50,
    tolerance: float = 1e-3,
    rank_tolerance: float = RANK_TOLERANCE,
    engine: Engine | None = None,
) -> tuple[AffineMap, float]:
    """Refine a map towards the smallest worst error on rows that fit in memory.

    Parameters
    ----------
    group
        The group to stay in.
    source, target
        Row-aligned embeddings.
    start
        The least-squares map; the result is never worse.
    max_iterations, tolerance
        The iteration ends when five rounds together improve by less than this fraction.
    rank_tolerance
        As for `fit_map`.
    engine
        Engine of the passes.

    Returns
    -------
    The best map seen and its worst error.
    """
    engine = choose_engine(engine)
    errors = np.linalg.norm(target - start.predict(source), axis=1)
    best, best_error = start, float(errors.max())
    # Every row keeps a little weight, or a row whose error once was zero could never return.
    floor = 1e-9 / len(source)
    weights = np.full(len(source), 1.0 / len(source))
    history = [best_error]
    for _ in range(max_iterations):
        if best_error <= _roundoff(target):
            break
        weights = weights * errors
        weights = np.maximum(weights / weights.sum(), floor)
        moments = cross_moments(engine, source, target, weights)
        fitted = fit_map(group, moments, rank_tolerance=rank_tolerance)
        errors = np.linalg.norm(target - fitted.predict(source), axis=1)
        if errors.max() < best_error:
            best, best_error = fitted, float(errors.max())
        history.append(best_error)
        if len(history) > 5 and history[-6] - best_error < tolerance * best_error:
            break
    return best, best_error


def _roundoff(target: Float) -> float:
    return 1e-12 * float(np.abs(target).max(initial=0.0))
