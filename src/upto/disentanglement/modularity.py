"""Modularity of Ridgeway and Mozer: whether each code is informative about one factor only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.disentanglement.code_gaps import over_codes
from upto.disentanglement.information_gaps import variant_information
from upto.disentanglement.shares import beyond_chance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.disentanglement.predictor_tables import CodesLike, FactorsLike
    from upto.disentanglement.score import FactorScore
    from upto.disentanglement.shared_information import Information


def ridgeway_modularity(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    variant: str = "disentanglement_lib",
    discrete_codes: bool = False,
    continuous: bool | Sequence[bool] = False,
    information: Information | None = None,
    seed: int = 0,
) -> FactorScore:
    r"""Return one minus the squared relative information of codes about all but their best factor.

    Parameters
    ----------
    codes, factors
        One row per sample; None and NaN mark missing labels.
    variant
        ``disentanglement_lib``: twenty bins, and a code without information scores 0; ``ubisoft``:
        ten bins, and such a code is excluded (theirs is undefined); ``adjusted``: shares of the
        factors' entropies beyond chance, and such a code is excluded.
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
        The mean over codes, from 0 to 1.

    See Also
    --------
    ridgeway_explicitness : The other score of these authors.
    infomec : Modularity as a ratio of information.
    mig_sup : Modularity as a gap of information.

    Notes
    -----
    For code j with information :math:`I_{jk}` about K factors, the most about factor m,

    .. math::

        1 - \frac{\sum_{k \ne m} I_{jk}^2}{(K - 1) \, I_{jm}^2}

    A code that shares a little information about every factor still scores high, and so does noise.

    References
    ----------
    Ridgeway and Mozer (2018). Learning deep disentangled embeddings with the F-statistic loss.
    Advances in Neural Information Processing Systems.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import ridgeway_modularity
    >>> factors = np.array([[i, j] for i in range(4) for j in range(4)])
    >>> ridgeway_modularity(factors, factors).value
    1.0
    """
    kinds: dict[str, Any] = {"discrete_codes": discrete_codes, "continuous": continuous}
    found = variant_information(
        "modularity", variant, information, codes, factors, seed=seed, **kinds
    )
    squared = np.square(beyond_chance(found) if variant == "adjusted" else found.mutual)
    squared = squared[found.told]
    best = squared.max(axis=0, initial=0.0)
    telling = best > 0.0
    others = np.divide(squared.sum(axis=0) - best, best, out=np.zeros_like(best), where=telling)
    parts = np.where(telling, 1.0 - others / max(len(squared) - 1, 1), 0.0)
    counted = np.ones_like(telling) if variant == "disentanglement_lib" else telling
    return over_codes(f"ridgeway-modularity/{variant}", found, [*map(float, parts)], counted)
