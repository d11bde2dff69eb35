"""Means of canonical correlations, fitted on some rows and scored on others."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.measures.kinds import AFFINE, MATCHING, SCALED_SHAPE, Change, MomentMeasure, as_count
from upto.measures.variates import Kind, fitted, in_sample

if TYPE_CHECKING:
    from collections.abc import Callable

    from upto.core.array_types import Float
    from upto.measures.moments import PairMoments, RunMoments

GOOGLE_SHARE = 0.98
"""Fraction of the sum of canonical correlations reached by those that google/svcca averages."""


def _evenly(correlations: Float) -> Float:
    return np.full(len(correlations), 1.0 / max(len(correlations), 1))


def _first(correlations: Float, count: int) -> Float:
    kept = np.arange(len(correlations)) < count
    return kept / max(int(kept.sum()), 1)


def _google_share(correlations: Float) -> Float:
    total = float(correlations.sum())
    if total <= 0.0:
        return np.zeros_like(correlations)
    reached = np.cumsum(correlations) / total
    return _first(correlations, int(np.searchsorted(reached, GOOGLE_SHARE)) + 1)


def _projections(run: RunMoments, directions: Float) -> Float:
    projections: Float = np.abs(directions.T @ run.scatter).sum(axis=1)
    return projections


def _google_projections(run: RunMoments, directions: Float) -> Float:
    # The released code omits the whitening of the directions and orthogonalises the resulting
    # variates one after the other: a QR decomposition in the principal axes of the run.
    values, axes = run.spectrum
    basis = np.linalg.qr(values[:, None] * (axes.T @ directions))[0]
    projections: Float = np.abs(basis.T @ (np.sqrt(values)[:, None] * axes.T)).sum(axis=1)
    return projections


def _all_directions(run: RunMoments) -> Float:
    return run.shortest_whitening


def _every_axis(run: RunMoments) -> Float:
    return _leading(run, len(run.spectrum[0]))


def _sharing(run: RunMoments, share: float) -> Float:
    values, _ = run.spectrum
    shares = np.cumsum(values) / values.sum() if values.size else values
    return _leading(run, int(np.searchsorted(shares, share)) + 1)


def _leading(run: RunMoments, count: int) -> Float:
    values, axes = run.spectrum
    return axes[:, :count] / np.sqrt(values[:count])


def _leading_standardised(run: RunMoments, count: int) -> Float:
    # `whitening` starts from coordinates scaled to unit variance, widest direction first.
    return run.whitening[:, :count]


def _ridged(run: RunMoments, ridge: float) -> Float:
    values, axes = run.spectrum
    blend = (1.0 - ridge) * values + ridge * (values.mean() if values.size else 0.0)
    return axes / np.sqrt(blend)


def mean_cca() -> Kind:
    """Return the mean canonical correlation."""
    return Kind(whiten=_all_directions, share=_evenly)


def leading_cca(count: float) -> Kind:
    """Return the mean of the leading canonical correlations."""
    kept = as_count(count, "canonical components requested")
    return Kind(whiten=_all_directions, share=partial(_first, count=kept))


def google_mean_cca() -> Kind:
    """Return the mean of the leading correlations that reach 98 % of their sum on fitted rows."""
    return Kind(whiten=_all_directions, share=_google_share)


def svcca(directions: float) -> Kind:
    """Return the mean canonical correlation of the leading principal directions of each run."""
    return Kind(whiten=partial(_leading, count=_kept(directions)), share=_evenly)


def share_svcca(share: float) -> Kind:
    """Return the same for the fewest principal directions that reach a share of the variance."""
    if not 0.0 < share <= 1.0:
        message = f"the share of variance to keep is {share:g}: give a share in (0, 1]."
        raise InputError(message)
    return Kind(whiten=partial(_sharing, share=share), share=_evenly)


def standardised_svcca(directions: float) -> Kind:
    """Return the same for the leading directions of coordinates scaled to unit variance."""
    return Kind(whiten=partial(_leading_standardised, count=_kept(directions)), share=_evenly)


def ridge_cca(ridge: float) -> Kind:
    """Return the mean correlation of the canonical variates of shrunk covariances."""
    if not 0.0 <= ridge <= 1.0:
        message = f"the ridge is {ridge:g}: give a number from 0 (CCA) to 1 (PLS)."
        raise InputError(message)
    return Kind(whiten=partial(_ridged, ridge=ridge), share=_evenly)


def pwcca() -> Kind:
    """Return the mean canonical correlation, weighted by the variates' projections."""
    return Kind(whiten=_all_directions, share=_evenly, weigh=_projections)


def google_pwcca() -> Kind:
    """Return the same with the weights that google/svcca computes for centred rows."""
    return Kind(whiten=_every_axis, share=_evenly, weigh=_google_projections)


def _kept(directions: float) -> int:
    return as_count(directions, "principal directions requested")


def scores_of(kind: Callable[..., Kind]) -> dict[str, Any]:
    """Return the functions of a measure."""
    return {
        "score": lambda pair, _, *options: in_sample(pair, kind(*options)),
        "form": lambda pair, *options: fitted(pair, kind(*options)),
    }


def _ridge_score(fit: PairMoments, held: PairMoments, ridge: float) -> float:
    # Shrunk covariances do not whiten, so singular values are not correlations.
    return fitted(fit, ridge_cca(ridge))(held.x, held.y).of(held.cross)


_PROJECTED = frozenset({Change.TRANSLATION, Change.SCALE, Change.PERMUTATION, Change.SIGNS})

MEAN_CCA = MomentMeasure(
    name="mean-cca",
    title="mean canonical correlation",
    says="The mean of the canonical correlations of both runs; their number is the smaller of the "
    "two ranks.",
    source="Hotelling 1936; Raghu et al. 2017",
    note="Held out, the canonical weights are fitted on other rows and each correlation keeps its "
    "sign; in sample no correlation is negative, and if there are no more rows than coordinates in "
    "both runs together, some equal one for any two runs. Directions without variance are dropped. "
    "A run without variance scores 0. Held out, it is invariant to every affine map if there are "
    "more fitted rows than coordinates; otherwise the minimum-norm canonical directions are used "
    "and it is invariant to rotation, translation and scale. google/svcca reports another mean: "
    "see mean-cca-google.",
    low=-1.0,
    ignores=AFFINE,
    **scores_of(mean_cca),
)
GOOGLE_MEAN_CCA = MomentMeasure(
    name="mean-cca-google",
    title="mean canonical correlation of google/svcca",
    says="The mean of the leading canonical correlations that make up 98 % of their sum.",
    source="Raghu et al. 2017, the field mean of the released code",
    note="It drops the lowest correlations, so in sample it is never below mean-cca. The number "
    "averaged is chosen on the fitted rows. Held out, it has the invariances of mean-cca.",
    low=-1.0,
    ignores=AFFINE,
    **scores_of(google_mean_cca),
)
SVCCA = MomentMeasure(
    name="svcca:20",
    title="SVCCA",
    says="The mean canonical correlation of the leading principal directions of each run.",
    source="Raghu et al. 2017",
    note="The number of directions is fixed, as in the tutorial of google/svcca; a run with fewer "
    "directions keeps all of them, and if both keep all, this is mean-cca. Columns are centred but "
    "not scaled: see svcca-standardised. Raghu et al. keep a share of the variance: see "
    "svcca-share.",
    low=-1.0,
    ignores=SCALED_SHAPE,
    parameter=20,
    parameter_name="principal directions",
    **scores_of(svcca),
)
SHARE_SVCCA = MomentMeasure(
    name="svcca-share:0.99",
    title="SVCCA by share of variance",
    says="The mean canonical correlation of the fewest principal directions of each run that reach "
    "a given share of its variance.",
    source="Raghu et al. 2017",
    note="anatome uses the share of the sum of singular values, not of their squares, and stops "
    "before it is reached. ReSi compares the share with the total variance, so it agrees for runs "
    "with a total variance of one and keeps a single direction of runs with more.",
    low=-1.0,
    ignores=SCALED_SHAPE,
    parameter=0.99,
    parameter_name="the share of the variance kept",
    **scores_of(share_svcca),
)
STANDARDISED_SVCCA = MomentMeasure(
    name="svcca-standardised:20",
    title="SVCCA of standardised coordinates",
    says="The mean canonical correlation of the leading principal directions of each run, with "
    "every coordinate scaled to unit variance.",
    source="Roeder et al. 2021, the released notebook",
    note="Coordinates without variance are dropped. platonic-rep also standardises, but finds its "
    "principal directions by a random projection.",
    low=-1.0,
    ignores=MATCHING,
    parameter=20,
    parameter_name="principal directions",
    **scores_of(standardised_svcca),
)
PWCCA = MomentMeasure(
    name="pwcca",
    title="PWCCA",
    says="The mean of the canonical correlations, each weighted by the sum over coordinates of the "
    "absolute projections of its variate.",
    source="Morcos et al. 2018",
    note="Variates and coordinates are those of the run with the lower rank, or of the first if "
    "the ranks are equal: exchanging the runs then changes the value. The weights depend on the "
    "basis of that run. Held out, they come from the fitted rows. The released code computes other "
    "weights: see pwcca-google. anatome sums projections over rows instead of coordinates.",
    low=-1.0,
    ignores=_PROJECTED,
    symmetric=False,
    **scores_of(pwcca),
)
GOOGLE_PWCCA = MomentMeasure(
    name="pwcca-google",
    title="PWCCA of google/svcca",
    says="PWCCA with weights from canonical directions that are not whitened but orthogonalised "
    "one after the other.",
    source="Morcos et al. 2018, the released code",
    note="It agrees with compute_pwcca of google/svcca and of ReSi on centred rows if the first "
    "run is not the wider one; on uncentred rows those keep the mean in the weights, and with a "
    "wider first run they fail.",
    low=-1.0,
    ignores=_PROJECTED,
    symmetric=False,
    **scores_of(google_pwcca),
)
RIDGE_CCA = MomentMeasure(
    name="rcca:0.1",
    title="regularised CCA",
    says="The mean correlation of the canonical variates of covariances shrunk towards the mean "
    "variance: (1 - c) covariance + c mean variance of a direction.",
    source="Vinod 1976",
    note="At 0 it is mean-cca and at 1 partial least squares. The mean variance is over directions "
    "with variance, so neither scale nor dead coordinates matter. RidgeCCA of cca-zoo shrinks "
    "towards one instead: it agrees for runs with a mean variance of one. google/svcca adds its "
    "epsilon times the largest covariance; netrep blends square roots: see shape.",
    low=-1.0,
    ignores=SCALED_SHAPE,
    parameter=0.1,
    parameter_name="the ridge",
    **(scores_of(ridge_cca) | {"score": _ridge_score}),
)
