"""Detect rows that depend on each other in both latents and factors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Finding
from upto.evidence.row_dependence import FOLLOWING, find_memory, find_near_copies
from upto.evidence.split import find_keys, take_rows
from upto.evidence.strata import class_means

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from upto.core.array_types import Float, Index
    from upto.engines.base import Engine
    from upto.questions.factors.truth import Factor


ALIKE = 0.9
"""Fraction of near-copies with equal labels above which they count as one sample."""
SPREAD = 2.0
"""Samples per combination of labels above which copies are more than equal labels."""
FEW_SAMPLES = 10
"""Combinations of labels up to which two factors may coincide by their names alone."""
NOTHING_LEFT = 1e-12
"""Fraction of variance attributed to rounding."""
MOST_LABELS = 64
"""Largest number of labels of a factor that is tested for serial dependence."""


def find_dependence(
    engine: Engine,
    rows: Any,
    columns: Mapping[str, NDArray[Any]],
    factors: Sequence[Factor],
    latents: Float,
    seed: int,
) -> list[Finding]:
    """Report near-copies and serial dependence that latents and factors share.

    Rows of a grid are sorted and repeat labels but are otherwise independent, so similarity of
    latents with equal labels does not count as dependence.

    Parameters
    ----------
    engine, rows
        Engine, and all latents in their original order.
    columns
        All cleaned labels, in the same order.
    factors, latents
        Scored rows with their labels.
    seed
        Seed of the row keys.
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
    # Copies with different labels count as separate draws.
    are_alike = n_units / len(pairs) >= ALIKE
    n_labels = int(labels.max()) + 1
    # Factors that each identify the sample are not a grid: they were drawn together.
    names = [each for each in factors if each.kind == "discrete" and each.n_values == n_labels]
    drawn = len(numbers) > 0 or (len(names) > 1 and n_labels > FEW_SAMPLES)
    if not are_alike or not (drawn or n_units >= SPREAD * n_labels):
        return []
    message = (
        f"{copies.share:.0%} of the examined rows have a near-copy with the same factors: "
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
    # Latents may follow the factors linearly without serial dependence of their own.
    numbers = [_filled(columns[each.name][first]) for each in factors if each.in_truth]
    design = np.column_stack([*numbers, np.ones(len(first))])
    left = latents - design @ np.linalg.lstsq(design, latents, rcond=None)[0]
    left = left - class_means(left, labels)
    if np.square(left).sum() <= NOTHING_LEFT * np.square(latents).sum():
        return []
    memory, of_factors = find_memory(engine, [left]), find_memory(engine, [table])
    # Subtracting means of few rows correlates the residuals negatively in any order.
    if memory is None or of_factors is None or memory.correlation < 0.0:
        return []
    before = "the previous row" if memory.lag == 1 else f"the row {memory.lag} earlier"
    message = (
        f"latents correlate with {before} by {memory.correlation:.2f} beyond what the factors "
        f"explain, and factors by {of_factors.correlation:.2f}."
    )
    return [Finding(code="UP036", message=message)]


def _combined(columns: Sequence[NDArray[Any]], n_rows: int) -> Index:
    """Return the index of each combination of labels; a missing label is its own value."""
    numbers = np.zeros(n_rows, dtype=np.intp)
    for values in columns:
        own = np.unique(values.astype(str), return_inverse=True)[1]
        numbers = np.unique(numbers * (int(own.max()) + 1) + own, return_inverse=True)[1]
    return numbers.astype(np.intp)


def _table(columns: Sequence[NDArray[Any]]) -> Float | None:
    """Return numbers and one-hot labels as one array; None if nothing varies."""
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
    """Return numbers with missing values replaced by the mean."""
    known = ~np.isnan(values)
    return np.where(known, values, values[known].mean() if known.any() else 0.0)
