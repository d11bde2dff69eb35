"""The modularity of Ridgeway and Mozer: whether each code tells of one factor only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.disentanglement.gaps import over_codes, variant_information
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
    """Return one minus the squared information of codes about all factors but their best.

    Parameters
    ----------
    codes, factors
        A row for each sample; a label that is None or NaN is missing.
    variant
        ``disentanglement_lib``: in twenty bins, a code that tells of no factor scores 0;
        ``ubisoft``: in ten bins, such a code is left out, where theirs has no value; ``adjusted``:
        shares of the factors' entropies beyond chance, such a code is left out.
    discrete_codes
        Whether codes are numbers of values whose order means nothing.
    continuous
        Whether factors are numbers on a line, of all or of each.
    information
        What `information` found of the same codes and factors with the variant's estimator.
    seed
        Of the permutations of the adjusted variant.

    Examples
    --------
    >>> import numpy as np
    >>> factors = np.array([[i, j] for i in range(4) for j in range(4)])
    >>> ridgeway_modularity(factors, factors).value
    1.0
    """
    found = variant_information(
        "modularity",
        variant,
        information,
        codes,
        factors,
        seed=seed,
        discrete_codes=discrete_codes,
        continuous=continuous,
    )
    squared = np.square(beyond_chance(found) if variant == "adjusted" else found.mutual)
    squared = squared[found.told]
    best = squared.max(axis=0, initial=0.0)
    telling = best > 0.0
    others = np.divide(squared.sum(axis=0) - best, best, out=np.zeros_like(best), where=telling)
    parts = np.where(telling, 1.0 - others / max(len(squared) - 1, 1), 0.0)
    counted = np.ones_like(telling) if variant == "disentanglement_lib" else telling
    return over_codes(f"ridgeway-modularity/{variant}", found, [*map(float, parts)], counted)
