"""Canonical correlations from d×d products, fitted on some rows and scored on others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from upto.core import InputError
from upto.core.array_types import Float
from upto.measures.kinds import AFFINE, MATCHING, SCALED_SHAPE, Change, MomentMeasure, as_count

if TYPE_CHECKING:
    from collections.abc import Callable

    from upto.measures.moments import PairMoments, RunMoments

    Whiten = Callable[[RunMoments, float], Float]

GOOGLE_SHARE = 0.98
"""Fraction of the sum of canonical correlations reached by those that google/svcca averages."""
_TIED = 1e-9
_ABSENT = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Variates:
    """Pairs of canonical directions, in columns, and their fitted correlations, highest first.

    A variate is the projection of centred rows on a direction; without a ridge it has unit length.
    """

    correlations: Float
    x: Float
    y: Float


def canonical_variates(pair: PairMoments, x_map: Float, y_map: Float) -> Variates:
    """Return the canonical directions of two runs, given a whitening map for each."""
    left, values, right = np.linalg.svd(x_map.T @ pair.cross @ y_map, full_matrices=False)
    return Variates(correlations=values, x=x_map @ left, y=y_map @ right.T)


def leading_cca(fit: PairMoments, held: PairMoments, count: float) -> float:
    """Return the mean of the leading canonical correlations."""
    kept = as_count(count, "canonical components requested")
    return _mean(_fitted_and_scored(fit, held, _all_directions)[1][:kept])


def mean_cca(fit: PairMoments, held: PairMoments) -> float:
    """Return the mean canonical correlation."""
    return _mean_correlation(fit, held, _all_directions)


def google_mean_cca(fit: PairMoments, held: PairMoments) -> float:
    """Return the mean of the leading correlations that reach 98 % of their sum on fitted rows."""
    fitted, scored = _fitted_and_scored(fit, held, _all_directions)
    total = float(fitted.sum())
    if total <= 0.0:
        return 0.0
    count = int(np.searchsorted(np.cumsum(fitted) / total, GOOGLE_SHARE)) + 1
    return _mean(scored[:count])


def svcca(fit: PairMoments, held: PairMoments, directions: float) -> float:
    """Return the mean canonical correlation of the leading principal directions of each run."""
    return _mean_correlation(fit, held, _widest, _kept(directions))


def share_svcca(fit: PairMoments, held: PairMoments, share: float) -> float:
    """Return the same for the fewest principal directions that reach a share of the variance."""
    if not 0.0 < share <= 1.0:
        message = f"the share of variance to keep is {share:g}: give a share in (0, 1]."
        raise InputError(message)
    return _mean_correlation(fit, held, _sharing, share)


def standardised_svcca(fit: PairMoments, held: PairMoments, directions: float) -> float:
    """Return the same for the leading directions of coordinates scaled to unit variance."""
    return _mean_correlation(fit, held, _widest_standardised, _kept(directions))


def ridge_cca(fit: PairMoments, held: PairMoments, ridge: float) -> float:
    """Return the mean correlation of the canonical variates of shrunk covariances."""
    if not 0.0 <= ridge <= 1.0:
        message = f"the ridge is {ridge:g}: give a number from 0 (CCA) to 1 (PLS)."
        raise InputError(message)
    variates = _settled_by_spread(_fitted(fit, _ridged, ridge), held)
    return _mean(_correlations(variates, held))


def pwcca(fit: PairMoments, held: PairMoments) -> float:
    """Return the mean canonical correlation, weighted by the variates' projections."""
    return _projection_weighted(fit, held, _all_directions, _projections)


def google_pwcca(fit: PairMoments, held: PairMoments) -> float:
    """Return the same with the weights that google/svcca computes for centred rows."""
    return _projection_weighted(fit, held, _every_axis, _google_projections)


def _mean_correlation(
    fit: PairMoments, held: PairMoments, whiten: Whiten, parameter: float = 0.0
) -> float:
    return _mean(_fitted_and_scored(fit, held, whiten, parameter)[1])


def _fitted_and_scored(
    fit: PairMoments, held: PairMoments, whiten: Whiten, parameter: float = 0.0
) -> tuple[Float, Float]:
    """Return the canonical correlations of the fitted rows and of the held-out rows."""
    if fit is not held:
        variates = _settled_by_spread(_fitted(fit, whiten, parameter), held)
        return variates.correlations, _correlations(variates, held)
    # In sample the singular values are the correlations; directions are not needed.
    between = whiten(fit.x, parameter).T @ fit.cross @ whiten(fit.y, parameter)
    values: Float = np.asarray(np.linalg.svd(between, compute_uv=False), dtype=np.float64)
    return values, values


def _fitted(fit: PairMoments, whiten: Whiten, parameter: float = 0.0) -> Variates:
    return canonical_variates(fit, whiten(fit.x, parameter), whiten(fit.y, parameter))


def _correlations(variates: Variates, held: PairMoments) -> Float:
    """Return the signed correlation of each pair of variates; 0 if one of them is constant."""
    products = np.einsum("ik,ik->k", variates.x, held.cross @ variates.y)
    lengths = np.sqrt(_spread(variates.x, held.x) * _spread(variates.y, held.y))
    # Directions with zero fitted correlation are arbitrary, and so is their held-out correlation.
    is_known = (lengths > 0.0) & (variates.correlations > _TIED)
    found: Float = np.divide(products, lengths, out=np.zeros_like(products), where=is_known)
    return np.clip(found, -1.0, 1.0)


def _spread(directions: Float, run: RunMoments) -> Float:
    """Return the squared lengths of variates, 0 where cancellation leaves only rounding."""
    spread = np.einsum("ik,ik->k", directions, run.scatter @ directions)
    apart = np.square(directions).T @ np.diag(run.scatter)
    return np.where(spread > _ABSENT * apart, spread, 0.0)


def _mean(correlations: Float) -> float:
    return float(correlations.mean()) if correlations.size else 0.0


def _settled_by_spread(variates: Variates, held: PairMoments) -> Variates:
    def spread(x: Float, y: Float) -> Float:
        return x.T @ held.x.scatter @ x + y.T @ held.y.scatter @ y

    return _settled(variates, spread)


def _settled(variates: Variates, gram: Callable[[Float, Float], Float]) -> Variates:
    """Rotate variates of equal correlation to the principal axes of a quadratic form.

    With fewer rows than coordinates many correlations equal one and their variates have no unique
    basis: rounding must not choose it.
    """
    values = variates.correlations
    steps = np.flatnonzero(-np.diff(values) > _TIED) + 1
    if len(steps) >= len(values) - 1:
        return variates
    x, y = variates.x.copy(), variates.y.copy()
    for group in np.split(np.arange(len(values)), steps):
        if len(group) > 1:
            axes = np.linalg.eigh(gram(x[:, group], y[:, group]))[1][:, ::-1]
            x[:, group], y[:, group] = x[:, group] @ axes, y[:, group] @ axes
    return replace(variates, x=x, y=y)


def _projection_weighted(
    fit: PairMoments, held: PairMoments, whiten: Whiten, weigh: Callable[[RunMoments, Float], Float]
) -> float:
    in_sample = fit is held
    if whiten(fit.x, 0.0).shape[1] > whiten(fit.y, 0.0).shape[1]:
        fit, held = fit.flipped(), held.flipped()

    def loadings(x: Float, _: Float) -> Float:
        projected = fit.x.scatter @ x
        return projected.T @ projected

    variates = _settled(_fitted(fit, whiten), loadings)
    weights = weigh(fit.x, variates.x)
    total = float(weights.sum())
    found = variates.correlations if in_sample else _correlations(variates, held)
    return float(weights @ found) / total if total > 0.0 else 0.0


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


def _all_directions(run: RunMoments, _: float) -> Float:
    return run.shortest_whitening


def _every_axis(run: RunMoments, _: float) -> Float:
    return _leading(run, len(run.spectrum[0]))


def _widest(run: RunMoments, directions: float) -> Float:
    return _leading(run, int(directions))


def _sharing(run: RunMoments, share: float) -> Float:
    values, _ = run.spectrum
    shares = np.cumsum(values) / values.sum() if values.size else values
    return _leading(run, int(np.searchsorted(shares, share)) + 1)


def _leading(run: RunMoments, count: int) -> Float:
    values, axes = run.spectrum
    return axes[:, :count] / np.sqrt(values[:count])


def _widest_standardised(run: RunMoments, directions: float) -> Float:
    # `whitening` starts from coordinates scaled to unit variance, widest direction first.
    return run.whitening[:, : int(directions)]


def _ridged(run: RunMoments, ridge: float) -> Float:
    values, axes = run.spectrum
    blend = (1.0 - ridge) * values + ridge * (values.mean() if values.size else 0.0)
    return axes / np.sqrt(blend)


def _kept(directions: float) -> int:
    return as_count(directions, "principal directions requested")


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
    score=mean_cca,
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
    score=google_mean_cca,
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
    score=svcca,
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
    score=share_svcca,
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
    score=standardised_svcca,
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
    score=pwcca,
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
    score=google_pwcca,
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
    score=ridge_cca,
)
