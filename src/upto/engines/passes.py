"""Passes shared by most algorithms: sums, centred moments, cross-moments.

Statistics are written against the array API; functions run them and return host arrays in
float64. Moments are taken about a pilot mean and then shifted, so data far from the origin lose
no precision.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core.array_types import Float, Index
from upto.core.cached import cached_property
from upto.engines.algebra import pseudo_inverse
from upto.engines.rotations import nearest_rotation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.engines.base import Arrays, Engine


@dataclass(frozen=True, eq=False)
class Moments:
    """Weight, mean and centred scatter matrix of some rows."""

    weight: float
    mean: Float
    scatter: Float

    @cached_property
    def total_variance(self) -> float:
        """Mean squared distance to the centre."""
        return float(np.trace(self.scatter)) / self.weight if self.weight else 0.0

    def without_scatter(self) -> Moments:
        """Return the weight, the mean and the total variance alone."""
        found = Moments(self.weight, self.mean, np.empty((0, 0)))
        found.__dict__["total_variance"] = self.total_variance
        return found

    @cached_property
    def inverse(self) -> Float:
        """Moore-Penrose inverse of the scatter matrix, computed once."""
        return pseudo_inverse(self.scatter)

    @cached_property
    def condition(self) -> float:
        """Condition number of the scatter matrix at unit variance, in the Frobenius norm."""
        deviation = np.sqrt(np.diag(self.scatter))
        unit = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
        scatter = self.scatter * np.outer(unit, unit)
        inverse = self.inverse * np.outer(deviation, deviation)
        return float(np.linalg.norm(scatter) * np.linalg.norm(inverse))

    def keep_inverse(self, inverse: Float) -> None:
        """Keep an inverse that was computed in another way."""
        self.__dict__["inverse"] = inverse

    @property
    def has_inverse(self) -> bool:
        """Whether the inverse is in memory."""
        return "inverse" in self.__dict__

    def forget_inverse(self) -> None:
        """Free the memory of the inverse, which is computed again if needed."""
        self.__dict__.pop("inverse", None)

    def __add__(self, other: Moments) -> Moments:
        weight = self.weight + other.weight
        if weight == 0:
            return self
        shift = other.mean - self.mean
        mean = self.mean + shift * (other.weight / weight)
        between = np.outer(shift, shift) * (self.weight * other.weight / weight)
        return Moments(weight, mean, self.scatter + other.scatter + between)


@dataclass(frozen=True, eq=False)
class CrossMoments:
    """Moments of a source and a target, and their centred cross-scatter."""

    source: Moments
    target: Moments
    cross: Float

    @property
    def weight(self) -> float:
        """Total weight of the rows."""
        return self.source.weight

    @cached_property
    def rotation(self) -> Float:
        """The (semi-)orthogonal matrix that rotates the source onto the target, computed once."""
        return nearest_rotation(self.cross)

    def keep_rotation(self, rotation: Float) -> None:
        """Keep a rotation that was computed in another way."""
        self.__dict__["rotation"] = rotation

    @cached_property
    def matching(self) -> Index:
        """The source coordinate of each target coordinate, by largest total covariance, once.

        The runs are of equal width.
        """
        return np.argsort(match(np.abs(self.cross))[1])

    def flipped(self) -> CrossMoments:
        """Exchange source and target; the rotation is transposed and the matching inverted."""
        flipped = CrossMoments(self.target, self.source, self.cross.T)
        if "rotation" in self.__dict__:
            flipped.keep_rotation(self.rotation.T)
        if "matching" in self.__dict__:
            flipped.__dict__["matching"] = np.argsort(self.matching)
        return flipped


def match(gain: Float) -> tuple[Index, Index]:
    """Return the rows and columns that are matched one to one with the largest total gain."""
    from scipy.optimize import linear_sum_assignment

    cost = -gain
    # Shifting a row or column that every matching contains changes none, and shortens the search.
    for axis in (1, 0):
        if 0 < gain.shape[1 - axis] <= gain.shape[axis]:
            cost -= cost.min(axis=axis, keepdims=True)
    rows, columns = linear_sum_assignment(cost)
    return rows, columns


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """Result of the first pass over rows."""

    mean: Float
    n_not_finite: int
    low: Float
    high: Float


def survey(engine: Engine, rows: Any) -> Survey:
    """Compute means and ranges and count non-finite values in one pass."""
    total, low, high, bad = engine.reduce_blocks(_survey, rows, combine=_combine_surveys)
    return Survey(total / rows.shape[0], int(bad), low, high)


def moments(engine: Engine, rows: Any, pilot: Float, parts: NDArray[np.int8]) -> list[Moments]:
    """Return the moments of part 0 and part 1 of the rows, in one pass."""
    return [
        _shift(weight, sums, scatter, pilot)
        for weight, sums, scatter in _by_part(
            engine.reduce_blocks(_part_moments, rows, parts, params=(pilot,)), 3
        )
    ]


def row_moments(engine: Engine, rows: Any) -> Moments:
    """Return the moments of all rows in one pass."""
    pilot = np.asarray(rows[:_PILOT_ROWS], dtype=np.float64).mean(axis=0)
    weight, sums, scatter = engine.reduce_blocks(_row_moments, rows, params=(pilot,))
    return _shift(weight, sums, scatter, pilot)


def select_rows(engine: Engine, rows: Any, keep: NDArray[np.bool_]) -> Float:
    """Load the rows selected by a mask into memory, in one pass."""
    kept: Float = engine.map_blocks(_select, rows, keep)
    return kept


def cross_scatters(
    engine: Engine,
    source: Any,
    target: Any,
    parts: NDArray[np.int8],
    pilots: tuple[Float, Float],
    means: list[tuple[Float, Float, float]],
) -> list[Float]:
    """Return the centred cross-scatter of part 0 and part 1, in one pass.

    `means` lists, for each part, the source mean, the target mean and the weight.
    """
    products = engine.reduce_blocks(_part_products, source, target, parts, params=pilots)
    return [
        product - weight * np.outer(source_mean - pilots[0], target_mean - pilots[1])
        for product, (source_mean, target_mean, weight) in zip(products, means, strict=True)
    ]


def cross_moments(
    engine: Engine,
    source: Any,
    target: Any,
    weights: Float | None = None,
    *,
    full: bool = True,
) -> CrossMoments:
    """Return the (weighted) moments of two row-aligned embeddings in one pass.

    Without `full`, only the diagonals of the two scatter matrices are computed, which halves the
    work and suffices for all groups but the affine one.
    """
    # The mean of a few rows is close enough for the sums to lose no precision.
    pilots = tuple(
        np.asarray(rows[:_PILOT_ROWS], dtype=np.float64).mean(axis=0) for rows in (source, target)
    )
    vectors = () if weights is None else (weights,)
    statistic = partial(_pair_moments if weights is None else _weighted_pair_moments, full=full)
    total, x_sum, y_sum, xx, yy, xy = engine.reduce_blocks(
        statistic, source, target, *vectors, params=pilots
    )
    if not full:
        xx, yy = np.diag(xx), np.diag(yy)
    weight = float(total)
    sides = [_shift(total, x_sum, xx, pilots[0]), _shift(total, y_sum, yy, pilots[1])]
    if not full:
        sides = [replace(side, scatter=np.diag(np.diag(side.scatter))) for side in sides]
    return CrossMoments(sides[0], sides[1], xy - weight * np.outer(x_sum / weight, y_sum / weight))


_PILOT_ROWS = 256


def _select(xp: Any, x: Any, keep: Any) -> Arrays:
    return (x[keep],)


def _survey(xp: Any, x: Any) -> Arrays:
    finite = xp.isfinite(x)
    bad = xp.sum(xp.astype(~finite, xp.int64))
    x = xp.where(finite, x, xp.zeros_like(x))
    # Values that overflow are refused later, by their range.
    with np.errstate(over="ignore", invalid="ignore"):
        return xp.sum(x, axis=0), xp.min(x, axis=0), xp.max(x, axis=0), bad


def _combine_surveys(first: Arrays, second: Arrays) -> Arrays:
    low = -np.maximum(-np.asarray(first[1]), -np.asarray(second[1]))
    high = np.maximum(np.asarray(first[2]), np.asarray(second[2]))
    with np.errstate(over="ignore", invalid="ignore"):
        return first[0] + second[0], low, high, first[3] + second[3]


def _row_moments(xp: Any, x: Any, pilot: Any) -> Arrays:
    x = x - pilot
    return xp.asarray(x.shape[0], dtype=x.dtype), xp.sum(x, axis=0), xp.matmul(x.T, x)


def _part_moments(xp: Any, x: Any, parts: Any, pilot: Any) -> Arrays:
    x = x - pilot
    results: list[Any] = []
    for part in (0, 1):
        block = x[parts == part]
        results += [
            xp.asarray(block.shape[0], dtype=x.dtype),
            xp.sum(block, axis=0),
            xp.matmul(block.T, block),
        ]
    return tuple(results)


def _part_products(xp: Any, x: Any, y: Any, parts: Any, x_pilot: Any, y_pilot: Any) -> Arrays:
    x, y = x - x_pilot, y - y_pilot
    return tuple(xp.matmul(x[parts == part].T, y[parts == part]) for part in (0, 1))


def _pair_moments(xp: Any, x: Any, y: Any, x_pilot: Any, y_pilot: Any, *, full: bool) -> Arrays:
    x, y = x - x_pilot, y - y_pilot
    return (
        xp.asarray(x.shape[0], dtype=x.dtype),
        xp.sum(x, axis=0),
        xp.sum(y, axis=0),
        *_scatters(xp, x, y, full=full),
        xp.matmul(x.T, y),
    )


def _weighted_pair_moments(
    xp: Any, x: Any, y: Any, weights: Any, x_pilot: Any, y_pilot: Any, *, full: bool
) -> Arrays:
    root = xp.sqrt(weights)[:, None]
    x, y = (x - x_pilot) * root, (y - y_pilot) * root
    return (
        xp.sum(weights),
        xp.matmul(root[:, 0], x),
        xp.matmul(root[:, 0], y),
        *_scatters(xp, x, y, full=full),
        xp.matmul(x.T, y),
    )


def _scatters(xp: Any, x: Any, y: Any, *, full: bool) -> Arrays:
    if full:
        return xp.matmul(x.T, x), xp.matmul(y.T, y)
    return xp.sum(x * x, axis=0), xp.sum(y * y, axis=0)


def _by_part(results: tuple[Float, ...], width: int) -> list[tuple[Float, ...]]:
    return [results[start : start + width] for start in range(0, len(results), width)]


def _shift(weight: Float, sums: Float, scatter: Float, pilot: Float) -> Moments:
    n = float(weight)
    if n == 0:
        return Moments(0.0, pilot, np.zeros_like(scatter))
    offset = sums / n
    mean = pilot + offset
    centred = scatter - n * np.outer(offset, offset)
    # A coordinate that varies by no more than the rounding of its sums counts as constant.
    rounding = 16 * np.finfo(float).eps * np.sqrt(n)
    varies = np.diag(centred) > np.maximum(rounding * np.diag(scatter), n * (rounding * mean) ** 2)
    return Moments(n, mean, centred if varies.all() else centred * np.outer(varies, varies))
