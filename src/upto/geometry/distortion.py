"""Distortion of a map: of singular values, of directions and of pairs of rows.

The bi-Lipschitz constant Λ of a map is the largest factor by which it stretches or shrinks a
distance; an isometry has Λ = 1. It is infinite where two points are mapped to one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from upto.geometry.jacobians import power_of_two, row_lengths
from upto.measures.distances import squared_distances

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from upto.core.array_types import Float


_BLOCK = 2**21
"""Number of row pairs processed together."""
_CANCELS = 1e-6
"""Squared distances below this fraction of the squared norms are computed from differences."""


def bi_lipschitz(largest: Float, smallest: Float) -> Float:
    """Return Λ = max(σ_max, 1/σ_min).

    Parameters
    ----------
    largest, smallest
        Extreme singular values of Jacobians, or extreme ratios of distances.

    Examples
    --------
    >>> bi_lipschitz(np.array([1.0, 2.0]), np.array([0.25, 1.0])).tolist()
    [4.0, 2.0]
    """
    return np.maximum(largest, _inverse(smallest))


def scaled_bi_lipschitz(largest: Float, smallest: Float) -> Float:
    """Return √(σ_max/σ_min), the constant of each point after its optimal scaling.

    Parameters
    ----------
    largest, smallest
        Extreme singular values or ratios, as in `bi_lipschitz`.
    """
    # No scale helps a map that is zero.
    return np.sqrt(np.where(smallest > 0.0, largest, 1.0)) * np.sqrt(_inverse(smallest))


def best_scale(largest: Float, smallest: Float) -> tuple[float, float]:
    """Return the common scale of the outputs that minimises the worst Λ, and that Λ.

    Parameters
    ----------
    largest, smallest
        Extreme singular values or ratios at many points.

    Examples
    --------
    >>> scale, worst = best_scale(np.array([8.0, 2.0]), np.array([4.0, 2.0]))
    >>> round(scale, 12), round(worst, 12)
    (0.25, 2.0)
    """
    high, low = float(np.max(largest)), float(np.min(smallest))
    if not 0.0 < low <= high < np.inf:
        return 1.0, np.inf
    return float(1.0 / (np.sqrt(high) * np.sqrt(low))), float(np.sqrt(high) / np.sqrt(low))


def isometry_deviation(largest: Float, smallest: Float) -> Float:
    """Return δ, the smallest number such that every factor lies in 1 ± δ.

    Parameters
    ----------
    largest, smallest
        Extreme singular values or ratios, as in `bi_lipschitz`.
    """
    return np.maximum(np.abs(largest - 1.0), np.abs(smallest - 1.0))


def share_within(values: Float, deviation: float) -> float:
    """Return the share of singular values within 1 ± `deviation`: 1 is dynamical isometry.

    Parameters
    ----------
    values
        Any number of singular values.
    deviation
        Largest accepted distance from 1.
    """
    return float(np.mean(np.abs(values - 1.0) <= deviation))


def direction_estimate(lengths: Float) -> Float:
    """Return the maximum over directions of max(‖Jv‖, 1/‖Jv‖): at most Λ, and often far less.

    Parameters
    ----------
    lengths
        ‖Jv‖ for unit vectors v, one row per direction and one column per point.
    """
    return bi_lipschitz(lengths.max(axis=0), lengths.min(axis=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class SecantRange:
    """Extreme ratios of distances over pairs of rows, and the pairs that attain them.

    Both are attained, so they bound the constants of the map from below. `n_equal` pairs have the
    same latents and are excluded; `n_clashes` of them have different outputs, which is impossible
    for a function.
    """

    largest: float
    smallest: float
    largest_pair: tuple[int, int]
    smallest_pair: tuple[int, int]
    n_pairs: int
    n_equal: int
    n_clashes: int


def secant_range(latents: Float, outputs: Float) -> SecantRange:
    """Return the extreme ratios ‖y - y′‖/‖z - z′‖ over all pairs of rows, block by block.

    Parameters
    ----------
    latents, outputs
        Latents and outputs of the same samples, one row each.
    """
    (latents, before_scale), (outputs, after_scale) = _sized(latents), _sized(outputs)
    high, low = (0.0, (0, 0)), (np.inf, (0, 0))
    n_pairs = n_equal = n_clashes = 0
    for start, rows in _blocks(len(latents)):
        later = ~np.tri(len(latents[rows]), len(latents), start, dtype=bool)
        before = np.sqrt(_squared(latents[rows], latents))
        after = np.sqrt(_squared(outputs[rows], outputs))
        equal = later & (before == 0.0)
        usable = later & ~equal
        n_equal += int(equal.sum())
        n_clashes += int((equal & (after > 0.0)).sum())
        n_pairs += int(usable.sum())
        if usable.any():
            ratio = np.divide(after, before, out=np.full_like(after, np.nan), where=usable)
            high = max(high, _at(ratio, np.nanargmax(ratio), start), key=itemgetter(0))
            low = min(low, _at(ratio, np.nanargmin(ratio), start), key=itemgetter(0))
    if not n_pairs:
        low = high
    return SecantRange(
        largest=_times(high[0], after_scale, before_scale),
        smallest=_times(low[0], after_scale, before_scale),
        largest_pair=high[1],
        smallest_pair=low[1],
        n_pairs=n_pairs,
        n_equal=n_equal,
        n_clashes=n_clashes,
    )


def nearest_rows(points: Float, pool: Float, count: int) -> NDArray[np.intp]:
    """Return, for each point, the nearest rows of a pool that are not equal to it.

    Parameters
    ----------
    points, pool
        Latents.
    count
        Number of neighbours; fewer are found if the pool is too small.

    Returns
    -------
    array
        Positions in the pool, one row per point; -1 where there is none.
    """
    count = min(count, len(pool))
    pool, scale = _sized(pool)
    points = points / scale
    found = np.full((len(points), count), -1, dtype=np.intp)
    width = max(1, _BLOCK // len(pool))
    for start in range(0, len(points), width):
        squared = _squared(points[start : start + width], pool)
        squared[squared == 0.0] = np.inf
        near = np.argpartition(squared, count - 1, axis=1)[:, :count]
        own = np.take_along_axis(squared, near, axis=1)
        order = np.argsort(own, axis=1, kind="stable")
        near = np.take_along_axis(near, order, axis=1)
        near[np.isinf(np.take_along_axis(own, order, axis=1))] = -1
        found[start : start + width] = near
    return found


def neighbour_ratios(points: Float, values: Float, pool: Float, outputs: Float) -> Float:
    """Return ‖y - y′‖/‖z - z′‖ from each point to its own neighbours; NaN where undefined.

    Parameters
    ----------
    points, values
        Latents (n×d) and outputs (n×m).
    pool, outputs
        Their neighbours: latents (n×k×d) and outputs (n×k×m).
    """
    before = row_lengths(pool - points[:, None, :])
    after = row_lengths(outputs - values[:, None, :])
    ratios: Float = np.full(after.shape, np.nan)
    np.divide(after, before, out=ratios, where=before > 0.0)
    return ratios


def _sized(rows: Float) -> tuple[Float, float]:
    """Return rows scaled so that squares neither overflow nor underflow, and the divisor."""
    scale = float(power_of_two(np.abs(rows).max(initial=0.0)))
    return rows / scale, scale


def _times(ratio: float, above: float, below: float) -> float:
    """Return a ratio in its original units, or the largest float."""
    if not ratio:
        return 0.0
    power = math.log2(ratio) + math.log2(above) - math.log2(below)
    return ratio * (above / below) if abs(power) < 1000 else 2.0 ** min(max(power, -1022), 1023)


def _inverse(numbers: Float) -> Float:
    return np.divide(1.0, numbers, out=np.full_like(numbers, np.inf), where=numbers != 0.0)


def _blocks(n_rows: int) -> Iterator[tuple[int, slice]]:
    width = max(1, _BLOCK // n_rows)
    for start in range(0, n_rows, width):
        yield start, slice(start, min(start + width, n_rows))


def _at(ratio: Float, place: np.intp, start: int) -> tuple[float, tuple[int, int]]:
    row, column = np.unravel_index(place, ratio.shape)
    return float(ratio[row, column]), (start + int(row), int(column))


def _squared(some: Float, points: Float) -> Float:
    """Return squared distances that are accurate for close rows too."""
    squared = squared_distances(some, points)
    centre = points.mean(axis=0)
    some, points = some - centre, points - centre
    norms = np.einsum("ij,ij->i", some, some)[:, None] + np.einsum("ij,ij->i", points, points)
    near, far = np.nonzero(squared <= _CANCELS * norms)
    for start in range(0, len(near), 4096):
        pair = slice(start, start + 4096)
        gap = some[near[pair]] - points[far[pair]]
        squared[near[pair], far[pair]] = np.einsum("ij,ij->i", gap, gap)
    return squared
