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
_WIDTHS = (60, 120)
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
    """Return a table with as many of its rows and columns as fit."""
    n_columns, n_rows = table.columns_within(width, parts=2), min(len(table.rows), room)
    while True:
        cut = table.first(n_rows, n_columns)
        lines = [line.rstrip() for line in plain_text(cut, width).splitlines()]
        lines = [line for line in lines if line]
        lines += _left_out(table, n_rows, n_columns)
        excess = len(lines) - room
        if excess <= 0:
            return lines
        if n_rows > 1:
            n_rows = max(1, n_rows - max(1, excess // 4))
        elif n_columns > 1:
            n_columns = max(1, n_columns // 2)
        else:
            return [*lines[: room - 2], "…", lines[-1]]


def _left_out(table: Table, n_rows: int, n_columns: int) -> list[str]:
    counts = (
        (len(table.rows) - n_rows, "more rows"),
        (len(table.columns) - n_columns, "more columns"),
    )
    more = [f"{count} {what}" for count, what in counts if count]
    return [f"… {' and '.join(more)}: print(result.tables()[0])"] if more else []


def _wrapped(text: str, width: int) -> list[str]:
    lines = textwrap.wrap(printable(" ".join(text.split())), width)
    if len(lines) > _MOST_SENTENCE_LINES:
        lines[_MOST_SENTENCE_LINES - 1 :] = [f"{lines[_MOST_SENTENCE_LINES - 1][: width - 2]} …"]
    return lines
