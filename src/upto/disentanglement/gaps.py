"""Information gaps of factors between codes: MIG, RMIG and JEMMIG."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.disentanglement.information_gaps import (
    entropy_shares,
    two_best_gaps,
    variant_information,
)
from upto.disentanglement.predictor_tables import averaged
from upto.disentanglement.undetected import mean_of, unseen_shares

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.disentanglement.predictor_tables import CodesLike, FactorsLike
    from upto.disentanglement.score import FactorScore
    from upto.disentanglement.shared_information import Information


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
    r"""Return the mutual information gap between the best and the second-best code of a factor.

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

    Returns
    -------
    FactorScore
        The mean over factors, from 0 to 1.

    See Also
    --------
    mig_sup : Gaps of codes instead of factors.
    dcimig : Gaps of codes, counted once for each factor.
    rmig : Gaps in nats.
    jemmig : Gaps penalised for other information in the best code.
    evaluate_scores : The same with chance levels and intervals.

    Notes
    -----
    With the codes :math:`c_{(1)}` and :math:`c_{(2)}` that have the most information about factor
    :math:`v_k`, of K,

    .. math::

        \mathrm{MIG} = \frac{1}{K} \sum_k \frac{I(c_{(1)}; v_k) - I(c_{(2)}; v_k)}{H(v_k)}

    It is high only if one code alone has the information; it says nothing about what else that code
    contains.

    References
    ----------
    Chen et al. (2018). Isolating sources of disentanglement in variational autoencoders. Advances
    in Neural Information Processing Systems.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import mig
    >>> factors = np.array([[i, j] for i in range(4) for j in range(4)])
    >>> mig(factors, factors).value
    1.0
    """
    kinds: dict[str, Any] = {"discrete_codes": discrete_codes, "continuous": continuous}
    found = variant_information("MIG", variant, information, codes, factors, seed=seed, **kinds)
    score = _over_factors(f"mig/{variant}", found, two_best_gaps(entropy_shares(found, variant)))
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
    r"""Return the gap of Do and Tran, in nats: that of MIG before division by an entropy.

    There is no adjusted variant.

    Parameters
    ----------
    codes, factors, variant, discrete_codes, continuous, information
        As for `mig`.

    Returns
    -------
    FactorScore
        The mean over factors.

    See Also
    --------
    mig : The same relative to the entropy.
    jemmig : The other score of these authors.

    Notes
    -----
    .. math::

        \mathrm{RMIG} = \frac{1}{K} \sum_k \left( I(c_{(1)}; v_k) - I(c_{(2)}; v_k) \right)

    References
    ----------
    Do and Tran (2020). Theory and evaluation metrics for learning disentangled representations.
    International Conference on Learning Representations.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import rmig
    >>> factors = np.array([[i, j] for i in range(4) for j in range(4)])
    >>> round(rmig(factors, factors).value, 4), round(float(np.log(4)), 4)
    (1.3863, 1.3863)
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
    return _over_factors(f"rmig/{variant}", found, two_best_gaps(found.mutual))


def jemmig(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    discrete_codes: bool = False,
    continuous: bool | Sequence[bool] = False,
    information: Information | None = None,
) -> FactorScore:
    r"""Return the MIG gap, penalised for information in the best code beyond its factor.

    Parameters
    ----------
    codes, factors, discrete_codes, continuous, information
        As for `mig`; the estimator is that of its variant ``ubisoft``.

    Returns
    -------
    FactorScore
        The mean over factors, from 0 to 1.

    See Also
    --------
    mig : The gap without the penalty.
    mig_sup : Codes that encode one factor, by gaps of codes.

    Notes
    -----
    With the two best codes as in `mig` and b bins,

    .. math::

        \mathrm{JEMMIG} = \frac{1}{K} \sum_k \left( 1 -
        \frac{H(v_k, c_{(1)}) - I(c_{(1)}; v_k) + I(c_{(2)}; v_k)}{H(v_k) + \log b} \right)

    where b is ten as in Ubisoft's package; for discrete codes, the number of values of the best
    code.

    References
    ----------
    Do and Tran (2020). Theory and evaluation metrics for learning disentangled representations.
    International Conference on Learning Representations.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import jemmig
    >>> factors = np.array([[i, j] for i in range(4) for j in range(4)])
    >>> round(jemmig(factors, factors, discrete_codes=True).value, 6)
    1.0
    """
    kinds: dict[str, Any] = {"discrete_codes": discrete_codes, "continuous": continuous}
    found = variant_information(
        "JEMMIG", "ubisoft", information, codes, factors, known=("ubisoft",), **kinds
    )
    gaps = two_best_gaps(found.mutual)
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


def _over_factors(name: str, found: Information, gaps: Sequence[float | None]) -> FactorScore:
    parts = [gap if not fault else None for gap, fault in zip(gaps, found.faults, strict=True)]
    alone = (
        "there is only one code, so no second one to compare with"
        if found.mutual.shape[1] == 1
        else ""
    )
    return averaged(name, parts, [*found.faults, alone])
