"""Tables as pandas or polars data frames."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from upto.core.errors import ArgumentError, InputError

if TYPE_CHECKING:
    from upto.core.table import Table

_LIBRARIES = ("pandas", "polars")
# In pandas, whole numbers and truth values with gaps need types of their own.
_IN_PANDAS = {bool: "bool", int: "int64", float: "float64", str: "object"}
_WITH_GAPS = _IN_PANDAS | {bool: "boolean", int: "Int64"}
_IN_POLARS = {bool: "Boolean", int: "Int64", float: "Float64", str: "String"}


def frame_of(table: Table, library: str | None = None) -> Any:
    """Return a table as a data frame of pandas or polars.

    Parameters
    ----------
    table
        Table to convert; an estimate becomes three columns.
    library
        ``"pandas"`` or ``"polars"``; by default the first of them that is installed.

    Raises
    ------
    InputError
        If there is no such library, or it is not installed.
    """
    name = _chosen(library)
    frames = import_module(name)
    series = []
    for field, values in table.fields().items():
        kind = _kind(values)
        plain = [None if value is None else kind(value) for value in values]
        if name == "polars":
            series.append(frames.Series(field, plain, getattr(frames, _IN_POLARS[kind])))
        else:
            dtype = (_WITH_GAPS if None in plain else _IN_PANDAS)[kind]
            series.append(frames.Series(plain, name=field, dtype=dtype))
    return frames.DataFrame(series) if name == "polars" else frames.concat(series, axis=1)


def _kind(values: list[Any]) -> type:
    """Return the type of a column; numbers beside texts become texts."""
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, bool) for value in known):
        return bool
    if known and all(isinstance(value, Integral) for value in known):
        return int
    return float if all(isinstance(value, Real) for value in known) else str


def _chosen(library: str | None) -> str:
    if library is not None and library not in _LIBRARIES:
        message = f"library={library!r} is unknown: choose pandas or polars."
        raise ArgumentError(message, library=library)
    for name in _LIBRARIES if library is None else (library,):
        if find_spec(name) is not None:
            return name
    missing = "pandas or polars, and neither is" if library is None else f"{library}, which is not"
    message = (
        f"a data frame needs {missing} installed: run `pip install {library or 'pandas'}`, or "
        "export the table with to_csv."
    )
    raise InputError(message)
