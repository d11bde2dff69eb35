"""Whitening: coordinates with identity covariance, and the exact inverse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import array_api_compat
import numpy as np
import scipy.linalg

from upto.core import InputError
from upto.core.array_types import Float
from upto.engines import Moments, varying
from upto.engines.algebra import compute, leading_eigenvectors
from upto.ica.white_directions import RANK_TOLERANCE, Dropped, Source, white_directions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.engines.base import Arrays, Engine

Method = Literal["pca", "zca", "cholesky"]

METHODS = ("pca", "zca", "cholesky")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Whitening:
    """A linear map to white coordinates and back.

    ``(rows - mean) @ matrix.T`` is white; ``white @ inverse.T + mean`` gives the rows back, on the
    span of the kept directions. `variances` are those of the kept directions, the widest first.
    `is_white` is False if the map only scales. `dropped` describes the directions that were too
    narrow.
    """

    mean: Float
    matrix: Float
    inverse: Float
    variances: Float
    rank: int
    is_white: bool = True
    dropped: Dropped | None = None


def find_whitening(
    part: Moments,
    *,
    method: Method = "pca",
    n_components: int | float | None = None,
    rank_tolerance: float | None = RANK_TOLERANCE,
    source: Source | None = None,
) -> Whitening:
    """Return the whitening of rows with these moments.

    The rank is that of coordinates scaled to unit variance, so it depends neither on the scale of
    the data nor on differences in scale between coordinates.

    Parameters
    ----------
    part
        Moments of the rows.
    method
        ``pca`` orders coordinates by variance, ``zca`` stays closest to the rows, ``cholesky`` is
        lower triangular.
    n_components
        Number of directions to keep, the widest first, or the fraction of the variance they must
        explain.
    rank_tolerance
        Directions below this fraction of the largest variance are dropped; None keeps all that
        are distinguishable from rounding.
    source
        The rows of these moments, in which to find directions that the covariance does not resolve.
    """
    inward, outward, variances, axes, dropped = _principal_whitening(part, rank_tolerance, source)
    rank = len(inward)
    kept = _kept(n_components, variances)
    inward, outward, variances = inward[:kept], outward[:, :kept], variances[:kept]
    if method == "zca":
        inward, outward = axes[:, :kept] @ inward, outward @ axes[:, :kept].T
    elif method == "cholesky":
        width = len(part.mean)
        if kept < width:
            message = (
                f"Cholesky whitening needs full rank, but {kept} of {width} directions are kept: "
                "use pca or zca, or shrink the covariance."
            )
            raise InputError(message)
        # The covariance itself may be too ill-conditioned to factor.
        upper = np.linalg.qr(outward.T)[1]
        lower = (np.where(np.diag(upper) < 0, -1.0, 1.0)[:, None] * upper).T
        inward = scipy.linalg.solve_triangular(lower, np.eye(width), lower=True)
        outward = lower
    return Whitening(
        mean=part.mean,
        matrix=inward,
        inverse=outward,
        variances=variances,
        rank=rank,
        dropped=dropped,
    )


def leading_whitening(part: Moments, n_components: int, rank: int) -> Whitening | None:
    """Return the whitening of the widest directions; None if a covariance does not resolve them.

    Only these directions are computed, which takes much less time than all of many.
    """
    values, axes = leading_eigenvectors(part.scatter / part.weight, n_components)
    if not values[0] > RANK_TOLERANCE * values[-1]:
        return None
    return principal_whitening(part.mean, axes[:, ::-1], np.sqrt(values[::-1]), rank)


def principal_whitening(mean: Float, axes: Float, widths: Float, rank: int) -> Whitening:
    """Return the whitening along given principal directions, the widest first."""
    return Whitening(
        mean=mean,
        matrix=(axes / widths).T,
        inverse=axes * widths,
        variances=widths**2,
        rank=rank,
    )


def _principal_whitening(
    part: Moments, rank_tolerance: float | None, source: Source | None
) -> tuple[Float, Float, Float, Float, Dropped | None]:
    covariance = part.scatter / part.weight
    if not np.isfinite(covariance).all():
        message = "the squares of the rows overflow double precision: divide the rows first."
        raise InputError(message)
    if 0.0 < covariance.diagonal().max() < np.finfo(np.float64).tiny:
        message = "the squares of the rows underflow double precision: multiply the rows first."
        raise InputError(message)
    deviation = np.sqrt(np.diag(covariance))
    alive = varying(deviation)
    if not alive.any():
        message = "all rows are equal: there is no direction to whiten."
        raise InputError(message)
    unit = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=alive)
    found = white_directions(part, unit, rank_tolerance, source)
    inward = found.into * unit
    outward = np.where(alive, deviation, 0.0)[:, None] * found.out
    # Rotated to the principal directions; any rotation of a whitening is a whitening.
    axes, widths, turn = compute(_svd, outward)
    return turn @ inward, outward @ turn.T, widths**2, axes, found.dropped


def _svd(xp: Any, matrix: Any) -> Arrays:
    if array_api_compat.is_torch_namespace(xp):
        # On a device, a decomposition of the square takes a fifth of the time.
        squares, right = xp.linalg.eigh(xp.matmul(matrix.T, matrix))
        if bool(squares[0] > _EASILY_SQUARED * squares[-1]):
            values, right = xp.sqrt(xp.flip(squares)), xp.flip(right, axis=1)
            return xp.matmul(matrix, right / values), values, right.T
    left, values, right = xp.linalg.svd(matrix, full_matrices=False)
    return left, values, right


_EASILY_SQUARED = 1e-4
"""Smallest over largest squared singular value above which squares keep twelve digits."""


def _kept(n_components: int | float | None, variances: Float) -> int:
    if n_components is None:
        return len(variances)
    if isinstance(n_components, float) and 0.0 < n_components < 1.0:
        shares = np.cumsum(variances) / variances.sum()
        return int(np.searchsorted(shares, n_components - 1e-12) + 1)
    if isinstance(n_components, bool) or n_components != int(n_components) or n_components < 1:
        message = (
            f"n_components is {n_components}: give a number of directions, or the fraction of "
            "the variance they must explain, between 0 and 1."
        )
        raise InputError(message)
    return min(int(n_components), len(variances))


def check_rank_tolerance(rank_tolerance: float | None) -> None:
    """Refuse a rank tolerance outside [0, 1)."""
    if rank_tolerance is not None and not 0.0 <= rank_tolerance < 1.0:
        message = f"rank_tolerance is {rank_tolerance}: it must be at least 0 and below 1."
        raise InputError(message)


def check_width(X: NDArray[Any], width: int, name: str) -> None:
    """Refuse rows with another number of coordinates than the transform's output."""
    if X.shape[1] != width:
        message = f"X has {X.shape[1]} coordinates, but {name} outputs {width}: give its output."
        raise InputError(message)


Shrinkage = Literal["ledoit-wolf", "oas"] | float | None


def shrunk(engine: Engine, rows: Any, part: Moments, shrinkage: Shrinkage) -> Moments:
    """Shrink the covariance towards a multiple of the identity, by a fixed or estimated amount.

    The Ledoit-Wolf estimate takes a pass over `rows`; the oracle approximation (OAS) takes none.
    """
    if shrinkage is None:
        return part
    covariance = part.scatter / part.weight
    width, n = len(covariance), part.weight
    level = float(np.trace(covariance)) / width
    if isinstance(shrinkage, str):
        amount = _estimated(engine, rows, part, covariance, shrinkage)
    else:
        amount = float(shrinkage)
        if not 0.0 <= amount <= 1.0:
            message = f"shrinkage is {amount:g}: it must be between 0 and 1."
            raise InputError(message)
    mixed = (1.0 - amount) * covariance + amount * level * np.eye(width)
    return Moments(n, part.mean, mixed * n)


def _estimated(engine: Engine, rows: Any, part: Moments, covariance: Float, name: str) -> float:
    width, n = len(covariance), part.weight
    level = float(np.trace(covariance)) / width
    square = float(np.vdot(covariance, covariance))
    if name == "oas":
        mean_square = square / width**2
        numerator = mean_square + level**2
        denominator = (n + 1.0) * (mean_square - level**2 / width)
        return 1.0 if denominator <= 0 else min(numerator / denominator, 1.0)
    if name != "ledoit-wolf":
        message = f"there is no shrinkage {name!r}: give ledoit-wolf, oas or a number."
        raise InputError(message)
    (fourth,) = engine.reduce_blocks(_fourth_moment, rows, params=(part.mean,))
    spread = square / width - level**2
    noise = (float(fourth) / n - square) / (n * width)
    return 0.0 if spread <= 0 else min(max(noise, 0.0), spread) / spread


def _fourth_moment(xp: Any, x: Any, mean: Any) -> Arrays:
    x = x - mean
    squares = xp.linalg.vecdot(x, x)
    return (xp.sum(squares * squares),)
