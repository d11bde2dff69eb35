"""Choose the held-out rows of a comparison, and report dependent rows as findings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Embeddings, Finding, InputError
from upto.evidence.row_dependence import find_memory, find_near_copies
from upto.evidence.split import RowKeys, Split, find_keys, hold_out, name_keys
from upto.evidence.strata import as_comparable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core.array_types import Index
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
    """Hold out rows: whole groups, if named or found, or a stretch of serially dependent rows.

    Parameters
    ----------
    engine, runs
        The engine and the runs placed on it.
    held_out, seed
        Fraction of rows held out, and the seed of the random number generator.
    grouping
        Column of the first run with the group of each row; groups are held out whole.
    classes
        Class of each row, which neighbours may share without being dependent.
    strata
        Class of each row; rows are re-paired at random within classes.
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
            message = f"all {n_samples} rows are in one group: none can be held out."
            raise InputError(message)
    else:
        units, findings = units_of_copies(engine, rows, keys)
        known = classes if classes is not None else strata
        memory = find_memory(engine, rows, units=units, classes=known)
        if memory is not None:
            before = "the row before them" if memory.lag == 1 else f"the row {memory.lag} before"
            message = (
                f"rows correlate with {before} by {memory.correlation:.2f}{everywhere}: one "
                "contiguous stretch of rows is held out"
            )
            moved = ", and p-values come from circular shifts" if everywhere else ""
            message += f"{moved}."
            findings.append(Finding(code="UP036", message=message))
    split = hold_out(keys, held_out, units=units, unit_keys=unit_keys, memory=memory, seed=seed)
    return replace(split, strata=strata), findings


def units_of_copies(
    engine: Engine, rows: Sequence[Any], keys: RowKeys
) -> tuple[Index | None, list[Finding]]:
    """Return the group of equal or nearly equal rows of each row, and the findings.

    None if every row is a separate sample.
    """
    copies = find_near_copies(engine, rows, keys)
    if copies is None:
        return keys.units, []
    units, n_samples = keys.units, len(keys.order)
    message = f"{copies.share:.0%} of the sampled rows have a near copy{_everywhere(rows)}"
    if copies.units is None:
        message += f"; {n_samples} rows are too many to group."
    else:
        units = copies.units
        message += f": {n_samples} rows are {int(units.max()) + 1} samples."
    return units, [Finding(code="UP037", message=message)]


def _everywhere(rows: Sequence[Any]) -> str:
    return " in every run" if len(rows) > 1 else ""
