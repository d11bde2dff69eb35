"""Results, tables, records and findings as HTML for a notebook, in the colours of its theme."""

from __future__ import annotations

import html
from dataclasses import replace
from typing import TYPE_CHECKING

from upto.printable import printable

if TYPE_CHECKING:
    from upto.core.finding import Finding
    from upto.core.result import Result
    from upto.core.table import Table

_MOST_ROWS = 60
_MOST_COLUMNS = 20
_MOST_FOLDED, _FOLDED_ROWS = 12, 30


def escaped(text: str) -> str:
    """Escape text for HTML, control characters included."""
    return html.escape(printable(text, lines=True))


def result_html(result: Result) -> str:
    """Return the verdict, the main table and the findings; further tables unfold on a click."""
    tables, n_main = result.tables(), len(result.brief_tables())
    n_shown = n_main + _MOST_FOLDED
    parts = [f"<p><strong>{escaped(result.verdict)}</strong></p>"]
    for index, table in enumerate(tables[:n_shown]):
        rest = f"print(result.tables()[{index}])"
        if index < n_main:
            parts.append(table_html(table, rest))
        else:
            inner = table_html(replace(table, title=""), rest, _FOLDED_ROWS)
            parts.append(_folded(table.title, inner))
    if len(tables) > n_shown:
        more = f"{len(tables) - n_shown} more tables: <code>result.tables()</code>"
        parts.append(_small(more))
    parts += [finding_html(finding) for finding in result.findings]
    return f"<div>{''.join(parts)}</div>"


def table_html(table: Table, rest: str = "print(table)", most: int = _MOST_ROWS) -> str:
    """Return a table; `rest` is the call that shows the rows left out of a long one."""
    cut = table.first(most, _MOST_COLUMNS)
    sides = ["left" if cut.is_worded(index) else "right" for index in range(len(cut.columns))]
    head = _row("th", [column.name for column in cut.columns], sides)
    body = "".join(_row("td", texts, sides) for texts in cut.texts())
    title = f'<caption style="text-align:left">{escaped(table.title)}</caption>' * bool(table.title)
    return (
        f"<table>{title}<thead>{head}</thead><tbody>{body}</tbody></table>"
        f"{_small(_left_out(table, cut, rest))}{_small(escaped(table.caption))}"
    )


def record_html(name: str, values: dict[str, str]) -> str:
    """Return the fields of a record as a table."""
    rows = "".join(_row("td", [field, text], ["left", "left"]) for field, text in values.items())
    caption = f'<caption style="text-align:left">{escaped(name)}</caption>'
    return f"<table>{caption}<tbody>{rows}</tbody></table>"


def finding_html(finding: Finding, *, unfolded: bool = False) -> str:
    """Return a finding; unless unfolded, its meaning and remedy appear on a click."""
    from upto.core.finding import RULES

    rule = RULES.get(finding.code)
    if rule is None:
        # A result written by a later version may contain codes unknown to this one.
        return f"<p>{escaped(str(finding))}</p>"
    words = " ".join((rule.meaning, rule.matters, rule.remedy))
    return _folded(str(finding), f"<p>{escaped(words)}</p>", " open" if unfolded else "")


def _row(tag: str, texts: list[str], sides: list[str]) -> str:
    cells = (
        f'<{tag} style="text-align:{side};padding:.2em .6em">{escaped(text)}</{tag}>'
        for text, side in zip(texts, sides, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"


def _folded(summary: str, content: str, state: str = "") -> str:
    return f"<details{state}><summary>{escaped(summary)}</summary>{content}</details>"


def _small(text: str) -> str:
    return f"<p><small>{text}</small></p>" if text else ""


def _left_out(table: Table, cut: Table, rest: str) -> str:
    if cut is table:
        return ""
    return (
        f"The first {len(cut.rows)} of {len(table.rows)} rows and {len(cut.columns)} of "
        f"{len(table.columns)} columns; <code>{escaped(rest)}</code> shows all."
    )
