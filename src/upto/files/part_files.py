"""Read folders of parquet files as one table, in the order of the files' names."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.files.chunk_files import check_files_below
from upto.files.columnar import (
    ParquetRows,
    column_kinds,
    group_sizes,
    open_parquet,
    parquet_values,
)
from upto.files.folders import part_paths
from upto.files.request import Columns, Contents, Request, names_of_coordinates
from upto.files.rows import BlockRows
from upto.files.tables import column_layout, label_column, table_layout
from upto.files.text_values import column_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from upto.files.tables import ColumnKind

_OPEN_PARTS = 2


def read_parts(request: Request) -> Contents:
    """Read a folder of parquet files: its labels at once, its features by row group."""
    parts = _Parts(request.path)
    layout = table_layout(request, parts.kinds)
    keep = [*layout.labels, *([layout.ids] if layout.ids is not None else [])]
    columns = parts.values(keep)
    rows = PartsRows(request.path, parts.paths, parts.counts, layout.features)
    return Contents(
        rows=rows,
        ids=None if layout.ids is None else columns[layout.ids],
        columns={name: columns[name] for name in layout.labels},
        features=names_of_coordinates(layout.features, rows.shape[1]),
    )


def parts_labels(request: Request) -> tuple[str, NDArray[Any]]:
    """Read one column of a folder of parquet files."""
    parts = _Parts(request.path)
    name = label_column(request, parts.kinds)
    return name, parts.values([name])[name]


def parts_columns(request: Request) -> Columns:
    """Read all columns of a folder of parquet files but lists."""
    parts = _Parts(request.path)
    layout = column_layout(request, parts.kinds)
    columns = parts.values([*layout.labels, *([layout.ids] if layout.ids is not None else [])])
    return Columns(
        ids=None if layout.ids is None else columns[layout.ids],
        columns={name: columns[name] for name in layout.labels},
    )


def rows_of_parts(folder: Path, names: tuple[str, ...]) -> PartsRows:
    """Return some columns of a folder of parquet files as rows."""
    parts = _Parts(folder)
    return PartsRows(folder, parts.paths, parts.counts, names)


class _Parts:
    """The files of a folder, all with the same columns."""

    def __init__(self, folder: Path) -> None:
        check_files_below(folder)
        self.folder = folder
        self.paths = part_paths(folder)
        self.counts: list[int] = []
        self.kinds: dict[str, ColumnKind] = {}
        schema = None
        for path in self.paths:
            file = open_parquet(path)
            if schema is None:
                schema = file.schema_arrow
                self.kinds = column_kinds(schema)
            elif not schema.equals(file.schema_arrow):
                message = (
                    f"{path} has other columns, or columns of other types, than "
                    f"{self.paths[0].name} beside it: put files of one table into a folder."
                )
                raise InputError(message)
            self.counts.append(sum(group_sizes(path, file)))

    def values(self, names: list[str]) -> dict[str, NDArray[Any]]:
        found = [parquet_values(path, open_parquet(path), names) for path in self.paths]
        for name in names:
            if len({each[name].dtype.kind for each in found}) > 1:
                # Numbers in one file, and missing ones, which become text, in another.
                message = (
                    f"{column_of(self.folder, name)} has missing values in some files only: fill "
                    "them."
                )
                raise InputError(message)
        return {name: np.concatenate([each[name] for each in found]) for name in names}


class PartsRows(BlockRows):
    """The rows of several parquet files, of which the ones read last stay open.

    Parameters
    ----------
    folder, paths
        The folder and its files.
    counts
        Number of rows of each file.
    names
        The columns.
    """

    _open: OrderedDict[int, ParquetRows]
    _lock: threading.Lock

    def __init__(
        self, folder: Path, paths: Sequence[Path], counts: Sequence[int], names: tuple[str, ...]
    ) -> None:
        self.names = names
        self._paths = [each.absolute() for each in paths]
        self._starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
        self._prepare()
        held = [number for number, count in enumerate(counts) if count]
        first = self._part(held[0] if held else 0)
        super().__init__(folder, (int(self._starts[-1]), first.shape[1]), first.dtype)

    def _read(self, start: int, stop: int) -> NDArray[Any]:
        first = int(np.searchsorted(self._starts, start, side="right")) - 1
        last = int(np.searchsorted(self._starts, stop, side="left"))
        pieces = []
        for number in range(first, last):
            begin, end = int(self._starts[number]), int(self._starts[number + 1])
            if begin < end:
                part = self._part(number)
                pieces.append(part[max(begin, start) - begin : min(end, stop) - begin])
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def _part(self, number: int) -> ParquetRows:
        with self._lock:
            found = self._open.pop(number, None)
            if found is None:
                found = ParquetRows(self._paths[number], self.names)
            self._open[number] = found
            while len(self._open) > _OPEN_PARTS:
                self._open.popitem(last=False)
            return found

    def _prepare(self) -> None:
        self._open = OrderedDict()
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value for name, value in self.__dict__.items() if name not in ("_open", "_lock")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()
