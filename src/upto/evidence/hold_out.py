"""Which rows of a comparison are held out, and what it has to say about them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Embeddings, Finding, InputError
from upto.evidence.dependence import find_memory, find_near_copies
from upto.evidence.split import RowKeys, Split, find_keys, hold_out, name_keys
from upto.evidence.strata import as_comparable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core.arrays import Index
    from upto.engines.base import Engine


def choose_held_out(
    engine: Engine,
    runs: tuple[Embeddings, ...],
    held_out: float,
    seed: int,
    *,
    grouping: str | None = None,
    classes: Index | None = None,
    strata: Index | None = None,
) -> tuple[Split, list[Finding]]:
    """Hold rows out: whole groups where they are named or found, a stretch where rows follow.

    Parameters
    ----------
    engine, runs
        The runs, and where they live.
    held_out, seed
        Fraction of the rows, and the seed of the choice.
    grouping
        Column of the first run that names what belongs together.
    classes
        Class of each row, which neighbours may share without depending on each other.
    strata
        Class of each row within which rows are paired at random.
    """
    rows = [run.rows for run in runs]
    keys = find_keys(engine, rows, seed)
    n_samples = len(keys.order)
    findings: list[Finding] = []
    everywhere = _everywhere(rows)
    units, unit_keys, memory = keys.units, None, None
    if grouping is not None:
        names, units = np.unique(as_comparable(runs[0].columns[grouping]), return_inverse=True)
        unit_keys = name_keys(names, seed)
        if len(names) < 2:
            message = f"all {n_samples} rows are of one group: none can be held out."
            raise InputError(message)
    else:
        units, findings = units_of_copies(engine, rows, keys)
        known = classes if classes is not None else strata
        memory = find_memory(engine, rows, units=units, classes=known)
        if memory is not None:
            before = "the row before them" if memory.lag == 1 else f"the row {memory.lag} before"
            message = (
                f"rows correlate with {before} by {memory.correlation:.2f}{everywhere}: one "
                "stretch of rows is held out"
            )
            moved = ", and runs are moved along each other for the p-values" if everywhere else ""
            message += f"{moved}."
            findings.append(Finding(code="UP036", message=message))
    split = hold_out(keys, held_out, units=units, unit_keys=unit_keys, memory=memory, seed=seed)
    return replace(split, strata=strata), findings


def units_of_copies(
    engine: Engine, rows: Sequence[Any], keys: RowKeys
) -> tuple[Index | None, list[Finding]]:
    """Return what each row is a copy of, equal or nearly so, and what there is to say of it.

    None where every row is a sample of its own.
    """
    copies = find_near_copies(engine, rows, keys)
    if copies is None:
        return keys.units, []
    units, n_samples = keys.units, len(keys.order)
    message = f"{copies.share:.0%} of the rows looked at have a near copy{_everywhere(rows)}"
    if copies.units is None:
        message += f"; {n_samples} rows are too many to sort into groups."
    else:
        units = copies.units
        message += f": {n_samples} rows are {int(units.max()) + 1} samples."
    return units, [Finding(code="UP037", message=message)]


def _everywhere(rows: Sequence[Any]) -> str:
    return " in every run" if len(rows) > 1 else ""
