"""Convert labels, batches, ids and other values per row to arrays of one dimension."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.files.arrays import as_array, type_of
from upto.files.frames import (
    frame_columns,
    frame_index,
    is_frame,
    is_missing,
    is_series,
    series_values,
)
from upto.files.match import as_comparable

if TYPE_CHECKING:
    from numpy.typing import NDArray


VALUES = "one value per row"
_TAKEN = f"{VALUES}, or the name of a column"


def as_values(given: Any, what: str, taken: str = VALUES) -> NDArray[Any]:
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
    given: Any,
    n_rows: int | None,
    what: str,
    *,
    of: str = "the run",
    ids: NDArray[Any] | None = None,
    missing: bool = True,
    taken: str = _TAKEN,
) -> NDArray[Any]:
    """Return one value per row.

    Parameters
    ----------
    given
        A list, array, series, categorical or tensor. A pandas series with an index of its own is
        put in the order of the ids.
    n_rows
        Number of rows, or None for any.
    what, of
        Name of the argument and of its run, for messages.
    ids
        Ids of the run; without them, values belong to rows by position.
    missing
        Whether values may be missing (None, NaN, NA).
    taken
        What the argument could be, for messages.

    Raises
    ------
    InputError
        If it is not one value per row, some are missing that may not be, or the labels of its
        index are not the ids.
    """
    if given is None or isinstance(given, Mapping | set | frozenset):
        message = f"{what} is {type_of(given)}: pass {taken}."
        raise InputError(message)
    values = as_values(given, what, taken)
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
    return _in_order(values, given, ids, what, of)


def has_columns(given: Any) -> bool:
    """Return whether a thing is a mapping, a data frame or a structured array."""
    if isinstance(given, np.ndarray):
        return bool(given.dtype.names)
    return isinstance(given, Mapping) or (is_frame(given) and not is_series(given))


def as_columns(
    given: Any,
    n_rows: int | None,
    what: str,
    *,
    of: str = "the run",
    ids: NDArray[Any] | None = None,
) -> dict[str, NDArray[Any]]:
    """Return the columns of a mapping, a data frame or a structured array by name.

    As in `as_vector`, pandas objects with an index of their own are put in the order of the ids.
    """
    columns = given
    if isinstance(given, np.ndarray) and given.dtype.names:
        columns = {name: given[name] for name in given.dtype.names}
    elif not isinstance(given, Mapping):
        columns = frame_columns(given, what)
    found = {}
    for name, each in columns.items():
        item = f"{what}[{str(name)!r}]"
        values = as_vector(each, n_rows, item, of=of, ids=ids, taken=VALUES)
        found[str(name)] = _in_order(values, given, ids, what, of)
    return found


def _in_order(
    values: NDArray[Any], given: Any, ids: NDArray[Any] | None, what: str, of: str
) -> NDArray[Any]:
    """Put the values of a pandas object in the order of the ids by its index."""
    index = None if ids is None else frame_index(given)
    if index is None or len(index) != len(np.asarray(ids)):
        return values
    labels, wanted = as_comparable([index, np.asarray(ids)])
    if np.array_equal(labels, wanted):
        return values
    plain = ".to_numpy()" if values.shape == np.shape(given) else ".reset_index(drop=True)"
    by_position = f"pass its `{plain}` to attach it by position"
    unknown = labels[~np.isin(labels, wanted)]
    if len(unknown):
        message = (
            f"the index of {what} has {len(unknown)} of {len(labels)} labels that are no ids of "
            f"{of}, such as {str(unknown[0])!r}: {by_position}."
        )
        raise InputError(message)
    order = np.argsort(labels, kind="stable")
    ordered = labels[order]
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(repeated):
        message = (
            f"the index of {what} has labels that occur more than once, such as "
            f"{str(repeated[0])!r}, in another order than the ids of {of}: {by_position}."
        )
        raise InputError(message)
    return values[order[np.searchsorted(ordered, wanted)]]


def n_missing(values: NDArray[Any]) -> int:
    """Return the number of values that are None, NaN, NaT or pandas' NA."""
    if values.dtype.kind == "f":
        return int(np.isnan(values).sum())
    if values.dtype.kind in "mM":
        return int(np.isnat(values).sum())
    return sum(map(is_missing, values.tolist())) if values.dtype.kind == "O" else 0
