"""White directions of rows, including those too narrow to resolve in a covariance.

A covariance squares the ratio of the widest to the narrowest direction, so beyond 1e5 its
eigenvalues are rounding. Rows projected onto the unresolved directions keep all their digits: a
second pass gives the covariance of these few coordinates, and so on, five decades per pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.core.array_types import Float
from upto.engines.algebra import eigh
from upto.engines.base import Engine

if TYPE_CHECKING:
    from upto.engines import Moments
    from upto.engines.base import Arrays


RANK_TOLERANCE = 1e-10
"""Directions with less than this fraction of the largest variance need further passes."""
_ROUNDING = float(np.finfo(np.float64).eps)
_COVARIANCE_ROUNDING = 1e-13
_MARGIN = 4.0
"""Smallest ratio of the width of a direction to rounding."""
_MOST_PASSES = 4
_LOOKED_AT = 256


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Rows available for further passes; with `keep`, only those it marks."""

    engine: Engine
    rows: Any
    keep: NDArray[np.bool_] | None = None

    @property
    def n_samples(self) -> int:
        """Number of rows used."""
        return int(self.rows.shape[0] if self.keep is None else np.count_nonzero(self.keep))

    def scatter(self, mean: Float, basis: Float) -> Float:
        """Return the covariance of the rows in other coordinates."""
        vectors = () if self.keep is None else (self.keep,)
        function = _products if self.keep is None else _products_of_kept
        total, products = self.engine.reduce_blocks(
            function, self.rows, *vectors, params=(mean, basis)
        )
        offset = total / self.n_samples
        return np.asarray(products / self.n_samples - np.outer(offset, offset), dtype=np.float64)

    @property
    def precision(self) -> float:
        """Relative rounding of the values: that of the narrowest type that represents them."""
        seen = np.asarray(self.rows[:_LOOKED_AT])
        if seen.dtype.kind != "f":
            return _ROUNDING
        if seen.dtype.itemsize < 8:
            return float(np.finfo(seen.dtype).eps)
        with np.errstate(over="ignore", under="ignore"):
            is_single = bool((seen.astype(np.float32) == seen).all())
        # Integers are exact, not rounded.
        is_whole = bool((np.rint(seen) == seen).all())
        return float(np.finfo(np.float32).eps) if is_single and not is_whole else _ROUNDING


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """Directions that were dropped although their variance is not zero.

    `size` is the standard deviation along the widest of them and `limit` the one below which
    directions are dropped, both as fractions of that along the widest direction of all. `precision`
    is that of the values; None if the user set the limit.
    """

    count: int
    size: float
    limit: float
    precision: float | None

    @property
    def words(self) -> str:
        """Their width and the limit, as text for messages."""
        kind = "double" if self.precision == _ROUNDING else "single"
        limit = f"what {kind} precision can distinguish from rounding"
        if self.precision is None:
            limit = "the square root of the rank tolerance"
        return (
            f"deviations of at most {self.size:.2g} of the widest are below {self.limit:.2g}, "
            f"{limit}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Directions:
    """``y @ into.T`` is white; ``white @ out.T`` is y on the span of the kept directions."""

    into: Float
    out: Float
    dropped: Dropped | None


def white_directions(
    part: Moments, unit: Float, rank_tolerance: float | None, source: Source | None = None
) -> Directions:
    """Find white directions of rows whose coordinates are scaled to unit variance.

    Parameters
    ----------
    part
        Moments of the rows.
    unit
        Factor of each coordinate; zero for constant coordinates.
    rank_tolerance
        Directions below this fraction of the largest variance are dropped; None drops those
        indistinguishable from rounding.
    source
        The rows of these moments; without them, only the covariance is used.
    """
    if source is None and rank_tolerance is None:
        rank_tolerance = RANK_TOLERANCE
    precision = _ROUNDING if source is None else source.precision
    alive = np.flatnonzero(unit)
    among, scale = np.ix_(alive, alive), unit[alive]
    values, vectors = eigh(part.scatter[among] / part.weight * np.outer(scale, scale))
    axes = np.zeros((len(unit), len(alive)))
    axes[alive] = vectors
    widest = float(values[-1])
    away = np.hypot(1.0, part.mean * unit)
    arithmetic = _ROUNDING * np.sqrt(len(unit))

    def limits(directions: Float, rounding: float) -> Float:
        deviation = _MARGIN * (rounding * away + arithmetic)
        return np.asarray(np.square(deviation) @ np.square(directions), dtype=np.float64)

    def limit(directions: Float) -> Float:
        if rank_tolerance is not None:
            return np.full(directions.shape[1], max(rank_tolerance * widest, 0.0))
        return limits(directions, precision)

    floor = limit(axes)
    clear = 0.0 if source is None else RANK_TOLERANCE * widest
    kept = values > np.maximum(floor, clear)
    into, out = (axes[:, kept] / np.sqrt(values[kept])).T, axes[:, kept] * np.sqrt(values[kept])
    rest, left, floor = axes[:, ~kept], values[~kept], floor[~kept]
    nothing = np.full(len(left), _COVARIANCE_ROUNDING * widest)
    for _ in range(_MOST_PASSES):
        if source is None or not len(left):
            break
        k = len(into)
        moments = source.scatter(part.mean, unit[:, None] * np.hstack([into.T, rest]))
        slope = np.linalg.solve(moments[:k, :k], moments[:k, k:]).T
        left, turn = eigh(moments[k:, k:] - slope @ moments[:k, k:])
        rest, slope = rest @ turn, turn.T @ slope
        floor, nothing = limit(rest), limits(rest, _ROUNDING)
        kept = left > np.maximum(floor, RANK_TOLERANCE * left[-1])
        if not kept.any():
            # Directions below the limit are measured too, to report them.
            break
        more, deviation = rest[:, kept], np.sqrt(left[kept])
        into, out = (
            np.vstack([into, (more.T - slope[kept] @ into) / deviation[:, None]]),
            np.hstack([out + more @ slope[kept], more * deviation]),
        )
        rest, left, floor, nothing = (each[..., ~kept] for each in (rest, left, floor, nothing))
    some = left > nothing
    dropped = None
    if some.any():
        dropped = Dropped(
            count=int(np.count_nonzero(some)),
            size=float(np.sqrt(left[some].max() / widest)),
            limit=float(np.sqrt(floor[some].max() / widest)),
            precision=precision if rank_tolerance is None else None,
        )
    return Directions(into, out, dropped)


def _products(xp: Any, x: Any, mean: Any, basis: Any) -> Arrays:
    turned = xp.matmul(x - mean, basis)
    return xp.sum(turned, axis=0), xp.matmul(turned.T, turned)


def _products_of_kept(xp: Any, x: Any, keep: Any, mean: Any, basis: Any) -> Arrays:
    return _products(xp, x[keep], mean, basis)
