"""Read comma- and tab-separated tables, and files with one label per line."""

from __future__ import annotations

import csv
from contextlib import contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.core.errors import reason, shortened
from upto.files.request import Columns, Contents, Request, names_of_coordinates
from upto.files.tables import ColumnKind, check_names, column_layout, label_column, table_layout
from upto.files.text_values import column_of, text_array

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

_CHUNK = 2000
_MISSING = ("", "na", "n/a", "null", "none")
_INDEX_HEADINGS = ("", "Unnamed: 0")


def read_text(request: Request) -> Contents:
    """Read a whole text table; text files cannot be read by block."""
    with _open_table(request.path) as table:
        layout = table_layout(request, table.kinds)
        keep = [*layout.labels, *([layout.ids] if layout.ids is not None else [])]
        kept: dict[str, list[str]] = {name: [] for name in keep}
        numbers = []
        for lines in table.chunks():
            numbers.append(table.numbers(lines, layout.features))
            for name, cells in kept.items():
                position = table.position[name]
                cells.extend(line[position] for _, line in lines)
    return Contents(
        rows=np.concatenate(numbers),
        ids=None if layout.ids is None else _labels(request, kept, layout.ids, fractions=False),
        columns={name: _labels(request, kept, name) for name in layout.labels},
        features=names_of_coordinates(layout.features, len(layout.features)),
    )


def text_labels(request: Request) -> tuple[str, NDArray[Any]]:
    """Read one column of a text table."""
    with _open_table(request.path) as table:
        name = label_column(request, table.kinds)
        position = table.position[name]
        cells = [cells[position] for lines in table.chunks() for _, cells in lines]
    return name, as_labels(cells, column_of(request.path, name))


def text_columns(request: Request) -> Columns:
    """Read all columns of a text table; the key is a prefix of their names."""
    with _open_table(request.path) as table:
        layout = column_layout(request, table.kinds)
        names = [*layout.labels, *([layout.ids] if layout.ids is not None else [])]
        kept: dict[str, list[str]] = {name: [] for name in names}
        for lines in table.chunks():
            for name, cells in kept.items():
                position = table.position[name]
                cells.extend(line[position].strip() for _, line in lines)
    return Columns(
        ids=None if layout.ids is None else _labels(request, kept, layout.ids, fractions=False),
        columns={name: _labels(request, kept, name) for name in layout.labels},
    )


def text_kinds(path: Path) -> dict[str, ColumnKind]:
    """Return the kind of each column of a text table, judged by its first lines."""
    with _open_table(path) as table:
        return table.kinds


def line_labels(request: Request) -> tuple[str, NDArray[Any]]:
    """Read a text file with one label per line."""
    if request.key is not None:
        message = f"{request.path} has one label per line and no columns: drop `::{request.key}`."
        raise InputError(message)
    try:
        lines = request.path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(_not_text(request.path, error)) from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            message = f"{request.path} line {number} is empty: write one label per row."
            raise InputError(message)
    return request.path.stem, as_labels([line.strip() for line in lines], request.path)


def _labels(
    request: Request, kept: dict[str, list[str]], name: str, *, fractions: bool = True
) -> NDArray[Any]:
    return as_labels(kept[name], column_of(request.path, name), fractions=fractions)


def as_labels(cells: list[str], where: object, *, fractions: bool = True) -> NDArray[Any]:
    """Convert cells to integers or floats if all of them are, and else leave them as text.

    Leading zeros make text, so that ids such as 007 are preserved. `where` is the file and the
    column; `fractions` allows floats.
    """
    try:
        if all(str(int(cell)) == cell for cell in cells):
            return np.array([int(cell) for cell in cells], dtype=np.int64)
    except (ValueError, OverflowError):
        pass
    padded = any(cell.lstrip("-")[:1] == "0" and cell.lstrip("-")[1:2].isdigit() for cell in cells)
    if fractions and not padded and cells and all(_is_number(cell) for cell in cells):
        return np.array([float(cell) for cell in cells])
    return text_array(where, cells)


class _Table:
    """An open table: numbered lines of cells under column names."""

    def __init__(self, path: Path, lines: Iterator[tuple[int, list[str]]]) -> None:
        self.path = path
        first = next(lines, None)
        if first is None:
            message = f"{path} has no lines with values: write a header and one line per sample."
            raise InputError(message)
        if _is_header(first[1]):
            self.names = _headings(path, first[1])
            self._lines = lines
        else:
            self.names = [str(number) for number in range(len(first[1]))]
            self._lines = chain([first], lines)
        self.position = {name: position for position, name in enumerate(self.names)}
        self._first = self._chunk()
        if not self._first:
            message = f"{path} has a header and no other lines: write one line per sample."
            raise InputError(message)
        self.kinds: dict[str, ColumnKind] = {
            name: self._kind(position) for position, name in enumerate(self.names)
        }

    def chunks(self) -> Iterator[list[tuple[int, list[str]]]]:
        """Yield a few thousand lines at a time, each with its number."""
        lines = self._first
        while lines:
            yield lines
            lines = self._chunk()

    def numbers(
        self, lines: list[tuple[int, list[str]]], names: tuple[str, ...]
    ) -> NDArray[np.float64]:
        """Convert the cells of some columns to numbers."""
        positions = [self.position[name] for name in names]
        out = np.empty((len(lines), len(names)))
        for row, (number, cells) in zip(out, lines, strict=True):
            try:
                row[:] = [float(cells[position]) for position in positions]
            except ValueError:
                bad = next(p for p in positions if not _is_number(cells[p]))
                raise InputError(self._bad_cell(number, self.names[bad], cells[bad])) from None
        return out

    def _chunk(self) -> list[tuple[int, list[str]]]:
        lines = list(islice(self._lines, _CHUNK))
        for number, cells in lines:
            if len(cells) != len(self.names):
                message = (
                    f"{self.path} line {number} has {len(cells)} cells but the first line has "
                    f"{len(self.names)}: give every line the same columns."
                )
                raise InputError(message)
        return lines

    def _kind(self, position: int) -> ColumnKind:
        for _, cells in self._first:
            if cells[position].strip().lower() not in _MISSING:
                return "number" if _is_number(cells[position]) else "text"
        return "text"

    def _bad_cell(self, number: int, name: str, cell: str) -> str:
        if cell.strip().lower() in _MISSING:
            return (
                f"{self.path} line {number} has no value in the feature column "
                f"{shortened(name)!r}: fill the cell or drop the line."
            )
        return (
            f"{self.path} line {number} has {shortened(cell)!r} in the feature column "
            f"{shortened(name)!r}, which is not a number: correct it, or select the feature "
            "columns by prefix, as in "
            f"{self.path}::feature_."
        )


@contextmanager
def _open_table(path: Path) -> Iterator[_Table]:
    reader = None
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            delimiter = "\t" if path.suffix.lower() == ".tsv" else _delimiter(file.readline())
            file.seek(0)
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            yield _Table(path, _numbered(reader))
    except UnicodeDecodeError as error:
        raise InputError(_not_text(path, error)) from None
    except csv.Error as error:
        line = reader.line_num if reader is not None else 1
        message = f"{path} line {line} cannot be read as a table: {reason(error)}."
        raise InputError(message) from None


def _numbered(reader: Any) -> Iterator[tuple[int, list[str]]]:
    for cells in reader:
        if cells:
            yield reader.line_num, cells


def _delimiter(line: str) -> str:
    return max(",;\t", key=line.count)


def _is_header(cells: list[str]) -> bool:
    """Return whether cells are a header: no numbers, or columns counted from 0 as in pandas."""
    numbers = [cell.strip() for cell in cells if _is_number(cell)]
    counting = [str(column) for column in range(len(numbers))]
    return not numbers or (len(numbers) > 1 and numbers == counting)


def _headings(path: Path, cells: list[str]) -> list[str]:
    names = [cell.strip() for cell in cells]
    # pandas writes its index first and leaves the heading empty.
    if names[0] in _INDEX_HEADINGS and "index" not in names:
        names[0] = "index"
    check_names(path, names)
    return names


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    # Python reads 1_10 as a number, but people mean plate 1, well 10.
    return "_" not in cell


def _not_text(path: Path, error: UnicodeDecodeError) -> str:
    return f"{path} is not UTF-8 text (byte {error.start}): save it again as UTF-8."
