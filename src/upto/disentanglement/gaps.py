"""Information gaps: MIG, MIG-sup, DCIMIG, JEMMIG and RMIG, in the variants of their packages."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.disentanglement.predictor_tables import averaged, one_of, sentences
from upto.disentanglement.score import FactorScore
from upto.disentanglement.shared_information import (
    ADJUSTED,
    PERMUTATIONS,
    Estimator,
    Information,
    Mask,
    informed,
)
from upto.disentanglement.shares import beyond_chance, tellable
from upto.disentanglement.undetected import gaps_of_each, mean_of, unseen_shares

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core.array_types import Float
    from upto.disentanglement.predictor_tables import CodesLike, FactorsLike

ESTIMATORS = {
    "adjusted": ADJUSTED,
    "disentanglement_lib": Estimator(kind="histogram", size=20),
    "ubisoft": Estimator(kind="unit-bins", size=10),
}
"""Estimator of each variant: ours, adjusted for chance; twenty bins; ten bins."""


def variant_information(
    score: str,
    variant: str,
    given: Information | None,
    codes: CodesLike,
    factors: FactorsLike,
    *,
    known: Sequence[str] = tuple(ESTIMATORS),
    seed: int = 0,
    **settings: Any,
) -> Information:
    """Return the information for a variant of a score."""
    one_of(variant, known, f"variant of {score}")
    found = informed(
        given,
        codes,
        factors,
        ESTIMATORS[variant],
        f"the variant {variant} of {score}",
        permutations=PERMUTATIONS if variant == "adjusted" else 0,
        seed=seed,
        **settings,
    )
    return tellable(found) if variant == "adjusted" else found


def mig(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    variant: str = "disentanglement_lib",
    discrete_codes: bool = False,
    continuous: bool | Sequence[bool] = False,
    information: Information | None = None,
    seed: int = 0,
) -> FactorScore:
    """Return the mutual information gap between the best and the second-best code of a factor.

    Parameters
    ----------
    codes, factors
        One row per sample; None and NaN mark missing labels.
    variant
        ``disentanglement_lib``: relative to the factor's entropy, in twenty bins; ``ubisoft``: to
        each code's entropy, in ten bins; ``adjusted``: shares from `beyond_chance`.
    discrete_codes
        Whether codes are categorical: integers without order.
    continuous
        Whether the factors are continuous: one flag for all, or one per factor.
    information
        Result of `information` for the same codes and factors with the variant's estimator.
    seed
        Seed of the permutations of the adjusted variant.

    Examples
    --------
    >>> import numpy as np
    >>> factors = np.array([[i, j] for i in range(4) for j in range(4)])
    >>> mig(factors, factors).value
    1.0
    """
    kinds: dict[str, Any] = {"discrete_codes": discrete_codes, "continuous": continuous}
    found = variant_information("MIG", variant, information, codes, factors, seed=seed, **kinds)
    score = _over_factors(f"mig/{variant}", found, _gaps(_shares(found, variant)))
    if variant != "adjusted" or score.value is None:
        return score
    least, most = unseen_shares(found).gaps()
    return replace(score, least=mean_of(least, found.told), most=mean_of(most, found.told))


def rmig(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    variant: str = "ubisoft",
    discrete_codes: bool = False,
    continuous: bool | Sequence[bool] = False,
    information: Information | None = None,
) -> FactorScore:
    """Return the gap of Do and Tran, in nats: that of MIG before division by an entropy.

    Parameters are those of `mig`; there is no adjusted variant.
    """
    kinds: dict[str, Any] = {"discrete_codes": discrete_codes, "continuous": continuous}
    found = variant_information(
        "RMIG",
        variant,
        information,
        codes,
        factors,
        known=("disentanglement_lib", "ubisoft"),
        **kinds,
    )
    return _over_factors(f"rmig/{variant}", found, _gaps(found.mutual))


def jemmig(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    discrete_codes: bool = False,
    continuous: bool | Sequence[bool] = False,
    information: Information | None = None,
) -> FactorScore:
    """Return the MIG gap, penalised for information in the best code beyond its factor.

    It is one minus H(factor, best code) - I(best code) + I(second), over the entropy of the factor
    plus the logarithm of the number of bins, ten as in Ubisoft's package; for discrete codes, of
    the number of values of the best code. Parameters are those of `mig`.
    """
    kinds: dict[str, Any] = {"discrete_codes": discrete_codes, "continuous": continuous}
    found = variant_information(
        "JEMMIG", "ubisoft", information, codes, factors, known=("ubisoft",), **kinds
    )
    gaps = _gaps(found.mutual)
    parts: list[float | None] = []
    for place, gap in enumerate(gaps):
        if gap is None or not found.told[place]:
            parts.append(None)
            continue
        best = int(np.argsort(found.mutual[place])[-1])
        own = found.entropies[place]
        joint = own + found.code_entropies[place, best] - found.mutual[place, best]
        bins = found.values[best] if found.discrete_codes else found.estimator.size
        parts.append(1.0 - float((joint - gap) / (own + np.log(bins))))
    return _over_factors("jemmig/ubisoft", found, parts)


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
    """Return the mean over codes of the information gap between their two best factors.

    Parameters are those of `mig`. Codes that are constant or, adjusted, informative about no factor
    have no gap.
    """
    kinds: dict[str, Any] = {"discrete_codes": discrete_codes, "continuous": continuous}
    found = variant_information("MIG-sup", variant, information, codes, factors, seed=seed, **kinds)
    shares = _shares(found, variant)[found.told]
    counted = found.ranges > 0.0
    if variant == "adjusted":
        counted = counted & (shares > 0.0).any(axis=0)
    return over_codes(f"mig-sup/{variant}", found, _gaps(shares.T), counted)


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
    """Return the share of total entropy in the codes' gaps; each factor counts its largest.

    Parameters are those of `mig`. A code's gap is that of MIG-sup before division by an entropy and
    belongs to the code's best factor. Adjusted gaps are differences of shares, and all factors have
    equal weight, because continuous factors have no entropy to weight by.
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


def _shares(found: Information, variant: str) -> Float:
    """Return information over the entropy that a variant divides by; zero where that is zero."""
    if variant == "adjusted":
        return beyond_chance(found)
    if variant == "disentanglement_lib":
        return found.shares
    whole = np.where(np.isnan(found.code_entropies), 0.0, found.code_entropies)
    return np.divide(found.mutual, whole, out=np.zeros_like(whole), where=whole > 0.0)


def _gaps(table: Float) -> list[float | None]:
    """Return the difference of the two largest values of each row; None if there is only one."""
    if table.shape[1] < 2:
        return [None] * len(table)
    ascending = np.sort(table, axis=1)
    return [float(gap) for gap in ascending[:, -1] - ascending[:, -2]]


def _over_factors(name: str, found: Information, gaps: Sequence[float | None]) -> FactorScore:
    parts = [gap if not fault else None for gap, fault in zip(gaps, found.faults, strict=True)]
    alone = (
        "there is only one code, so no second one to compare with"
        if found.mutual.shape[1] == 1
        else ""
    )
    return averaged(name, parts, [*found.faults, alone])
