"""Tables that render to a terminal, HTML, Markdown, LaTeX, CSV and data frames."""

from __future__ import annotations

import csv
import html
import io
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

from upto.core.errors import InputError, shortened
from upto.core.estimate import Estimate
from upto.core.html_view import table_html
from upto.core.short_repr import Record
from upto.core.short_text import plain_text
from upto.core.table_frames import frame_of
from upto.printable import printable, spelt_out

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

_PADDING = 3
"""Terminal columns that a table column takes in addition to its text."""
_EDGE = 1
"""Terminal columns that a table takes in addition to its columns."""

Cell = str | int | float | Estimate | None


class Marked(str):
    """A text that may end in a mark; in data it is its `value`, beside a column of truth values.

    Parameters
    ----------
    value
        Text or number without the mark.
    is_marked
        Whether the mark is shown.
    mark
        Mark of the text.
    says
        What the mark says: the name of the column in data.
    """

    value: str | int
    is_marked: bool
    says: str

    def __new__(
        cls, value: str | int, *, is_marked: bool = False, mark: str = "", says: str = ""
    ) -> Self:
        """Return the text with its mark; copies are made from the text alone."""
        text = super().__new__(cls, f"{value}{mark if is_marked else ''}")
        text.value, text.is_marked, text.says = value, is_marked, says
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column heading and the format of its numbers."""

    name: str
    spec: str = ".4f"

    def text(self, cell: Cell) -> str:
        """Format one cell; a missing number is an en dash."""
        if cell is None:
            return "–"
        if isinstance(cell, float | Estimate):
            return format(cell, self.spec)
        return str(cell)


def columns(*names: str, spec: str = ".4f") -> tuple[Column, ...]:
    """Return columns with one format of numbers, which texts and whole numbers ignore."""
    return tuple(Column(name=name, spec=spec) for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Record):
    """Rows of cells under named columns.

    See Also
    --------
    upto.core.Result : Its method `tables` returns them.
    upto.Report : Shows them on a page.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                message = f"a row of {len(row)} cells in a table of {len(self.columns)} columns"
                raise ValueError(message)

    def first(self, n_rows: int, n_columns: int, *, longest: int | None = None) -> Table:
        """Return at most this many rows and columns, with texts shortened to `longest`."""
        if len(self.rows) <= n_rows and len(self.columns) <= n_columns and longest is None:
            return self
        rows = tuple(
            tuple(
                cell if longest is None or not isinstance(cell, str) else shortened(cell, longest)
                for cell in row[:n_columns]
            )
            for row in self.rows[:n_rows]
        )
        return replace(self, columns=self.columns[:n_columns], rows=rows)

    def columns_within(self, width: int) -> int:
        """Count the first columns that fit a terminal of this width without line breaks."""
        ends = accumulate(span.most for span in self._spans())
        return max(1, sum(end <= width - _EDGE for end in ends))

    def is_worded(self, index: int) -> bool:
        """Whether a column contains words, which are aligned at the left."""
        return index == 0 or all(isinstance(row[index], str) for row in self.rows)

    def texts(self) -> list[list[str]]:
        """Format every cell."""
        return [
            [column.text(cell) for column, cell in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]

    def fields(self) -> dict[str, list[str | int | float | None]]:
        """Return the values of each column; one with estimates becomes three, with marks two."""
        fields: dict[str, list[str | int | float | None]] = {}
        for index, column in enumerate(self.columns):
            cells = [row[index] for row in self.rows]
            values = [each.value if isinstance(each, Estimate | Marked) else each for each in cells]
            fields[_new(column.name, fields)] = values
            marked = [each for each in cells if isinstance(each, Marked)]
            if marked:
                name = _new(marked[0].says, fields)
                fields[name] = [getattr(each, "is_marked", None) for each in cells]
            if any(isinstance(each, Estimate) for each in cells):
                for end in ("low", "high"):
                    # Only an estimate has ends.
                    name = _new(f"{column.name} {end}", fields)
                    fields[name] = [getattr(each, end, None) for each in cells]
        return fields

    def records(self) -> list[dict[str, str | int | float | None]]:
        """Return one flat record per row; an estimate becomes three fields."""
        fields = self.fields()
        return [
            dict(zip(fields, values, strict=True)) for values in zip(*fields.values(), strict=True)
        ]

    def to_frame(self, library: str | None = None) -> Any:
        """Return a data frame of pandas or polars.

        Parameters
        ----------
        library
            ``"pandas"`` or ``"polars"``; by default the first of them that is installed.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            Numbers in full precision. An estimate becomes the columns ``x``, ``x low`` and
            ``x high``, and a missing number a missing value.
        """
        return frame_of(self, library)

    def to_markdown(self) -> str:
        """Render as a Markdown table."""
        head = [_markdown(column.name) for column in self.columns]
        body = [[_markdown(text) for text in row] for row in self.texts()]
        lines = [head, ["---"] * len(head), *body]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"

    @overload
    def to_csv(self, path: None = None) -> str: ...
    @overload
    def to_csv(self, path: str | Path | None) -> str | None: ...
    def to_csv(self, path: str | Path | None = None) -> str | None:
        """Return the table as CSV with full precision, or write it to `path`, a name in .csv."""
        fields = self.fields()
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(fields)
        writer.writerows(zip(*fields.values(), strict=True))
        return _deliver(text.getvalue(), path, "CSV", ".csv")

    @overload
    def to_latex(
        self,
        path: None = None,
        *,
        caption: str | None = None,
        label: str | None = None,
        note: str | None = None,
    ) -> str: ...
    @overload
    def to_latex(
        self,
        path: str | Path | None,
        *,
        caption: str | None = None,
        label: str | None = None,
        note: str | None = None,
    ) -> str | None: ...
    def to_latex(
        self,
        path: str | Path | None = None,
        *,
        caption: str | None = None,
        label: str | None = None,
        note: str | None = None,
    ) -> str | None:
        r"""Return the table as LaTeX for the package booktabs, in ASCII, or write it to `path`.

        A table that is too wide or too long for a page is continued in others.

        Parameters
        ----------
        path
            File to write, whose name ends in .tex.
        caption
            Caption in LaTeX; by default the title and caption of the table.
        label
            Label for ``\ref``.
        note
            A comment for the first line, such as the call that made the table.
        """
        from upto.core.latex import latex_table

        text = latex_table(self, caption=caption, label=label, note=note)
        return _deliver(text, path, "LaTeX", ".tex")

    def to_html(self) -> str:
        """Render as an HTML table with all text escaped."""
        head = "".join(f"<th>{html.escape(column.name)}</th>" for column in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>"
            for row in self.texts()
        )
        return (
            f"<table><caption>{html.escape(self.title)}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich import box
        from rich.table import Table as RichTable
        from rich.text import Text

        texts = [[printable(text) for text in row] for row in self.texts()]
        names = [printable(column.name) for column in self.columns]
        spans = self._spans()
        yield Text(printable(self.title), style="italic")
        room = options.max_width - _EDGE
        for part in _parts(spans, room):
            table = RichTable(box=box.SIMPLE_HEAD)
            widths = _widths([spans[index] for index in part], room)
            for index, width in zip(part, widths, strict=True):
                table.add_column(
                    Text(names[index]),
                    justify="left" if self.is_worded(index) else "right",
                    width=width,
                    overflow="fold",
                )
            for row in texts:
                table.add_row(*(Text(row[index]) for index in part))
            yield table
        if self.caption:
            yield Text(printable(self.caption), style="dim")

    def _spans(self) -> list[_Span]:
        names = [printable(column.name) for column in self.columns]
        texts = [[printable(text) for text in row] for row in self.texts()]
        return [_Span.of(cells) for cells in zip(names, *texts, strict=True)]

    def __str__(self) -> str:
        return plain_text(self)

    def __repr__(self) -> str:
        size = f"{len(self.rows)} rows × {len(self.columns)} columns"
        return f"Table({shortened(self.title)!r}, {size})"

    def _repr_html_(self) -> str:
        return table_html(self)


@dataclass(frozen=True, slots=True)
class _Span:
    """Width of a column with lines broken between words, and unbroken."""

    least: int
    most: int

    @classmethod
    def of(cls, texts: tuple[str, ...]) -> _Span:
        from rich.cells import cell_len

        words = [cell_len(word) for text in texts for word in text.split()]
        return cls(max(words, default=1) + _PADDING, max(map(cell_len, texts)) + _PADDING)


def _parts(spans: list[_Span], room: int) -> list[list[int]]:
    """Split columns into tables in which no word is broken; each starts with the first column."""
    parts, left = [[0]], room - spans[0].least
    for index, span in enumerate(spans[1:], start=1):
        if span.least > left and len(parts[-1]) > 1:
            parts.append([0])
            left = room - spans[0].least
        parts[-1].append(index)
        left -= span.least
    return parts


def _widths(spans: list[_Span], room: int) -> list[int | None]:
    """Return widths that wrap as few columns as possible; None if words must be broken."""
    left = room - sum(span.least for span in spans)
    if left < 0:
        return [None] * len(spans)
    widths = [span.least for span in spans]
    needs = [span.most - span.least for span in spans]
    broken = []
    for index in sorted(range(len(spans)), key=needs.__getitem__):
        if needs[index] <= left:
            widths[index], left = spans[index].most, left - needs[index]
        else:
            broken.append(index)
    for index in broken:
        widths[index] += left // len(broken)
    return [width - _PADDING for width in widths]


def _new(name: str, taken: dict[str, Any]) -> str:
    """Return a name that no other field has: two runs may share one."""
    number, new = 2, name
    while new in taken:
        new, number = f"{name} ({number})", number + 1
    return new


def _deliver(text: str, path: str | Path | None, kind: str, suffix: str) -> str | None:
    """Return a text, or write it atomically if a path is given."""
    if path is None:
        return text
    from upto.core.files import write_text_atomically

    name = Path(path).name
    if not name.lower().endswith(suffix):
        message = f"{name} is not a name for {kind}: end it in {suffix}."
        raise InputError(message)
    write_text_atomically(path, spelt_out(text))
    return None


def _markdown(text: str) -> str:
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").splitlines())
