"""One table that renders to a terminal, HTML, Markdown and CSV."""

from __future__ import annotations

import csv
import html
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from upto.core.estimate import Estimate

if TYPE_CHECKING:
    from rich.console import Group as RichGroup

Cell = str | int | float | Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A heading and how its numbers are written."""

    name: str
    spec: str = ".4f"

    def text(self, cell: Cell) -> str:
        """Write one cell; a missing number is an en dash."""
        if cell is None:
            return "–"
        if isinstance(cell, float | Estimate):
            return format(cell, self.spec)
        return str(cell)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells under named columns."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                message = f"a row of {len(row)} cells in a table of {len(self.columns)} columns"
                raise ValueError(message)

    def texts(self) -> list[list[str]]:
        """Write every cell."""
        return [
            [column.text(cell) for column, cell in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]

    def records(self) -> list[dict[str, str | int | float | None]]:
        """Return one flat record a row; an estimate becomes three fields."""
        records = []
        for row in self.rows:
            record: dict[str, str | int | float | None] = {}
            for column, cell in zip(self.columns, row, strict=True):
                if isinstance(cell, Estimate):
                    record[column.name] = cell.value
                    record[f"{column.name} low"] = cell.low
                    record[f"{column.name} high"] = cell.high
                else:
                    record[column.name] = cell
            records.append(record)
        return records

    def to_markdown(self) -> str:
        """Render as a Markdown table."""
        head = [_markdown(column.name) for column in self.columns]
        body = [[_markdown(text) for text in row] for row in self.texts()]
        lines = [head, ["---"] * len(head), *body]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"

    def to_csv(self) -> str:
        """Render as CSV with full precision."""
        records = self.records()
        fields = list(dict.fromkeys(field for record in records for field in record))
        text = io.StringIO()
        writer = csv.DictWriter(text, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
        return text.getvalue()

    def to_html(self) -> str:
        """Render as an HTML table, everything escaped."""
        head = "".join(f"<th>{html.escape(column.name)}</th>" for column in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>"
            for row in self.texts()
        )
        return (
            f"<table><caption>{html.escape(self.title)}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def __rich__(self) -> RichGroup:
        from rich import box
        from rich.console import Group as RichGroup
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(box=box.SIMPLE_HEAD)
        for index, column in enumerate(self.columns):
            worded = all(isinstance(row[index], str) for row in self.rows)
            table.add_column(Text(column.name), justify="left" if worded or index == 0 else "right")
        for row in self.texts():
            table.add_row(*(Text(text) for text in row))
        caption = [Text(self.caption, style="dim")] if self.caption else []
        return RichGroup(Text(self.title, style="italic"), table, *caption)


def _markdown(text: str) -> str:
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").splitlines())
