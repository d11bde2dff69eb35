"""Measures that match coordinates of one run with coordinates of the other.

The matching and the signs of its correlations are fitted on some rows and scored on others, so
noise scores zero on held-out rows; in sample, fitted signs make correlations positive. A constant
coordinate has correlation zero with every other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.optimize
from scipy.sparse import csr_array

from upto.measures.correlations import leading_cca, scores_of
from upto.measures.dependence import (
    MOST_FEATURES,
    RDC_FEATURES,
    coefficients,
    held_coefficients,
    ranks,
    rdc_features,
)
from upto.measures.kinds import AFFINE, MATCHING, Change, MomentMeasure, as_count
from upto.measures.moments import HeldOutScore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core.array_types import Float
    from upto.measures.moments import Form, PairMoments, RunMoments


_CONSTANT = 1e-11


def correlations(moments: PairMoments) -> Float:
    """Return the correlations between all coordinates of two runs."""
    return _inverse_deviation(moments.x)[:, None] * moments.cross * _inverse_deviation(moments.y)


def varies(run: RunMoments) -> NDArray[np.bool_]:
    """Return which coordinates vary by more than the rounding of their mean."""
    floor = run.n_samples * np.square(_CONSTANT * run.mean)
    return run.variances > floor


def mean_correlation(fit: PairMoments, held: PairMoments) -> float:
    """Return the mean correlation of coordinates matched one to one, with fitted signs."""
    return _scored(matched_signed(fit), held)


def matched_signed(fit: PairMoments) -> Form:
    """Match coordinates one to one by absolute correlation, with signs."""
    fitted = correlations(fit)
    sources, targets = _matched(np.abs(fitted))
    return _mean_of(sources, targets, np.sign(fitted[sources, targets]))


def mean_dependence(fit: PairMoments, held: PairMoments, count: float) -> float:
    """Return the mean correlation of the best functions of one-to-one matched coordinates."""
    pairs = _matched(coefficients(fit, int(count)))
    return float(np.mean(held_coefficients(fit, held, int(count), pairs)))


def hard_match(fit: PairMoments, held: PairMoments) -> float:
    """Return the mean signed correlation of coordinates matched one to one."""
    return _scored(matched(fit), held)


def matched(fit: PairMoments) -> Form:
    """Match coordinates one to one by correlation."""
    fitted = correlations(fit)
    sources, targets = _matched(fitted)
    return _mean_of(sources, targets, fitted[sources, targets] != 0)


def soft_match(fit: PairMoments, held: PairMoments) -> float:
    """Return the mean over both directions of the match that may reuse coordinates."""
    return _scored(reused_both_ways(fit), held)


def reused_both_ways(fit: PairMoments) -> Form:
    """Match each coordinate of either run with its best in the other."""
    there, back = reused(fit), reused(fit.flipped())

    def form(x: RunMoments, y: RunMoments) -> HeldOutScore:
        both: csr_array = there(x, y).weights + back(y, x).weights.T
        return HeldOutScore((both / 2).tocsr())

    return form


def semi_match(fit: PairMoments, held: PairMoments) -> float:
    """Return the mean correlation of coordinates with their best match in the other run."""
    return _scored(reused(fit), held)


def reused(fit: PairMoments) -> Form:
    """Match each coordinate of the first run with its best in the second."""
    fitted = correlations(fit)
    sources, targets = np.arange(len(fitted)), fitted.argmax(axis=1)
    return _mean_of(sources, targets, fitted[sources, targets] != 0)


def _matched(gain: Float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    sources, targets = scipy.optimize.linear_sum_assignment(gain, maximize=True)
    return sources, targets


def _mean_of(sources: NDArray[np.intp], targets: NDArray[np.intp], factors: NDArray[Any]) -> Form:
    """Return the mean of correlations of pairs, each times a factor; 0 where that is 0."""

    def form(x: RunMoments, y: RunMoments) -> HeldOutScore:
        scale = _inverse_deviation(x)[sources] * _inverse_deviation(y)[targets]
        weights = factors * scale / len(sources)
        shape = len(x.mean), len(y.mean)
        return HeldOutScore(csr_array((weights, (sources, targets)), shape=shape))

    return form


def _scored(form: Form, held: PairMoments) -> float:
    return form(held.x, held.y).of(held.cross)


def _inverse_deviation(run: RunMoments) -> Float:
    squares = run.variances
    return np.sqrt(np.divide(1.0, squares, out=np.zeros_like(squares), where=varies(run)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _FeatureMeasure(MomentMeasure):
    """A moment measure whose parameter is the number of random features per coordinate."""

    def with_parameter(self, parameter: float) -> Self:
        """Return the measure with another number of features."""
        count = as_count(
            parameter, "random features requested", most=MOST_FEATURES, up_to=f" to {MOST_FEATURES}"
        )
        changed = MomentMeasure.with_parameter(self, parameter)
        return replace(changed, prepare=partial(rdc_features, count=count))


_COLUMNS = "$x_j$ and $y_k$ are the $p$ and $q$ coordinates of the two runs"
_MATCHED = (
    r"$x_j$ and $y_k$ are the coordinates of the two runs, and $\pi$ matches the $m$ coordinates "
    "of the narrower run with as many of the other, one to one."
)

MCC = MomentMeasure(
    name="mcc",
    title="strong MCC",
    says="The mean absolute correlation of coordinates under the one-to-one matching that "
    "maximises it.",
    source="Hyvärinen and Morioka 2016; Khemakhem et al. 2020",
    formula=r"\max_\pi \frac{1}{m} \sum_{j} \left\lvert \operatorname{corr}(x_j, y_{\pi(j)}) "
    r"\right\rvert",
    where=_MATCHED,
    held_out="The matching and the sign of each matched correlation are fitted, as in the "
    "cross-fitted score of identifiability-guard, so noise scores 0; icebeem takes "
    "absolute values of the held-out correlations.",
    use_when="single coordinates should correspond up to order, sign and scale, as after ICA or in"
    " a disentangled model.",
    beware="A rotation of one run destroys it, however well the runs agree otherwise. In sample "
    "the matching picks the best of many chance correlations.",
    see_also=(
        "mcc-spearman",
        "mcc-rdc",
        "weak-mcc",
        "hard-correlation-match",
    ),
    low=-1.0,
    ignores=MATCHING,
    score=mean_correlation,
    form=matched_signed,
    note="In sample it is the MCC of icebeem, cl-ica and identifiability-guard. A constant "
    "coordinate counts as 0.",
)
MCC_SPEARMAN = MomentMeasure(
    name="mcc-spearman",
    title="strong MCC of ranks",
    says="The mean absolute rank correlation of coordinates under the one-to-one matching that "
    "maximises it.",
    source="Hyvärinen and Morioka 2016; Khemakhem et al. 2020",
    formula=r"\max_\pi \frac{1}{m} \sum_{j} \left\lvert \operatorname{corr}(\operatorname{rank} "
    r"x_j, \operatorname{rank} y_{\pi(j)}) \right\rvert",
    where=_MATCHED + " Ranks are within a column; ties share their mean rank.",
    held_out="The matching and the sign of each matched correlation are fitted. Ranks are among "
    "the rows of each part.",
    use_when="single coordinates should correspond up to order and a monotone change of each.",
    beware="A rotation of one run destroys it, however well the runs agree otherwise. In sample "
    "the matching picks the best of many chance correlations.",
    see_also=(
        "mcc",
        "mcc-rdc",
        "udr",
    ),
    low=-1.0,
    ignores=MATCHING | {Change.MONOTONE},
    score=mean_correlation,
    form=matched_signed,
    prepare=ranks,
    note="Ties share their mean rank, as in SciPy. The torch version of icebeem sorts where it "
    "should rank and gives different values.",
)
MCC_RDC = _FeatureMeasure(
    name=f"mcc-rdc:{RDC_FEATURES}",
    title="strong MCC with randomised dependence",
    says="The mean, over coordinates matched one to one, of the largest correlation between smooth "
    "functions of the two coordinates; the functions are sums of random sine waves of ranks.",
    source="Lopez-Paz et al. 2013; Khemakhem et al. 2020",
    formula=r"\max_\pi \frac{1}{m} \sum_{j} \max_{a, b} \operatorname{corr}\left( \varphi(x_j) a, "
    r"\varphi(y_{\pi(j)}) b \right)"
    "\n"
    r"\varphi(x)_{il} = \sin\left( w_l \tfrac{1}{n} \operatorname{rank} x_i + b_l \right),"
    r" \qquad w_l, b_l \sim \mathcal{N}(0, \tfrac{1}{4})",
    where=_MATCHED
    + (
        r" $\varphi$ has as many columns as the parameter says; $w_l$ and $b_l$ are drawn "
        "once, for all coordinates and runs."
    ),
    held_out=r"The matching and the functions $\varphi a$ and $\varphi b$ of each pair are fitted; "
    "icebeem fits the functions on the rows it scores. Ranks are among the rows of each "
    "part.",
    use_when="single coordinates should correspond up to order and a smooth function of each, "
    "which need not be monotone.",
    beware="The functions fit noise well in sample. The value depends on the random waves: those"
    " of another program give another value.",
    see_also=(
        "mcc",
        "mcc-spearman",
    ),
    low=-1.0,
    ignores=(MATCHING | {Change.MONOTONE}) - {Change.SIGNS},
    parameter=RDC_FEATURES,
    parameter_name="random features of a coordinate",
    score=mean_dependence,
    prepare=rdc_features,
    note="Features are those of icebeem (twenty waves, standard deviation 0.5), drawn once for all"
    " coordinates and runs, so the value is symmetric and reproducible. They span about five "
    "directions above rounding; only these are kept, as by R's cancor in the authors' code. "
    "icebeem keeps directions of rounding, and its value changes with the order of rows. Ties"
    " share their mean rank; icebeem ranks them by position. A change of sign alters the "
    "value slightly, because the waves are not symmetric.",
)
WEAK_MCC = MomentMeasure(
    name="weak-mcc:20",
    title="weak MCC",
    says="The mean correlation of the leading canonical variates, matched one to one: MCC up to "
    "an affine map.",
    source="Khemakhem et al. 2020; Kivva et al. 2022",
    formula=r"\frac{1}{m} \sum_{k=1}^{m} \rho_k, \qquad m = \min(c, r)",
    where=(
        r"$\rho_k$ are the canonical correlations of mean-cca, highest first, $r$ is their "
        "number and $c$ the parameter."
    ),
    held_out="Canonical directions and signs are fitted, and the value has the invariances of "
    "mean-cca; among equal correlations on the fitted rows, the variates with the largest"
    " variance on the others come first. icebeem matches the variates again on the rows "
    "it scores, and by default measures them with RDC.",
    use_when="the runs should agree up to an affine map, as in papers on identifiability.",
    beware="It ignores all but the leading canonical directions, so it can be high for runs that"
    " share little. In sample it is mostly chance unless rows far outnumber coordinates.",
    see_also=(
        "mean-cca",
        "mcc",
        "svcca",
    ),
    low=-1.0,
    ignores=AFFINE,
    parameter=20,
    parameter_name="canonical components",
    **scores_of(leading_cca),
    note="Canonical variates correlate only with their own partner, so in sample matching recovers"
    " the partners and the value is the mean of the leading canonical correlations.",
)
HARD_CORRELATION_MATCH = MomentMeasure(
    name="hard-correlation-match",
    title="hard correlation match",
    says="The mean signed correlation of coordinates under the one-to-one matching that maximises "
    "it.",
    source="Li et al. 2015; Klabunde et al. 2025 (ReSi)",
    formula=r"\max_\pi \frac{1}{m} \sum_{j} \operatorname{corr}(x_j, y_{\pi(j)})",
    where=_MATCHED,
    held_out="The matching is fitted; the mean is over its correlations on the held-out rows.",
    use_when="single neurons should correspond with their sign, as after a ReLU.",
    beware="A coordinate does not match its negative: use mcc where signs are arbitrary. In "
    "sample the matching picks the best of many chance correlations.",
    see_also=(
        "mcc",
        "soft-correlation-match",
        "semi-correlation-match",
    ),
    low=-1.0,
    ignores=MATCHING - {Change.SIGNS},
    score=hard_match,
    form=matched,
    note="As in ReSi. A constant coordinate counts as 0.",
)
SOFT_CORRELATION_MATCH = MomentMeasure(
    name="soft-correlation-match",
    title="soft correlation match",
    says="The mean correlation of each coordinate with the coordinate of the other run that it "
    "correlates with most, averaged over both directions.",
    source="Klabunde et al. 2025 (ReSi)",
    formula=r"\frac{1}{2p} \sum_{j=1}^{p} \max_k R_{jk} + \frac{1}{2q} \sum_{k=1}^{q} \max_j "
    r"R_{jk}, \qquad R_{jk} = \operatorname{corr}(x_j, y_k)",
    where=_COLUMNS + ".",
    held_out="Each coordinate's partner is fitted; the mean is over correlations on the held-out "
    "rows.",
    use_when="several neurons of one run may share a counterpart in the other.",
    beware="Many coordinates can share one partner, so a high value does not show a one-to-one "
    "correspondence. A coordinate does not match its negative.",
    see_also=(
        "hard-correlation-match",
        "semi-correlation-match",
        "mcc",
    ),
    low=-1.0,
    ignores=MATCHING - {Change.SIGNS},
    score=soft_match,
    form=reused_both_ways,
    note="As in ReSi, which averages both directions; a single direction is "
    "`semi-correlation-match`.",
)
SEMI_CORRELATION_MATCH = MomentMeasure(
    name="semi-correlation-match",
    title="correlation semi-match",
    says="The mean correlation of each coordinate of the first run with the coordinate of the "
    "second that it correlates with most.",
    source="Li et al. 2015",
    formula=r"\frac{1}{p} \sum_{j=1}^{p} \max_k R_{jk}, \qquad R_{jk} = \operatorname{corr}(x_j, "
    "y_k)",
    where=_COLUMNS + ".",
    held_out="Each coordinate's partner is fitted; the mean is over correlations on the held-out "
    "rows.",
    use_when="each neuron of the first run should have a counterpart in the second, which may have"
    " more.",
    beware="Coordinates of the second run may be used several times or not at all, so the value "
    "depends on which run is first. A coordinate does not match its negative.",
    see_also=(
        "soft-correlation-match",
        "hard-correlation-match",
        "mcc",
    ),
    low=-1.0,
    ignores=MATCHING - {Change.SIGNS},
    symmetric=False,
    score=semi_match,
    form=reused,
    note="The bipartite semi-matching of Li et al.",
)
