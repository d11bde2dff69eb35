"""Scores whose guess is not zero, counted from what they are for permuted rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from upto.core import random_stream
from upto.disentanglement.predictor_tables import Labels, sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from upto.disentanglement.predictor_tables import Factor, Whole
    from upto.disentanglement.score import FactorScore

MOST_DEVIATION = 0.1
"""Of permuted rows, from chance: above it, noise alone would score 0.2 in one table of forty."""


def chance_orders(n_rows: int, count: int, seed: int) -> list[Whole]:
    """Return random orders of rows."""
    stream = random_stream(seed, "factors", "from chance")
    return [stream.permutation(n_rows) for _ in range(count)]


def permuted_scores(
    score: Callable[[Sequence[Factor]], FactorScore],
    factors: tuple[Factor, ...],
    n_rows: int,
    *,
    permutations: int,
    seed: int,
) -> list[float]:
    """Return the values of a score of factors whose rows were permuted."""
    labels = Labels(factors=factors, n_rows=n_rows)
    orders = chance_orders(n_rows, permutations, seed)
    return known_values([score(labels.shuffled(order).factors) for order in orders])


def known_values(scores: Sequence[FactorScore]) -> list[float]:
    """Return the values of scores that have one."""
    return [each.value for each in scores if each.value is not None]


def above_chance(found: FactorScore, permuted: Sequence[float]) -> FactorScore:
    """Return a score that is zero where permuted rows are on average, and one at its best.

    A share of right guesses is one over the number of factors only if nothing is learnt by heart:
    with few rows, the pairs that are scored are those that were fitted. Noise scores zero on
    average, and not in every table; where it could be far from zero, the score is None.
    """
    name = f"{found.name}/from chance"
    if found.value is None:
        return replace(found, name=name)
    chance, deviation = float(np.mean(permuted)), float(np.std(permuted, ddof=1))
    room = 1.0 - chance
    if deviation >= MOST_DEVIATION * room:
        few = (
            f"permuted rows score {chance:.2f} with a deviation of {deviation:.2f}: rows are too "
            "few to tell a score from chance"
        )
        nothing: tuple[None, ...] = (None,) * len(found.per_factor)
        says = " ".join(part for part in (found.says, sentences([few])) if part)
        return replace(found, name=name, value=None, per_factor=nothing, says=says)
    return replace(
        found,
        name=name,
        value=(found.value - chance) / room,
        per_factor=tuple(
            None if part is None else (part - chance) / room for part in found.per_factor
        ),
    )
