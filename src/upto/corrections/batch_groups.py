"""Rows and controls of each batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.batch_metrics.value_names import as_names
from upto.core import InputError
from upto.files.vectors import as_values

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMELESS = ""
"""Name of the single batch of rows without batch names."""
_LISTED = 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """One batch: its name and the positions of its rows and controls."""

    name: str
    rows: NDArray[np.intp]
    controls: NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batches:
    """Batches of rows, sorted by name.

    Without names all rows form one batch; without a mask every row is a control.
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
        Number of rows.
    groups
        Batch name of each row, or None.
    controls
        Boolean mask of control rows, or None.
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
    """Raise an error if a batch has fewer controls (without a mask: rows) than needed."""
    few = [batch for batch in batches if len(batch.controls) < least]
    if not few:
        return
    what = "controls" if batches.has_controls else "rows"
    where = f" ({listed([batch.name for batch in few])})" if batches.is_named else ""
    found = "no" if all(len(batch.controls) == 0 for batch in few) else f"fewer than {least}"
    message = f"{len(few)} of {len(batches)} batches have {found} {what}{where}: {remedy}."
    raise InputError(message)


def listed(names: list[str]) -> str:
    """Join the first names, with a count of the rest."""
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def _mask(n_rows: int, controls: Any) -> NDArray[np.bool_] | None:
    if controls is None:
        return None
    mask = as_values(controls, "controls")
    if mask.dtype == object and all(isinstance(each, bool) for each in mask.flat):
        mask = mask.astype(bool)
    if mask.dtype != bool or mask.shape != (n_rows,):
        message = (
            f"controls have type {mask.dtype} and shape {mask.shape}, but there are {n_rows} rows: "
            "give one boolean per row."
        )
        raise InputError(message)
    if not mask.any():
        message = (
            f"0 of {n_rows} rows are controls: check the name of the control, or omit controls "
            "to use every row."
        )
        raise InputError(message)
    return mask


def batch_names(n_rows: int, groups: Any) -> NDArray[np.str_]:
    """Return the batch name of each row, or raise an error if one is missing."""
    names = as_names(as_values(groups, "groups"))
    if names.shape != (n_rows,):
        message = (
            f"groups have shape {names.shape}, but there are {n_rows} rows: give one batch name "
            "per row."
        )
        raise InputError(message)
    missing = np.count_nonzero(names == NAMELESS)
    if missing:
        message = f"{missing} of {n_rows} rows have no batch name: name their batch, or drop them."
        raise InputError(message)
    return names


def _named(n_rows: int, groups: Any) -> tuple[list[str], list[NDArray[np.intp]]]:
    names, codes = np.unique(batch_names(n_rows, groups), return_inverse=True)
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes, minlength=len(names))
    return names.tolist(), np.split(order, np.cumsum(counts)[:-1])
