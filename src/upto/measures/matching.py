"""Measures that match coordinates of one run with coordinates of the other.

What is fitted on some rows is scored on others: the matching, and with it the sign of a
correlation. So noise scores zero where it was not fitted, and in sample signs make correlations
positive. A coordinate that does not vary has correlation zero with every other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Self

import numpy as np
import scipy.optimize

from upto.measures.correlations import leading_cca
from upto.measures.dependence import (
    MOST_FEATURES,
    RDC_FEATURES,
    coefficients,
    held_coefficients,
    ranks,
    rdc_features,
)
from upto.measures.kinds import AFFINE, MATCHING, Change, MomentMeasure, as_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core.arrays import Float
    from upto.measures.moments import PairMoments, RunMoments


_CONSTANT = 1e-11


def correlations(moments: PairMoments) -> Float:
    """Return the correlation of every coordinate of one run with every one of the other."""
    return _inverse_deviation(moments.x)[:, None] * moments.cross * _inverse_deviation(moments.y)


def varies(run: RunMoments) -> NDArray[np.bool_]:
    """Say which coordinates vary by more than rounding beside their mean."""
    floor = run.n_samples * np.square(_CONSTANT * run.mean)
    alive: NDArray[np.bool_] = np.diag(run.scatter) > floor
    return alive


def mean_correlation(fit: PairMoments, held: PairMoments) -> float:
    """Return the mean correlation of coordinates matched one to one, with fitted signs."""
    fitted = correlations(fit)
    matched = _matched(np.abs(fitted))
    return float(np.mean(np.sign(fitted[matched]) * _again(fit, held, fitted)[matched]))


def mean_dependence(fit: PairMoments, held: PairMoments, count: float) -> float:
    """Return the mean correlation of the best functions of coordinates matched one to one."""
    pairs = _matched(coefficients(fit, int(count)))
    return float(np.mean(held_coefficients(fit, held, int(count), pairs)))


def hard_match(fit: PairMoments, held: PairMoments) -> float:
    """Return the mean correlation of coordinates matched one to one, signs kept."""
    fitted = correlations(fit)
    return float(np.mean(_again(fit, held, fitted)[_matched(fitted)]))


def soft_match(fit: PairMoments, held: PairMoments) -> float:
    """Return the mean of both directions of the match that uses coordinates repeatedly."""
    return (semi_match(fit, held) + semi_match(fit.flipped(), held.flipped())) / 2


def semi_match(fit: PairMoments, held: PairMoments) -> float:
    """Return the mean correlation of coordinates with the one of the other run they fit best."""
    fitted = correlations(fit)
    best = np.arange(len(fitted)), fitted.argmax(axis=1)
    return float(np.mean(_again(fit, held, fitted)[best]))


def _matched(gain: Float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    sources, targets = scipy.optimize.linear_sum_assignment(gain, maximize=True)
    return sources, targets


def _again(fit: PairMoments, held: PairMoments, fitted: Float) -> Float:
    """Return the correlations of held rows; none where nothing was there to fit."""
    return fitted if held is fit else np.where(fitted == 0, 0.0, correlations(held))


def _inverse_deviation(run: RunMoments) -> Float:
    squares = np.diag(run.scatter)
    inverse: Float = np.sqrt(np.divide(1.0, squares, out=np.zeros_like(squares), where=varies(run)))
    return inverse


@dataclass(frozen=True, slots=True, kw_only=True)
class _FeatureMeasure(MomentMeasure):
    """A moment measure whose parameter is the number of random features of a coordinate."""

    def with_parameter(self, parameter: float) -> Self:
        """Return the measure with another number of features."""
        count = as_count(
            parameter,
            "random features are asked for",
            most=MOST_FEATURES,
            up_to=f" to {MOST_FEATURES}",
        )
        changed = MomentMeasure.with_parameter(self, parameter)
        return replace(changed, prepare=partial(rdc_features, count=count))


MCC = MomentMeasure(
    name="mcc",
    title="strong MCC",
    says="The mean correlation of coordinates matched one to one so that it is largest, whatever "
    "its sign.",
    source="Hyvärinen and Morioka 2016; Khemakhem et al. 2020",
    low=-1.0,
    high=1.0,
    ignores=MATCHING,
    score=mean_correlation,
    note="In sample it is the MCC of icebeem, cl-ica and identifiability-guard. On held-out rows "
    "the sign of every matched correlation is fitted too, as in identifiability-guard's "
    "cross-fitted score, so noise scores 0 there; icebeem takes absolute values. For runs of "
    "different width the mean is over the narrower one's coordinates; a constant coordinate "
    "counts as 0.",
)
MCC_SPEARMAN = MomentMeasure(
    name="mcc-spearman",
    title="strong MCC of ranks",
    says="The mean rank correlation of coordinates matched one to one so that it is largest, "
    "whatever its sign.",
    source="Hyvärinen and Morioka 2016; Khemakhem et al. 2020",
    low=-1.0,
    high=1.0,
    ignores=MATCHING | {Change.MONOTONE},
    score=mean_correlation,
    prepare=ranks,
    note="Equal values share their mean rank, as in SciPy. The torch version of icebeem sorts "
    "where it should rank and gives other numbers.",
)
MCC_RDC = _FeatureMeasure(
    name=f"mcc-rdc:{RDC_FEATURES}",
    title="strong MCC with randomised dependence",
    says="The mean, over coordinates matched one to one, of the largest correlation that smooth "
    "functions of two coordinates have, the functions being sums of random sine waves of ranks.",
    source="Lopez-Paz et al. 2013; Khemakhem et al. 2020",
    low=-1.0,
    high=1.0,
    ignores=(MATCHING | {Change.MONOTONE}) - {Change.SIGNS},
    parameter=RDC_FEATURES,
    parameter_name="random features of a coordinate",
    score=mean_dependence,
    prepare=rdc_features,
    note="Features are those of icebeem (twenty waves of deviation 0.5), drawn once for all "
    "coordinates and runs, so that the value is symmetric and the same every time. They span "
    "about five directions beyond rounding, which are kept, as by R's cancor in the authors' "
    "code; icebeem keeps directions of rounding and its value changes with the order of rows. "
    "Equal values share their mean rank; icebeem ranks them by position. On held-out rows the "
    "functions are fitted too; icebeem fits them on the rows it scores. A change of sign "
    "moves it a little: the waves are not symmetric.",
)
WEAK_MCC = MomentMeasure(
    name="weak-mcc:20",
    title="weak MCC",
    says="The mean correlation of the leading canonical variates, matched one to one: MCC up to "
    "an affine map.",
    source="Khemakhem et al. 2020; Kivva et al. 2022",
    low=-1.0,
    high=1.0,
    ignores=AFFINE,
    parameter=20,
    parameter_name="canonical components",
    score=leading_cca,
    note="In sample it is the mean of the leading canonical correlations, over as many as are "
    "asked for or as both runs have directions: canonical variates correlate with their own "
    "partner only, so matching finds the partners again. On held-out rows directions and signs are "
    "those fitted, and it ignores what mean-cca does; of correlations that are equal on the fitted "
    "rows, the variates that are widest on the others come first. icebeem matches the variates "
    "again on the rows it scores, and by default measures them with RDC.",
)
HARD_CORRELATION_MATCH = MomentMeasure(
    name="hard-correlation-match",
    title="hard correlation match",
    says="The mean correlation of coordinates matched one to one so that it is largest, signs "
    "kept.",
    source="Li et al. 2015; Klabunde et al. 2025 (ReSi)",
    low=-1.0,
    high=1.0,
    ignores=MATCHING - {Change.SIGNS},
    score=hard_match,
    note="As in ReSi. Unlike MCC it takes a coordinate and its negative for strangers; for runs of "
    "different width the mean is over the narrower one's coordinates.",
)
SOFT_CORRELATION_MATCH = MomentMeasure(
    name="soft-correlation-match",
    title="soft correlation match",
    says="The mean correlation of every coordinate with the one of the other run that it "
    "correlates with most, averaged over both directions.",
    source="Klabunde et al. 2025 (ReSi)",
    low=-1.0,
    high=1.0,
    ignores=MATCHING - {Change.SIGNS},
    score=soft_match,
    note="As in ReSi, which averages both directions; one of them alone is "
    "`semi-correlation-match`.",
)
SEMI_CORRELATION_MATCH = MomentMeasure(
    name="semi-correlation-match",
    title="correlation semi-match",
    says="The mean correlation of every coordinate of the first run with the one of the second "
    "that it correlates with most.",
    source="Li et al. 2015",
    low=-1.0,
    high=1.0,
    ignores=MATCHING - {Change.SIGNS},
    symmetric=False,
    score=semi_match,
    note="The bipartite semi-matching of Li et al.: coordinates of the second run may be used "
    "several times or not at all, so it depends on which run is first.",
)
