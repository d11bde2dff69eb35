"""Information gaps of codes between factors: MIG-sup and DCIMIG."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.disentanglement.information_gaps import (
    entropy_shares,
    two_best_gaps,
    variant_information,
)
from upto.disentanglement.predictor_tables import sentences
from upto.disentanglement.score import FactorScore
from upto.disentanglement.shares import beyond_chance
from upto.disentanglement.undetected import gaps_of_each, unseen_shares

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.disentanglement.predictor_tables import CodesLike, FactorsLike
    from upto.disentanglement.shared_information import Information, Mask


def mig_sup(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    variant: str = "ubisoft",
    discrete_codes: bool = False,
    continuous: bool | Sequence[bool] = False,
    information: Information | None = None,
    seed: int = 0,
) -> FactorScore:
    r"""Return the mean over codes of the information gap between their two best factors.

    Codes that are constant or, adjusted, informative about no factor have no gap.

    Parameters
    ----------
    codes, factors, variant, discrete_codes, continuous, information, seed
        As for `mig`.

    Returns
    -------
    FactorScore
        The mean over codes, from 0 to 1.

    See Also
    --------
    mig : Gaps of factors between codes.
    dcimig : Gaps of codes in nats, counted once for each factor.

    Notes
    -----
    With the factors :math:`v_{(1)}` and :math:`v_{(2)}` about which code :math:`c_j`, of J, has the
    most information,

    .. math::

        \frac{1}{J} \sum_j \left( \frac{I(c_j; v_{(1)})}{H} - \frac{I(c_j; v_{(2)})}{H} \right)

    where H is the entropy of each factor, or of the code in the variant ``ubisoft``.

    References
    ----------
    Li et al. (2020). Progressive learning and disentanglement of hierarchical representations.
    International Conference on Learning Representations.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import mig_sup
    >>> factors = np.array([[i, j] for i in range(4) for j in range(4)])
    >>> mig_sup(factors, factors).value
    1.0
    """
    kinds: dict[str, Any] = {"discrete_codes": discrete_codes, "continuous": continuous}
    found = variant_information("MIG-sup", variant, information, codes, factors, seed=seed, **kinds)
    shares = entropy_shares(found, variant)[found.told]
    counted = found.ranges > 0.0
    if variant == "adjusted":
        counted = counted & (shares > 0.0).any(axis=0)
    return over_codes(f"mig-sup/{variant}", found, two_best_gaps(shares.T), counted)


def dcimig(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    variant: str = "ubisoft",
    discrete_codes: bool = False,
    continuous: bool | Sequence[bool] = False,
    information: Information | None = None,
    seed: int = 0,
) -> FactorScore:
    r"""Return the share of total entropy in the codes' gaps; each factor counts its largest.

    Adjusted gaps are differences of shares, and all factors have equal weight, because continuous
    factors have no entropy to weight by.

    Parameters
    ----------
    codes, factors, variant, discrete_codes, continuous, information, seed
        As for `mig`.

    Returns
    -------
    FactorScore
        The score, from 0 to 1.

    See Also
    --------
    mig_sup : The same gaps, averaged over codes.
    mig : Gaps of factors between codes.

    Notes
    -----
    The gap of code j is :math:`g_j = I(c_j; v_{(1)}) - I(c_j; v_{(2)})` for its two best factors,
    and belongs to the best one. With the codes :math:`B_k` whose best factor is k,

    .. math::

        \mathrm{DCIMIG} = \frac{\sum_k \max_{j \in B_k} g_j}{\sum_k H(v_k)}

    References
    ----------
    Sepliarskaia et al. (2019). How to not measure disentanglement. arXiv:1910.05587.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import dcimig
    >>> factors = np.array([[i, j] for i in range(4) for j in range(4)])
    >>> dcimig(factors, factors).value
    1.0
    """
    kinds: dict[str, Any] = {"discrete_codes": discrete_codes, "continuous": continuous}
    found = variant_information("DCIMIG", variant, information, codes, factors, seed=seed, **kinds)
    table, whole = found.mutual, found.entropies
    if variant == "adjusted":
        table, whole = beyond_chance(found), found.told.astype(np.float64)
    told = np.flatnonzero(found.told)
    name = f"dcimig/{variant}"
    words = [fault for fault in found.faults if fault]
    if len(told) < 2:
        count = "only one factor is" if len(told) else "no factors are"
        words.append(f"{count} usable, but a gap needs two")
        nothing = tuple(None for _ in found.faults)
        return FactorScore(name=name, value=None, per_factor=nothing, says=sentences(words))
    ascending = np.sort(table[told], axis=0)
    owners = told[np.argmax(table[told], axis=0)]
    best = np.zeros(len(found.faults))
    np.maximum.at(best, owners, ascending[-1] - ascending[-2])
    parts = [
        float(best[place] / whole[place]) if found.told[place] else None
        for place in range(len(best))
    ]
    score = FactorScore(
        name=name,
        value=float(best.sum() / whole.sum()),
        per_factor=tuple(parts),
        says=sentences(words),
    )
    if variant != "adjusted":
        return score
    unseen = unseen_shares(found).of(found.told, found.ranges >= 0.0).turned
    least = gaps_of_each(unseen.lowest, unseen.highest)
    most = gaps_of_each(unseen.highest, unseen.lowest)
    return replace(
        score, least=float(least.max(axis=0).mean()), most=float(most.max(axis=0).mean())
    )


def over_codes(
    name: str, found: Information, parts: Sequence[float | None], counted: Mask
) -> FactorScore:
    """Return the mean over the codes that count, or zero if there are none."""
    words = [fault for fault in found.faults if fault]
    n_factors = int(found.told.sum())
    left_out = len(counted) - int(counted.sum())
    if left_out:
        words.append(f"no factor information in {left_out} of {len(counted)} codes")
    kept = [part if count else None for part, count in zip(parts, counted, strict=True)]
    value: float | None
    if n_factors < 2:
        words.append(f"{'one factor' if n_factors else 'no factor'} is usable, but two are needed")
        value, kept = None, [None] * len(kept)
    else:
        known = [part for part in kept if part is not None]
        value = float(np.mean(known)) if known else 0.0
    return FactorScore(name=name, value=value, per_code=tuple(kept), says=sentences(words))
