"""Unsupervised disentanglement ranking: agreement of the coordinates of several runs."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from upto.core import InputError
from upto.measures.dependence import ranks
from upto.measures.kinds import MATCHING, Change, MomentMeasure, as_rows, refuse_extremes
from upto.measures.matching import correlations, varies
from upto.measures.moments import pair_moments, run_moments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from upto.core.array_types import Float
    from upto.measures.moments import PairMoments


INFORMATIVE_SHARE = 0.01
"""By default, coordinates with less than this fraction of the largest variance do not count."""


def relative_strength(_: PairMoments, held: PairMoments) -> float:
    """Return how exclusively each coordinate matches one coordinate of the other run."""
    strength = np.abs(correlations(held))[varies(held.x)][:, varies(held.y)]
    return (_one_sided(strength, 0) + _one_sided(strength, 1)) / 2


def udr_scores(
    runs: Sequence[ArrayLike], informative: Sequence[ArrayLike] | None = None
) -> NDArray[np.float64]:
    """Return, for each run, the median of its pairwise scores with all others.

    Parameters
    ----------
    runs
        Two or more runs of the same rows.
    informative
        For each run, which of its coordinates count. By default those with more than 1 % of the
        largest variance in the run; for a variational autoencoder, pass those whose
        Kullback-Leibler divergence from the prior exceeds 0.01.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.measures import udr_scores
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.normal(size=(500, 3))
    >>> turned = factors @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    >>> scores = udr_scores([factors, -factors[:, ::-1], np.exp(factors), turned])
    >>> int(scores.argmin())
    3
    >>> bool(scores[:3].min() > 0.8)
    True
    """
    if len(runs) < 2:
        message = f"the number of runs is {len(runs)}: give two or more runs of the same model."
        raise InputError(message)
    rows = [as_rows(run, f"run {number}") for number, run in enumerate(runs, start=1)]
    lengths = sorted({len(run) for run in rows})
    if len(lengths) > 1:
        message = f"runs have {lengths[0]} to {lengths[-1]} rows: all must describe the same ones."
        raise InputError(message)
    if informative is not None and len(informative) != len(runs):
        message = f"there are {len(informative)} masks for {len(runs)} runs: give one per run."
        raise InputError(message)
    if informative is None:
        for number, run in enumerate(rows, start=1):
            refuse_extremes(run, f"run {number}")
        masks = [_informative(run) for run in rows]
    else:
        masks = [_as_mask(mask, run) for mask, run in zip(informative, rows, strict=True)]
    ranked = [ranks(run * mask) for run, mask in zip(rows, masks, strict=True)]
    moments = [run_moments(run) for run in ranked]
    scores = np.full((len(runs), len(runs)), np.nan)
    for i, j in combinations(range(len(runs)), 2):
        pair = pair_moments(ranked[i], ranked[j], x=moments[i], y=moments[j])
        scores[i, j] = scores[j, i] = relative_strength(pair, pair)
    medians: Float = np.nanmedian(scores, axis=1)
    return medians


def _one_sided(strength: Float, axis: int) -> float:
    largest = strength.max(axis=axis, initial=0.0)
    total = strength.sum(axis=axis)
    parts = np.divide(largest**2, total, out=np.zeros_like(total), where=total > 0)
    return float(parts.mean()) if len(parts) else 0.0


def _informative(rows: Float) -> NDArray[np.bool_]:
    variance = rows.var(axis=0)
    mask: NDArray[np.bool_] = variance > INFORMATIVE_SHARE * variance.max()
    return mask


def _as_mask(mask: ArrayLike, rows: Float) -> NDArray[np.bool_]:
    found = np.asarray(mask)
    if found.dtype != np.bool_ or found.shape != rows.shape[1:]:
        message = (
            f"a mask of {found.dtype} has shape {found.shape}, but its run has {rows.shape[1]} "
            "coordinates: give one boolean per coordinate."
        )
        raise InputError(message)
    return found


UDR = MomentMeasure(
    name="udr",
    title="UDR of a pair",
    says="The mean, over varying coordinates of both runs, of the largest rank correlation with a "
    "coordinate of the other run, times its share of the sum of all of them.",
    source="Duan et al. 2020",
    formula=r"\frac{1}{2q} \sum_{k=1}^{q} \frac{\left( \max_j R_{jk} \right)^2}{\sum_j R_{jk}} + "
    r"\frac{1}{2p} \sum_{j=1}^{p} \frac{\left( \max_k R_{jk} \right)^2}{\sum_k R_{jk}}"
    "\n"
    r"R_{jk} = \left\lvert \operatorname{corr}(\operatorname{rank} x_j, "
    r"\operatorname{rank} y_k) \right\rvert",
    where="$x_j$ and $y_k$ are the $p$ and $q$ columns of the two runs that vary; ties share "
    "their mean rank.",
    use_when="runs of one model are to be ranked without labels: disentangled ones tend to agree "
    "coordinate by coordinate.",
    beware="A run scores 1 with itself only if its coordinates are uncorrelated, and noise does "
    "not score 0. Agreement is no proof of disentanglement.",
    see_also=(
        "mcc-spearman",
        "mcc",
    ),
    ignores=MATCHING | {Change.MONOTONE},
    score=relative_strength,
    is_fitted=False,
    prepare=ranks,
    note="The Spearman variant of disentanglement_lib, with every varying coordinate counted as "
    "informative; `udr_scores` accepts other masks and several runs.",
)
