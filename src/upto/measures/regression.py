"""Variance of one run explained by a linear map of another, in sample or held out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.engines import varying
from upto.measures.kinds import MATCHING, SCALED_SHAPE, MomentMeasure

if TYPE_CHECKING:
    from upto.core.array_types import Float
    from upto.measures.moments import PairMoments


def linear_r2(fit: PairMoments, held: PairMoments) -> float:
    """Return the share of the second run's variance that a linear map of the first explains."""
    residual, total = _regression(fit, held, fit.x.shortest_whitening)
    whole = float(total.sum())
    return 1.0 - float(residual.sum()) / whole if whole > 0.0 else 0.0


def mean_column_r2(fit: PairMoments, held: PairMoments) -> float:
    """Return the mean R² over the coordinates of the second run that vary."""
    residual, total = _regression(fit, held, fit.x.whitening)
    varies = varying(np.sqrt(total))
    return float(np.mean(1.0 - residual[varies] / total[varies])) if varies.any() else 0.0


def _regression(fit: PairMoments, held: PairMoments, whitening: Float) -> tuple[Float, Float]:
    """Return the residual and total sum of squares of each coordinate of the second run."""
    projected = whitening.T @ fit.cross
    total = np.diag(held.y.scatter)
    if fit is held:
        return np.maximum(total - np.square(projected).sum(axis=0), 0.0), total
    slopes = whitening @ projected
    predicted = np.einsum("ij,ij->j", slopes, held.x.scatter @ slopes)
    shared = np.einsum("ij,ij->j", slopes, held.cross)
    offset = held.y.mean - fit.y.mean - (held.x.mean - fit.x.mean) @ slopes
    residual = total - 2.0 * shared + predicted + held.n_samples * np.square(offset)
    return np.maximum(residual, 0.0), total


LINEAR_R2 = MomentMeasure(
    name="r2",
    title="R² of a linear map",
    says="The share of the variance of the second run that the best affine map of the first "
    "explains.",
    source="Kornblith et al. 2019",
    note="Variances are summed over all coordinates first. Held out, the map and its intercept are "
    "those of the fitted rows; if coordinates outnumber them, the map of minimum norm is used, "
    "which rotates with the runs. Values below -1 count as -1. A second run without variance "
    "scores 0. ReSi and Kornblith et al. predict the first run from the second.",
    low=-1.0,
    ignores=SCALED_SHAPE,
    symmetric=False,
    score=linear_r2,
)
MEAN_COLUMN_R2 = MomentMeasure(
    name="r2-cebra",
    title="CEBRA consistency",
    says="The mean over the coordinates of the second run of the share of variance that the best "
    "affine map of the first explains.",
    source="Schneider et al. 2023",
    note="In sample it is the consistency score of CEBRA, i.e. the score of scikit-learn's "
    "LinearRegression. Coordinates without variance are dropped; scikit-learn counts them as "
    "explained. Held out as for r2, but if coordinates outnumber the fitted rows, the map has "
    "minimum norm on coordinates scaled to unit variance, so their scales do not matter.",
    low=-1.0,
    ignores=MATCHING,
    symmetric=False,
    score=mean_column_r2,
)
