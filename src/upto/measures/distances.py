"""Distances within a run: diameter, quantiles, and their largest change between two runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from upto.core import Diameter
from upto.engines import column_medians, compute, product, select_rows, side_by_side
from upto.engines.blocks import slices_of

if TYPE_CHECKING:
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
    lower = _sweeps(engine, rows, centre, _farthest_first(radii, _STARTS))
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
    single = _Single.of(points)
    if single is not None:
        found = _squared_quantile(single.points, level)
        # Smaller ones are differences of large numbers.
        if found > _CANCELLING:
            return single.unit * float(np.sqrt(found))
    centred = points - points.mean(axis=0)
    return float(np.sqrt(_squared_quantile(centred, level)))


def distances_to_median(points: Float) -> Float:
    """Return the distance of each row to the median of every coordinate."""
    if not len(points):
        return np.empty(0)
    found: Float = np.linalg.norm(points - column_medians(points), axis=1)
    return found


def _squared_quantile(points: NDArray[Any], level: float) -> float:
    """Return a quantile of the squared distances between different rows."""
    return float(compute(partial(_quantile_of_squares, level=level), points)[0])


def _quantile_of_squares(xp: Any, points: Any, *, level: float) -> Arrays:
    if array_api_compat.is_numpy_namespace(xp):
        return (np.quantile(_above(points), level),)
    squares = xp.linalg.vecdot(points, points)
    squared = xp.clip(squares[:, None] + squares - 2 * xp.matmul(points, points.T), 0.0, None)
    # In order, after the zeros of the diagonal every pair is there twice.
    ordered = xp.sort(xp.reshape(xp.triu(squared, k=1) + xp.tril(squared, k=-1), (-1,)))
    n_rows = points.shape[0]
    place = level * (n_rows * (n_rows - 1) // 2 - 1)
    below, above = (ordered[n_rows + 2 * int(each)] for each in (place, np.ceil(place)))
    return (below + (above - below) * (place - int(place)),)


def near_isometry_defect(source: Float, target: Float) -> float:
    """Return the largest change in a distance between source and target.

    Half of it is a lower bound of the worst error of any rigid motion on these rows. A source wider
    than its target must be projected onto it, so only distances that grow count.
    """
    one_sided = source.shape[1] > target.shape[1]
    found = _defect_of_candidates(source, target, one_sided=one_sided)
    if found is not None:
        return found
    factors = [_Factors(rows - rows.mean(axis=0)) for rows in (source, target)]

    def of_block(rows: slice) -> NDArray[np.intp]:
        before, after = (np.sqrt(each.squared(rows)) for each in factors)
        change = after - before if one_sided else np.abs(after - before)
        # No row is away from itself, but rounding is.
        change[~_upper(change)] = -np.inf
        farthest: NDArray[np.intp] = rows.start + change.argmax(axis=1)
        return farthest

    blocks = slices_of(len(source), _BLOCK // 2)
    found_by_block = side_by_side([partial(of_block, rows) for rows in blocks])
    # Squares of short distances are differences of large numbers, so the largest change of each row
    # is computed again.
    first, second = np.arange(len(source)), np.concatenate(found_by_block)
    return _largest_change(source, target, first, second, one_sided=one_sided)


def _defect_of_candidates(source: Float, target: Float, *, one_sided: bool) -> float | None:
    """Find pairs whose distance may change most in single precision; compute these in double.

    None if there are too many, as in exact copies.
    """
    singles = [each for each in map(_Single.of, (source, target)) if each is not None]
    if len(singles) < 2:
        return None
    largest = max(single.unit for single in singles)
    units = [single.unit / largest for single in singles]
    rounding = 2 * (singles[0].rounding + singles[1].rounding) / _SHORT
    factors = [_Factors(single.points) for single in singles]

    def of_block(rows: slice) -> tuple[NDArray[Any], NDArray[np.intp], NDArray[np.intp]]:
        squares = [each.squared(rows) for each in factors]
        # Squares of short distances are differences of large numbers.
        short = np.minimum(*squares) < _SHORT**2
        before, after = (unit * np.sqrt(each) for unit, each in zip(units, squares, strict=True))
        change = after - before
        if not one_sided:
            np.abs(change, out=change)
        change[short] = np.inf
        change[~_upper(change)] = -np.inf
        least = float(change.max(where=~short, initial=-np.inf)) - rounding
        i, j = _places(change >= least)
        return change[i, j], i + rows.start, j + rows.start

    blocks = slices_of(len(source), _BLOCK // 2)
    found = side_by_side([partial(of_block, rows) for rows in blocks])
    size, i, j = (np.concatenate(each) for each in zip(*found, strict=True))
    kept = size >= size.max(where=size < np.inf, initial=-np.inf) - rounding
    if np.count_nonzero(kept) > _CANDIDATES * len(source):
        return None
    return _largest_change(source, target, i[kept], j[kept], one_sided=one_sided)


def _largest_change(
    source: Float,
    target: Float,
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    *,
    one_sided: bool,
) -> float:
    """Return the largest change of the distances of chosen pairs of rows."""
    change = _lengths(target, first, second) - _lengths(source, first, second)
    return float((change if one_sided else np.abs(change)).max(initial=0.0))


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
    outermost = _farthest_first(radii, _CORE_ROWS)
    keep = np.zeros(len(radii), dtype=bool)
    keep[outermost] = True
    core = select_rows(engine, rows, keep)
    mean = core.mean(axis=0)
    core -= mean
    products = product(core, core.T)
    # The centre is a combination of the rows, so its products with them are known.
    shares, with_centre = np.zeros((2, len(core)))
    for step in range(1, 101):
        farthest = int((np.diag(products) - 2 * with_centre).argmax())
        kept, moved = step / (step + 1), 1 / (step + 1)
        shares *= kept
        shares[farthest] += moved
        with_centre = kept * with_centre + moved * products[farthest]
    centre: Float = mean + shares @ core
    return centre


def _farthest_first(radii: Float, count: int) -> NDArray[np.intp]:
    """Return the places of the largest values, largest first and then in order."""
    if len(radii) > count:
        least = np.partition(radii, len(radii) - count)[len(radii) - count]
        places = np.flatnonzero(radii >= least)
    else:
        places = np.arange(len(radii))
    return places[np.argsort(-radii[places], kind="stable")[:count]]


def _pairs_above(radii: Float, lower: float) -> float:
    ordered = np.sort(radii)
    return float((len(ordered) - np.searchsorted(ordered, lower - ordered)).sum()) / 2


def _exact(points: Float, radii: Float, lower: float) -> float:
    """Check every pair whose radii sum to more than the largest distance so far."""
    order = np.argsort(-radii, kind="stable")
    points, radii = points[order], radii[order]
    single = _Single.of(points, centred=True)
    factors = _Factors(points if single is None else single.points)
    best = lower
    for start in range(0, len(points), _BLOCK):
        # Radii decrease along the rows, so the remaining candidates are a prefix.
        partners = int(np.searchsorted(-radii, radii[start] - best))
        if partners <= start:
            break
        rows = slice(start, min(start + _BLOCK, len(points)))
        i = j = np.empty(0, dtype=np.intp)
        if single is not None:
            distances = factors.squared(rows, partners)
            i, j = _places(distances >= float(distances.max()) - 2 * single.rounding)
        if not 0 < len(i) <= _CANDIDATES * _BLOCK:
            if single is not None:
                single, factors = None, _Factors(points)
            distances = factors.squared(rows, partners)
            i, j = np.unravel_index([int(distances.argmax())], distances.shape)
        best = max(best, float(_lengths(points, i + start, j + start).max()))
    return best


@dataclass(frozen=True, slots=True, eq=False)
class _Single:
    """Rows in single precision about a centre, over the largest distance to it.

    `rounding` bounds the error of a squared distance between them.
    """

    points: NDArray[np.float32]
    unit: float
    rounding: float

    @classmethod
    def of(cls, points: Float, *, centred: bool = False) -> _Single | None:
        """Convert rows; None if they are too narrow to gain, or all equal."""
        if points.shape[1] < _WIDE:
            return None
        if not centred:
            points = points - points.mean(axis=0)
        unit = float(np.sqrt(np.einsum("ij,ij->i", points, points).max(initial=0.0)))
        if unit == 0.0:
            return None
        rounding = 2 * (8 + np.sqrt(points.shape[1])) * float(np.finfo(np.float32).eps)
        single = np.empty(points.shape, dtype=np.float32)
        return cls(np.divide(points, unit, out=single, casting="same_kind"), unit, rounding)


_WIDE = 64
"""Width from which products in single precision are worth their check in double precision."""
_BLOCK = 1024
_SHORT, _CANCELLING = 0.05, 1e-3
"""Distance, and squared distance, over the radius below which single precision is too coarse."""
_CANDIDATES = 8
"""Pairs per row up to which they are computed again, each by itself."""


class _Factors:
    """Factors of the squared distances between rows: one product gives them."""

    __slots__ = ("_points", "_right", "_squares")

    def __init__(self, points: Any) -> None:
        self._points = points
        self._squares = np.einsum("ij,ij->i", points, points)[:, None]
        self._right = np.empty((len(points), points.shape[1] + 2), dtype=points.dtype)
        np.multiply(points, -2, out=self._right[:, :-2])
        self._right[:, -2:-1], self._right[:, -1:] = 1.0, self._squares

    def squared(self, rows: slice, stop: int | None = None) -> Any:
        """Return the squared distances of some rows to those from the first of them on."""
        squares = self._squares[rows]
        left = np.concatenate([self._points[rows], squares, np.ones_like(squares)], axis=1)
        found = product(left, self._right[rows.start : stop].T)
        return np.maximum(found, 0.0, out=found)


def _above(points: Any) -> Any:
    """Return the squared distances of all pairs of different rows."""
    factors = _Factors(points)

    def of_block(rows: slice) -> Any:
        squared = factors.squared(rows)
        return squared[_upper(squared)]

    blocks = slices_of(len(points), _BLOCK // 2)
    return np.concatenate(side_by_side([partial(of_block, rows) for rows in blocks]))


def _upper(matrix: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark the entries above the diagonal."""
    rows, columns = matrix.shape
    return np.arange(columns) > np.arange(rows)[:, None]


def _places(chosen: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows and columns of the few entries that are true."""
    # Several times as fast as in two dimensions.
    i, j = np.unravel_index(np.flatnonzero(chosen), chosen.shape)
    return i, j


def _lengths(points: Float, first: NDArray[np.intp], second: NDArray[np.intp]) -> Float:
    """Return the distances of chosen pairs of rows, in few rows at a time."""
    found = np.empty(len(first))
    for some in slices_of(len(first), _BLOCK):
        found[some] = np.linalg.norm(points[first[some]] - points[second[some]], axis=1)
    return found


def squared_distances(first: Float, second: Float) -> Float:
    """Return the squared distances between all rows of the first and all rows of the second."""
    # Centring first keeps the expansion accurate for rows far from the origin.
    centre = second.mean(axis=0)
    first, second = first - centre, second - centre
    squared: Float = np.einsum("ij,ij->i", first, first)[:, None] + np.einsum(
        "ij,ij->i", second, second
    )
    squared -= product(2 * first, second.T)
    return np.maximum(squared, 0.0, out=squared)
