"""Symmetric FastICA whose every iteration is one pass over the rows.

The iteration lives in the run's own coordinates: whitening is the symmetric inverse root of the
covariance on its range, which depends smoothly on the data, so rounding, row order and dead or
duplicated coordinates do not change the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError, random_stream

if TYPE_CHECKING:
    from upto.engines.base import Arrays, Engine

Float = NDArray[np.float64]

GAUSSIAN_LOGCOSH = 0.37456720726
"""E[log cosh ν] of a standard normal ν."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Unmixing:
    """Independent components of a run.

    ``(rows - mean) @ components.T`` are the sources, of unit variance; ``sources @ mixing.T``
    gives the centred rows back. `rotation` is the orthogonal part, to start another fit from.
    """

    mean: Float
    components: Float
    mixing: Float
    whitening: Float
    rotation: Float
    n_iterations: int
    converged: bool


def whitening_root(covariance: Float, *, rank_tolerance: float = 1e-10) -> tuple[Float, Float, int]:
    """Return the symmetric inverse root of a covariance on its range, the root, and the rank."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > rank_tolerance * values[-1]
    values, vectors = values[kept], vectors[:, kept]
    inverse: Float = (vectors / np.sqrt(values)) @ vectors.T
    root: Float = (vectors * np.sqrt(values)) @ vectors.T
    return inverse, root, int(kept.sum())


def fast_ica(
    engine: Engine,
    rows: Any,
    mean: Float,
    covariance: Float,
    *,
    n_components: int | None = None,
    start: Float | None = None,
    seed: int = 0,
    max_iterations: int = 200,
    tolerance: float = 1e-4,
    rank_tolerance: float = 1e-10,
) -> Unmixing:
    """Find independent components with the log cosh contrast.

    Parameters
    ----------
    engine, rows
        The run and where it lives.
    mean, covariance
        Its first two moments.
    n_components
        Components to keep: the widest directions; all by default.
    start
        Rotation to start from, as `Unmixing.rotation`; random by default.
    seed
        Seed of the random start.
    max_iterations, tolerance
        The iteration ends when no component turns by more than this.
    rank_tolerance
        Directions whose variance is below this fraction of the largest are taken as absent.
    """
    if float(np.trace(covariance)) <= 0.0:
        message = "all rows are equal: there are no components to find."
        raise InputError(message)
    if n_components is not None:
        covariance = _truncated(covariance, n_components)
    inverse, root, rank = whitening_root(covariance, rank_tolerance=rank_tolerance)
    width = len(mean)
    if start is None:
        start = random_stream(seed, "ica").normal(size=(rank, width))
    projector = inverse @ root
    rotation = _orthogonal_rows(start, projector)
    converged, iteration = False, 0
    n_samples = rows.shape[0]
    moments: tuple[Float, ...] = ()
    for iteration in range(1, max_iterations + 1):  # noqa: B007 - its last value is a result
        unmixing = inverse @ rotation.T
        moments = engine.reduce_blocks(_contrast_statistics, rows, params=(mean, unmixing))
        products, slopes = moments[0] / n_samples, moments[1] / n_samples
        turned = _orthogonal_rows(products @ inverse - slopes[:, None] * rotation, projector)
        change = float(np.abs(1.0 - np.abs(np.einsum("ij,ij->i", turned, rotation))).max())
        rotation = turned
        if change < tolerance:
            converged = True
            break
    return Unmixing(
        mean=mean,
        components=rotation @ inverse,
        mixing=root @ rotation.T,
        whitening=inverse,
        rotation=rotation,
        n_iterations=iteration,
        converged=converged,
    )


def _truncated(covariance: Float, n_components: int) -> Float:
    values, vectors = np.linalg.eigh(covariance)
    top = vectors[:, -n_components:]
    result: Float = (top * values[-n_components:]) @ top.T
    return result


def _contrast_statistics(xp: Any, x: Any, mean: Any, unmixing: Any) -> Arrays:
    x = x - mean
    score = xp.tanh(xp.matmul(x, unmixing))
    slopes = x.shape[0] - xp.linalg.vecdot(score, score, axis=-2)
    return xp.matmul(score.T, x), slopes


def nongaussianity(engine: Engine, rows: Any, unmixing: Unmixing) -> Float:
    """Return how many standard errors each component's contrast lies from a Gaussian's.

    On the rows the components were fitted to, the search for non-Gaussian directions makes every
    one of them look less Gaussian than it is: give rows that were held out.

    Components have unit variance by construction, so the part of the contrast that follows the
    variance carries no information: it is taken out, which makes the test far sharper.
    """
    params = (unmixing.mean, unmixing.components.T)
    n_samples = rows.shape[0]
    sums = engine.reduce_blocks(_contrast_moments, rows, params=params)
    value, value_2, square, square_2, both, slope = (each / n_samples for each in sums)
    weight = slope / 2
    variance = (value_2 - value**2) + weight**2 * (square_2 - square**2)
    variance -= 2 * weight * (both - value * square)
    error = np.sqrt(np.maximum(variance, np.finfo(float).tiny) / n_samples)
    result: Float = np.abs(value - weight * (square - 1) - GAUSSIAN_LOGCOSH) / error
    return result


def _contrast_moments(xp: Any, x: Any, mean: Any, unmixing: Any) -> Arrays:
    sources = xp.matmul(x - mean, unmixing)
    size, square = xp.abs(sources), sources * sources
    # log cosh without overflow.
    value = size + xp.log1p(xp.exp(-2 * size)) - float(np.log(2.0))
    parts = (value, value * value, square, square * square, value * square)
    return (*(xp.sum(part, axis=0) for part in parts), xp.sum(sources * xp.tanh(sources), axis=0))


def _orthogonal_rows(matrix: Float, projector: Float) -> Float:
    """Return the nearest matrix with orthonormal rows in the range of a projector."""
    # The iteration amplifies whatever leaves the range, rounding included.
    matrix = matrix @ projector
    values, vectors = np.linalg.eigh(matrix @ matrix.T)
    floor = np.finfo(float).eps * max(values[-1], np.finfo(float).tiny)
    result: Float = ((vectors / np.sqrt(np.maximum(values, floor))) @ vectors.T) @ matrix
    return result
