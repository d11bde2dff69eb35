"""Variance of one run explained by a linear map of another, in sample or held out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.engines import varying
from upto.measures.kinds import MATCHING, SCALED_SHAPE, MomentMeasure
from upto.measures.moments import HeldOutScore
from upto.measures.notation import CENTRED

if TYPE_CHECKING:
    from collections.abc import Callable

    from upto.core.array_types import Float
    from upto.measures.moments import Form, PairMoments, RunMoments


def linear_r2(pair: PairMoments, _: PairMoments) -> float:
    """Return the share of the second run's variance that a linear map of the first explains."""
    explained, total = _explained(pair, pair.x.shortest_whitening)
    whole = float(total.sum())
    return float(explained.sum()) / whole if whole > 0.0 else 0.0


def mean_column_r2(pair: PairMoments, _: PairMoments) -> float:
    """Return the mean R² over the coordinates of the second run that vary."""
    explained, total = _explained(pair, pair.x.whitening)
    varies = varying(np.sqrt(total))
    return float(np.mean(explained[varies] / total[varies])) if varies.any() else 0.0


def fitted_map(fit: PairMoments) -> Form:
    """Fit the map of minimum norm; coordinates count by their variance."""
    slopes = fit.x.shortest_whitening @ (fit.x.shortest_whitening.T @ fit.cross)

    def shares(total: Float) -> Float:
        whole = float(total.sum())
        return np.full(len(total), 1.0 / whole if whole > 0.0 else 0.0)

    return _form(fit, slopes, shares)


def fitted_columns(fit: PairMoments) -> Form:
    """Fit the map; coordinates that vary count equally."""
    slopes = fit.x.whitening @ (fit.x.whitening.T @ fit.cross)

    def shares(total: Float) -> Float:
        varies = varying(np.sqrt(total))
        return np.divide(
            1.0 / max(int(varies.sum()), 1), total, out=np.zeros_like(total), where=varies
        )

    return _form(fit, slopes, shares)


def _explained(pair: PairMoments, whitening: Float) -> tuple[Float, Float]:
    """Return the explained and total sum of squares of each coordinate of the second run."""
    total = pair.y.variances
    return np.minimum(np.square(whitening.T @ pair.cross).sum(axis=0), total), total


def _form(fit: PairMoments, slopes: Float, shares: Callable[[Float], Float]) -> Form:
    def form(x: RunMoments, y: RunMoments) -> HeldOutScore:
        share = shares(y.variances)
        predicted = np.einsum("ij,ij->j", slopes, x.scatter @ slopes)
        offset = y.mean - fit.y.mean - (x.mean - fit.x.mean) @ slopes
        lost = float(share @ (predicted + y.n_samples * np.square(offset)))
        return HeldOutScore(2.0 * slopes * share, lambda inner: inner - lost)

    return form


LINEAR_R2 = MomentMeasure(
    name="r2",
    title="R² of a linear map",
    says="The share of the variance of the second run that the best affine map of the first "
    "explains.",
    source="Kornblith et al. 2019",
    formula=r"1 - \frac{\min_A \lVert Y - X A \rVert_F^2}{\lVert Y \rVert_F^2}",
    where=CENTRED + r" $\lVert\cdot\rVert_F^2$ is the sum of all squares.",
    held_out="The map and its intercept are those of the fitted rows, and $Y$ is about its mean on"
    " the held-out rows. If coordinates outnumber the fitted rows, the map of minimum "
    "norm is used, which rotates with the runs. Values below -1 count as -1.",
    use_when="one run is to be predicted from the other.",
    beware="It has a direction: the first run can predict a second that does not predict the "
    "first. In sample, unrelated runs score about $p / (n-1)$ for $n$ rows and $p$ "
    "coordinates of the first run.",
    see_also=(
        "r2-cebra",
        "mean-cca",
        "procrustes",
    ),
    note="Variances are summed over all coordinates first. A second run without variance scores 0."
    " ReSi and Kornblith et al. predict the first run from the second.",
    low=-1.0,
    ignores=SCALED_SHAPE,
    symmetric=False,
    score=linear_r2,
    form=fitted_map,
)
MEAN_COLUMN_R2 = MomentMeasure(
    name="r2-cebra",
    title="CEBRA consistency",
    says="The mean over the coordinates of the second run of the share of variance that the best "
    "affine map of the first explains.",
    source="Schneider et al. 2023",
    formula=r"\frac{1}{q} \sum_{j=1}^{q} \left( 1 - \frac{\min_a \lVert y_j - X a \rVert^2}{\lVert"
    r" y_j \rVert^2} \right)",
    where=CENTRED + " $y_j$ are the $q$ columns of $Y$ that vary.",
    held_out="The map and its intercept are those of the fitted rows. If coordinates outnumber the"
    " fitted rows, the map has minimum norm on coordinates scaled to unit variance, so "
    "their scales do not matter.",
    use_when="you compare with consistency scores of CEBRA, or each coordinate of the second run "
    "should count alike.",
    beware="A coordinate that hardly varies counts as much as any other. In sample, unrelated "
    "runs score about $p / (n-1)$ for $n$ rows and $p$ coordinates of the first run.",
    see_also=(
        "r2",
        "mean-cca",
        "svcca-standardised",
    ),
    note="In sample it is the consistency score of CEBRA, i.e. the score of scikit-learn's "
    "LinearRegression. Coordinates without variance are dropped; scikit-learn counts them as "
    "explained.",
    low=-1.0,
    ignores=MATCHING,
    symmetric=False,
    score=mean_column_r2,
    form=fitted_columns,
)
