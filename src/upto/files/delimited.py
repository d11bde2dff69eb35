"""Read comma- and tab-separated tables, and files with one label per line."""

from __future__ import annotations

import csv
from contextlib import contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.core.errors import reason, shortened
from upto.files.plain_tables import PlainTable
from upto.files.request import Columns, Contents, Request, names_of_coordinates
from upto.files.tables import ColumnKind, check_names, column_layout, label_column, table_layout
from upto.files.text_values import column_of, text_array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
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
        rows, kept = table.read(layout.features, keep)
    return Contents(
        rows=rows,
        ids=None if layout.ids is None else _labels(request, kept, layout.ids, fractions=False),
        columns={name: _labels(request, kept, name) for name in layout.labels},
        features=names_of_coordinates(layout.features, len(layout.features)),
    )


def text_labels(request: Request) -> tuple[str, NDArray[Any]]:
    """Read one column of a text table."""
    with _open_table(request.path) as table:
        name = label_column(request, table.kinds)
        _, kept = table.read((), [name])
    return name, _labels(request, kept, name)


def text_columns(request: Request) -> Columns:
    """Read all columns of a text table; the key is a prefix of their names."""
    with _open_table(request.path) as table:
        layout = column_layout(request, table.kinds)
        names = [*layout.labels, *([layout.ids] if layout.ids is not None else [])]
        _, found = table.read((), names)
    kept = {name: [cell.strip() for cell in cells] for name, cells in found.items()}
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
    if (
        fractions
        and cells
        and all(_is_number(cell) for cell in cells)
        and not any(_is_padded(cell.lstrip("-")) for cell in cells)
    ):
        return np.array([float(cell) for cell in cells])
    return text_array(where, cells)


def _is_padded(digits: str) -> bool:
    return digits[:1] == "0" and digits[1:2].isdigit()


class _Table:
    """An open table: numbered lines of cells under column names."""

    def __init__(self, path: Path, delimiter: str, lines: Iterator[tuple[int, list[str]]]) -> None:
        self.path = path
        first = next(lines, None)
        if first is None:
            message = f"{path} has no lines with values: write a header and one line per sample."
            raise InputError(message)
        if _is_header(first[1]):
            self.names = _headings(path, first[1])
            self._lines = lines
            n_skipped = first[0]
        else:
            self.names = [str(number) for number in range(len(first[1]))]
            self._lines = chain([first], lines)
            n_skipped = 0
        self.position = {name: position for position, name in enumerate(self.names)}
        self._plain = PlainTable(path, delimiter, len(self.names), n_skipped)
        self._first: list[tuple[int, list[str]]] = []
        self.kinds = self._found_kinds()
        if not self._first:
            message = f"{path} has a header and no other lines: write one line per sample."
            raise InputError(message)

    def read(
        self, features: Sequence[str], labels: Sequence[str]
    ) -> tuple[NDArray[np.float64], dict[str, list[str]]]:
        """Return the numbers of some columns and the cells of others, of all lines."""
        positions = [self.position[name] for name in features]
        kept = [self.position[name] for name in labels]
        found = self._plain.read(positions, kept)
        if found is None:
            found = self._read(positions, kept)
        rows, cells = found
        return rows, dict(zip(labels, cells, strict=True))

    def check_first_lines(self) -> None:
        """Refuse lines that explain why their columns make no sense, unless they were read."""
        if self._first:
            self._first += self._some(_CHUNK - len(self._first))

    def _read(
        self, features: list[int], labels: list[int]
    ) -> tuple[NDArray[np.float64], list[list[str]]]:
        numbers = []
        kept: list[list[str]] = [[] for _ in labels]
        lines, self._first = self._first, []
        lines += self._some(_CHUNK - len(lines))
        while lines:
            numbers.append(self._numbers(lines, features))
            for cells, position in zip(kept, labels, strict=True):
                cells.extend(line[position] for _, line in lines)
            lines = [*self._some(_CHUNK)]
        return np.concatenate(numbers), kept

    def _numbers(
        self, lines: list[tuple[int, list[str]]], features: list[int]
    ) -> NDArray[np.float64]:
        out = np.empty((len(lines), len(features)))
        for row, (number, cells) in zip(out, lines, strict=True):
            chosen = [cells[position] for position in features]
            try:
                row[:] = [float(cell) for cell in chosen]
                is_bad = "_" in "".join(chosen)
            except ValueError:
                is_bad = True
            if is_bad:
                bad = next(p for p in features if not _is_number(cells[p]))
                raise InputError(self._bad_cell(number, self.names[bad], cells[bad]))
        return out

    def _some(self, most: int) -> Iterator[tuple[int, list[str]]]:
        for number, cells in islice(self._lines, most):
            if len(cells) != len(self.names):
                message = (
                    f"{self.path} line {number} has {len(cells)} cells but the first line has "
                    f"{len(self.names)}: give every line the same columns."
                )
                raise InputError(message)
            yield number, cells

    def _found_kinds(self) -> dict[str, ColumnKind]:
        """Judge each column by its first value, and keep the lines read for it."""
        kinds: dict[str, ColumnKind] = dict.fromkeys(self.names, "text")
        unknown = self.names
        for line in self._some(_CHUNK):
            self._first.append(line)
            cells = {name: line[1][self.position[name]] for name in unknown}
            unknown = [name for name in unknown if _is_missing(cells[name])]
            for name in cells.keys() - set(unknown):
                kinds[name] = "number" if _is_number(cells[name]) else "text"
            if not unknown:
                break
        return kinds

    def _bad_cell(self, number: int, name: str, cell: str) -> str:
        if _is_missing(cell):
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
            table = _Table(path, delimiter, _numbered(reader))
            try:
                yield table
            except InputError:
                table.check_first_lines()
                raise
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


def _is_missing(cell: str) -> bool:
    return cell.strip().lower() in _MISSING


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    # Python reads 1_10 as a number, but people mean plate 1, well 10.
    return "_" not in cell


def _not_text(path: Path, error: UnicodeDecodeError) -> str:
    return f"{path} is not UTF-8 text (byte {error.start}): save it again as UTF-8."
