"""Classes within which rows are re-paired at random."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Embeddings, InputError
from upto.files.named_coordinates import refuse_coordinate_of, take_out
from upto.files.request import listed
from upto.files.vectors import as_vector

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from upto.core.array_types import Float, Index


GIVEN = "the classes given"
"""Name of the column made from classes passed as values."""


def with_strata(
    within: str | ArrayLike | None, runs: tuple[Embeddings, ...]
) -> tuple[str | None, tuple[Embeddings, ...]]:
    """Return the column of classes, and the runs; values become a column of the first run.

    As a column, they stay aligned when rows are matched by id. A coordinate that is named is one no
    more, in any run.
    """
    if within is None:
        return None, runs
    if isinstance(within, str):
        runs = tuple(take_out(run, (within,)) for run in runs)
        if not any(within in run.columns for run in runs):
            names = [name for run in runs for name in (*run.columns, *run.features)]
            known = listed(list(dict.fromkeys(names)))
            message = f"no run has a column {within!r}; their columns are: {known or 'none'}."
            raise InputError(message)
        return within, runs
    first = runs[0]
    values = as_vector(within, len(first), "within", of=first.name, ids=first.ids, missing=False)
    refuse_coordinate_of(values, runs, "within")
    return GIVEN, (replace(first, columns={**first.columns, GIVEN: values}), *runs[1:])


def strata_of(column: str | None, runs: tuple[Embeddings, ...]) -> Index | None:
    """Return the class of each row as a code, from the first run with the column."""
    if column is None:
        return None
    return codes_of(next(run.columns[column] for run in runs if column in run.columns))


def codes_of(values: Any) -> Index:
    """Return the values of a column as integer codes."""
    return np.unique(as_comparable(values), return_inverse=True)[1]


def as_comparable(values: Any) -> NDArray[Any]:
    """Return sortable values: objects, such as text with missing values, become strings."""
    found = np.asarray(values)
    return found.astype(str) if found.dtype.kind == "O" else found


def class_means(rows: Float, classes: Index) -> Float:
    """Return the class mean of every row."""
    _, place, counts = np.unique(classes, return_inverse=True, return_counts=True)
    sums = np.zeros((len(counts), rows.shape[1]))
    np.add.at(sums, place, rows)
    return (sums / counts[:, None])[place]


def alone(cells: Index) -> int:
    """Return the number of rows that are alone in their cell."""
    counts = np.unique(cells, return_counts=True)[1]
    return int((counts == 1).sum())
