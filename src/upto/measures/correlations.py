"""Means of canonical correlations, fitted on some rows and scored on others."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.measures.kinds import AFFINE, MATCHING, SCALED_SHAPE, MomentMeasure, as_count
from upto.measures.notation import CENTRED, MEAN_CANONICAL, SINGULAR
from upto.measures.variates import Kind, fitted, in_sample

if TYPE_CHECKING:
    from collections.abc import Callable

    from upto.core.array_types import Float
    from upto.measures.moments import PairMoments, RunMoments

GOOGLE_SHARE = 0.98
"""Fraction of the sum of canonical correlations reached by those that google/svcca averages."""


def evenly(correlations: Float) -> Float:
    """Return equal shares."""
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


def all_directions(run: RunMoments) -> Float:
    """Return the whitening map of every direction with variance."""
    return run.shortest_whitening


def _sharing(run: RunMoments, share: float) -> Float:
    values, _ = run.spectrum
    shares = np.cumsum(values) / values.sum() if values.size else values
    return leading(run, int(np.searchsorted(shares, share)) + 1)


def leading(run: RunMoments, count: int) -> Float:
    """Return the whitening map of the leading principal directions."""
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
    return Kind(whiten=all_directions, share=evenly)


def leading_cca(count: float) -> Kind:
    """Return the mean of the leading canonical correlations."""
    kept = as_count(count, "canonical components requested")
    return Kind(whiten=all_directions, share=partial(_first, count=kept))


def google_mean_cca() -> Kind:
    """Return the mean of the leading correlations that reach 98 % of their sum on fitted rows."""
    return Kind(whiten=all_directions, share=_google_share)


def svcca(directions: float) -> Kind:
    """Return the mean canonical correlation of the leading principal directions of each run."""
    return Kind(whiten=partial(leading, count=_kept(directions)), share=evenly)


def share_svcca(share: float) -> Kind:
    """Return the same for the fewest principal directions that reach a share of the variance."""
    if not 0.0 < share <= 1.0:
        message = f"the share of variance to keep is {share:g}: give a share in (0, 1]."
        raise InputError(message)
    return Kind(whiten=partial(_sharing, share=share), share=evenly)


def standardised_svcca(directions: float) -> Kind:
    """Return the same for the leading directions of coordinates scaled to unit variance."""
    return Kind(whiten=partial(_leading_standardised, count=_kept(directions)), share=evenly)


def ridge_cca(ridge: float) -> Kind:
    """Return the mean correlation of the canonical variates of shrunk covariances."""
    if not 0.0 <= ridge <= 1.0:
        message = f"the ridge is {ridge:g}: give a number from 0 (CCA) to 1 (PLS)."
        raise InputError(message)
    return Kind(whiten=partial(_ridged, ridge=ridge), share=evenly)


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


MEAN_CCA = MomentMeasure(
    name="mean-cca",
    title="mean canonical correlation",
    says="The mean of the canonical correlations of both runs; their number is the smaller of the "
    "two ranks.",
    source="Hotelling 1936; Raghu et al. 2017",
    formula=MEAN_CANONICAL,
    where=CENTRED
    + (" The columns of $U_X$ and $U_Y$ are orthonormal bases of the columns of $X$ and $Y$, ")
    + SINGULAR
    + " and $r$ the smaller of the two ranks.",
    held_out="The canonical directions are fitted; the mean is over their correlations on the "
    "held-out rows, which keep their signs. The value is invariant to every affine map if"
    " there are more fitted rows than coordinates; otherwise the canonical directions of "
    "minimum norm are used and it is invariant to rotation, translation and scale.",
    use_when="the question is whether both runs carry the same linear information, whatever their "
    "basis and the scales of their coordinates.",
    beware="Every direction counts alike, so noise in narrow directions lowers it. In sample it "
    "is mostly chance unless rows far outnumber coordinates.",
    see_also=(
        "svcca",
        "rcca",
        "weak-mcc",
        "r2",
    ),
    note="In sample no correlation is negative, and if there are no more rows than coordinates in "
    "both runs together, some equal one for any two runs. Directions without variance are "
    "dropped. A run without variance scores 0. google/svcca reports another mean: see "
    "mean-cca-google.",
    low=-1.0,
    ignores=AFFINE,
    **scores_of(mean_cca),
)
GOOGLE_MEAN_CCA = MomentMeasure(
    name="mean-cca-google",
    title="mean canonical correlation of google/svcca",
    says="The mean of the leading canonical correlations that make up 98 % of their sum.",
    source="Raghu et al. 2017, the field mean of the released code",
    formula=r"\frac{1}{m} \sum_{k=1}^{m} \rho_k, \qquad m = \min\{ j : \textstyle\sum_{k \le j} "
    r"\rho_k \ge 0.98 \sum_{k} \rho_k \}",
    where=CENTRED + r" $\rho_k$ are the canonical correlations of mean-cca, highest first.",
    held_out="Directions and $m$ are fitted; the mean is over correlations on the held-out rows, "
    "which keep their signs. It has the invariances of mean-cca.",
    use_when="you compare with numbers that were computed with google/svcca.",
    beware="It drops the lowest correlations, so in sample it is never below mean-cca, and it "
    "hides the directions that the runs do not share.",
    see_also=(
        "mean-cca",
        "pwcca-google",
    ),
    low=-1.0,
    ignores=AFFINE,
    **scores_of(google_mean_cca),
)
SVCCA = MomentMeasure(
    name="svcca:20",
    title="SVCCA",
    says="The mean canonical correlation of the leading principal directions of each run.",
    source="Raghu et al. 2017",
    formula=MEAN_CANONICAL,
    where=CENTRED
    + (
        " The columns of $U_X$ and $U_Y$ are the first $c$ left singular vectors of $X$ and "
        "$Y$, where $c$ is the parameter, "
    )
    + SINGULAR
    + " and $r$ the smaller number of directions.",
    held_out="Principal and canonical directions are fitted; the mean is over their correlations "
    "on the held-out rows, which keep their signs.",
    use_when="both runs have many coordinates and their narrow directions are mostly noise.",
    beware="The value depends on the number of directions: report it, and compare values of one "
    "number only.",
    see_also=(
        "svcca-share",
        "svcca-standardised",
        "mean-cca",
    ),
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
    formula=MEAN_CANONICAL
    + ("\n" r"c_X = \min\{ c : \textstyle\sum_{k \le c} s_k^2 \ge t \sum_{k} s_k^2 \}"),
    where=CENTRED
    + (
        " The columns of $U_X$ are the first $c_X$ left singular vectors of $X$, $s_k$ are "
        "its singular values and $t$ is the parameter; likewise for $Y$. "
    )
    + SINGULAR
    + " and $r$ the smaller number of directions.",
    held_out="Principal and canonical directions are fitted; the mean is over their correlations "
    "on the held-out rows, which keep their signs.",
    use_when="runs of different width should keep the same share of their variance instead of the "
    "same number of directions.",
    beware="A run with one very wide direction keeps little else. The number of directions can "
    "differ between pairs, and the value changes with it.",
    see_also=(
        "svcca",
        "svcca-standardised",
        "mean-cca",
    ),
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
    formula=MEAN_CANONICAL,
    where=(
        "$X$ and $Y$ are the rows of the two runs, each coordinate minus its mean and divided"
        " by its standard deviation. The columns of $U_X$ and $U_Y$ are the first $c$ left "
        "singular vectors of $X$ and $Y$, where $c$ is the parameter, "
    )
    + SINGULAR
    + " and $r$ the smaller number of directions.",
    held_out="Deviations, principal and canonical directions are fitted; the mean is over their "
    "correlations on the held-out rows, which keep their signs.",
    use_when="coordinates have different units or scales that should not decide which directions "
    "are kept.",
    beware="Standardising also enlarges coordinates that hardly vary and may be noise. The value"
    " depends on the number of directions.",
    see_also=(
        "svcca",
        "svcca-share",
        "r2-cebra",
    ),
    note="Coordinates without variance are dropped. platonic-rep also standardises, but finds its "
    "principal directions by a random projection.",
    low=-1.0,
    ignores=MATCHING,
    parameter=20,
    parameter_name="principal directions",
    **scores_of(standardised_svcca),
)
RIDGE_CCA = MomentMeasure(
    name="rcca:0.1",
    title="regularised CCA",
    says="The mean correlation of the canonical variates of covariances shrunk towards the mean "
    "variance of a direction.",
    source="Vinod 1976",
    formula=r"\frac{1}{r} \sum_{k=1}^{r} \operatorname{corr}(X u_k, Y v_k), \qquad u_k = "
    r"C_X^{-1/2} a_k, \quad v_k = C_Y^{-1/2} b_k"
    "\n"
    r"C_X = (1 - c)\, X^\top X + c\, \tfrac{1}{r_X} \operatorname{tr}(X^\top X)\, I",
    where=CENTRED
    + (
        r" $a_k$ and $b_k$ are the singular vectors of $C_X^{-1/2} X^\top Y C_Y^{-1/2}$, $c$ "
        "is the parameter, $r_X$ and $r_Y$ are the ranks of the runs and $r$ the smaller one;"
        " $C_Y$ is made like $C_X$."
    ),
    held_out="The directions $u_k$ and $v_k$ are fitted; the mean is over their correlations on "
    "the held-out rows, which keep their signs.",
    use_when="there are too few rows for mean-cca, or narrow directions should count less.",
    beware="The ridge decides how much narrow directions count: report it, and compare values of"
    " one ridge only.",
    see_also=(
        "mean-cca",
        "svcca",
        "shape",
    ),
    note="At 0 it is mean-cca and at 1 partial least squares. Neither scale nor dead coordinates "
    "matter. RidgeCCA of cca-zoo shrinks towards one instead: it agrees for runs with a mean "
    "variance of one. google/svcca adds its epsilon times the largest covariance; netrep "
    "blends square roots: see shape.",
    low=-1.0,
    ignores=SCALED_SHAPE,
    parameter=0.1,
    parameter_name="the ridge",
    **(scores_of(ridge_cca) | {"score": _ridge_score}),
)
