"""Second moments of two runs about their means, for moment measures.

The moments and the spectrum of a run are computed once and shared by every pair it is in; only the
cross-scatter belongs to a pair and changes when the pairing is permuted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.sparse import csr_array

from upto.core.array_types import Float
from upto.core.cached import cached_property
from upto.engines import ThreadsEngine, varying
from upto.engines.algebra import eigh

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.engines.base import Arrays, Engine


RANK_TOLERANCE = 1e-10
"""Directions whose variance is below this fraction of the largest count as absent."""
_TINY = float(np.finfo(float).tiny)
_ALIKE = 100.0
"""Ratio of deviations up to which coordinates need not be scaled for precision."""
ROUNDING = 1e-11
"""Coordinates that deviate by less than this fraction of their mean count as constant."""


@dataclass(frozen=True, eq=False)
class RunMoments:
    """Number, mean and centred scatter of the rows of one run.

    `products` is the scatter, or a function that computes it when it is needed, and `squares` its
    diagonal, if known. `fourth` is the sum of the fourth powers of the row norms about the mean.
    """

    n_samples: int
    mean: Float
    products: Float | Callable[[], Float]
    fourth: float
    squares: Float | None = None

    @cached_property
    def scatter(self) -> Float:
        """Sums of products of all coordinates about their means."""
        products = self._products
        still = self._still
        return np.where(still | still[:, None], 0.0, products) if still.any() else products

    @cached_property
    def variances(self) -> Float:
        """Sums of squares of the coordinates about their means."""
        return np.where(self._still, 0.0, self._squares)

    @cached_property
    def _products(self) -> Float:
        return self.products() if callable(self.products) else self.products

    @property
    def _squares(self) -> Float:
        return np.diag(self._products) if self.squares is None else self.squares

    @property
    def _still(self) -> NDArray[np.bool_]:
        # In a constant coordinate far from zero only the rounding error of its mean remains, that
        # of a long sum.
        deviation = np.sqrt(self._squares / self.n_samples)
        still: NDArray[np.bool_] = deviation <= ROUNDING * np.abs(self.mean)
        return still

    @cached_property
    def spectrum(self) -> tuple[Float, Float]:
        """Variances, summed over rows, and axes of the present directions, widest first."""
        values, vectors = eigh(self.scatter)
        values, vectors = values[::-1], vectors[:, ::-1]
        kept = values > RANK_TOLERANCE * max(float(values[0]), np.finfo(float).tiny)
        return values[kept], vectors[:, kept]

    @property
    def whitening(self) -> Float:
        """Map to orthonormal columns: the scatter of ``centred @ whitening`` is the identity.

        The rank is determined with every coordinate scaled to unit variance, so it is invariant to
        their scales.
        """
        return self._directions[0]

    @cached_property
    def shortest_whitening(self) -> Float:
        """The whitening map of minimum norm, which rotates with the run.

        If rows do not span every direction, many maps whiten them and differ on other rows.
        """
        whitening, absent = self._directions
        if whitening.shape[1] in (0, len(whitening)):
            return whitening
        alive = np.flatnonzero(self.variances)
        deviation = np.sqrt(self.variances[alive])
        # Projection loses as many digits as the deviations of coordinates differ by.
        if absent.shape[1] < whitening.shape[1] and deviation.max() < _ALIKE * deviation.min():
            basis = np.linalg.qr(absent)[0]
            return whitening - basis @ (basis.T @ whitening)
        # scatter @ map is a root of the scatter, and the transpose of its pseudo-inverse is the
        # minimum-norm map.
        reached, corner = np.linalg.qr(_square(self.scatter, alive) @ whitening[alive])
        found = np.asarray(solve_triangular(corner, reached.T, check_finite=False).T)
        return _spread_over(found, alive, len(whitening))

    @cached_property
    def _directions(self) -> tuple[Float, Float]:
        """The whitening map, widest direction first, and directions without variance."""
        deviation = np.sqrt(self.variances)
        alive = np.flatnonzero(varying(deviation))
        unit = 1.0 / deviation[alive]
        scaled = _square(self.scatter, alive) * np.outer(unit, unit)
        values, vectors = eigh(scaled)
        kept = values > RANK_TOLERANCE * max(float(values.max(initial=0.0)), _TINY)
        found = unit[:, None] * (vectors[:, kept] / np.sqrt(values[kept]))
        absent = unit[:, None] * vectors[:, ~kept]
        spread = partial(_spread_over, rows=alive, count=len(deviation))
        return spread(found[:, ::-1]), spread(absent)

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


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutScore:
    """A score of held-out rows, which depends on their pairing through one inner product.

    `weights` are multiplied with the cross-scatter of the rows and summed; `finish` returns the
    score.
    """

    weights: Float | csr_array
    finish: Callable[[float], float] = float

    @property
    def is_sparse(self) -> bool:
        """Whether few products of coordinates count."""
        return not isinstance(self.weights, np.ndarray)

    def of(self, cross: Float) -> float:
        """Return the score from the cross-scatter."""
        if isinstance(self.weights, np.ndarray):
            return self.finish(float(np.vdot(self.weights, cross)))
        entries = self.weights.tocoo()
        return self.finish(float(entries.data @ cross[entries.row, entries.col]))

    def flipped(self) -> HeldOutScore:
        """Return the score of the transposed cross-scatter."""
        if isinstance(self.weights, np.ndarray):
            return HeldOutScore(np.ascontiguousarray(self.weights.T), self.finish)
        return HeldOutScore(self.weights.T.tocsr(), self.finish)


Form = Callable[[RunMoments, RunMoments], HeldOutScore]
"""A fit: the score of held-out rows, from the moments of each run."""


class RowForm(ABC):
    """A form that needs less work with centred rows than with their moments, if rows are few."""

    @abstractmethod
    def __call__(self, x: RunMoments, y: RunMoments) -> HeldOutScore:
        """Return the score of held-out rows."""

    @abstractmethod
    def of_rows(self, x: RunMoments, y: RunMoments, x_rows: Float, y_rows: Float) -> float:
        """Return the value of the score for paired rows."""


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


def _square(matrix: Float, chosen: NDArray[np.intp]) -> Float:
    return matrix if len(chosen) == len(matrix) else matrix[np.ix_(chosen, chosen)]


def _spread_over(columns: Float, rows: NDArray[np.intp], count: int) -> Float:
    """Return columns with zeros in the rows that are left out."""
    if len(rows) == count:
        return columns
    found = np.zeros((count, columns.shape[1]))
    found[rows] = columns
    return found


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
