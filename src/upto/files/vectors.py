"""Convert labels, batches, ids and other values per row to arrays of one dimension."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.files.arrays import as_array, type_of
from upto.files.frames import frame_columns, is_frame, is_missing, is_series, series_values

if TYPE_CHECKING:
    from numpy.typing import NDArray


_TAKEN = "one value per row, or the name of a column"


def as_values(given: Any, what: str, taken: str = _TAKEN) -> NDArray[Any]:
    """Return a list, array, series, categorical or tensor as an array of any shape.

    Parameters
    ----------
    given
        The values; text in a list keeps its missing values.
    what, taken
        Name of the argument, and what it could be, for messages.
    """
    if isinstance(given, list | tuple) and any(isinstance(each, str) for each in given):
        mixed = np.empty(len(given), dtype=object)
        mixed[:] = given
        return mixed
    values = series_values(given) if is_series(given) else as_array(given, what, taken)
    values = np.asarray(values)
    return values.astype(object) if values.dtype.kind == "T" else values


def as_vector(
    given: Any, n_rows: int | None, what: str, *, of: str = "the run", missing: bool = True
) -> NDArray[Any]:
    """Return one value per row.

    Parameters
    ----------
    given
        A list, array, series, categorical or tensor.
    n_rows
        Number of rows, or None for any.
    what, of
        Name of the argument and of its run, for messages.
    missing
        Whether values may be missing (None, NaN, NA).

    Raises
    ------
    InputError
        If it is not one value per row, or some are missing that may not be.
    """
    if given is None or isinstance(given, Mapping | set | frozenset):
        message = f"{what} is {type_of(given)}: pass {_TAKEN}."
        raise InputError(message)
    values = as_values(given, what)
    if values.ndim != 1 or (n_rows is not None and len(values) != n_rows):
        rows = "" if n_rows is None else f" but {of} has {n_rows} rows"
        message = f"{what} has shape {values.shape}{rows}: pass one value per row."
        raise InputError(message)
    if not missing and (count := n_missing(values)):
        message = (
            f"{what} has {count} missing value{'s' * (count > 1)} in {len(values)} rows: fill or "
            "drop those rows."
        )
        raise InputError(message)
    return values


def has_columns(given: Any) -> bool:
    """Return whether a thing is a mapping, a data frame or a structured array."""
    if isinstance(given, np.ndarray):
        return bool(given.dtype.names)
    return isinstance(given, Mapping) or (is_frame(given) and not is_series(given))


def as_columns(given: Any, n_rows: int | None, what: str) -> dict[str, NDArray[Any]]:
    """Return the columns of a mapping, a data frame or a structured array by name."""
    if isinstance(given, np.ndarray) and given.dtype.names:
        given = {name: given[name] for name in given.dtype.names}
    elif not isinstance(given, Mapping):
        given = frame_columns(given, what)
    return {
        str(name): as_vector(values, n_rows, f"{what}[{str(name)!r}]")
        for name, values in given.items()
    }


def n_missing(values: NDArray[Any]) -> int:
    """Return the number of values that are None, NaN, NaT or pandas' NA."""
    if values.dtype.kind == "f":
        return int(np.isnan(values).sum())
    if values.dtype.kind in "mM":
        return int(np.isnat(values).sum())
    return sum(map(is_missing, values.tolist())) if values.dtype.kind == "O" else 0
