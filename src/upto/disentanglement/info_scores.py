"""InfoMEC: modularity, explicitness and compactness from information, in four named variants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core.array_types import Float
from upto.disentanglement.info_variants import VARIANTS, told_shares, varying_codes
from upto.disentanglement.predictive import predictive_parts
from upto.disentanglement.predictor_tables import one_of, sentences
from upto.disentanglement.score import FactorScore
from upto.disentanglement.shared_information import (
    PERMUTATIONS,
    Information,
    Mask,
    informed,
    over_entropy,
)
from upto.disentanglement.shares import tellable
from upto.disentanglement.undetected import mean_of, unseen_shares

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.disentanglement.predictor_tables import CodesLike, FactorsLike
    from upto.disentanglement.undetected import Ends, Unseen


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

    See Also
    --------
    infomec : Returns it.
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
    r"""Compute the modularity, explicitness and compactness of codes from information.

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

    Returns
    -------
    InfoMEC
        The three scores, and the shares behind them.

    See Also
    --------
    evaluate_scores : The same with chance levels and intervals.
    mig : The gap instead of the ratio.
    dci_scores : The same idea with importances instead of information.
    explicitness : The third score alone.

    Notes
    -----
    With the share :math:`u_{kj} = I(c_j; v_k) / H(v_k)` of code j and factor k, K factors and J
    active codes,

    .. math::

        \mathrm{InfoM} = \frac{1}{J} \sum_j
        \frac{\max_k u_{kj} / \sum_k u_{kj} - 1/K}{1 - 1/K}, \qquad
        \mathrm{InfoC} = \frac{1}{K} \sum_k
        \frac{\max_j u_{kj} / \sum_j u_{kj} - 1/J}{1 - 1/J}

    Codes and factors without any information are left out of the means. InfoE is the mean of
    `explicitness`.

    References
    ----------
    Hsu et al. (2023). Disentanglement via latent quantization. Advances in Neural Information
    Processing Systems.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import infomec
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
