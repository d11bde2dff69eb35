"""Canonical correlations, from d×d products: weights are fitted on some rows, scored on others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from upto.core import InputError
from upto.core.arrays import Float
from upto.measures.kinds import AFFINE, MATCHING, SCALED_SHAPE, Change, MomentMeasure, as_count

if TYPE_CHECKING:
    from collections.abc import Callable

    from upto.measures.moments import PairMoments, RunMoments

    Whiten = Callable[[RunMoments, float], Float]

GOOGLE_SHARE = 0.98
"""Of the sum of canonical correlations: google/svcca averages the leading ones that reach it."""
_TIED = 1e-9
_ABSENT = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Variates:
    """Pairs of directions, one a column, and the correlations they were fitted to, highest first.

    Centred rows times a direction is a variate; without a ridge it has length one.
    """

    correlations: Float
    x: Float
    y: Float


def canonical_variates(pair: PairMoments, x_map: Float, y_map: Float) -> Variates:
    """Return the canonical directions of two runs, each seen through a map that whitens it."""
    left, values, right = np.linalg.svd(x_map.T @ pair.cross @ y_map, full_matrices=False)
    return Variates(correlations=values, x=x_map @ left, y=y_map @ right.T)


def leading_cca(fit: PairMoments, held: PairMoments, count: float) -> float:
    """Return the mean of the leading canonical correlations."""
    kept = as_count(count, "canonical components are asked for")
    return _mean(_fitted_and_scored(fit, held, _all_directions)[1][:kept])


def mean_cca(fit: PairMoments, held: PairMoments) -> float:
    """Return the mean canonical correlation."""
    return _mean_correlation(fit, held, _all_directions)


def google_mean_cca(fit: PairMoments, held: PairMoments) -> float:
    """Return the mean of the leading correlations that make up 98 % of their sum on fitted rows."""
    fitted, scored = _fitted_and_scored(fit, held, _all_directions)
    total = float(fitted.sum())
    if total <= 0.0:
        return 0.0
    count = int(np.searchsorted(np.cumsum(fitted) / total, GOOGLE_SHARE)) + 1
    return _mean(scored[:count])


def svcca(fit: PairMoments, held: PairMoments, directions: float) -> float:
    """Return the mean canonical correlation of the widest principal directions of each run."""
    return _mean_correlation(fit, held, _widest, _kept(directions))


def share_svcca(fit: PairMoments, held: PairMoments, share: float) -> float:
    """Return the same for the fewest principal directions that have a share of the variance."""
    if not 0.0 < share <= 1.0:
        message = f"{share:g} of the variance is to be kept: give a share above 0 and at most 1."
        raise InputError(message)
    return _mean_correlation(fit, held, _sharing, share)


def standardised_svcca(fit: PairMoments, held: PairMoments, directions: float) -> float:
    """Return the same for the widest directions of coordinates at unit variance."""
    return _mean_correlation(fit, held, _widest_standardised, _kept(directions))


def ridge_cca(fit: PairMoments, held: PairMoments, ridge: float) -> float:
    """Return the mean correlation of the canonical variates of blended covariances."""
    if not 0.0 <= ridge <= 1.0:
        message = f"the ridge is {ridge:g}: give a number from 0, which is CCA, to 1, which is PLS."
        raise InputError(message)
    variates = _settled_by_spread(_fitted(fit, _ridged, ridge), held)
    return _mean(_correlations(variates, held))


def pwcca(fit: PairMoments, held: PairMoments) -> float:
    """Return the mean canonical correlation, weighted by what variates project on coordinates."""
    return _projection_weighted(fit, held, _all_directions, _projections)


def google_pwcca(fit: PairMoments, held: PairMoments) -> float:
    """Return the same with the weights that google/svcca computes of centred rows."""
    return _projection_weighted(fit, held, _every_axis, _google_projections)


def _mean_correlation(
    fit: PairMoments, held: PairMoments, whiten: Whiten, parameter: float = 0.0
) -> float:
    return _mean(_fitted_and_scored(fit, held, whiten, parameter)[1])


def _fitted_and_scored(
    fit: PairMoments, held: PairMoments, whiten: Whiten, parameter: float = 0.0
) -> tuple[Float, Float]:
    """Return the canonical correlations of fitted rows, and what they are on held rows."""
    if fit is not held:
        variates = _settled_by_spread(_fitted(fit, whiten, parameter), held)
        return variates.correlations, _correlations(variates, held)
    # In sample the singular values are the correlations, and directions are not needed.
    between = whiten(fit.x, parameter).T @ fit.cross @ whiten(fit.y, parameter)
    values: Float = np.asarray(np.linalg.svd(between, compute_uv=False), dtype=np.float64)
    return values, values


def _fitted(fit: PairMoments, whiten: Whiten, parameter: float = 0.0) -> Variates:
    return canonical_variates(fit, whiten(fit.x, parameter), whiten(fit.y, parameter))


def _correlations(variates: Variates, held: PairMoments) -> Float:
    """Return the signed correlation of each pair of variates; 0 where one of them is constant."""
    products = np.einsum("ik,ik->k", variates.x, held.cross @ variates.y)
    lengths = np.sqrt(_spread(variates.x, held.x) * _spread(variates.y, held.y))
    # Directions fitted to no correlation at all are arbitrary, and so would be theirs.
    is_known = (lengths > 0.0) & (variates.correlations > _TIED)
    found: Float = np.divide(products, lengths, out=np.zeros_like(products), where=is_known)
    return np.clip(found, -1.0, 1.0)


def _spread(directions: Float, run: RunMoments) -> Float:
    """Return the squared lengths of variates, 0 where they are the rounding of a cancellation."""
    spread = np.einsum("ik,ik->k", directions, run.scatter @ directions)
    apart = np.square(directions).T @ np.diag(run.scatter)
    return np.where(spread > _ABSENT * apart, spread, 0.0)


def _mean(correlations: Float) -> float:
    return float(correlations.mean()) if correlations.size else 0.0


def _settled_by_spread(variates: Variates, held: PairMoments) -> Variates:
    def spread(x: Float, y: Float) -> Float:
        gram: Float = x.T @ held.x.scatter @ x + y.T @ held.y.scatter @ y
        return gram

    return _settled(variates, spread)


def _settled(variates: Variates, gram: Callable[[Float, Float], Float]) -> Variates:
    """Turn variates of equal correlation to the principal axes of a form.

    With fewer rows than coordinates many correlations are one, and any basis of their variates
    would do: rounding must not choose it.
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
    fit: PairMoments,
    held: PairMoments,
    whiten: Whiten,
    weigh: Callable[[RunMoments, Float], Float],
) -> float:
    in_sample = fit is held
    if whiten(fit.x, 0.0).shape[1] > whiten(fit.y, 0.0).shape[1]:
        fit, held = fit.flipped(), held.flipped()

    def loadings(x: Float, _: Float) -> Float:
        projected = fit.x.scatter @ x
        gram: Float = projected.T @ projected
        return gram

    variates = _settled(_fitted(fit, whiten), loadings)
    weights = weigh(fit.x, variates.x)
    total = float(weights.sum())
    found = variates.correlations if in_sample else _correlations(variates, held)
    return float(weights @ found) / total if total > 0.0 else 0.0


def _projections(run: RunMoments, directions: Float) -> Float:
    projections: Float = np.abs(directions.T @ run.scatter).sum(axis=1)
    return projections


def _google_projections(run: RunMoments, directions: Float) -> Float:
    # Its released code leaves out the whitening of the directions and orthogonalises the variates
    # that result, one after the other. Here that is a QR in the principal axes of the run.
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
    leading: Float = axes[:, :count] / np.sqrt(values[:count])
    return leading


def _widest_standardised(run: RunMoments, directions: float) -> Float:
    # The whitening of a run starts from coordinates at unit variance, widest direction first.
    return run.whitening[:, : int(directions)]


def _ridged(run: RunMoments, ridge: float) -> Float:
    values, axes = run.spectrum
    blend = (1.0 - ridge) * values + ridge * (values.mean() if values.size else 0.0)
    ridged: Float = axes / np.sqrt(blend)
    return ridged


def _kept(directions: float) -> int:
    return as_count(directions, "principal directions are asked for")


_PROJECTED = frozenset({Change.TRANSLATION, Change.SCALE, Change.PERMUTATION, Change.SIGNS})

MEAN_CCA = MomentMeasure(
    name="mean-cca",
    title="mean canonical correlation",
    says="The mean of the canonical correlations of both runs, over as many as the run with fewer "
    "directions has.",
    source="Hotelling 1936; Raghu et al. 2017",
    note="Held out, the canonical weights are fitted on other rows and each correlation has its "
    "sign; in sample no correlation is negative, and with no more rows than the coordinates of "
    "both runs together some are one whatever the runs. Directions without variance are left out. "
    "A run without variance scores 0. Held out, it ignores every affine map where there are more "
    "fitted rows than coordinates; otherwise the shortest canonical directions are taken, and it "
    "ignores rotations, translations and scales. google/svcca reports another mean: see "
    "mean-cca-google.",
    low=-1.0,
    high=1.0,
    ignores=AFFINE,
    score=mean_cca,
)
GOOGLE_MEAN_CCA = MomentMeasure(
    name="mean-cca-google",
    title="mean canonical correlation of google/svcca",
    says="The mean of the leading canonical correlations, as many as make up 98 % of their sum.",
    source="Raghu et al. 2017, the field mean of the released code",
    note="It leaves out the lowest correlations, so it is never below mean-cca in sample. How many "
    "are averaged is decided on the rows that are fitted. Held out, it ignores what mean-cca does.",
    low=-1.0,
    high=1.0,
    ignores=AFFINE,
    score=google_mean_cca,
)
SVCCA = MomentMeasure(
    name="svcca:20",
    title="SVCCA",
    says="The mean canonical correlation of the widest principal directions of each run.",
    source="Raghu et al. 2017",
    note="The number of directions is fixed, as in the tutorial of google/svcca; a run with fewer "
    "keeps all it has, and where both keep all, this is mean-cca. Columns are centred and not "
    "scaled: see svcca-standardised. Raghu et al. keep a share of the variance: see svcca-share.",
    low=-1.0,
    high=1.0,
    ignores=SCALED_SHAPE,
    parameter=20,
    parameter_name="principal directions",
    score=svcca,
)
SHARE_SVCCA = MomentMeasure(
    name="svcca-share:0.99",
    title="SVCCA by share of variance",
    says="The mean canonical correlation of the fewest principal directions of each run that have "
    "a share of its variance.",
    source="Raghu et al. 2017",
    note="anatome takes the share of the sum of singular values, not of their squares, and stops "
    "before it is reached. ReSi compares the share with the total variance, so it agrees for runs "
    "of total variance one; of runs with more it keeps a single direction.",
    low=-1.0,
    high=1.0,
    ignores=SCALED_SHAPE,
    parameter=0.99,
    parameter_name="the share of the variance kept",
    score=share_svcca,
)
STANDARDISED_SVCCA = MomentMeasure(
    name="svcca-standardised:20",
    title="SVCCA of standardised coordinates",
    says="The mean canonical correlation of the widest principal directions of each run after "
    "every coordinate was brought to unit variance.",
    source="Roeder et al. 2021, the released notebook",
    note="Coordinates without variance are left out. platonic-rep standardises too, but finds "
    "its principal directions by a random projection.",
    low=-1.0,
    high=1.0,
    ignores=MATCHING,
    parameter=20,
    parameter_name="principal directions",
    score=standardised_svcca,
)
PWCCA = MomentMeasure(
    name="pwcca",
    title="PWCCA",
    says="The mean of the canonical correlations, each weighted by the sum over coordinates of the "
    "absolute projection of its variate.",
    source="Morcos et al. 2018",
    note="Variates and coordinates are those of the run with fewer directions, of the first if "
    "both have as many: then exchanging the runs changes the value. Weights depend on the basis of "
    "that run. Held out, they are those of the rows that are fitted. The released code computes "
    "other weights: see pwcca-google. anatome sums over rows what is summed over coordinates here.",
    low=-1.0,
    high=1.0,
    ignores=_PROJECTED,
    symmetric=False,
    score=pwcca,
)
GOOGLE_PWCCA = MomentMeasure(
    name="pwcca-google",
    title="PWCCA of google/svcca",
    says="PWCCA with weights of canonical directions that are not whitened, orthogonalised one "
    "after the other.",
    source="Morcos et al. 2018, the released code",
    note="It agrees with compute_pwcca of google/svcca, and of ReSi, on centred rows whose first "
    "run is not the wider; of other rows those do not remove the mean from the weights, and with a "
    "wider first run they fail.",
    low=-1.0,
    high=1.0,
    ignores=_PROJECTED,
    symmetric=False,
    score=google_pwcca,
)
RIDGE_CCA = MomentMeasure(
    name="rcca:0.1",
    title="regularised CCA",
    says="The mean correlation of the canonical variates for covariances that are blended with "
    "the mean variance: (1 - c) covariance + c mean variance of a direction.",
    source="Vinod 1976",
    note="At 0 it is mean-cca and at 1 partial least squares. The mean variance is that of the "
    "present directions, so neither scale nor dead coordinates count. RidgeCCA of cca-zoo blends "
    "with one instead: it agrees for runs of mean variance one. google/svcca adds its epsilon "
    "times the largest covariance; netrep blends roots: see shape.",
    low=-1.0,
    high=1.0,
    ignores=SCALED_SHAPE,
    parameter=0.1,
    parameter_name="the ridge",
    score=ridge_cca,
)
