"""Second moments of two runs about their means, for moment measures.

The moments and the spectrum of a run are computed once and shared by every pair it is in; only the
cross-scatter belongs to a pair and changes when the pairing is permuted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core.array_types import Float
from upto.engines import ThreadsEngine, varying

if TYPE_CHECKING:
    from upto.engines.base import Arrays, Engine


RANK_TOLERANCE = 1e-10
"""Directions whose variance is below this fraction of the largest count as absent."""
ROUNDING = 1e-11
"""Coordinates that deviate by less than this fraction of their mean count as constant."""


@dataclass(frozen=True, eq=False)
class RunMoments:
    """Number, mean and centred scatter of the rows of one run.

    `fourth` is the sum of the fourth powers of the row norms about the mean.
    """

    n_samples: int
    mean: Float
    scatter: Float
    fourth: float

    def __post_init__(self) -> None:
        # In a constant coordinate far from zero only the rounding error of its mean remains, that
        # of a long sum.
        deviation = np.sqrt(np.diag(self.scatter) / self.n_samples)
        still = deviation <= ROUNDING * np.abs(self.mean)
        if still.any():
            kept = np.where(still | still[:, None], 0.0, self.scatter)
            object.__setattr__(self, "scatter", kept)

    @cached_property
    def spectrum(self) -> tuple[Float, Float]:
        """Variances, summed over rows, and axes of the present directions, widest first."""
        values, vectors = np.linalg.eigh(self.scatter)
        values, vectors = values[::-1], vectors[:, ::-1]
        kept = values > RANK_TOLERANCE * max(float(values[0]), np.finfo(float).tiny)
        return values[kept], vectors[:, kept]

    @cached_property
    def whitening(self) -> Float:
        """Map to orthonormal columns: the scatter of ``centred @ whitening`` is the identity.

        The rank is determined with every coordinate scaled to unit variance, so it is invariant to
        their scales.
        """
        deviation = np.sqrt(np.diag(self.scatter))
        alive = varying(deviation)
        unit = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=alive)
        values, vectors = np.linalg.eigh(self.scatter * np.outer(unit, unit))
        kept = values > RANK_TOLERANCE * max(float(values[-1]), np.finfo(float).tiny)
        whitening: Float = unit[:, None] * (vectors[:, kept] / np.sqrt(values[kept]))
        return whitening[:, ::-1]

    @cached_property
    def shortest_whitening(self) -> Float:
        """The whitening map of minimum norm, which rotates with the run.

        If rows do not span every direction, many maps whiten them and differ on other rows.
        """
        whitening = self.whitening
        if whitening.shape[1] in (0, len(whitening)):
            return whitening
        # scatter @ map is a root of the scatter, and the transpose of its pseudo-inverse is the
        # minimum-norm map; projecting the known map would lose digits to cancellation.
        reached, corner = np.linalg.qr(self.scatter @ whitening)
        return np.asarray(np.linalg.solve(corner, reached.T).T, dtype=np.float64)

    @property
    def rank(self) -> int:
        """Number of present directions."""
        return int(self.whitening.shape[1])


@dataclass(frozen=True, eq=False)
class PairMoments:
    """Moments of two runs and the centred cross-scatter of their paired rows.

    `cross_fourth` is the sum over rows of the product of both squared norms about the means.
    """

    x: RunMoments
    y: RunMoments
    cross: Float
    cross_fourth: float

    @property
    def n_samples(self) -> int:
        """Number of row pairs."""
        return self.x.n_samples

    def flipped(self) -> PairMoments:
        """Exchange the runs."""
        return PairMoments(self.y, self.x, self.cross.T, self.cross_fourth)


def run_moments(rows: Any, *, engine: Engine | None = None) -> RunMoments:
    """Return the moments of one run, in two passes."""
    engine = engine or ThreadsEngine()
    (total,) = engine.reduce_blocks(_sum, rows)
    mean = total / rows.shape[0]
    scatter, fourth = engine.reduce_blocks(_scatter, rows, params=(mean,))
    return RunMoments(int(rows.shape[0]), mean, scatter, float(fourth))


def pair_moments(
    first: Any,
    second: Any,
    *,
    x: RunMoments | None = None,
    y: RunMoments | None = None,
    engine: Engine | None = None,
) -> PairMoments:
    """Return the moments of two row-aligned runs, in one pass if those of each are given."""
    engine = engine or ThreadsEngine()
    x = x or run_moments(first, engine=engine)
    y = y or run_moments(second, engine=engine)
    cross, fourth = engine.reduce_blocks(_cross, first, second, params=(x.mean, y.mean))
    return PairMoments(x, y, cross, float(fourth))


def _sum(xp: Any, x: Any) -> Arrays:
    return (xp.sum(x, axis=0),)


def _scatter(xp: Any, x: Any, mean: Any) -> Arrays:
    x = x - mean
    squares = xp.linalg.vecdot(x, x)
    return xp.matmul(x.T, x), xp.sum(squares * squares)


def _cross(xp: Any, x: Any, y: Any, x_mean: Any, y_mean: Any) -> Arrays:
    x, y = x - x_mean, y - y_mean
    squares = xp.linalg.vecdot(x, x) * xp.linalg.vecdot(y, y)
    return xp.matmul(x.T, y), xp.sum(squares)
