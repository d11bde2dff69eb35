"""Results and tables as a few lines of text, for a prompt."""

from __future__ import annotations

import shutil
import textwrap
from io import StringIO
from typing import TYPE_CHECKING, Any

from upto.printable import printable

if TYPE_CHECKING:
    from upto.core.result import Result
    from upto.core.table import Table

_MOST_LINES = 39
_MOST_SENTENCE_LINES = 8
_LONGEST_CELL = 50
_MOST_COLUMNS = 30
_WIDTHS = (70, 120)
"""Least and largest width of a repr; in between, it is that of the terminal."""


def plain_text(renderable: Any, width: int = 120) -> str:
    """Return what rich would print, without colours."""
    from rich.console import Console

    # In a terminal or a notebook, a console would add escape sequences.
    console = Console(
        file=StringIO(),
        width=width,
        color_system=None,
        force_terminal=False,
        force_jupyter=False,
        legacy_windows=False,
        highlight=False,
    )
    with console.capture() as capture:
        console.print(renderable)
    return capture.get()


def short_text(result: Result) -> str:
    """Return the verdict, as much of the main table as fits, and the codes of the findings."""
    narrow, wide = _WIDTHS
    width = min(max(shutil.get_terminal_size((wide, 24)).columns, narrow), wide)
    verdict = _wrapped(result.verdict, width)
    codes = list(dict.fromkeys(finding.code for finding in result.findings))
    ends = _wrapped(f"Findings: {', '.join(codes)}", width) if codes else []
    room = _MOST_LINES - len(verdict) - len(ends)
    table = next(iter(result.tables()), None)
    lines = [] if table is None else _table_lines(table, width, room)
    return "\n".join([*verdict, *lines, *ends])


def _table_lines(table: Table, width: int, room: int) -> list[str]:
    """Return a table or, if it is too long, its first columns and rows, one line each."""
    table, whole = table.first(room, _MOST_COLUMNS, longest=_LONGEST_CELL), table
    lines = _lines(table, whole, width)
    if len(lines) <= room:
        return lines
    n_columns, n_rows = table.columns_within(width), len(table.rows)
    while n_rows > 1 and len(lines) > room:
        lines = _lines(table.first(n_rows, n_columns), whole, width)
        n_rows -= max(1, len(lines) - room)
    return lines if len(lines) <= room else [*lines[: room - 1], "…"]


def _lines(table: Table, whole: Table, width: int) -> list[str]:
    lines = [line.rstrip() for line in plain_text(table, width).splitlines() if line.strip()]
    n_rows, n_columns = len(table.rows), len(table.columns)
    return lines + _left_out(len(whole.rows) - n_rows, len(whole.columns) - n_columns)


def _left_out(n_rows: int, n_columns: int) -> list[str]:
    counts = ((n_rows, "row"), (n_columns, "column"))
    more = [f"{count} more {what}{'s' * (count > 1)}" for count, what in counts if count]
    return [f"… {' and '.join(more)}: print(result.tables()[0])"] if more else []


def _wrapped(text: str, width: int) -> list[str]:
    lines = textwrap.wrap(printable(" ".join(text.split())), width, break_on_hyphens=False)
    if len(lines) > _MOST_SENTENCE_LINES:
        lines[_MOST_SENTENCE_LINES - 1 :] = [f"{lines[_MOST_SENTENCE_LINES - 1][: width - 2]} …"]
    return lines
