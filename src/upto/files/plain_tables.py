"""Read plain text tables by block: every cell as it looks, every feature a finite number.

Most tables are plain. Whatever else a block contains - a missing or bad cell, a line of another
length, a quoted line break, bytes that are not UTF-8 - ends the reading without a result, so that
`delimited` alone decides what such a table means, and says so.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from upto.files.arrow_columns import copy_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from numpy.typing import NDArray

_BLOCK_BYTES = 2**23
_WIDE_BLOCK_BYTES = 2**26
_COLUMN_BYTES = 2**12
"""Bytes of a column in a block from which on Arrow's work for each column matters little."""
_MARK = b"\xef\xbb\xbf"


class _NotPlain(Exception):
    """The table is not plain."""


class PlainTable(NamedTuple):
    """Where the columns of a text table are.

    Parameters
    ----------
    path
        The file.
    delimiter
        Character between cells.
    width
        Number of columns.
    n_skipped
        Number of lines before the first values.
    """

    path: Path
    delimiter: str
    width: int
    n_skipped: int

    def read(
        self, features: Sequence[int], labels: Sequence[int]
    ) -> tuple[NDArray[np.float64], list[list[str]]] | None:
        """Return the numbers of some columns and the cells of others, or None if it is not plain.

        Parameters
        ----------
        features
            Positions of the columns with numbers.
        labels
            Positions of the columns with text.
        """
        n_bytes = self.path.stat().st_size
        converted = (
            _by_arrow if n_bytes > _COLUMN_BYTES * self.width and _has_arrow() else _by_numpy
        )
        rows = _Rows(len(features), n_bytes)
        cells: list[list[str]] = [[] for _ in labels]
        try:
            for block in self._blocks():
                _check(block, self.delimiter)
                numbers, found = converted(self, block, features, labels)
                longest = max((len(cell) for column in found for cell in column), default=0)
                if not np.isfinite(numbers).all() or longest > csv.field_size_limit():
                    return None
                rows.append(numbers, len(block))
                for kept, more in zip(cells, found, strict=True):
                    kept.extend(more)
        except _NotPlain:
            return None
        return rows.finished(), cells

    def _blocks(self) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            _skip(file, self.n_skipped)
            size = max(_BLOCK_BYTES, min(_COLUMN_BYTES * self.width, _WIDE_BLOCK_BYTES))
            while block := file.read(size):
                yield block + file.readline()


class _Rows:
    """Rows in one array with room for as many as the first block lets expect."""

    def __init__(self, width: int, n_bytes: int) -> None:
        self._n_bytes = n_bytes
        self._full: list[NDArray[np.float64]] = []
        self._open = np.empty((0, width))
        self._used = 0

    def append(self, rows: NDArray[np.float64], n_bytes: int) -> None:
        """Append the rows of a block of so many bytes."""
        if self._used + len(rows) > len(self._open):
            self._full.append(self._open[: self._used])
            expected = 1.02 * len(rows) * max(self._n_bytes / n_bytes, 1.0)
            self._open = np.empty((int(expected) + 1, rows.shape[1]))
            self._used = 0
        self._open[self._used : self._used + len(rows)] = rows
        self._used += len(rows)
        self._n_bytes -= n_bytes

    def finished(self) -> NDArray[np.float64]:
        """Return all rows."""
        last = self._open[: self._used]
        full = [part for part in self._full if len(part)]
        return np.concatenate([*full, last]) if full else last


def _has_arrow() -> bool:
    try:
        import pyarrow as pa  # noqa: F401 - is it installed?
    except ImportError:
        return False
    return True


def _by_arrow(
    table: PlainTable, block: bytes, features: Sequence[int], labels: Sequence[int]
) -> tuple[NDArray[np.float64], list[list[str]]]:
    import pyarrow as pa
    from pyarrow import csv as arrow

    types = dict.fromkeys(map(str, labels), pa.string()) | dict.fromkeys(
        map(str, features), pa.float64()
    )
    try:
        found = arrow.read_csv(
            pa.BufferReader(block),
            # One block of theirs is one of ours: a chunk for each column.
            arrow.ReadOptions(
                column_names=[str(column) for column in range(table.width)],
                block_size=len(block) + 1,
            ),
            arrow.ParseOptions(delimiter=table.delimiter),
            arrow.ConvertOptions(column_types=types, include_columns=[*types], null_values=[]),
        )
    except pa.ArrowInvalid as error:
        raise _NotPlain from error
    numbers = np.empty((found.num_rows, len(features)))
    for place, column in enumerate(features):
        copy_column(found.column(str(column)), numbers[:, place])
    return numbers, [found.column(str(column)).to_pylist() for column in labels]


def _by_numpy(
    table: PlainTable, block: bytes, features: Sequence[int], labels: Sequence[int]
) -> tuple[NDArray[np.float64], list[list[str]]]:
    if b'"' in block:
        # Cells are the same without quotes, unless these hide a delimiter or an empty line.
        codes = np.frombuffer(block, dtype=np.uint8)
        if b'""' in block or _are_within(*_quotes(codes), codes == ord(table.delimiter)):
            raise _NotPlain
        block = block.replace(b'"', b"")
    lines = [line for line in block.decode().replace("\r\n", "\n").split("\n") if line]
    if any(line.count(table.delimiter) != table.width - 1 for line in lines):
        raise _NotPlain
    cells: list[list[str]] = [[] for _ in labels]
    if labels:
        last = max(labels) + 1
        for line in lines:
            split = line.split(table.delimiter, last)
            for kept, column in zip(cells, labels, strict=True):
                kept.append(split[column])
    if not features or not lines:
        return np.empty((len(lines), len(features))), cells
    try:
        numbers = np.loadtxt(
            lines, delimiter=table.delimiter, comments=None, usecols=features, ndmin=2
        )
    except ValueError as error:
        raise _NotPlain from error
    return numbers, cells


def _check(block: bytes, delimiter: str) -> None:
    """Refuse a block whose lines or cells cannot be told from their bytes alone."""
    if b"\r" in block and block.count(b"\r") != block.count(b"\r\n"):
        raise _NotPlain
    if not block.isascii():
        try:
            block.decode()
        except UnicodeDecodeError as error:
            raise _NotPlain from error
    if b'"' in block and not _enclose_cells(block, delimiter):
        raise _NotPlain


def _enclose_cells(block: bytes, delimiter: str) -> bool:
    """Return whether all quotes are around whole cells on one line."""
    codes = np.frombuffer(block, dtype=np.uint8)
    first, last = _quotes(codes)
    if len(first) != len(last) or _are_within(first, last, codes == ord("\n")):
        return False
    ends = [ord(delimiter), ord("\n"), ord("\r")]
    before = codes[first[first > 0] - 1]
    after = codes[last[last < len(codes) - 1] + 1]
    return bool(np.isin(before, ends[:2]).all() and np.isin(after, ends).all())


def _quotes(codes: NDArray[np.uint8]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    quotes = np.flatnonzero(codes == ord('"'))
    return quotes[::2], quotes[1::2]


def _are_within(
    first: NDArray[np.intp], last: NDArray[np.intp], are_marks: NDArray[np.bool_]
) -> bool:
    """Return whether a mark is between the quotes of a cell."""
    marks = np.flatnonzero(are_marks)
    return not np.array_equal(np.searchsorted(marks, first), np.searchsorted(marks, last))


def _skip(file: BinaryIO, n_lines: int) -> None:
    """Skip the byte order mark and the first lines, if they end as lines do."""
    if file.read(len(_MARK)) != _MARK:
        file.seek(0)
    for _ in range(n_lines):
        line = file.readline()
        if line.count(b"\r") != line.count(b"\r\n"):
            raise _NotPlain
