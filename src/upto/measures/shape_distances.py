"""Distances between shapes: runs up to position, size and orientation.

Means, stretches and the rotation are fitted on some rows and scored on others. The distances are
metrics in sample only.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from upto.core import InputError
from upto.measures.kinds import SCALED_SHAPE, SHAPE, MomentMeasure

if TYPE_CHECKING:
    from collections.abc import Callable

    from upto.core.array_types import Float
    from upto.measures.moments import PairMoments, RunMoments


_REACHED = 1e-12


def procrustes(fit: PairMoments, held: PairMoments) -> float:
    """Return the distance between two runs of unit norm after the best rotation."""
    return math.sqrt(2.0 - 2.0 * _turned_cosine(fit, held))


def angular_procrustes(fit: PairMoments, held: PairMoments) -> float:
    """Return the angle between two runs after the best rotation."""
    return math.acos(_turned_cosine(fit, held))


def shape_distance(fit: PairMoments, held: PairMoments, alpha: float) -> float:
    """Return the angle between two partly whitened runs after the best rotation."""
    return math.acos(_stretched_cosine(fit, held, _stretches, alpha))


def netrep_shape_distance(fit: PairMoments, held: PairMoments, alpha: float) -> float:
    """Return the same with variances summed over rows, as in netrep."""
    return math.acos(_stretched_cosine(fit, held, _netrep_stretches, alpha))


def _turned_cosine(fit: PairMoments, held: PairMoments) -> float:
    x, y, cross = _about_fitted_means(fit, held)
    size = math.sqrt(np.trace(x) * np.trace(y))
    if fit is held:
        return _cosine(_nuclear_norm(cross), size)
    return _cosine(float(np.vdot(_rotation(fit.cross), cross)), size)


def _stretched_cosine(
    fit: PairMoments, held: PairMoments, stretches: Callable[[Float, float], Float], alpha: float
) -> float:
    if not 0.0 <= alpha <= 1.0:
        message = f"alpha is {alpha:g}: give a number from 0 (whitened) to 1 (not whitened)."
        raise InputError(message)
    x_map, y_map = (_stretched(run, stretches, alpha) for run in (fit.x, fit.y))
    x, y, cross = _about_fitted_means(fit, held)
    size = math.sqrt(np.vdot(x_map, x @ x_map) * np.vdot(y_map, y @ y_map))
    between = x_map.T @ cross @ y_map
    if fit is held:
        return _cosine(_nuclear_norm(between), size)
    rotation = _rotation(x_map.T @ fit.cross @ y_map)
    return _cosine(float(np.vdot(rotation, between)), size)


def _about_fitted_means(fit: PairMoments, held: PairMoments) -> tuple[Float, Float, Float]:
    """Return the scatters and cross-scatter of held-out rows about the means of fitted rows."""
    if fit is held:
        return held.x.scatter, held.y.scatter, held.cross
    root = math.sqrt(held.n_samples)
    x, y = root * (held.x.mean - fit.x.mean), root * (held.y.mean - fit.y.mean)
    return (
        held.x.scatter + np.outer(x, x),
        held.y.scatter + np.outer(y, y),
        held.cross + np.outer(x, y),
    )


def _rotation(cross: Float) -> Float:
    """Return the best rotation, set to zero on directions outside the range of the products.

    Any rotation is optimal there; zero depends neither on rounding nor on the basis.
    """
    left, values, right = np.linalg.svd(cross, full_matrices=False)
    rank = int(np.count_nonzero(values > _REACHED * values.max(initial=0.0)))
    rotation: Float = left[:, :rank] @ right[:rank]
    return rotation


def _nuclear_norm(matrix: Float) -> float:
    return float(np.linalg.svd(matrix, compute_uv=False).sum())


def _cosine(product: float, size: float) -> float:
    return min(max(product / size, -1.0), 1.0) if size > 0.0 else 0.0


def _stretched(run: RunMoments, stretches: Callable[[Float, float], Float], alpha: float) -> Float:
    values, axes = run.spectrum
    return axes * stretches(values, alpha)


def _stretches(values: Float, alpha: float) -> Float:
    typical = math.sqrt(values.mean()) if values.size else 0.0
    return alpha + (1.0 - alpha) * typical / np.sqrt(values)


def _netrep_stretches(values: Float, alpha: float) -> Float:
    return alpha + (1.0 - alpha) / np.sqrt(values)


PROCRUSTES = MomentMeasure(
    name="procrustes",
    title="Procrustes distance",
    says="The distance between both runs, each centred and scaled to unit Frobenius norm, after "
    "the best rotation or reflection.",
    source="Ding et al. 2021; Williams et al. 2021",
    note="It is a metric in sample only. In sample it is at most √2, the distance of runs with "
    "nothing in common; held out, with the rotation of other rows, at most 2. A run without "
    "variance has no shape: its distance to every run, itself included, is √2. The narrower run "
    "is padded with zeros. Ding et al. use the square of this distance, anatome half the square, "
    "netrep the angle: see angular-procrustes.",
    high=2.0,
    closer="lower",
    ignores=SCALED_SHAPE,
    metric=True,
    score=procrustes,
)
ANGULAR_PROCRUSTES = MomentMeasure(
    name="angular-procrustes",
    title="angular Procrustes distance",
    says="The angle between both runs, each centred, after the best rotation or reflection.",
    source="Williams et al. 2021",
    note="It is a metric in sample only, and the distance of netrep at alpha 1, also held out. In "
    "sample it is at most π/2, the distance between runs with nothing in common. A run without "
    "variance has no shape: its distance to every run, itself included, is π/2.",
    high=math.pi,
    closer="lower",
    ignores=SCALED_SHAPE,
    metric=True,
    score=angular_procrustes,
)
SHAPE_DISTANCE = MomentMeasure(
    name="shape:0.5",
    title="shape distance",
    says="The angle between both runs after the best rotation or reflection, with each direction "
    "first scaled by alpha + (1 - alpha) × typical deviation / its own deviation.",
    source="Williams et al. 2021",
    note="It is a metric in sample only. At 1 it is angular-procrustes; at 0 runs are whitened, "
    "and it is invariant to every affine map. The typical deviation is the root of the mean "
    "variance of directions with variance. Between 0 and 1 netrep uses one instead, in the units "
    "of the rows: see shape-netrep. Both agree for runs whose squares sum to one per direction.",
    high=math.pi,
    closer="lower",
    ignores=SCALED_SHAPE,
    metric=True,
    parameter=0.5,
    parameter_name="alpha",
    score=shape_distance,
)
NETREP_SHAPE_DISTANCE = MomentMeasure(
    name="shape-netrep:0.5",
    title="shape distance of netrep",
    says="The angle between both runs after the best rotation or reflection, with each direction "
    "first scaled by alpha + (1 - alpha) / its norm, summed over the rows.",
    source="Williams et al. 2021, netrep",
    note="It is a metric in sample only, and LinearMetric of netrep for runs without dead "
    "directions, also held out. Between 0 and 1 it depends on the scale and on the number of rows: "
    "a larger scale or more rows act like a higher alpha.",
    high=math.pi,
    closer="lower",
    ignores=SHAPE,
    metric=True,
    parameter=0.5,
    parameter_name="alpha",
    score=netrep_shape_distance,
)
