"""Tables as LaTeX for the package booktabs, in ASCII so that every engine compiles them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

from upto.core.errors import ArgumentError
from upto.core.estimate import Estimate
from upto.core.latex_text import escape

if TYPE_CHECKING:
    from upto.core.table import Cell, Column, Table

_LINE, _SMALL_LINE = 68, 86
"""Characters in a line of text as wide as an article's, at 10 and at 8 points."""
_GAP = 2.4
"""Characters between two columns."""
_WORDED = 30
"""Characters from which the texts of a column may be broken into lines."""
_HEAD = 12
"""Characters from which a heading is broken into lines."""
_ROWS = 42
"""Rows that fit on a page."""

_NUMBER = re.compile(r"([+-]?)(\d+)(\.\d+)?(?:e([+-]\d+))?%?")


@dataclass(frozen=True, slots=True)
class _Typeset:
    """One column: its head, cells, alignment and width in characters.

    A column of intervals has two cells per row, so that the values are aligned whether or not they
    have an interval. `texts` are those of a worded column, whose lines may be broken.
    """

    head: str
    cells: tuple[str, ...]
    align: str
    width: int
    texts: tuple[str, ...] = ()

    @property
    def is_worded(self) -> bool:
        """Whether lines of its texts may be broken."""
        return bool(self.texts)

    def narrowed(self, width: float) -> _Typeset:
        """Return a worded column with lines of this many characters."""
        if width >= self.width:
            return self
        cells = tuple(rf"{{\raggedright {_broken(text, int(width))}\par}}" for text in self.texts)
        return _Typeset(self.head, cells, f"p{{{0.48 * width:.1f}em}}", int(width))


def latex_table(
    table: Table, *, caption: str | None = None, label: str | None = None, note: str | None = None
) -> str:
    r"""Render a table for the package booktabs.

    A table that is too wide or too long for a page is continued in others.

    Parameters
    ----------
    table
        Table to render.
    caption
        Caption in LaTeX; by default the title and caption of the table.
    label
        Label for ``\ref``.
    note
        A comment for the first line.

    Raises
    ------
    ArgumentError
        If the label has characters that a label cannot have.
    """
    if label is not None and not re.fullmatch(r"[A-Za-z0-9 :._/+*'-]+", label):
        message = f"label={label!r} is not a LaTeX label: use letters, digits and any of : . _ / -."
        raise ArgumentError(message, label=label)
    if caption is None:
        caption = escape(". ".join(filter(None, (table.title, table.caption))))
    typeset = [
        _typeset(column, [row[i] for row in table.rows]) for i, column in enumerate(table.columns)
    ]
    lines = [f"% {_comment(note)}"] if note else []
    lines.append(r"% Needs \usepackage{booktabs}.")
    is_first = True
    for part in _parts(typeset):
        size = "" if _width(part) <= _LINE else r"\footnotesize"
        for start in range(0, max(len(table.rows), 1), _ROWS):
            lines.append(r"\begin{table}")
            if is_first:
                lines += [rf"\caption{{{caption}}}"] + ([rf"\label{{{label}}}"] if label else [])
            else:
                lines += [r"\addtocounter{table}{-1}", rf"\caption{{{caption} (continued)}}"]
            is_first = False
            lines += [r"\centering" + size, *_tabular(part, start), r"\end{table}"]
    return "\n".join(lines) + "\n"


def _tabular(columns: list[_Typeset], start: int) -> list[str]:
    """Return the lines of one tabular with rows from `start` on."""
    rows = zip(*(column.cells[start : start + _ROWS] for column in columns), strict=True)
    body = [" & ".join(cells) for cells in rows]
    # A bracket or asterisk would be read as an argument of the line before.
    body = [("{}" if row.startswith(("[", "*")) else "") + row + r" \\" for row in body]
    return [
        rf"\begin{{tabular}}{{@{{}}{''.join(column.align for column in columns)}@{{}}}}",
        r"\toprule",
        " & ".join(column.head for column in columns) + r" \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]


def _typeset(column: Column, cells: list[Cell]) -> _Typeset:
    texts = [column.text(cell) for cell in cells]
    longest = max(map(len, texts), default=0)
    if any(isinstance(cell, str) for cell in cells):
        head, width = _head(column.name, longest, "l")
        worded = tuple(texts) if longest > _WORDED else ()
        return _Typeset(head, tuple(map(escape, texts)), "l", width, worded)
    unit = " (%)" if column.spec.endswith("%") else ""
    values = [_number(_value(column, cell)) for cell in cells]
    places = max((len(_fraction(value)) for value in values), default=0)
    padded = [_padded(value, places) for value in values]
    if not any(isinstance(cell, Estimate) and cell.low is not None for cell in cells):
        head, width = _head(column.name + unit, longest, "r")
        return _Typeset(head, tuple(padded), "r", width)
    head, width = _head(column.name + unit, longest, "c")
    both = [
        f"{value} & {_interval(column, cell)}" for value, cell in zip(padded, cells, strict=True)
    ]
    return _Typeset(rf"\multicolumn{{2}}{{c}}{{{head}}}", tuple(both), "r@{~}l", width)


def _value(column: Column, cell: Cell) -> str:
    return column.text(cell.value if isinstance(cell, Estimate) else cell)


def _interval(column: Column, cell: Cell) -> str:
    if not isinstance(cell, Estimate) or cell.low is None or cell.high is None:
        return ""
    low, high = (_number(column.text(end))[1:-1] for end in (cell.low, cell.high))
    return rf"$[{low},\,{high}]$"


def _number(text: str) -> str:
    """Return a formatted number in mathematics, without the unit, and a missing one as a dash."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        is_infinite = text.lstrip("+-") == "inf"
        return "$" + text.replace("inf", r"\infty") + "$" if is_infinite else escape(text)
    sign, whole, fraction, exponent = found.groups()
    power = "" if exponent is None else rf"\times 10^{{{int(exponent)}}}"
    return f"${sign}{whole}{fraction or ''}{power}$"


def _fraction(number: str) -> str:
    """Return the point and decimals of a number without a power of ten."""
    found = re.fullmatch(r"\$[+-]?\d+(\.\d+)?\$", number)
    return (found[1] or "") if found else ""


def _padded(number: str, places: int) -> str:
    """Pad a number on the right so that the points of a column are aligned."""
    lacking = places - len(_fraction(number))
    if not lacking or not re.fullmatch(r"\$[+-]?[\d.]+\$", number):
        return number
    point = "." if not _fraction(number) else ""
    return rf"{number}\phantom{{{point}{'0' * (lacking - len(point))}}}"


def _head(name: str, longest: int, side: str) -> tuple[str, int]:
    """Return a heading, broken into lines where it is wider than its cells, and the width."""
    lines = wrap(name, max(longest, _HEAD), break_long_words=False, break_on_hyphens=False)
    width = max(longest, *map(len, lines or [""]))
    if len(lines) < 2:
        return escape(name), width
    broken = r" \\ ".join(map(escape, lines))
    return rf"\shortstack[{side}]{{{broken}}}", width


def _parts(columns: list[_Typeset]) -> list[list[_Typeset]]:
    """Split columns into tables that fit a page; each starts with the first column."""
    if _width(columns) <= _SMALL_LINE:
        return [columns]
    least = [_WORDED if column.is_worded else column.width for column in columns]
    first, groups = least[0] + _GAP, [[0]]
    room = _SMALL_LINE - first
    for index, width in enumerate(least[1:], start=1):
        if width + _GAP > room and len(groups[-1]) > 1:
            groups.append([0])
            room = _SMALL_LINE - first
        groups[-1].append(index)
        room -= width + _GAP
    return [_fitted([columns[index] for index in group]) for group in groups]


def _fitted(columns: list[_Typeset]) -> list[_Typeset]:
    """Break the texts of worded columns into lines that share the room left by the others."""
    worded = [column for column in columns if column.is_worded]
    others = [column for column in columns if not column.is_worded]
    room = _SMALL_LINE - _width(others) - _GAP * len(worded)
    share = max(room / max(len(worded), 1), _WORDED)
    return [column.narrowed(share) if column.is_worded else column for column in columns]


def _width(columns: list[_Typeset]) -> float:
    return sum(column.width + _GAP for column in columns)


def _broken(text: str, width: int) -> str:
    """Escape a text, and allow breaks in words that are longer than a line, such as paths."""
    return " ".join(
        r"\hspace{0pt}".join(
            escape(word[start : start + width // 2]) for start in range(0, len(word), width // 2)
        )
        if len(word) > width
        else escape(word)
        for word in text.split()
    )


def _comment(text: str) -> str:
    """Return a text as one line of a comment."""
    line = " ".join(text.replace("×", "x").split())
    return line.encode("ascii", "backslashreplace").decode()
