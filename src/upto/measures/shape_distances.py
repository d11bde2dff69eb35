"""Distances between shapes: runs up to position, size and orientation.

Means, stretches and the rotation are fitted on some rows and scored on others. The distances are
metrics in sample only.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from upto.core import InputError
from upto.measures.factors import nearest_orthogonal
from upto.measures.kinds import SCALED_SHAPE, SHAPE, MomentMeasure
from upto.measures.moments import HeldOutScore
from upto.measures.notation import CENTRED, NORMS, NUCLEAR_COSINE

if TYPE_CHECKING:
    from collections.abc import Callable

    from upto.core.array_types import Float
    from upto.measures.moments import Form, PairMoments, RunMoments

    Maps = tuple[Float | None, Float | None]
    """The map of each run before the rotation, if any."""

_REACHED = 1e-12


def procrustes(pair: PairMoments, _: PairMoments) -> float:
    """Return the distance between two runs of unit norm after the best rotation."""
    return _chord(_turned_cosine(pair, (None, None)))


def angular_procrustes(pair: PairMoments, _: PairMoments) -> float:
    """Return the angle between two runs after the best rotation."""
    return math.acos(_turned_cosine(pair, (None, None)))


def shape_distance(pair: PairMoments, _: PairMoments, alpha: float) -> float:
    """Return the angle between two partly whitened runs after the best rotation."""
    return math.acos(_turned_cosine(pair, _maps(pair, _stretches, alpha)))


def netrep_shape_distance(pair: PairMoments, _: PairMoments, alpha: float) -> float:
    """Return the same with variances summed over rows, as in netrep."""
    return math.acos(_turned_cosine(pair, _maps(pair, _netrep_stretches, alpha)))


def rotated_chord(fit: PairMoments) -> Form:
    """Fit the rotation of a Procrustes distance."""
    return _rotated(fit, (None, None), _chord)


def rotated_angle(fit: PairMoments) -> Form:
    """Fit the rotation of an angle."""
    return _rotated(fit, (None, None), math.acos)


def stretched_angle(fit: PairMoments, alpha: float) -> Form:
    """Fit stretches and the rotation."""
    return _rotated(fit, _maps(fit, _stretches, alpha), math.acos)


def netrep_stretched_angle(fit: PairMoments, alpha: float) -> Form:
    """Fit the stretches of netrep and the rotation."""
    return _rotated(fit, _maps(fit, _netrep_stretches, alpha), math.acos)


def _turned_cosine(pair: PairMoments, maps: Maps) -> float:
    size = _size(pair.x, maps[0]) * _size(pair.y, maps[1])
    between = _mapped(pair.cross, maps)
    return _cosine(float(np.linalg.svd(between, compute_uv=False).sum()), size)


def _rotated(fit: PairMoments, maps: Maps, distance: Callable[[float], float]) -> Form:
    """Return the distance of held-out rows about the means of fitted rows."""
    # Outside the range of the products any rotation is optimal; zero depends neither on rounding
    # nor on the basis.
    rotation = nearest_orthogonal(_mapped(fit.cross, maps), _REACHED)
    x_map, y_map = maps
    rotation = rotation if x_map is None else x_map @ rotation
    rotation = rotation if y_map is None else rotation @ y_map.T

    def form(x: RunMoments, y: RunMoments) -> HeldOutScore:
        root = math.sqrt(x.n_samples)
        apart, aside = root * (x.mean - fit.x.mean), root * (y.mean - fit.y.mean)
        size = _size(x, x_map, apart) * _size(y, y_map, aside)
        shared = float(apart @ rotation @ aside)
        return HeldOutScore(rotation, lambda inner: distance(_cosine(inner + shared, size)))

    return form


def _mapped(cross: Float, maps: Maps) -> Float:
    x_map, y_map = maps
    cross = cross if x_map is None else x_map.T @ cross
    return cross if y_map is None else cross @ y_map


def _size(run: RunMoments, stretch: Float | None, apart: Float | None = None) -> float:
    """Return the root of the squares of mapped rows, about a point `apart` from their mean."""
    square = run.variances.sum() if stretch is None else np.vdot(stretch, run.scatter @ stretch)
    if apart is not None:
        mapped = apart if stretch is None else apart @ stretch
        square += mapped @ mapped
    return math.sqrt(square)


def _chord(cosine: float) -> float:
    return math.sqrt(2.0 - 2.0 * cosine)


def _cosine(product: float, size: float) -> float:
    return min(max(product / size, -1.0), 1.0) if size > 0.0 else 0.0


def _maps(fit: PairMoments, stretches: Callable[[Float, float], Float], alpha: float) -> Maps:
    if not 0.0 <= alpha <= 1.0:
        message = f"alpha is {alpha:g}: give a number from 0 (whitened) to 1 (not whitened)."
        raise InputError(message)
    return _stretched(fit.x, stretches, alpha), _stretched(fit.y, stretches, alpha)


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
    formula=r"\min_{Q^\top Q = I} \left\lVert \frac{X Q}{\lVert X \rVert_F} - \frac{Y}{\lVert Y "
    r"\rVert_F} \right\rVert_F = \sqrt{2 - 2 \, \frac{\lVert X^\top Y \rVert_*}{\lVert X "
    r"\rVert_F \, \lVert Y \rVert_F}}",
    where=CENTRED + " " + NORMS,
    held_out="Means and rotation are fitted; size is that of the held-out rows about the fitted "
    "means. It is then at most 2 and no metric.",
    use_when="the runs should be equal up to rotation, translation and scale, and wide directions "
    "should count more.",
    beware="A few wide directions decide the value. Scale is removed, so it does not show that "
    "one run is larger than the other: `upto compare` up to a rigid motion does.",
    see_also=(
        "angular-procrustes",
        "shape",
        "linear-cka",
    ),
    note="It is a metric in sample only. In sample it is at most √2, the distance of runs with "
    "nothing in common. A run without variance has no shape: its distance to every run, "
    "itself included, is √2. The narrower run is padded with zeros. Ding et al. use the "
    "square of this distance, anatome half the square, netrep the angle: see "
    "angular-procrustes.",
    high=2.0,
    closer="lower",
    ignores=SCALED_SHAPE,
    metric=True,
    score=procrustes,
    form=rotated_chord,
)
ANGULAR_PROCRUSTES = MomentMeasure(
    name="angular-procrustes",
    title="angular Procrustes distance",
    says="The angle between both runs, each centred, after the best rotation or reflection.",
    source="Williams et al. 2021",
    formula=r"\arccos \frac{\lVert X^\top Y \rVert_*}{\lVert X \rVert_F \, \lVert Y \rVert_F}",
    where=CENTRED + " " + NORMS,
    held_out="Means and rotation are fitted; size is that of the held-out rows about the fitted "
    "means. It is then at most π and no metric.",
    use_when="distances between many runs are to be embedded, clustered or averaged, as with "
    "netrep.",
    beware="It orders pairs of runs exactly as procrustes does, so reporting both adds nothing. "
    "A few wide directions decide the value.",
    see_also=(
        "procrustes",
        "shape",
        "shape-netrep",
    ),
    note="It is a metric in sample only, and the distance of netrep at alpha 1. In sample it is at"
    " most π/2, the distance between runs with nothing in common. A run without variance has "
    "no shape: its distance to every run, itself included, is π/2.",
    high=math.pi,
    closer="lower",
    ignores=SCALED_SHAPE,
    metric=True,
    score=angular_procrustes,
    form=rotated_angle,
)
SHAPE_DISTANCE = MomentMeasure(
    name="shape:0.5",
    title="shape distance",
    says="The angle between both runs after the best rotation or reflection, with each direction "
    "first scaled by alpha + (1 - alpha) × typical deviation / its own deviation.",
    source="Williams et al. 2021",
    formula=r"\arccos "
    + NUCLEAR_COSINE
    + r", \qquad \tilde X = X V \left( \alpha I + (1 - \alpha)\, \bar s\, S^{-1} \right)",
    where=CENTRED
    + (
        r" $X = U S V^\top$ is its singular value decomposition without zeros, $\bar s$ the "
        r"root of the mean of its squared singular values and $\alpha$ the parameter; likewise"
        " for $Y$. "
    )
    + NORMS,
    held_out="Means, stretches and rotation are fitted. It is no metric.",
    use_when="a metric between mean-cca and procrustes is wanted, with narrow directions enlarged "
    "in part.",
    beware="alpha decides how much narrow directions count: report it, and compare values of one"
    " alpha only.",
    see_also=(
        "angular-procrustes",
        "shape-netrep",
        "rcca",
    ),
    note="It is a metric in sample only. At 1 it is angular-procrustes; at 0 runs are whitened, "
    "and it is invariant to every affine map. Between 0 and 1 netrep uses one instead of the "
    "typical deviation, in the units of the rows: see shape-netrep. Both agree for runs whose"
    " squares sum to one per direction.",
    high=math.pi,
    closer="lower",
    ignores=SCALED_SHAPE,
    metric=True,
    parameter=0.5,
    parameter_name="alpha",
    score=shape_distance,
    form=stretched_angle,
)
NETREP_SHAPE_DISTANCE = MomentMeasure(
    name="shape-netrep:0.5",
    title="shape distance of netrep",
    says="The angle between both runs after the best rotation or reflection, with each direction "
    "first scaled by alpha + (1 - alpha) / its norm, summed over the rows.",
    source="Williams et al. 2021, netrep",
    formula=r"\arccos "
    + NUCLEAR_COSINE
    + r", \qquad \tilde X = X V \left( \alpha I + (1 - \alpha)\, S^{-1} \right)",
    where=CENTRED
    + (
        r" $X = U S V^\top$ is its singular value decomposition without zeros and $\alpha$ the"
        " parameter; likewise for $Y$. "
    )
    + NORMS,
    held_out="Means, stretches and rotation are fitted, as by LinearMetric of netrep. It is no "
    "metric.",
    use_when="you compare with numbers of netrep at an alpha between 0 and 1.",
    beware="Between 0 and 1 it depends on the units and on the number of rows: a larger scale or"
    " more rows act like a higher alpha.",
    see_also=(
        "shape",
        "angular-procrustes",
    ),
    note="It is a metric in sample only, and LinearMetric of netrep for runs without dead "
    "directions.",
    high=math.pi,
    closer="lower",
    ignores=SHAPE,
    metric=True,
    parameter=0.5,
    parameter_name="alpha",
    score=netrep_shape_distance,
    form=netrep_stretched_angle,
)
