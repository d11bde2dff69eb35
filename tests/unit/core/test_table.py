"""One table, four renderings, whatever text is in it."""

from __future__ import annotations

import csv
import io
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from upto.core import Column, Estimate, Table
from upto.core.short_text import plain_text

HOSTILE = (
    "<script>alert(1)</script>",
    'a "quoted", name',
    "two\nlines",
    "carriage\rreturn",
    "pipe | in | it",
    "back\\|slash",
    "[bold]markup[/bold]",
    "&amp;",
    "\u2028separator",
    "=1+1",
    "日本語",
    "",
)


def table(name: str = "run", cell: object = 0.5, title: str = "title") -> Table:
    return Table(
        title=title,
        columns=(Column(name="up to"), Column(name=name, spec=".2f")),
        rows=(("rigid", cell),),
    )


class Cells(HTMLParser):
    """Read the texts of a page and the tags it is made of."""

    def __init__(self):
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag in ("td", "th", "caption"):
            self.texts.append("")

    def handle_data(self, data):
        self.texts[-1] += data


def markdown_cells(line: str) -> list[str]:
    """Split one line as GitHub does: at pipes that no backslash escapes."""
    cells, escaped = [""], False
    for letter in line:
        if escaped:
            cells[-1] += letter
            escaped = False
        elif letter == "\\":
            escaped = True
        elif letter == "|":
            cells.append("")
        else:
            cells[-1] += letter
    assert not escaped
    return [cell.strip() for cell in cells[1:-1]]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, "–"),
        (0.126, "0.13"),
        (3, "3"),
        ("0.126", "0.126"),
        (Estimate(value=0.126), "0.13"),
        (Estimate(value=0.5, low=0.25, high=0.75), "0.50 [0.25, 0.75]"),
    ],
)
def test_a_cell_is_written_by_its_column(cell, text):
    assert table(cell=cell).texts() == [["rigid", text]]


def test_markdown_is_a_table_github_reads():
    assert table(cell=0.126).to_markdown() == "| up to | run |\n| --- | --- |\n| rigid | 0.13 |\n"


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_in_its_markdown_cell(text):
    lines = table(name=text, cell=text).to_markdown().splitlines()
    assert len(lines) == 3
    wanted = " ".join(text.split())
    assert markdown_cells(lines[0]) == ["up to", wanted]
    assert markdown_cells(lines[2]) == ["rigid", wanted]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_in_its_html_cell(text):
    page = Cells()
    page.feed(table(name=text, cell=text, title=text).to_html())
    page.close()
    assert page.texts == [text, "up to", text, "rigid", text]
    assert set(page.tags) == {"table", "caption", "thead", "tr", "th", "tbody", "td"}


# Python 3.11's csv module leaves a lone carriage return unquoted.
@pytest.mark.parametrize("text", [text for text in HOSTILE if "\r" not in text])
def test_hostile_text_survives_csv(text):
    rendered = io.StringIO(table(name=text, cell=text).to_csv(), newline="")
    assert list(csv.reader(rendered)) == [["up to", text], ["rigid", text]]


@pytest.mark.parametrize("text", [text for text in HOSTILE if text.isprintable() and text])
def test_hostile_text_reaches_the_terminal_as_it_is(text):
    console = Console(width=200, no_color=True)
    with console.capture() as capture:
        console.print(table(name=text, cell=text, title=text))
    assert capture.get().count(text) == 3


@given(value=st.floats(allow_nan=False, allow_infinity=False))
def test_csv_keeps_every_digit(value):
    (_, row) = csv.reader(io.StringIO(table(cell=value).to_csv()))
    assert float(row[1]) == value


def test_csv_writes_an_estimate_in_three_columns():
    text = table(cell=Estimate(value=0.5, low=0.25, high=0.75)).to_csv()
    assert text == "up to,run,run low,run high\nrigid,0.5,0.25,0.75\n"


def test_csv_leaves_missing_numbers_empty():
    assert table(cell=None).to_csv() == "up to,run\nrigid,\n"


def test_a_row_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match="a row of 2 cells in a table of 1 columns"):
        Table(title="t", columns=(Column(name="one"),), rows=((1, 2),))


@pytest.mark.parametrize("width", [34, 40, 60, 80, 140])
def test_no_word_and_no_number_is_cut_in_a_narrow_terminal(width):
    table = Table(
        title="Errors",
        columns=(Column(name="up to"), *(Column(name=f"measure {i}") for i in range(6))),
        rows=(
            (
                "signed-permutation",
                *(Estimate(value=i / 7, low=i / 8, high=i / 6) for i in range(6)),
            ),
            ("rigid", *(i / 9 for i in range(6))),
        ),
    )
    console = Console(width=width, no_color=True)
    with console.capture() as capture:
        console.print(table)
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= width
    shown = " ".join(lines).split()
    for text in [column.name for column in table.columns] + [
        c for row in table.texts() for c in row
    ]:
        for word in text.split():
            assert word in shown
    assert "…" not in capture.get()


def test_where_even_words_have_no_room_nothing_is_lost():
    table = Table(
        title="", columns=(Column(name="one"), Column(name="two")), rows=(("a" * 30, "b" * 30),)
    )
    console = Console(width=24, no_color=True)
    with console.capture() as capture:
        console.print(table)
    assert capture.get().count("a") == capture.get().count("b") == 30


def test_long_texts_share_the_room_that_is_left():
    claims = "a claim of many words that does not fit on one line of a terminal " * 3
    table = Table(
        title="",
        columns=(Column(name="study"), Column(name="claim")),
        rows=(("bounds-hold", claims),),
    )
    console = Console(width=100, no_color=True)
    with console.capture() as capture:
        console.print(table)
    assert len(capture.get().splitlines()) < 10


def test_control_characters_do_not_reach_the_terminal():
    hostile = "x\x1b[31m\x9b\u202ey"
    table = Table(
        title=hostile, columns=(Column(name=hostile),), rows=((hostile,),), caption=hostile
    )
    console = Console(width=100, no_color=True)
    with console.capture() as capture:
        console.print(table)
    assert not set("\x1b\x9b\u202e") & set(capture.get())
    assert capture.get().count("x\\u001b[31m\\u009b\\u202ey") == 4


def long_table(n_rows: int, n_columns: int = 2) -> Table:
    names = [f"column {number}" for number in range(n_columns)]
    return Table(
        title="Many rows",
        columns=tuple(Column(name=name, spec=".2f") for name in names),
        rows=tuple((f"row {i}", *(i / 4 for _ in names[1:])) for i in range(n_rows)),
        caption="All of them.",
    )


def test_the_repr_is_one_line_and_print_shows_every_row():
    many = long_table(90)
    assert repr(many) == "Table('Many rows', 90 rows × 2 columns)"
    assert f"{many}".count("row ") == 90
    assert repr(many.rows[:1]) == "(('row 0', 0.0),)"


@pytest.mark.parametrize("environment", [{}, {"FORCE_COLOR": "1"}, {"TTY_COMPATIBLE": "1"}])
def test_text_has_no_escape_sequences(environment, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert "\x1b" not in str(table())


def test_a_notebook_shows_the_first_rows_and_says_so():
    page = long_table(61)._repr_html_()
    assert page.count("<tr>") == 61
    assert "The first 60 of 61 rows and 2 of 2 columns; <code>print(table)</code> shows all" in page
    assert "shows all" not in long_table(60)._repr_html_()
    assert long_table(3, 50)._repr_html_().count("<th ") == 20


def test_a_notebook_aligns_numbers_at_the_right():
    page = long_table(1)._repr_html_()
    assert re.search(r'"text-align:left;[^"]*">row 0</td><td style="text-align:right;', page)
    assert "<p><small>All of them.</small></p>" in page


@pytest.mark.parametrize("text", [*filter(None, HOSTILE), "\ud800", "\x00\x1b", "\u202e"])
def test_hostile_text_stays_in_its_cell_of_a_notebook(text):
    page = Cells()
    shown = table(name=text, cell=text, title=text)._repr_html_()
    page.feed(shown)
    assert page.texts[0] == page.texts[2] == page.texts[4]
    assert set(page.tags) == {"table", "caption", "thead", "tr", "th", "tbody", "td"}
    shown.encode()
    assert not set("\x00\x1b\u202e\u2028") & set(shown)


def test_no_width_breaks_a_word():
    names = ("run", "coordinates", "components", "near-Gaussian", "explained", "chance", "belongs")
    table = Table(
        title="",
        columns=tuple(Column(name=name) for name in names),
        rows=(("seed-0", 64, 24, 2, 0.9, 0.28, "yes"),),
    )
    for width in range(40, 100):
        shown = plain_text(table, width).split()
        assert set(names) <= set(shown), width
