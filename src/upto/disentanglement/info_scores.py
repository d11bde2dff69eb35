"""InfoMEC: modularity, explicitness and compactness from information, in four named variants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from upto.core.array_types import Float
from upto.disentanglement.predictive import predictive_parts
from upto.disentanglement.predictor_tables import one_of, sentences
from upto.disentanglement.score import FactorScore
from upto.disentanglement.shared_information import (
    ADJUSTED,
    PERMUTATIONS,
    Estimator,
    Information,
    Mask,
    informed,
    over_entropy,
)
from upto.disentanglement.shares import beyond_chance, tellable
from upto.disentanglement.undetected import mean_of, unseen_shares

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.disentanglement.predictor_tables import CodesLike, FactorsLike
    from upto.disentanglement.undetected import Ends, Unseen

ROUNDING = 1e-6
"""Fraction of the largest spread that an informative code must exceed: rounding of a constant code
in single precision varies by this much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveRule:
    """Active codes: those with a spread above a share of the largest, and above `least`."""

    spread: Literal["range", "quartiles"]
    share: float = 0.0
    least: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A way of computing InfoMEC with published numbers.

    Parameters
    ----------
    estimator
        Estimator of information.
    active, active_discrete
        Rule for active codes, and for active discrete codes.
    adjusted
        Whether to count only information beyond chance; codes with such information are then active
        regardless of spread, and explicitness is a share of the entropy.
    """

    estimator: Estimator
    active: ActiveRule
    active_discrete: ActiveRule
    adjusted: bool = False


VARIANTS = {
    "adjusted": Variant(
        estimator=ADJUSTED,
        active=ActiveRule(spread="range"),
        active_discrete=ActiveRule(spread="range"),
        adjusted=True,
    ),
    "latent_quantization": Variant(
        estimator=Estimator(size=10),
        active=ActiveRule(spread="range", share=1 / 20),
        active_discrete=ActiveRule(spread="range"),
    ),
    "latent_quantization_training": Variant(
        estimator=Estimator(size=3),
        active=ActiveRule(spread="range", share=1 / 8),
        active_discrete=ActiveRule(spread="range", share=1 / 8),
    ),
    "tripod": Variant(
        estimator=Estimator(size=10),
        active=ActiveRule(spread="quartiles", share=1 / 10),
        active_discrete=ActiveRule(spread="quartiles", least=0.1),
    ),
}
"""Variants by name: ours, the authors' standalone file and training code, and Tripod's."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InfoMEC:
    """The three scores of InfoMEC, and the quantities behind them.

    Parameters
    ----------
    shares
        Information of every code (column) about every factor (row), as a share of the factor's
        entropy; in the adjusted variant, only information beyond chance.
    active
        Mask of active codes.
    strength
        Mean over active codes of their largest share: modularity is a ratio of shares and
        meaningless if all are small. None without active codes.
    chance_modularity, chance_compactness
        Mean of the same scores over permuted rows; None if rows were not permuted.
    """

    modularity: FactorScore
    explicitness: FactorScore
    compactness: FactorScore
    shares: Float
    active: Mask
    strength: float | None
    chance_modularity: float | None
    chance_compactness: float | None


def infomec(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    variant: str = "adjusted",
    discrete_codes: bool = False,
    continuous: bool | Sequence[bool] = False,
    permutations: int | None = None,
    information: Information | None = None,
    seed: int = 0,
) -> InfoMEC:
    """Compute the modularity, explicitness and compactness of codes from information.

    Parameters
    ----------
    codes
        Codes, one row per sample.
    factors
        Labels of the factors, one row per sample; None and NaN mark missing labels.
    variant
        One of `VARIANTS`. ``adjusted`` counts information beyond chance: noise scores zero, noise
        codes next to good ones do not count however large their spread, and neither the scale of a
        code nor an outlier makes other codes inactive.
    discrete_codes
        Whether codes are categorical: integers without order.
    continuous
        Whether the factors are continuous: one flag for all, or one per factor.
    permutations
        Number of permutations for the chance level; by default 10 if adjusted, otherwise none.
    information
        Result of `information` for the same codes and factors with the variant's estimator.
    seed
        Seed of the permutations.

    Examples
    --------
    >>> import numpy as np
    >>> factors = np.random.default_rng(0).integers(4, size=(1000, 2))
    >>> scores = infomec(factors + 0.01 * np.random.default_rng(1).normal(size=(1000, 2)), factors)
    >>> round(scores.modularity.value, 2), round(scores.compactness.value, 2)
    (1.0, 1.0)
    """
    rule = VARIANTS[one_of(variant, tuple(VARIANTS), "variant of InfoMEC")]
    found = informed(
        information,
        codes,
        factors,
        rule.estimator,
        f"the variant {variant} of InfoMEC",
        discrete_codes=discrete_codes,
        continuous=continuous,
        permutations=(PERMUTATIONS if rule.adjusted else 0)
        if permutations is None
        else permutations,
        seed=seed,
    )
    # Explicitness uses all codes together and checks itself whether rows suffice.
    judged = tellable(found) if rule.adjusted else found
    shares, active = told_shares(judged, variant)
    unseen = unseen_shares(judged) if rule.adjusted else None
    modularity, compactness = ratio_scores(shares, active, judged.faults, variant, unseen)
    explicitness = explicitness_score(
        predictive_parts(
            codes,
            factors,
            skipped=found.faults,
            discrete_codes=discrete_codes,
            continuous=continuous,
            adjusted=rule.adjusted,
            seed=seed,
        )
        if varying_codes(found, variant).any()
        else None,
        found.faults,
        variant,
    )
    chance = [
        ratio_scores(table, active, found.faults, variant)
        for table in (
            over_entropy(np.maximum(permuted, 0.0), found.entropies)
            for permuted in ([] if rule.adjusted else found.chance)
        )
    ]
    return InfoMEC(
        modularity=modularity,
        explicitness=explicitness,
        compactness=compactness,
        shares=shares,
        active=active,
        strength=float(shares[:, active].max(axis=0).mean()) if active.any() else None,
        chance_modularity=_mean([first.value for first, _ in chance]),
        chance_compactness=_mean([second.value for _, second in chance]),
    )


def told_shares(found: Information, variant: str) -> tuple[Float, Mask]:
    """Return the shares of information by a variant, and which codes are active.

    In the adjusted variant codes with information beyond chance are active: units of codes are
    arbitrary, and by a spread rule a noise code of large spread would make all others inactive.
    """
    spread = varying_codes(found, variant)
    if not VARIANTS[variant].adjusted:
        return found.shares, spread
    shares = beyond_chance(found)
    active: Mask = spread & (shares.max(axis=0, initial=0.0) > 0.0)
    if active.any() and not found.discrete_codes:
        # The rounding of a constant code can depend on the other codes.
        active &= found.ranges > ROUNDING * found.inner_ranges[active].max()
    return shares, active


def varying_codes(found: Information, variant: str) -> Mask:
    """Return which codes are active by the spread rule of a variant."""
    rule = VARIANTS[variant]
    return active_codes(found, rule.active_discrete if found.discrete_codes else rule.active)


def active_codes(found: Information, rule: ActiveRule) -> Mask:
    """Return which codes are active by a spread rule."""
    spreads = {"range": found.ranges, "quartiles": found.quartile_ranges}[rule.spread]
    chosen: Mask = (spreads > spreads.max() * rule.share) & (spreads > rule.least)
    return chosen


def ratio_scores(
    shares: Float, active: Mask, faults: Sequence[str], variant: str, unseen: Unseen | None = None
) -> tuple[FactorScore, FactorScore]:
    """Return modularity and compactness: the dominance of the largest share over the others.

    Parameters
    ----------
    shares
        Factors × codes.
    active
        Mask of active codes.
    faults
        For each factor, why it cannot be scored; empty if it can.
    variant
        Variant in the names of the scores.
    unseen
        Bounds of the information that chance may hide.
    """
    told = np.array([not fault for fault in faults], dtype=bool)
    table = shares[told][:, active]
    n_factors, n_active = table.shape
    by_code, by_factor = _ratios(table.T), _ratios(table)
    ends_by_code: Ends | None = None
    ends_by_factor: Ends | None = None
    if unseen is not None and table.size:
        hidden = unseen.of(told, active)
        ends_by_code, ends_by_factor = hidden.turned.ratios(), hidden.ratios()
    words = [fault for fault in faults if fault]
    silent = sum(part is None for part in by_code)
    hides = unseen is not None and unseen.hides_something
    sizes: dict[str, Any] = {"n_factors": n_factors, "n_active": n_active, "hides": hides}
    modularity = _score(
        f"infomec/modularity/{variant}",
        by_code,
        n_factors,
        [
            *words,
            f"no factor information in {silent} of {n_active} active codes" if silent else "",
            "only one factor is usable, but two are needed" if n_factors == 1 else "",
        ],
        active,
        ends=ends_by_code,
        **sizes,
    )
    silent = sum(part is None for part in by_factor) if n_active else 0
    compactness = _score(
        f"infomec/compactness/{variant}",
        by_factor,
        n_active,
        [
            *words,
            f"no active code encodes {silent} of {n_factors} factors" if silent else "",
            "only one code is active, but two are needed" if n_active == 1 else "",
        ],
        told,
        ends=ends_by_factor,
        **sizes,
    )
    return modularity, compactness


def _score(
    name: str,
    ratios: Sequence[float | None],
    count: int,
    words: Sequence[str],
    where: Mask,
    *,
    ends: Ends | None,
    n_factors: int,
    n_active: int,
    hides: bool,
) -> FactorScore:
    """Return the mean of ratios, rescaled from [1 / count, 1] to [0, 1].

    If no code is active but one may be, any value is possible.
    """
    parts: list[float | None] = [None] * len(where)
    value: float | None = None
    least: float | None = None
    most: float | None = None
    if n_factors == 0:
        words = [*words, "no factor can be scored"]
    elif n_active == 0:
        value, words = 0.0, [*words, "no code is active"]
        least, most = (0.0, 1.0) if hides else (None, None)
    elif count > 1:
        for place, ratio in zip(np.flatnonzero(where), ratios, strict=True):
            if ratio is not None:
                parts[place] = (ratio - 1 / count) / (1 - 1 / count)
        value = _mean(parts) or 0.0
        if ends is not None:
            # Factors without an informative code, and uninformative codes, have no ratio.
            has_ratio = np.array([ratio is not None for ratio in ratios], dtype=bool)
            least, most = (
                min(max(((mean_of(end, has_ratio) or 0.0) - 1 / count) / (1 - 1 / count), 0.0), 1.0)
                for end in ends
            )
    by_code = "modularity" in name
    return FactorScore(
        name=name,
        value=value,
        per_code=tuple(parts) if by_code else (),
        per_factor=() if by_code else tuple(parts),
        least=least,
        most=most,
        says=sentences(words),
    )


def _ratios(table: Float) -> list[float | None]:
    """Return the largest entry of each row over the row sum."""
    sums = table.sum(axis=1)
    return [
        float(row.max() / total) if row.max(initial=0.0) > 0.0 else None
        for row, total in zip(table, sums, strict=True)
    ]


def explicitness_score(
    found: tuple[list[float | None], list[str]] | None, faults: Sequence[str], variant: str
) -> FactorScore:
    """Return the mean of the `predictive_shares`; zero if no code is active."""
    name = f"infomec/explicitness/{variant}"
    if found is None:
        return FactorScore(
            name=name,
            value=None if all(faults) else 0.0,
            per_factor=tuple(None for _ in faults),
            says=sentences([*faults, "no code is active"]),
        )
    parts, words = found
    return FactorScore(
        name=name, value=_mean(parts), per_factor=tuple(parts), says=sentences(words)
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
