"""Which rows belong to which batch, and which of them are controls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.batch_metrics.value_names import as_names
from upto.core import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMELESS = ""
"""The name of the one batch that rows without batch names make up."""
_LISTED = 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """One batch: its name, the positions of its rows and of its controls."""

    name: str
    rows: NDArray[np.intp]
    controls: NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batches:
    """The batches of some rows, sorted by name.

    Without names all rows are one batch; without a mask every row is a control.
    """

    members: tuple[Batch, ...]
    is_named: bool
    has_controls: bool

    def __iter__(self) -> Iterator[Batch]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)


def find_batches(n_rows: int, groups: Any, controls: Any) -> Batches:
    """Sort rows into batches.

    Parameters
    ----------
    n_rows
        How many rows there are.
    groups
        A batch name for each row, or None.
    controls
        A boolean mask of the rows that are controls, or None.
    """
    mask = _mask(n_rows, controls)
    if groups is None:
        names, rows = [NAMELESS], [np.arange(n_rows)]
    else:
        names, rows = _named(n_rows, groups)
    return Batches(
        members=tuple(
            Batch(name=name, rows=part, controls=part if mask is None else part[mask[part]])
            for name, part in zip(names, rows, strict=True)
        ),
        is_named=groups is not None,
        has_controls=mask is not None,
    )


def refuse_few_controls(batches: Batches, *, least: int, remedy: str) -> None:
    """Raise an error where a batch has fewer controls (without a mask: rows) than are needed."""
    few = [batch for batch in batches if len(batch.controls) < least]
    if not few:
        return
    what = "controls" if batches.has_controls else "rows"
    where = f" ({listed([batch.name for batch in few])})" if batches.is_named else ""
    found = "no" if all(len(batch.controls) == 0 for batch in few) else f"fewer than {least}"
    message = f"{len(few)} of {len(batches)} batches have {found} {what}{where}: {remedy}."
    raise InputError(message)


def listed(names: list[str]) -> str:
    """Write the first of some names."""
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def _mask(n_rows: int, controls: Any) -> NDArray[np.bool_] | None:
    if controls is None:
        return None
    mask = np.asarray(controls)
    if mask.dtype != bool or mask.shape != (n_rows,):
        message = (
            f"controls have type {mask.dtype} and shape {mask.shape}, but there are {n_rows} rows: "
            "give one True or False for each row."
        )
        raise InputError(message)
    if not mask.any():
        message = (
            f"0 of {n_rows} rows are controls: check the name of the control, or leave controls "
            "out to use every row."
        )
        raise InputError(message)
    return mask


def batch_names(n_rows: int, groups: Any) -> NDArray[np.str_]:
    """Return the name of the batch of each row, or refuse rows without one."""
    names = as_names(groups)
    if names.shape != (n_rows,):
        message = (
            f"groups have shape {names.shape}, but there are {n_rows} rows: give one batch name "
            "for each row."
        )
        raise InputError(message)
    missing = np.count_nonzero(names == NAMELESS)
    if missing:
        message = (
            f"{missing} of {n_rows} rows have no batch name: name their batch, or leave them out."
        )
        raise InputError(message)
    return names


def _named(n_rows: int, groups: Any) -> tuple[list[str], list[NDArray[np.intp]]]:
    names, codes = np.unique(batch_names(n_rows, groups), return_inverse=True)
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes, minlength=len(names))
    return names.tolist(), np.split(order, np.cumsum(counts)[:-1])
