"""Identifiability of components: their non-Gaussianity, and which can rotate into each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import scipy.special

from upto.core import Estimate
from upto.core.array_types import Float
from upto.ica.contrasts import LogCosh, gaussian_moments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.engines.base import Arrays, Engine
    from upto.ica.components import Unmixing
    from upto.ica.contrasts import Contrast


LEVEL = 0.95
CLEAR = 3.0
"""Standard errors above which a component, or the curvature of a pair, counts as non-zero."""
CHANCE = 0.001
"""Chance that independent components have any pair that counts as clearly dependent."""
BATCHES = 16
"""Number of parts of the rows that the standard errors of curvatures are computed from."""


class Centred(Protocol):
    """Anything with components of centred rows."""

    @property
    def mean(self) -> Float:
        """Mean of the rows."""

    @property
    def components(self) -> Float:
        """Unmixing matrix of the centred rows, one component per row."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NonGaussianity:
    """Difference of each component's mean contrast from a Gaussian's, with its standard error.

    The sign of `difference` distinguishes heavy from light tails; `value` is its magnitude.
    """

    difference: Float
    error: Float

    @property
    def value(self) -> Float:
        """Distance of each component from a Gaussian."""
        value: Float = np.abs(self.difference)
        return value

    @property
    def z(self) -> Float:
        """The distance in standard errors."""
        z: Float = self.value / self.error
        return z

    def below(self, limit: float) -> NDArray[np.bool_]:
        """Return which components are closer to Gaussian than a limit, by a test of equivalence."""
        reach = float(scipy.special.ndtri(LEVEL))
        below: NDArray[np.bool_] = self.value + reach * self.error < limit
        return below

    def arranged(self, order: NDArray[np.intp]) -> NonGaussianity:
        """Return the components in another order, NaN where the order is negative."""
        return NonGaussianity(
            difference=np.where(order < 0, np.nan, self.difference[order]),
            error=np.where(order < 0, np.nan, self.error[order]),
        )

    def widened(self, factor: float) -> NonGaussianity:
        """Return it with standard errors multiplied by `factor`, for rows that are dependent."""
        return replace(self, error=factor * self.error)

    def estimates(self) -> list[Estimate]:
        """Return each distance with its interval."""
        reach = float(scipy.special.ndtri(0.5 + LEVEL / 2))
        return [
            Estimate(
                value=float(value),
                low=max(0.0, float(value - reach * error)),
                high=float(value + reach * error),
                level=LEVEL,
            )
            for value, error in zip(self.value, self.error, strict=True)
        ]


def nongaussianity(
    engine: Engine, rows: Any, unmixing: Centred, contrast: Contrast | None = None
) -> NonGaussianity:
    """Measure how far each component is from a Gaussian of its mean and variance.

    Use held-out rows: on the rows a fit used, the search for non-Gaussian directions makes every
    component look less Gaussian than it is.

    Components have unit variance by construction, so the part of the contrast that depends on the
    variance is uninformative; removing it makes the test far more powerful.
    """
    contrast = contrast or LogCosh()
    gaussian, _ = gaussian_moments(contrast)
    params = (unmixing.mean, unmixing.components.T)
    n_samples = rows.shape[0]
    statistic = partial(_contrast_moments, contrast=contrast)
    sums = engine.reduce_blocks(statistic, rows, params=params)
    value, value_2, square, square_2, both, slope = (each / n_samples for each in sums)
    weight = slope / 2
    variance = (value_2 - value**2) + weight**2 * (square_2 - square**2)
    variance -= 2 * weight * (both - value * square)
    error = np.sqrt(np.maximum(variance, np.finfo(float).tiny) / n_samples)
    return NonGaussianity(difference=value - weight * (square - 1) - gaussian, error=error)


def laplace_nongaussianity(contrast: Contrast) -> float:
    """Return the distance of a Laplace distribution from a Gaussian, for reference."""
    import array_api_compat

    nodes, weights = np.polynomial.laguerre.laggauss(64)
    grid = nodes[:, None] / np.sqrt(2.0)
    value = contrast(array_api_compat.array_namespace(grid), grid)[0][:, 0]
    return float(abs(np.sum(weights * value) - gaussian_moments(contrast)[0]))


def pooled_nongaussianity(
    first: NonGaussianity, second: NonGaussianity, rows: tuple[int, int]
) -> NonGaussianity:
    """Pool the non-Gaussianity of the same components on two sets of rows."""
    ours, theirs = (count / sum(rows) for count in rows)
    return NonGaussianity(
        difference=ours * first.difference + theirs * second.difference,
        error=np.hypot(ours * first.error, theirs * second.error),
    )


def _contrast_moments(xp: Any, x: Any, mean: Any, unmixing: Any, *, contrast: Contrast) -> Arrays:
    sources = xp.matmul(x - mean, unmixing)
    value, score, _ = contrast(xp, sources)
    square = sources * sources
    parts = (value, value * value, square, square * square, value * square, sources * score)
    return tuple(xp.sum(part, axis=0) for part in parts)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PairCurvature:
    """The exact curvature of the contrast as two components rotate into each other.

    Entries are those of the Riemannian Hessian in the basis of pair rotations of unit length, with
    their standard errors. `excess` is their difference from the values of independent components,
    again with standard errors.
    """

    value: Float
    error: Float
    excess: Float
    excess_error: Float

    @property
    def round_pairs(self) -> NDArray[np.bool_]:
        """Pairs whose curvature is not clearly positive and clearly below that if independent.

        "Clearly" is corrected for the number of pairs.
        """
        k = len(self.value)
        clear = float(-scipy.special.stdtrit(BATCHES - 1, CHANCE / max(k * (k - 1) // 2, 1)))
        # Comparisons with NaN are false, so unknown pairs are not round.
        round_pairs: NDArray[np.bool_] = self.value < CLEAR * self.error
        round_pairs &= self.excess < -clear * self.excess_error
        np.fill_diagonal(round_pairs, val=False)
        return round_pairs

    def subspaces(self, gaussian: NDArray[np.bool_]) -> tuple[tuple[int, ...], ...]:
        """Return the groups of components that can rotate into each other.

        Two components are linked if both are `gaussian`, or if they are a round pair.
        """
        linked = np.outer(gaussian, gaussian) | self.round_pairs
        np.fill_diagonal(linked, val=False)
        return connected(linked)

    def arranged(self, order: NDArray[np.intp]) -> PairCurvature:
        """Return the components in another order, NaN where the order is negative."""
        unknown = np.logical_or.outer(order < 0, order < 0)
        chosen = np.ix_(order, order)
        return PairCurvature(
            value=np.where(unknown, np.nan, self.value[chosen]),
            error=np.where(unknown, np.nan, self.error[chosen]),
            excess=np.where(unknown, np.nan, self.excess[chosen]),
            excess_error=np.where(unknown, np.nan, self.excess_error[chosen]),
        )

    def widened(self, factor: float) -> PairCurvature:
        """Return it with standard errors multiplied by `factor`, for rows that are dependent."""
        return replace(self, error=factor * self.error, excess_error=factor * self.excess_error)


def pair_curvature(
    engine: Engine, rows: Any, unmixing: Unmixing, contrast: Contrast | None = None
) -> PairCurvature:
    """Measure the curvature of every pair of components in one pass.

    Independence is not assumed: the components of a round, non-Gaussian pair are found to rotate
    into each other just as two Gaussian ones are. Components have unit variance by construction, so
    the part that depends on their squares is removed.
    """
    contrast = contrast or LogCosh()
    batches = np.arange(int(rows.shape[0])) % BATCHES
    statistic = partial(_curvature_sums, contrast=contrast)
    params = (unmixing.mean, unmixing.components.T)
    sums = engine.reduce_blocks(statistic, rows, batches, params=params)
    counts = sums[-1]
    pairs, own, slope, square, fourth, follows = (
        each / counts.reshape(-1, *[1] * (each.ndim - 1)) for each in sums[:-1]
    )
    mean_slope, mean_own = slope.mean(axis=0), own.mean(axis=0)
    signs = np.where(mean_slope < mean_own, -1.0, 1.0)
    mean_square = square.mean(axis=0)
    spread = np.maximum(fourth.mean(axis=0) - mean_square**2, np.finfo(float).tiny)
    weight = (follows.mean(axis=0) - (mean_slope - mean_own) * mean_square) / spread
    single = own + weight * (square - 1.0)
    sided = pairs - single[:, :, None] - mean_slope[:, None] * (square - 1.0)[:, None, :]
    # Independent components have E[g′(sᵢ)sⱼ²] = E[g′(sᵢ)]: any difference is dependence.
    beyond = pairs - slope[:, :, None] - mean_slope[:, None] * (square - 1.0)[:, None, :]
    value, error = _over_batches(0.5 * signs[:, None] * sided)
    excess, excess_error = _over_batches(0.5 * signs[:, None] * beyond)
    return PairCurvature(value=value, error=error, excess=excess, excess_error=excess_error)


def pooled_curvature(
    first: PairCurvature, second: PairCurvature, rows: tuple[int, int]
) -> PairCurvature:
    """Pool the curvature of the same pairs on two sets of rows."""
    ours, theirs = (count / sum(rows) for count in rows)
    return PairCurvature(
        value=ours * first.value + theirs * second.value,
        error=np.hypot(ours * first.error, theirs * second.error),
        excess=ours * first.excess + theirs * second.excess,
        excess_error=np.hypot(ours * first.excess_error, theirs * second.excess_error),
    )


def _over_batches(sided: Float) -> tuple[Float, Float]:
    both = sided + np.swapaxes(sided, 1, 2)
    return both.mean(axis=0), both.std(axis=0, ddof=1) / np.sqrt(BATCHES)


def _curvature_sums(
    xp: Any, x: Any, batches: Any, mean: Any, unmixing: Any, *, contrast: Contrast
) -> Arrays:
    sources = xp.matmul(x - mean, unmixing)
    _, score, slope = contrast(xp, sources)
    square, own = sources * sources, sources * score
    vectors = (own, slope, square, square * square, (slope - own) * square)
    parts: list[list[Any]] = [[] for _ in range(len(vectors) + 2)]
    for batch in range(BATCHES):
        chosen = batches == batch
        parts[0].append(xp.matmul(slope[chosen].T, square[chosen]))
        for number, vector in enumerate(vectors, 1):
            parts[number].append(xp.sum(vector[chosen], axis=0))
        parts[-1].append(xp.sum(xp.astype(chosen, x.dtype)))
    return tuple(xp.stack(part) for part in parts)


def connected(linked: NDArray[np.bool_]) -> tuple[tuple[int, ...], ...]:
    """Return the connected groups of two or more, ordered by their first members."""
    from scipy.sparse.csgraph import connected_components

    _, labels = connected_components(linked, directed=False)
    groups = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    found = [tuple(int(i) for i in group) for group in groups if len(group) > 1]
    return tuple(sorted(found))
