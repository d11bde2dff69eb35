"""Checks of the rows, labels and features of a classification task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError
from upto.measures.kinds import as_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChosenRows:
    """Rows, labels and features of a task; rows and features are in ascending order."""

    index: NDArray[np.int32]
    labels: NDArray[np.bool_]
    features: NDArray[np.intp]


def chosen_rows(
    shape: tuple[int, int], index: ArrayLike, labels: ArrayLike, features: ArrayLike | None
) -> ChosenRows:
    """Check and return the rows, labels and features of a task."""
    rows = _positions(index, shape[0], "row")
    truths = np.asarray(labels)
    if truths.shape != rows.shape or not np.isin(truths, (0, 1)).all():
        message = (
            f"{len(rows)} rows, but labels of shape {truths.shape}: give true or false per row."
        )
        raise InputError(message)
    truths = truths.astype(np.bool_)
    if truths.all() or not truths.any():
        message = f"{len(rows)} rows are of one class: a classifier needs rows of both."
        raise InputError(message)
    columns = np.arange(shape[1])
    if features is not None:
        columns = np.unique(_positions(features, shape[1], "feature"))
    order = np.argsort(rows, kind="stable")
    return ChosenRows(
        index=rows[order].astype(np.int32), labels=truths[order], features=columns.astype(np.intp)
    )


def rows_of_width(rows: ArrayLike, width: int) -> NDArray[np.float64]:
    """Return the rows to score, or raise an error if their width differs."""
    found = as_rows(rows, "the rows to score")
    if found.shape[1] != width:
        message = (
            f"the rows to score have {found.shape[1]} columns, but training rows have {width}."
        )
        raise InputError(message)
    return found


def _positions(values: ArrayLike, count: int, what: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 1 or not array.size or array.dtype.kind not in "iu":
        message = f"{what}s are {array.dtype} of shape {array.shape}: give their positions."
        raise InputError(message)
    if array.min() < 0 or array.max() >= count:
        outside = int(array.min() if array.min() < 0 else array.max())
        message = f"{what} {outside} does not exist: positions run from 0 to {count - 1}."
        raise InputError(message)
    return array
