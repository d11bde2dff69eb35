"""Distances within a run: diameter, quantiles, and their largest change between two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Diameter
from upto.engines import select_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core.array_types import Float
    from upto.engines.base import Arrays, Engine


EXACT_WORK = 4e11
"""Largest number of floating-point operations for an exact diameter; beyond it, a bracket."""

_STARTS = 4
_SWEEPS = 8
_CORE_ROWS = 1024
_CANDIDATE_BYTES = 2**27


def diameter(
    engine: Engine, rows: Any, centre: Float, sample: Float, *, exact_work: float = EXACT_WORK
) -> Diameter:
    """Return the largest distance between two rows, exactly or in a certified bracket.

    Sweeps to the farthest row give a lower bound. A pair can exceed it only if the sum of its
    distances to a centre does, which leaves few pairs to check if norms vary. If they do not and
    the work would exceed `exact_work`, the bracket from the sweeps to twice the radius of an
    enclosing ball is returned.

    Parameters
    ----------
    engine, rows
        Engine, and the rows of the run on it.
    centre
        Any point; the mean works well.
    sample
        Rows in memory from which the quantile of distances is estimated.
    """
    radii = _radii(engine, rows, centre)
    lower = _sweeps(engine, rows, centre, np.argsort(-radii, kind="stable")[:_STARTS])
    quantile = distance_quantile(sample, 0.999)
    if lower == 0.0:
        return Diameter(value=0.0, upper=0.0, exact=True, quantile=0.0)
    ball = _enclosing_centre(engine, rows, radii)
    radii = _radii(engine, rows, ball)
    upper = max(lower, 2.0 * float(radii.max()))
    candidates = radii + radii.max() > lower
    width = rows.shape[1]
    fits = candidates.sum() * width * 8 <= _CANDIDATE_BYTES
    if fits and 2.0 * width * _pairs_above(radii[candidates], lower) <= exact_work:
        points = select_rows(engine, rows, candidates) - ball
        value = _exact(points, radii[candidates], lower)
        return Diameter(value=value, upper=value, exact=True, quantile=min(quantile, value))
    return Diameter(value=lower, upper=upper, exact=False, quantile=min(quantile, upper))


def distance_quantile(points: Float, level: float) -> float:
    """Return a quantile of the distances between different rows in memory."""
    n_points = len(points)
    if n_points < 2:
        return 0.0
    squared = squared_distances(points, points)
    above = squared[np.triu_indices(n_points, 1)]
    return float(np.sqrt(np.quantile(above, level)))


def near_isometry_defect(source: Float, target: Float) -> float:
    """Return the largest change in a distance between source and target.

    Half of it is a lower bound of the worst error of any rigid motion on these rows. A source wider
    than its target must be projected onto it, so only distances that grow count.
    """
    worst = 0.0
    block = max(1, 2**22 // max(len(source), 1))
    one_sided = source.shape[1] > target.shape[1]
    for start in range(0, len(source), block):
        rows = slice(start, start + block)
        change = np.sqrt(squared_distances(target[rows], target))
        change -= np.sqrt(squared_distances(source[rows], source))
        worst = max(worst, float(change.max() if one_sided else np.abs(change).max()))
    return worst


def _radii(engine: Engine, rows: Any, centre: Float) -> Float:
    radii: Float = engine.map_blocks(_distance_to, rows, params=(centre,))
    return radii


def _distance_to(xp: Any, x: Any, centre: Any) -> Arrays:
    x = x - centre
    return (xp.sqrt(xp.linalg.vecdot(x, x)),)


def _sweeps(engine: Engine, rows: Any, centre: Float, starts: NDArray[np.intp]) -> float:
    """Walk from each start to its farthest row until the distance no longer grows."""
    points = np.concatenate([np.asarray(rows[i : i + 1], dtype=np.float64) for i in starts])
    positions = np.arange(rows.shape[0])
    best = 0.0
    for _ in range(_SWEEPS):
        _, farthest = engine.reduce_blocks(
            _farthest, rows, positions, params=(points - centre, centre), combine=_keep_farthest
        )
        found = np.concatenate([np.asarray(rows[i : i + 1], np.float64) for i in farthest])
        length = float(np.sqrt(((found - points) ** 2).sum(axis=1)).max())
        if length <= best:
            break
        best, points = length, np.unique(found, axis=0)
    return best


def _farthest(xp: Any, x: Any, positions: Any, points: Any, centre: Any) -> Arrays:
    x = x - centre
    squared = xp.linalg.vecdot(x, x)[:, None] - 2 * xp.matmul(x, points.T)
    where = xp.argmax(squared, axis=0)
    return xp.max(squared, axis=0), xp.take(positions, where)


def _keep_farthest(first: Arrays, second: Arrays) -> Arrays:
    (a, i), (b, j) = (tuple(np.asarray(array) for array in pair) for pair in (first, second))
    return np.maximum(a, b), np.where(b > a, j, i)


def _enclosing_centre(engine: Engine, rows: Any, radii: Float) -> Float:
    """Return the centre of a small ball that encloses the outermost rows (Bădoiu and Clarkson)."""
    outermost = np.argsort(-radii, kind="stable")[:_CORE_ROWS]
    keep = np.zeros(len(radii), dtype=bool)
    keep[outermost] = True
    core = select_rows(engine, rows, keep)
    centre: Float = core.mean(axis=0)
    for step in range(1, 101):
        away = core - centre
        farthest = int(np.einsum("ij,ij->i", away, away).argmax())
        centre = centre + away[farthest] / (step + 1)
    return centre


def _pairs_above(radii: Float, lower: float) -> float:
    ordered = np.sort(radii)
    return float((len(ordered) - np.searchsorted(ordered, lower - ordered)).sum()) / 2


def _exact(points: Float, radii: Float, lower: float) -> float:
    """Check every pair whose radii sum to more than the largest distance so far."""
    order = np.argsort(-radii, kind="stable")
    points, radii = points[order], radii[order]
    squared = np.einsum("ij,ij->i", points, points)
    best, pair = lower, (0, 0)
    block = 1024
    for start in range(0, len(points), block):
        stop = min(start + block, len(points))
        # Radii decrease along the rows, so the remaining candidates are a prefix.
        partners = int(np.searchsorted(-radii, radii[start] - best))
        if partners <= start:
            break
        distances = squared[start:stop, None] + squared[start:partners]
        distances -= 2 * points[start:stop] @ points[start:partners].T
        i, j = np.unravel_index(int(distances.argmax()), distances.shape)
        pair = (start + int(i), start + int(j))
        best = max(best, float(np.linalg.norm(points[pair[0]] - points[pair[1]])))
    return best


def squared_distances(first: Float, second: Float) -> Float:
    """Return the squared distances between all rows of the first and all rows of the second."""
    # Centring first keeps the expansion accurate for rows far from the origin.
    centre = second.mean(axis=0)
    first, second = first - centre, second - centre
    squared: Float = np.einsum("ij,ij->i", first, first)[:, None] + np.einsum(
        "ij,ij->i", second, second
    )
    squared -= 2 * first @ second.T
    return np.maximum(squared, 0.0, out=squared)
