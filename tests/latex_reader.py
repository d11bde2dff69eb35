"""A small reader of LaTeX tables: it knows environments, columns, rows and what must be escaped."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Tabular:
    """One tabular: the number of columns, and the cells of the heading and of every row."""

    n_columns: int
    head: list[str]
    rows: list[list[str]]


def read_tables(text: str) -> list[Tabular]:
    """Read all tabulars; raise AssertionError for what LaTeX would refuse."""
    assert text.isascii()
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    _check_balance("\n".join(lines))
    _check_specials("\n".join(lines))
    bodies = re.findall(
        r"\\begin\{tabular\}\{(.*?)\}\n\\toprule\n(.*?) \\\\\n\\midrule\n(.*?)\\bottomrule\n"
        r"\\end\{tabular\}",
        "\n".join(lines),
        re.DOTALL,
    )
    assert len(bodies) == text.count(r"\begin{tabular}") == text.count(r"\begin{table}") > 0
    found = []
    for columns, head, body in bodies:
        count = _count_columns(columns)
        rows = [_cells(row) for row in body.split(" \\\\\n")[:-1]]
        spanned = len(re.findall(r"\\multicolumn\{2\}", head))
        assert len(_cells(head)) + spanned == count
        assert all(len(row) == count for row in rows), (count, rows)
        # The line before would take them as its argument.
        assert not any(row[0].lstrip().startswith(("[", "*")) for row in rows)
        found.append(Tabular(count, _cells(head), rows))
    return found


def _count_columns(spec: str) -> int:
    spec = re.sub(r"@\{[^{}]*\}", "", spec)
    spec = re.sub(r"p\{[\d.]+em\}", "p", spec)
    assert re.fullmatch("[lrcp]+", spec), spec
    return len(spec)


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)&", row)]


def _check_balance(text: str) -> None:
    assert len(re.findall(r"(?<!\\)\{", text)) == len(re.findall(r"(?<!\\)\}", text))
    assert len(re.findall(r"(?<!\\)\$", text)) % 2 == 0
    opened: list[str] = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if kind == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert not opened


def _check_specials(text: str) -> None:
    outside = re.sub(r"(?<!\\)\$.*?(?<!\\)\$", "", text)
    outside = re.sub(r"@\{~\}|\\[\^~][{]|\\label\{.*?\}", "", outside)
    assert not re.search(r"(?<!\\)[#%_^<>|\"]", outside), outside
