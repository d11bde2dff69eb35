"""Information in the variant of a score, and the gaps between its two largest values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.disentanglement.predictor_tables import one_of
from upto.disentanglement.shared_information import (
    ADJUSTED,
    PERMUTATIONS,
    Estimator,
    Information,
    informed,
)
from upto.disentanglement.shares import beyond_chance, tellable

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


def entropy_shares(found: Information, variant: str) -> Float:
    """Return information over the entropy that a variant divides by; zero where that is zero."""
    if variant == "adjusted":
        return beyond_chance(found)
    if variant == "disentanglement_lib":
        return found.shares
    whole = np.where(np.isnan(found.code_entropies), 0.0, found.code_entropies)
    return np.divide(found.mutual, whole, out=np.zeros_like(whole), where=whole > 0.0)


def two_best_gaps(table: Float) -> list[float | None]:
    """Return the difference of the two largest values of each row; None if there is only one."""
    if table.shape[1] < 2:
        return [None] * len(table)
    ascending = np.sort(table, axis=1)
    return [float(gap) for gap in ascending[:, -1] - ascending[:, -2]]
