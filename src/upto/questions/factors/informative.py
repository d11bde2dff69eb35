"""Information of each latent about each factor, and the matching of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.disentanglement.shared_information import ADJUSTED
from upto.disentanglement.shares import beyond_chance, tellable
from upto.disentanglement.undetected import unseen_shares
from upto.questions.factors.parts import FactorMatch, LatentForm

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

    from upto.core.array_types import Float
    from upto.disentanglement.shared_information import Information
    from upto.disentanglement.views import View
    from upto.questions.factors.forms import Formed
    from upto.questions.factors.truth import Factor


LITTLE_SPREAD = 1 / 20
"""Fraction of the largest spread of an informative latent."""
MUCH, CLEAR = 0.5, 4.0
"""Undetectable share of information, and standard errors of a correlation, above which a factor
cannot be declared absent from all latents."""


def table_of(factors: Sequence[Factor]) -> tuple[NDArray[Any], list[bool]]:
    """Return factors as an object array with None or NaN, and which are continuous."""
    table = np.empty((len(factors[0].values), len(factors)), dtype=object)
    for place, factor in enumerate(factors):
        table[:, place] = factor.values
    return table, [factor.kind == "continuous" for factor in factors]


def tell(
    formed: Formed, factors: Sequence[Factor], view: View, *, r2: Sequence[float | None]
) -> LatentForm:
    """Match latents of a form with factors; `r2` is that of all latents for each factor."""
    found = tellable(view.information(ADJUSTED))
    discrete = view.discrete_codes
    shares = beyond_chance(found)
    active = _active(found, shares)
    assigned = _assigned(shares)
    count = shares.shape[1]
    taken = [latent for latent in assigned if latent is not None]
    others = sorted(set(range(count)) - set(taken), key=lambda j: (-shares[:, j].max(), j))
    return LatentForm(
        name=formed.form.name,
        says=formed.form.says,
        n_latents=count,
        converged=formed.converged,
        n_iterations=formed.n_iterations,
        dead=tuple(int(j) for j in np.flatnonzero(found.ranges == 0.0)),
        active=tuple(int(j) for j in np.flatnonzero(active)),
        spread=tuple(float(each) for each in formed.latents.std(axis=0)),
        shares=tuple(
            tuple(
                None if fault else float(shares[place, latent])
                for place, fault in enumerate(found.faults)
            )
            for latent in range(count)
        ),
        order=(*taken, *others),
        matches=tuple(
            _match(
                factor,
                None if fault else shares[place],
                formed.latents,
                assigned=assigned[place],
                r2=r2[place],
                discrete=discrete,
            )
            for place, (factor, fault) in enumerate(zip(factors, found.faults, strict=True))
        ),
    )


def unsure_of(
    factors: Sequence[Factor], formed: Formed, view: View
) -> dict[str, tuple[float, float | None]]:
    """Return the factors without a detected latent, although one may exist.

    Each has the largest share of information that would remain undetected, and the largest
    correlation with a latent if it is significant.
    """
    found = tellable(view.information(ADJUSTED))
    silent = found.told & (beyond_chance(found).max(axis=1, initial=0.0) == 0.0)
    hidden = unseen_shares(found).highest.max(axis=1, initial=0.0)
    unsure = {}
    for place in np.flatnonzero(silent).tolist():
        factor = factors[place]
        correlation = None
        if factor.in_truth and not view.discrete_codes:
            moving = formed.latents[:, found.ranges > 0.0].T
            own = max((abs(_correlation(factor, latent)) for latent in moving), default=0.0)
            correlation = own if own > CLEAR / np.sqrt(factor.known.sum()) else None
        if correlation is not None or hidden[place] > MUCH:
            unsure[factor.name] = float(hidden[place]), correlation
    return unsure


def _active(found: Information, shares: Float) -> NDArray[np.bool_]:
    """Mark latents that vary about as much as the informative ones, or more.

    Uninformative latents are no reference, as one of wide noise would make the others look small;
    if none is informative, all are.
    """
    if found.discrete_codes:
        return np.asarray(found.ranges > 0.0)
    tells = shares.max(axis=0, initial=0.0) > 0.0
    largest = found.inner_ranges[tells if tells.any() else slice(None)].max()
    return np.asarray((found.inner_ranges > LITTLE_SPREAD * largest) & (found.ranges > 0.0))


def _assigned(shares: Float) -> list[int | None]:
    """Assign a distinct latent to each factor, maximising the total information."""
    from scipy.optimize import linear_sum_assignment

    found: list[int | None] = [None] * len(shares)
    for place, latent in zip(*linear_sum_assignment(shares, maximize=True), strict=True):
        if shares[place, latent] > 0.0:
            found[int(place)] = int(latent)
    return found


def _match(
    factor: Factor,
    shares: Float | None,
    latents: Float,
    *,
    assigned: int | None,
    r2: float | None,
    discrete: bool,
) -> FactorMatch:
    best = second = None
    if shares is not None:
        ranked = [int(j) for j in np.argsort(-shares, kind="stable") if shares[j] > 0.0]
        best = ranked[0] if ranked else None
        second = ranked[1] if len(ranked) > 1 else None
    has_line = best is not None and factor.in_truth and not discrete
    return FactorMatch(
        factor=factor.name,
        latent=best,
        share=_of(shares, best),
        next_latent=second,
        next_share=_of(shares, second),
        assigned=assigned,
        correlation=_correlation(factor, latents[:, best]) if has_line else None,
        r2=r2,
    )


def _of(shares: Float | None, latent: int | None) -> float | None:
    if shares is None:
        return None
    return 0.0 if latent is None else float(shares[latent])


def _correlation(factor: Factor, latent: Float) -> float:
    known = factor.known
    return float(np.corrcoef(factor.values[known], latent[known])[0, 1])
