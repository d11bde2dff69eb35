"""Read Lance tables block by block."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError, MissingExtraError
from upto.files.arrow_columns import copy_column
from upto.files.chunk_files import check_files_below
from upto.files.columnar import column_kinds, label_values
from upto.files.damage import damage_reported, damaged
from upto.files.declared import check_declared
from upto.files.request import Columns, Contents, Request, names_of_coordinates
from upto.files.rows import BlockRows, ThreadHandles
from upto.files.tables import check_names, column_layout, label_column, table_layout
from upto.files.text_values import column_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

_LABEL_BYTES = 8


def read_lance(request: Request) -> Contents:
    """Read a Lance table: its labels at once, its vectors by block."""
    table = _open(request.path)
    layout = table_layout(request, column_kinds(table.schema))
    keep = [*layout.labels, *([layout.ids] if layout.ids is not None else [])]
    columns = _values(request.path, table, keep)
    rows = LanceRows(request.path, layout.features)
    return Contents(
        rows=rows,
        ids=None if layout.ids is None else columns[layout.ids],
        columns={name: columns[name] for name in layout.labels},
        features=names_of_coordinates(layout.features, rows.shape[1]),
    )


def lance_labels(request: Request) -> tuple[str, NDArray[Any]]:
    """Read one column of a Lance table."""
    table = _open(request.path)
    name = label_column(request, column_kinds(table.schema))
    return name, _values(request.path, table, [name])[name]


def lance_columns(request: Request) -> Columns:
    """Read all columns of a Lance table but lists."""
    table = _open(request.path)
    layout = column_layout(request, column_kinds(table.schema))
    names = [*layout.labels, *([layout.ids] if layout.ids is not None else [])]
    columns = _values(request.path, table, names)
    return Columns(
        ids=None if layout.ids is None else columns[layout.ids],
        columns={name: columns[name] for name in layout.labels},
    )


class LanceRows(BlockRows):
    """One column of lists of equal length, or columns of numbers, of a Lance table.

    Parameters
    ----------
    path
        Folder of the table.
    names
        The columns.
    """

    def __init__(self, path: Path, names: tuple[str, ...]) -> None:
        table = _open(path)
        self.names = names
        types = [table.schema.field(name).type for name in names]
        width = getattr(types[0], "list_size", None)
        self._is_list = width is not None
        if column_kinds(table.schema)[names[0]] == "list":
            if width is None:
                message = (
                    f"{path}::{names[0]} has lists of any length: write it as a list of fixed size."
                )
                raise InputError(message)
            types = [types[0].value_type]
        with damage_reported(path):
            dtype = np.result_type(*(np.dtype(kind.to_pandas_dtype()) for kind in types))
        n_rows = _count(path, table)
        width = len(names) if width is None else int(width)
        stored = sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
        check_declared(path, n_rows * width * dtype.itemsize, stored)
        super().__init__(path, (n_rows, width), dtype)
        self._table = ThreadHandles(partial(_open, self.path))

    def _read(self, start: int, stop: int) -> NDArray[Any]:
        with _panics_reported(self.path):
            found = self._table().to_table(columns=[*self.names], offset=start, limit=stop - start)
        out = np.empty((found.num_rows, self.shape[1]), dtype=self.dtype)
        for position, name in enumerate(self.names):
            column = found.column(name)
            self._refuse_nulls(column, name, start)
            if self._is_list:
                self._copy_lists(column, name, out, start)
            else:
                copy_column(column, out[:, position])
        return out

    def _copy_lists(self, column: Any, name: str, out: NDArray[Any], start: int) -> None:
        import pyarrow as pa

        flat = [chunk.flatten() for chunk in column.chunks]
        for chunk in flat:
            self._refuse_nulls(chunk, name, start)
        if sum(map(len, flat)) != out.size:
            raise InputError(damaged(self.path, f"rows from {start} on are of other lengths"))
        copy_column(pa.chunked_array(flat, type=column.type.value_type), out.reshape(-1))

    def _refuse_nulls(self, column: Any, name: str, start: int) -> None:
        if column.null_count:
            message = (
                f"{self.path} has {column.null_count} missing values in the feature column "
                f"{name!r} from row {start} on: fill them or drop the rows."
            )
            raise InputError(message)


def _open(path: Path) -> Any:
    try:
        import lance
    except ImportError:
        what = f"reading {path.name}"
        raise MissingExtraError(what, package="pylance", extra="lance") from None
    check_files_below(path)
    with _panics_reported(path):
        table = lance.dataset(str(path))
        names = list(table.schema.names)
    check_names(path, names)
    return table


def _count(path: Path, table: Any) -> int:
    with _panics_reported(path):
        return int(table.count_rows())


def _values(path: Path, table: Any, names: list[str]) -> dict[str, NDArray[Any]]:
    if not names:
        return {}
    n_rows = _count(path, table)
    stored = sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
    check_declared(path, n_rows * _LABEL_BYTES, stored, "labels")
    with _panics_reported(path):
        found = table.to_table(columns=list(dict.fromkeys(names)))
        if found.num_rows != n_rows:
            raise InputError(damaged(path, f"{n_rows} rows decode to {found.num_rows}"))
        return {name: label_values(found.column(name), column_of(path, name)) for name in names}


@contextmanager
def _panics_reported(path: Path) -> Iterator[None]:
    """Turn errors of the library into sentences, also those that are no exceptions to Python."""
    with damage_reported(path):
        try:
            yield
        except BaseException as error:
            if type(error).__name__ == "PanicException":
                raise ValueError(str(error)) from None
            raise
