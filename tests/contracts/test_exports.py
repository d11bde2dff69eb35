"""Every result gives data frames, CSV, LaTeX, a figure that fits one column, and references."""

from __future__ import annotations

import csv
import io
import re

import pytest
from every_result import EVERY, result_of
from latex_reader import read_tables

from upto.core import InputError
from upto.question import questions

every = pytest.mark.parametrize("name", EVERY)


def test_every_question_is_here():
    assert {each.name for each in questions()} <= {name.partition(",")[0] for name in EVERY}


@every
def test_every_table_is_a_frame_csv_and_latex(name):
    result = result_of(name)
    for number, table in enumerate(result.tables()):
        n_rows, n_fields = len(table.rows), len(table.fields())
        for library in ("pandas", "polars"):
            pytest.importorskip(library, reason=f"{library} is not installed")
            assert result.to_frame(library, table=number).shape == (n_rows, n_fields)
        lines = list(csv.reader(io.StringIO(result.to_csv(table=number))))
        assert [len(line) for line in lines] == [n_fields] * (n_rows + 1)
        text = result.to_latex(table=number, label="tab:x")
        assert text.startswith("% upto ")
        parts = read_tables(text)
        widths = {id(part): part.n_columns for part in parts}
        assert sum(len(part.rows) for part in parts) >= n_rows
        assert min(widths.values()) > 0


@every
def test_the_main_table_and_the_data_are_the_defaults(name):
    result = result_of(name)
    assert result.to_latex() == result.to_latex(table=result.tables()[0].title)
    assert result.to_csv() == result.data_table().to_csv()
    assert list(result.to_frame().columns) == list(result.data_table().fields())


@every
def test_data_have_no_marks(name):
    marks = ("←", "*", "≈", "…", "(?)", "†")
    result = result_of(name)
    keys = [column for table in result.tables() for column in list(table.fields().items())[:1]]
    for field, values in [*keys, *result.data_table().fields().items()]:
        texts = [field, *(value for value in values if isinstance(value, str))]
        assert not [text for text in texts if text.endswith(marks)], field


def test_the_row_of_the_verdict_is_found_by_its_group():
    result = result_of("compare")
    for table in (None, 0):
        frame = result.to_frame("pandas", table=table)
        chosen = frame.loc[frame["up to"] == str(result.up_to)]
        assert chosen["verdict"].tolist() == [True]
        assert frame["verdict"].sum() == 1
    for text in (str(result), result._repr_html_(), result.tables()[0].to_markdown()):
        assert f"{result.up_to} ←" in text
    assert rf"{result.up_to} $\gets$" in result.to_latex()


@pytest.mark.parametrize("table", ["none such", 99, -1, True])
def test_an_unknown_table_is_answered_with_all_titles(table):
    result = result_of("inspect")
    with pytest.raises(InputError) as caught:
        result.to_csv(table=table)
    assert all(repr(each.title) in str(caught.value) for each in result.tables())


@every
def test_citations_name_upto_and_the_paper_first(name):
    keys = re.findall(r"^@\w+\{(\w+),$", result_of(name).cite(), re.MULTILINE)
    assert keys[:2] == ["upto", "nelson2026"]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("name", "papers"),
    [
        ("compare", {"schonemann1966", "kuhn1955", "hyvarinen1999", "lawson1961"}),
        ("align", {"schonemann1966"}),
        ("layers", {"kornblith2019", "song2012"}),
        ("consensus", {"gower1975"}),
        ("unmix", {"hyvarinen1999", "ablin2018"}),
        ("factors", {"hsu2023", "chen2018"}),
        ("batches", {"johnson2007", "korsunsky2019", "buttner2019", "luecken2022"}),
        ("diversity", {"roeder2021"}),
        ("mixture", {"kivva2022", "kuhn1955"}),
    ],
)
def test_citations_name_the_papers_behind_what_was_used(name, papers):
    assert papers <= set(re.findall(r"^@\w+\{(\w+),$", result_of(name).cite(), re.MULTILINE))


@every
@pytest.mark.parametrize("columns", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_every_figure_fits_its_columns(name, columns):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    from matplotlib.text import Text

    from upto.report.figure_file import WIDTHS, sized_figure, text_boxes

    figure = sized_figure(result_of(name), WIDTHS[columns])
    width, height = figure.get_size_inches()
    assert width == WIDTHS[columns]
    assert height < 9.5
    shown = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    assert {5 <= text.get_fontsize() <= 7 for text in shown} == {True}
    for box in text_boxes(figure):
        assert -0.03 < box.x0 < box.x1 < width + 0.03
        assert -0.03 < box.y0 < box.y1 < height + 0.03
