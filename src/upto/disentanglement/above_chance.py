"""Scores rescaled so that permuted rows score zero on average."""

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
"""Largest deviation of permuted scores; above it, noise scores 0.2 in one table of forty."""


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
    """Return the values of a score for factors with permuted rows."""
    labels = Labels(factors=factors, n_rows=n_rows)
    orders = chance_orders(n_rows, permutations, seed)
    return known_values([score(labels.shuffled(order).factors) for order in orders])


def known_values(scores: Sequence[FactorScore]) -> list[float]:
    """Return the values of scores that are defined."""
    return [each.value for each in scores if each.value is not None]


def above_chance(found: FactorScore, permuted: Sequence[float]) -> FactorScore:
    """Rescale a score so that permuted rows score zero on average and the best score is one.

    Guessing scores one over the number of factors only without memorisation: with few rows, the
    scored pairs are those that were fitted. Noise scores zero on average, but not in every table;
    where it could be far from zero, the score is None.
    """
    name = f"{found.name}/from chance"
    if found.value is None:
        return replace(found, name=name)
    chance, deviation = float(np.mean(permuted)), float(np.std(permuted, ddof=1))
    room = 1.0 - chance
    if deviation >= MOST_DEVIATION * room:
        few = (
            f"permuted rows score {chance:.2f} with a deviation of {deviation:.2f}: rows are too "
            "few to distinguish the score from chance"
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
