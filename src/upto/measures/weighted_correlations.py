"""Means of canonical correlations weighted by how much their variates contribute to a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.measures.correlations import all_directions, evenly, leading, scores_of
from upto.measures.kinds import Change, MomentMeasure
from upto.measures.notation import CENTRED, SINGULAR, WEIGHTED_CANONICAL
from upto.measures.variates import Kind

if TYPE_CHECKING:
    from upto.core.array_types import Float
    from upto.measures.moments import RunMoments


def pwcca() -> Kind:
    """Return the mean canonical correlation, weighted by the variates' projections."""
    return Kind(whiten=all_directions, share=evenly, weigh=_projections)


def google_pwcca() -> Kind:
    """Return the same with the weights that google/svcca computes for centred rows."""
    return Kind(whiten=_every_axis, share=evenly, weigh=_google_projections)


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


def _every_axis(run: RunMoments) -> Float:
    return leading(run, len(run.spectrum[0]))


_PROJECTED = frozenset({Change.TRANSLATION, Change.SCALE, Change.PERMUTATION, Change.SIGNS})
PWCCA = MomentMeasure(
    name="pwcca",
    title="PWCCA",
    says="The mean of the canonical correlations, each weighted by the sum over coordinates of the "
    "absolute projections of its variate.",
    source="Morcos et al. 2018",
    formula=WEIGHTED_CANONICAL + r", \qquad \alpha_k = \sum_j \lvert h_k^\top x_j \rvert",
    where=CENTRED
    + (
        " $X$ is the run with the lower rank, or the first. $U_X$ and $U_Y$ are orthonormal "
        "bases of the columns of $X$ and $Y$, "
    )
    + SINGULAR
    + (", $h_k$ is $U_X$ times the $k$-th left singular vector and $x_j$ is column $j$ of $X$."),
    held_out="Directions and weights are fitted; the mean is over correlations on the held-out "
    "rows, which keep their signs.",
    use_when="directions should count by how much they contribute to the coordinates of one run.",
    beware="The weights depend on the basis of one run, so the value is neither symmetric nor "
    "invariant to rotations. In sample it is as high on noise as mean-cca.",
    see_also=(
        "pwcca-google",
        "mean-cca",
        "linear-cka",
    ),
    note="The released code computes other weights: see pwcca-google. anatome sums projections "
    "over rows instead of coordinates.",
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
    formula=WEIGHTED_CANONICAL
    + (
        r", \qquad \alpha_k = \sum_j \lvert h_k^\top x_j \rvert"
        "\n"
        r"(h_1, h_2, \ldots) = \operatorname{orth}(U S a_1, U S a_2, \ldots)"
    ),
    where=CENTRED
    + (
        r" $X = U S V^\top$ is the run with the lower rank, or the first, $U_X = U$, $U_Y$ is "
        "an orthonormal basis of the columns of $Y$, "
    )
    + SINGULAR
    + (
        r", $a_k$ is the $k$-th left singular vector of $U_X^\top U_Y$, orth is the "
        "Gram-Schmidt process and $x_j$ is column $j$ of $X$."
    ),
    held_out="Directions and weights are fitted; the mean is over correlations on the held-out "
    "rows, which keep their signs.",
    use_when="you compare with numbers that were computed with google/svcca or ReSi.",
    beware="These are not the weights that the paper describes. The value depends on the basis "
    "of one run and is not symmetric.",
    see_also=(
        "pwcca",
        "mean-cca-google",
    ),
    note="It agrees with compute_pwcca of google/svcca and of ReSi on centred rows if the first "
    "run is not the wider one; on uncentred rows those keep the mean in the weights, and with a "
    "wider first run they fail.",
    low=-1.0,
    ignores=_PROJECTED,
    symmetric=False,
    **scores_of(google_pwcca),
)
