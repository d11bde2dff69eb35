"""Read parquet tables, one row group at a time, and large ones page by page."""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError, MissingExtraError
from upto.files.arrow_columns import copy_column
from upto.files.damage import damage_reported, damaged
from upto.files.declared import check_declared
from upto.files.request import Columns, Contents, Request, names_of_coordinates
from upto.files.row_groups import LargeGroup
from upto.files.rows import BlockRows
from upto.files.tables import ColumnKind, check_names, column_layout, label_column, table_layout
from upto.files.text_values import column_of, text_array

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

_CACHED_GROUPS = 2
_CACHED_BYTES = 128 * 2**20
_LARGE_BYTES = 128 * 2**20
"""Most bytes of a row group that is decoded as a whole."""
_BATCH_BYTES = 2**23
_BUFFER_BYTES = 2**16
_LABEL_BYTES = 8


def read_parquet(request: Request) -> Contents:
    """Read a parquet file: its labels at once, its features by row group."""
    file = open_parquet(request.path)
    layout = table_layout(request, column_kinds(file.schema_arrow))
    keep = [*layout.labels, *([layout.ids] if layout.ids is not None else [])]
    columns = parquet_values(request.path, file, keep)
    rows = ParquetRows(request.path, layout.features)
    return Contents(
        rows=rows,
        ids=None if layout.ids is None else columns[layout.ids],
        columns={name: columns[name] for name in layout.labels},
        features=names_of_coordinates(layout.features, rows.shape[1]),
    )


def parquet_labels(request: Request) -> tuple[str, NDArray[Any]]:
    """Read one column of a parquet file."""
    file = open_parquet(request.path)
    name = label_column(request, column_kinds(file.schema_arrow))
    return name, parquet_values(request.path, file, [name])[name]


def parquet_columns(request: Request) -> Columns:
    """Read all columns of a parquet file but lists; the key is a prefix of their names."""
    file = open_parquet(request.path)
    layout = column_layout(request, column_kinds(file.schema_arrow))
    names = [*layout.labels, *([layout.ids] if layout.ids is not None else [])]
    columns = parquet_values(request.path, file, names)
    return Columns(
        ids=None if layout.ids is None else columns[layout.ids],
        columns={name: columns[name] for name in layout.labels},
    )


def parquet_kinds(path: Path) -> dict[str, ColumnKind]:
    """Return the kind of each column of a parquet file."""
    return column_kinds(open_parquet(path).schema_arrow)


class ParquetRows(BlockRows):
    """Feature columns, or one column of lists, of a parquet file.

    Threads share the most recently decoded row groups, because neighbouring blocks mostly lie in
    the same group. Large groups are decoded page by page, and neighbouring blocks share the pages.

    Parameters
    ----------
    path
        The file.
    names
        The columns.
    """

    _file: Any
    _cache: OrderedDict[int, NDArray[Any]]
    _large: OrderedDict[int, LargeGroup]
    _lock: threading.Lock

    def __init__(self, path: Path, names: tuple[str, ...]) -> None:
        self.names = names
        self._prepare()
        file = self._opened(path.absolute())
        with damage_reported(path):
            schema = file.schema_arrow
            sizes = group_sizes(path, file)
            self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
            types = [schema.field(name).type for name in names]
            self._is_list = _kind(types[0]) == "list"
            width = len(names)
            if self._is_list:
                width = _list_width(path, file, names[0])
                types = [types[0].value_type]
            dtype = np.result_type(*(np.dtype(kind.to_pandas_dtype()) for kind in types))
        n_rows = int(self._starts[-1])
        check_declared(path, n_rows * width * dtype.itemsize, path.stat().st_size)
        super().__init__(path, (n_rows, width), dtype)

    def _read(self, start: int, stop: int) -> NDArray[Any]:
        first = int(np.searchsorted(self._starts, start, side="right")) - 1
        last = int(np.searchsorted(self._starts, stop, side="left"))
        if last - first == 1:
            return self._rows_of(first, start, stop)
        out = np.empty((stop - start, self.shape[1]), dtype=self.dtype)
        for group in range(first, last):
            begin, end = self._bounds(group)
            begin, end = max(begin, start), min(end, stop)
            out[begin - start : end - start] = self._rows_of(group, begin, end)
        return out

    def _rows_of(self, group: int, start: int, stop: int) -> NDArray[Any]:
        begin, end = self._bounds(group)
        if (end - begin) * self._row_bytes > _LARGE_BYTES:
            return self._large_group(group).read(start - begin, stop - begin)
        return self._group(group)[start - begin : stop - begin]

    def _group(self, group: int) -> NDArray[Any]:
        with self._lock:
            if group in self._cache:
                self._cache.move_to_end(group)
                return self._cache[group]
            values = self._decode(group)
            values.flags.writeable = False
            self._cache[group] = values
            while len(self._cache) > _CACHED_GROUPS and self._cached_bytes() > _CACHED_BYTES:
                self._cache.popitem(last=False)
            return values

    def _large_group(self, group: int) -> LargeGroup:
        with self._lock:
            found = self._large.pop(group, None)
            if found is None:
                begin, end = self._bounds(group)
                shape = (end - begin, self.shape[1])
                decode = partial(self._decoded_in_part, group)
                found = LargeGroup(self.path, shape, self.dtype, decode)
            self._large[group] = found
            in_memory = [each for each, kept in self._large.items() if not kept.is_stored]
            for each in in_memory[:-_CACHED_GROUPS]:
                del self._large[each]
            return found

    def _decode(self, group: int) -> NDArray[Any]:
        begin, end = self._bounds(group)
        table = self._opened(self.path).read_row_group(group, columns=[*self.names])
        self._check_count(begin, end, table.num_rows)
        return self._values(table, begin)

    def _decoded_in_part(self, group: int) -> Iterator[NDArray[Any]]:
        import pyarrow as pa

        begin, end = self._bounds(group)
        # A file of its own: other threads may read from the shared one meanwhile.
        batches = open_parquet(self.path).iter_batches(
            max(1, _BATCH_BYTES // self._row_bytes), row_groups=[group], columns=[*self.names]
        )
        row = begin
        for batch in batches:
            if row + batch.num_rows > end:
                self._check_count(begin, end, row + batch.num_rows - begin)
            yield self._values(pa.Table.from_batches([batch]), row)
            row += batch.num_rows
        self._check_count(begin, end, row - begin)

    def _check_count(self, begin: int, end: int, n_rows: int) -> None:
        if n_rows != end - begin:
            raise InputError(damaged(self.path, f"rows {begin} to {end} decode to {n_rows}"))

    def _values(self, table: Any, begin: int) -> NDArray[Any]:
        if self._is_list:
            return self._lists(table.column(self.names[0]).combine_chunks(), begin)
        values = np.empty((table.num_rows, len(self.names)), dtype=self.dtype)
        for position, name in enumerate(self.names):
            column = table.column(name)
            self._refuse_nulls(column, name, begin)
            copy_column(column, values[:, position])
        return values

    def _lists(self, column: Any, begin: int) -> NDArray[Any]:
        import pyarrow as pa
        import pyarrow.compute as pc

        name, width = self.names[0], self.shape[1]
        self._refuse_nulls(column, name, begin)
        lengths = np.empty(len(column), dtype=np.int64)
        copy_column(pa.chunked_array([pc.list_value_length(column)]), lengths)
        wrong = np.flatnonzero(lengths != width)
        if len(wrong):
            row = int(wrong[0])
            message = (
                f"{self.path}::{name} has {lengths[row]} values in row {begin + row} but "
                f"{width} in row 0: all rows need the same number."
            )
            raise InputError(message)
        flat = column.flatten()
        self._refuse_nulls(flat, name, begin)
        values = np.empty(len(column) * width, dtype=self.dtype)
        copy_column(pa.chunked_array([flat]), values)
        return values.reshape(-1, width)

    def _refuse_nulls(self, column: Any, name: str, begin: int) -> None:
        if column.null_count:
            message = (
                f"{self.path} has {column.null_count} missing values in the feature column "
                f"{name!r} from row {begin} on: fill them or drop the rows."
            )
            raise InputError(message)

    def _opened(self, path: Path) -> Any:
        if self._file is None:
            self._file = open_parquet(path)
        return self._file

    def _bounds(self, group: int) -> tuple[int, int]:
        return int(self._starts[group]), int(self._starts[group + 1])

    @property
    def _row_bytes(self) -> int:
        return self.shape[1] * self.dtype.itemsize

    def _cached_bytes(self) -> int:
        return sum(values.nbytes for values in self._cache.values())

    def _prepare(self) -> None:
        self._file = None
        self._cache = OrderedDict()
        self._large = OrderedDict()
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value
            for name, value in self.__dict__.items()
            if name not in ("_file", "_cache", "_large", "_lock")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()


def open_parquet(path: Path) -> Any:
    """Open a parquet file and check the names of its columns."""
    try:
        import pyarrow.parquet as pq
    except ImportError:
        what = f"reading {path.name}"
        raise MissingExtraError(what, package="pyarrow", extra="tables") from None
    with damage_reported(path):
        # Without a buffer of their own, all bytes of a column in a row group are read at once.
        file = pq.ParquetFile(
            path, pre_buffer=False, buffer_size=_BUFFER_BYTES, page_checksum_verification=True
        )
        names = file.schema_arrow.names
    check_names(path, names)
    return file


def column_kinds(schema: Any) -> dict[str, ColumnKind]:
    """Return the kind of each column of an Arrow schema; others are left out."""
    import pyarrow.types as pt

    nested = (pt.is_struct, pt.is_map, pt.is_union)
    kinds: dict[str, ColumnKind] = {}
    for field in schema:
        kind = _kind(field.type)
        is_list = pt.is_list(field.type) or pt.is_large_list(field.type)
        if kind == "text" and (is_list or any(test(field.type) for test in nested)):
            continue
        kinds[field.name] = kind
    return kinds


def _kind(type_: Any) -> ColumnKind:
    import pyarrow.types as pt

    def is_number(type_: Any) -> bool:
        return bool(pt.is_integer(type_) or pt.is_floating(type_))

    if is_number(type_):
        return "number"
    tests = (pt.is_list, pt.is_large_list, pt.is_fixed_size_list)
    if any(test(type_) for test in tests) and is_number(type_.value_type):
        return "list"
    return "text"


def parquet_values(path: Path, file: Any, names: list[str]) -> dict[str, NDArray[Any]]:
    """Read columns of an open parquet file at once."""
    with damage_reported(path):
        n_rows = sum(group_sizes(path, file))
        check_declared(path, n_rows * _LABEL_BYTES, path.stat().st_size, "labels")
        table = file.read(columns=list(dict.fromkeys(names)))
        if table.num_rows != n_rows:
            raise InputError(damaged(path, f"{n_rows} rows decode to {table.num_rows}"))
        return {name: label_values(table.column(name), column_of(path, name)) for name in names}


def group_sizes(path: Path, file: Any) -> list[int]:
    """Return the number of rows of each row group of an open parquet file."""
    metadata = file.metadata
    sizes = [int(metadata.row_group(group).num_rows) for group in range(metadata.num_row_groups)]
    if min(sizes, default=0) < 0 or sum(sizes) != metadata.num_rows:
        why = f"its groups have {sum(sizes)} rows, but its header gives {metadata.num_rows}"
        raise InputError(damaged(path, why))
    return sizes


def label_values(column: Any, where: str) -> NDArray[Any]:
    """Return the values of a column as numbers or text."""
    import pyarrow.types as pt

    if pt.is_integer(column.type) or pt.is_floating(column.type) or pt.is_boolean(column.type):
        values: NDArray[Any] = column.to_numpy()
        if values.dtype.kind != "O":
            return values
        # With missing values, booleans become objects.
        return text_array(where, ["" if cell is None else str(cell) for cell in values.tolist()])
    return text_array(where, ["" if cell is None else str(cell) for cell in column.to_pylist()])


def _list_width(path: Path, file: Any, name: str) -> int:
    fixed = getattr(file.schema_arrow.field(name).type, "list_size", None)
    if fixed is not None:
        return int(fixed)
    for batch in file.iter_batches(batch_size=1, columns=[name]):
        values = batch.column(0)[0].as_py()
        if values:
            return len(values)
        break
    message = f"{path}::{name} has no values in row 0: all rows need the same number."
    raise InputError(message)
