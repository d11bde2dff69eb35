"""Rows that depend on each other in latents and factors alike: chance counts them as many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Finding
from upto.evidence.dependence import FOLLOWING, find_memory, find_near_copies
from upto.evidence.split import find_keys, take_rows
from upto.evidence.strata import class_means

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from upto.core.arrays import Float, Index
    from upto.engines.base import Engine
    from upto.questions.factors.truth import Factor


ALIKE = 0.9
"""The share of near copies with equal labels from which on they count as copies of a sample."""
SPREAD = 2.0
"""Samples for each combination of labels from which on copies are more than equal labels."""
FEW_SAMPLES = 10
"""Combinations of labels up to which two factors may be one by their names alone."""
NOTHING_LEFT = 1e-12
"""The share of variance that rounding may leave."""
MOST_LABELS = 64
"""Of a factor: more are not looked at in order."""


def find_dependence(
    engine: Engine,
    rows: Any,
    columns: Mapping[str, NDArray[Any]],
    factors: Sequence[Factor],
    latents: Float,
    seed: int,
) -> list[Finding]:
    """Say whether rows are near copies or follow each other, in latents and factors alike.

    Rows of a grid are sorted and repeat, and are independent beside that: what latents of equal
    labels have in common is no dependence.

    Parameters
    ----------
    engine, rows
        All latents in the order in which they were given, and where they live.
    columns
        All labels, clean, in the same order.
    factors, latents
        The rows that are scored, with their labels read.
    seed
        Of the keys of rows.
    """
    found = _copies(engine, factors, latents, seed)
    return [*found, *_following(engine, rows, columns, factors)]


def _copies(engine: Engine, factors: Sequence[Factor], latents: Float, seed: int) -> list[Finding]:
    numbers = [_filled(each.values) for each in factors if each.kind == "continuous"]
    runs = [latents, *([np.column_stack(numbers)] if numbers else [])]
    copies = find_near_copies(engine, runs, find_keys(engine, runs, seed))
    if copies is None or copies.units is None:
        return []
    units, n_units = copies.units, int(copies.units.max()) + 1
    labels = _combined([each.values for each in factors if each.kind == "discrete"], len(latents))
    pairs = np.unique(np.column_stack([units, labels]), axis=0)
    # Copies with labels of their own are drawn anew for each, as far as labels are concerned.
    are_alike = n_units / len(pairs) >= ALIKE
    n_labels = int(labels.max()) + 1
    # Factors of which each names the sample are no grid: their values were drawn together.
    names = [each for each in factors if each.kind == "discrete" and each.n_values == n_labels]
    drawn = len(numbers) > 0 or (len(names) > 1 and n_labels > FEW_SAMPLES)
    if not are_alike or not (drawn or n_units >= SPREAD * n_labels):
        return []
    message = (
        f"{copies.share:.0%} of the rows looked at have a near copy with the same factors: "
        f"{len(latents)} rows are {n_units} samples."
    )
    return [Finding(code="UP037", message=message)]


def _following(
    engine: Engine, rows: Any, columns: Mapping[str, NDArray[Any]], factors: Sequence[Factor]
) -> list[Finding]:
    first = np.arange(min(int(rows.shape[0]), FOLLOWING))
    discrete = [each.name for each in factors if each.kind == "discrete"]
    labels = _combined([columns[name][first] for name in discrete], len(first))
    table = _table([columns[each.name][first] for each in factors])
    if table is None:
        return []
    latents = take_rows(engine, rows, first)
    # A line through the numbers is what latents may follow without a memory of their own.
    numbers = [_filled(columns[each.name][first]) for each in factors if each.in_truth]
    design = np.column_stack([*numbers, np.ones(len(first))])
    left = latents - design @ np.linalg.lstsq(design, latents, rcond=None)[0]
    left = left - class_means(left, labels)
    if np.square(left).sum() <= NOTHING_LEFT * np.square(latents).sum():
        return []
    memory, of_factors = find_memory(engine, [left]), find_memory(engine, [table])
    # What is left of the mean of few rows is correlated below zero, whatever their order.
    if memory is None or of_factors is None or memory.correlation < 0.0:
        return []
    before = "the row before them" if memory.lag == 1 else f"the row {memory.lag} before"
    message = (
        f"latents correlate with {before} by {memory.correlation:.2f} beside what the factors "
        f"explain, and factors by {of_factors.correlation:.2f}."
    )
    return [Finding(code="UP036", message=message)]


def _combined(columns: Sequence[NDArray[Any]], n_rows: int) -> Index:
    """Return a number for each combination of labels; a missing label is one of its own."""
    numbers = np.zeros(n_rows, dtype=np.intp)
    for values in columns:
        own = np.unique(values.astype(str), return_inverse=True)[1]
        numbers = np.unique(numbers * (int(own.max()) + 1) + own, return_inverse=True)[1]
    return numbers.astype(np.intp)


def _table(columns: Sequence[NDArray[Any]]) -> Float | None:
    """Return numbers as they are, and an indicator for each label; None where nothing varies."""
    found: list[Float] = []
    for values in columns:
        if values.dtype != object:
            found.append(_filled(values))
            continue
        names, own = np.unique(values.astype(str), return_inverse=True)
        if len(names) <= MOST_LABELS:
            found += list(np.eye(len(names))[own].T)
    moving = [each for each in found if np.ptp(each) > 0.0]
    return np.column_stack([each / each.std() for each in moving]) if moving else None


def _filled(values: NDArray[Any]) -> Float:
    """Return numbers with their mean where one is missing."""
    known = ~np.isnan(values)
    return np.where(known, values, values[known].mean() if known.any() else 0.0)
