"""Read data frames of any library (pandas, polars, pyarrow, …) as tables, by narwhals."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.core.errors import shortened
from upto.files.arrays import as_array, type_of
from upto.files.request import Contents, Request, listed, names_of_coordinates
from upto.files.tables import ColumnKind, Layout, check_names, table_layout
from upto.files.text_values import column_of, text_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_LIBRARIES = frozenset(
    ("cudf", "dask", "duckdb", "ibis", "modin", "narwhals", "pandas", "polars", "pyarrow",
     "pyspark", "sqlframe")
)  # fmt: skip


def is_frame(thing: Any) -> bool:
    """Return whether a thing is a data frame or a series; narwhals is imported only if it may be.

    Parameters
    ----------
    thing
        Anything.
    """
    kinds = type(thing).__mro__
    known = any(kind.__module__.partition(".")[0] in _LIBRARIES for kind in kinds)
    if not known and not hasattr(thing, "__narwhals_dataframe__"):
        return False
    import narwhals as nw

    try:
        wrapped = nw.from_native(thing, pass_through=True, allow_series=True)
    except nw.exceptions.NarwhalsError:
        # A frame with two columns of one name, which is refused when it is read.
        return True
    return isinstance(wrapped, nw.DataFrame | nw.LazyFrame | nw.Series) or _is_batch(thing)


def read_frame(frame: Any, request: Request) -> Contents:
    """Read a data frame as a table in a file is read; a pandas index may be the ids.

    Parameters
    ----------
    frame
        The frame.
    request
        Name of the frame, and the key, ids and columns requested.

    Raises
    ------
    InputError
        If it is a series, is lazy, is sparse, or its coordinates have missing values.
    """
    table = _table(frame, str(request.path))
    columns = {column.name: column for column in table.iter_columns()}
    kinds = _kinds(table, request)
    layout = table_layout(request, kinds)
    ids = _ids(table, layout, request)
    if kinds[layout.features[0]] == "list":
        rows = _stacked(columns[layout.features[0]], request)
    else:
        for name in layout.features:
            _refuse_nulls(columns[name], name, request)
        rows = _numbers(table, layout.features)
    return Contents(
        rows=rows,
        ids=ids,
        columns={name: _labels(columns[name], request) for name in layout.labels},
        features=names_of_coordinates(layout.features, rows.shape[1]),
    )


def coordinates_of_frame(frame: Any, name: str, fitted: Sequence[str] = ()) -> Any:
    """Return a frame with only the columns that are coordinates, or only the fitted ones.

    A frame with no other columns is returned unchanged.

    Parameters
    ----------
    frame
        The frame, not a series.
    name
        Its name, for messages.
    fitted
        Names of the columns that are wanted, in order; if there are none, or the frame's columns
        have only numbers, those that `read_frame` takes as coordinates.

    Returns
    -------
    Any
        A frame of the same library, or an array if one column has lists.

    Raises
    ------
    InputError
        If a fitted column is missing or has no numbers.
    """
    request = Request(path=Path(name), in_memory=True)
    table = _table(frame, name)
    kinds = _kinds(table, request)
    if fitted and (set(fitted) <= {*kinds} or names_of_coordinates(kinds, len(kinds))):
        wanted = tuple(fitted)
        _check_fitted(wanted, kinds, name)
    else:
        fitted, wanted = (), table_layout(request, kinds).features
    if kinds[wanted[0]] == "list":
        return read_frame(frame, request).rows
    names: Any = getattr(frame, "column_names", None) or getattr(frame, "columns", ())
    is_whole = list(names) == list(wanted) or (not fitted and len(names) == len(wanted))
    return frame if is_whole else table.select(*wanted).to_native()


def ids_of_frame(frame: Any, name: str) -> NDArray[Any] | None:
    """Return the ids of the rows of a frame, as `read_frame` does; None if it has none."""
    request = Request(path=Path(name), in_memory=True)
    table = _table(frame, name)
    return _ids(table, table_layout(request, _kinds(table, request)), request)


def frame_columns(frame: Any, name: str) -> dict[str, NDArray[Any]]:
    """Return all columns of a data frame by name, with None or NaN for missing values."""
    table = _table(frame, name)
    return {each: table[each].to_numpy() for each in table.columns}


def series_values(series: Any) -> NDArray[Any]:
    """Return the values of a series, with None or NaN for missing values."""
    import narwhals as nw

    values: NDArray[Any] = nw.from_native(series, series_only=True).to_numpy()
    return values


def is_series(thing: Any) -> bool:
    """Return whether a thing is a series of a data frame library."""
    if not is_frame(thing):
        return False
    import narwhals as nw

    try:
        return isinstance(nw.from_native(thing, pass_through=True, allow_series=True), nw.Series)
    except nw.exceptions.NarwhalsError:
        return False  # a frame with two columns of one name


def index_ids(index: Any) -> NDArray[Any]:
    """Return the labels of a pandas index as ids; matching refuses those that repeat or miss.

    Parameters
    ----------
    index
        The index; the labels of several levels are joined.
    """
    values = np.asarray(index)
    if values.dtype.kind == "O":
        # Text, or labels of several levels, periods, intervals and the like.
        texts = ["" if is_missing(each) else str(each) for each in index.tolist()]
        values = np.array(texts, dtype=str)
    return values


def _kinds(table: Any, request: Request) -> dict[str, ColumnKind]:
    found = {column.name: _kind(column, request) for column in table.iter_columns()}
    return {name: kind for name, kind in found.items() if kind is not None}


def _ids(table: Any, layout: Layout, request: Request) -> NDArray[Any] | None:
    if layout.ids is not None:
        return _labels(table[layout.ids], request)
    return frame_index(table.to_native())


def _check_fitted(fitted: tuple[str, ...], kinds: dict[str, ColumnKind], name: str) -> None:
    if missing := [each for each in fitted if each not in kinds]:
        message = (
            f"{name} has no column {listed(missing, 6)}, but the estimator was fitted to "
            f"{listed(fitted, 6)}: pass the same columns."
        )
        raise InputError(message)
    if others := [each for each in fitted if kinds[each] != "number"]:
        message = (
            f"{name} has no numbers in the column {shortened(others[0])!r}, a coordinate the "
            "estimator was fitted to: convert it first."
        )
        raise InputError(message)


def _table(frame: Any, name: str) -> Any:
    import narwhals as nw

    if _is_batch(frame):
        import pyarrow as pa

        frame = pa.Table.from_batches([frame])
    if hasattr(frame, "column_names"):
        check_names(Path(name), list(frame.column_names))
    elif hasattr(frame, "index") and hasattr(frame, "columns"):
        names = [str(each) for each in frame.columns]
        check_names(Path(name), names)
        if any(not isinstance(each, str) for each in frame.columns):
            frame = frame.copy(deep=False)
            frame.columns = names
    table = nw.from_native(frame, pass_through=True, allow_series=True)
    if isinstance(table, nw.LazyFrame):
        message = (
            f"{name} is {type_of(frame)}, a lazy frame that holds no values yet: pass its "
            "`collect()` (`compute()` for dask)."
        )
        raise InputError(message)
    if not isinstance(table, nw.DataFrame):
        message = (
            f"{name} is {type_of(frame)}, one column: pass a frame with one column per coordinate."
        )
        raise InputError(message)
    return table


def _is_batch(thing: Any) -> bool:
    kind = type(thing)
    return kind.__name__ == "RecordBatch" and kind.__module__.startswith("pyarrow")


def _kind(column: Any, request: Request) -> ColumnKind | None:
    """Return the kind of a column as in a parquet file; None for records, which are left out."""
    import narwhals as nw

    native = getattr(column.to_native(), "dtype", None)
    if "sparse" in type(native).__name__.lower():
        message = (
            f"the column {shortened(column.name)!r} of {request.path} is sparse: pass "
            "`frame.sparse.to_dense()`."
        )
        raise InputError(message)
    if isinstance(native, np.dtype) and native.kind == "c":
        message = (
            f"the column {shortened(column.name)!r} of {request.path} contains {native} values, "
            "not real numbers: take the real part, or make the real and imaginary parts columns."
        )
        raise InputError(message)
    if isinstance(native, np.dtype) and native.kind in "fiu":
        return "number"
    dtype = column.dtype
    if dtype.is_numeric():
        return "number"
    if isinstance(dtype, nw.List | nw.Array):
        return "list" if dtype.inner is not None and _is_number(dtype.inner) else None
    if dtype == nw.Object:
        return _object_kind([cell for cell in column.to_list() if not is_missing(cell)])
    return None if dtype == nw.Struct else "text"


def _object_kind(cells: list[Any]) -> ColumnKind | None:
    """Return the kind of a column of Python objects: numbers among missing values are numbers."""
    if any(isinstance(cell, dict) for cell in cells[:1]):
        return None
    if any(isinstance(cell, list | tuple) or getattr(cell, "ndim", 0) for cell in cells[:1]):
        return "list"
    is_number = all(
        isinstance(cell, Real | Decimal) and not isinstance(cell, bool) for cell in cells
    )
    return "number" if cells and is_number else "text"


def _is_number(dtype: Any) -> bool:
    kind = dtype() if isinstance(dtype, type) else dtype
    return bool(kind.is_numeric())


def _numbers(table: Any, features: tuple[str, ...]) -> NDArray[Any]:
    import narwhals as nw

    chosen = table if tuple(table.columns) == features else table.select(*features)
    rows: NDArray[Any] = chosen.to_numpy()
    if rows.dtype.kind not in "fiub":
        # Types that NumPy cannot join, such as decimals next to floats.
        columns = [chosen[name].cast(nw.Float64).to_numpy() for name in features]
        rows = np.column_stack([column.astype(np.float64) for column in columns])
    return rows


def _stacked(column: Any, request: Request) -> NDArray[Any]:
    """Return a column of lists as one array."""
    _refuse_nulls(column, column.name, request)
    where = request.item(column.name)
    cells = [np.asarray(as_array(cell, where)) for cell in column.to_list()]
    for row, cell in enumerate(cells):
        if cell.dtype.kind not in "fiub":
            message = f"{where} has {cell.dtype} values in row {row}, not real numbers."
            raise InputError(message)
        if cell.shape != cells[0].shape:
            message = (
                f"{where} has {cell.size} values in row {row} but {cells[0].size} in row 0: all "
                "rows need the same number."
            )
            raise InputError(message)
    return np.stack(cells) if cells else np.empty((0, 0))


def _refuse_nulls(column: Any, name: str, request: Request) -> None:
    if isinstance(getattr(column.to_native(), "dtype", None), np.dtype) and column.dtype.is_float():
        # NaN in a float column is found by the pass over all rows.
        return
    if count := int(column.null_count()):
        message = (
            f"{request.path} has {count} missing value{'s' * (count > 1)} in the column "
            f"{shortened(name)!r}: fill or drop those rows."
        )
        raise InputError(message)


def _labels(column: Any, request: Request) -> NDArray[Any]:
    """Return a column as a parquet file's would be: numbers, or text that is empty if missing."""
    values: NDArray[Any] = column.to_numpy()
    if values.dtype.kind in "fiub":
        return values
    if column.dtype.is_numeric():
        return np.array([np.nan if cell is None else float(cell) for cell in column.to_list()])
    where = column_of(request.path, column.name)
    return text_array(where, ["" if is_missing(cell) else str(cell) for cell in column.to_list()])


def is_missing(cell: Any) -> bool:
    """Return whether a value is None, NaN, NaT or pandas' NA."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, float | np.generic) and bool(cell != cell)


def frame_index(frame: Any) -> NDArray[Any] | None:
    """Return the index of a pandas frame or series as ids, or None if it is the default one."""
    index = getattr(frame, "index", None)
    if not hasattr(index, "is_unique") or has_default_index(frame):
        return None
    return index_ids(index)


def has_default_index(frame: Any) -> bool:
    """Return whether a thing is a pandas frame or series whose rows are only counted."""
    index: Any = getattr(frame, "index", None)
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
