"""Tables as LaTeX: closed forms, and text that LaTeX would read as commands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from latex_reader import read_tables

from upto.core import Column, Estimate, InputError, Table
from upto.core.latex_text import escape


def table(*columns: Column, rows: tuple[tuple[object, ...], ...], **words: str) -> Table:
    return Table(columns=columns, rows=rows, **({"title": "T"} | words))


def column(*cells: object, name: str = "x", spec: str = ".3f") -> list[list[str]]:
    made = table(
        Column(name="n"), Column(name=name, spec=spec), rows=tuple(("a", c) for c in cells)
    )
    return [row[1:] for row in read_tables(made.to_latex())[0].rows]


def test_a_table_is_this_text():
    made = table(
        Column(name="up to"),
        Column(name="R² of 1", spec=".2f"),
        Column(name="share", spec=".1%"),
        rows=(("rigid", Estimate(value=-0.031, low=-0.035, high=0.028), 0.5), ("a_b", None, None)),
        title="Error ≥ 0",
        caption="10 % held out",
    )
    assert made.to_latex(label="tab:a", note="upto 1: f(a,\nb×c)") == (
        "% upto 1: f(a, bxc)\n"
        "% Needs \\usepackage{booktabs}.\n"
        "\\begin{table}\n"
        "\\caption{Error $\\geq$ 0. 10 \\% held out}\n"
        "\\label{tab:a}\n"
        "\\centering\n"
        "\\begin{tabular}{@{}lr@{~}lr@{}}\n"
        "\\toprule\n"
        "up to & \\multicolumn{2}{c}{R$^{2}$ of 1} & share (\\%) \\\\\n"
        "\\midrule\n"
        "rigid & $-0.03$ & $[-0.04,\\,0.03]$ & $50.0$ \\\\\n"
        "a\\_b & -- &  & -- \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
        "\\end{table}\n"
    )


@pytest.mark.parametrize(
    ("cells", "spec", "texts"),
    [
        ((1.5, -12.25), ".2f", ["$1.50$", "$-12.25$"]),
        ((1.5, 10.0, 0.25), ".4g", [r"$1.5$\phantom{0}", r"$10$\phantom{.00}", "$0.25$"]),
        ((1.2e-7, 3.0e8), ".2g", [r"$1.2\times 10^{-7}$", r"$3\times 10^{8}$"]),
        ((3, 12, None), ".3f", ["$3$", "$12$", "--"]),
        ((float("inf"), -float("inf")), ".3f", [r"$\infty$", r"$-\infty$"]),
        (("-0.5 [-1, +1]", "b-c"), ".3f", ["$-$0.5 [$-$1, +1]", "b-c"]),
    ],
)
def test_numbers_are_typeset_and_their_points_aligned(cells, spec, texts):
    assert [row[0] for row in column(*cells, spec=spec)] == texts


def test_a_value_without_interval_stays_in_line_with_those_that_have_one():
    rows = column(Estimate(value=1.0, low=0.5, high=2.0), Estimate(value=3.0), spec=".1f")
    assert rows == [["$1.0$", r"$[0.5,\,2.0]$"], ["$3.0$", ""]]


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("100% & #1_a $x {y} ~ ^ \\", r"100\% \& \#1\_a \$x \{y\} \textasciitilde{} "
         r"\textasciicircum{} \textbackslash{}"),
        ("ε ≤ 2², ±½, λΛ, x₁₀ → ∞", r"$\varepsilon$ $\leq$ 2$^{2}$, $\pm$$\frac12$, "
         r"$\lambda$$\Lambda$, x$_{1}$$_{0}$ $\to$ $\infty$"),
        ("Bădoiu, Størmer, naïve, Å", r"B\u{a}doiu, St\o{}rmer, na\"{\i}ve, \AA{}"),
        ("--flag and a–b", r"-{}-flag and a--b"),
        ("two\nlines\t", "two lines"),
        ("Σ Α ά ϡ", r"$\Sigma$ $\mathrm{A}$ \'{$\alpha$} [U+03E1]"),
        ("bell\x07 \ud800 語", "bell[U+0007] [U+D800] [U+8A9E]"),
    ],
)  # fmt: skip
def test_text_is_escaped(text, latex):
    assert escape(text) == latex


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_stays_in_its_cell(name, cell):
    made = table(Column(name="n"), Column(name=name or "x"), rows=((cell, 0.5),), title=cell)
    (found,) = read_tables(made.to_latex())
    assert len(found.rows) == 1


def test_a_wide_table_is_continued_with_its_first_column():
    heads = [Column(name=f"run number {index}") for index in range(20)]
    made = table(*heads, rows=(tuple(float(index) for index in range(20)),))
    parts = read_tables(made.to_latex())
    assert len(parts) > 1
    assert {part.rows[0][0] for part in parts} == {"$0.0000$"}
    assert [cell for part in parts for cell in part.rows[0][1:]] == [
        f"${index}.0000$" for index in range(1, 20)
    ]
    text = made.to_latex(label="t")
    assert text.count(r"\label{t}") == 1
    assert text.count(r"\addtocounter{table}{-1}") == len(parts) - 1


def test_a_long_table_is_continued_on_the_next_page():
    made = table(Column(name="n"), rows=tuple((index,) for index in range(100)))
    parts = read_tables(made.to_latex())
    assert [row[0] for part in parts for row in part.rows] == [f"${i}$" for i in range(100)]
    assert max(len(part.rows) for part in parts) < 50


def test_long_texts_are_broken_into_lines():
    words = "word " * 40 + "/a/very/long/path" * 8
    made = table(Column(name="n"), Column(name="v"), rows=((words, 0.5),))
    (found,) = read_tables(made.to_latex())
    assert found.rows[0][0].startswith(r"{\raggedright word")
    assert r"\hspace{0pt}" in found.rows[0][0]


def test_a_row_that_starts_with_a_bracket_is_not_an_argument():
    made = table(Column(name="n"), rows=(("[0, 1]",), ("*",)))
    assert [row[0] for row in read_tables(made.to_latex())[0].rows] == ["{}[0, 1]", "{}*"]


def test_a_caption_is_latex_of_the_caller():
    assert r"\caption{$R^2$ of \emph{us}}" in table(Column(name="n"), rows=()).to_latex(
        caption=r"$R^2$ of \emph{us}"
    )


@pytest.mark.parametrize("label", ["a}b", "50%", "", "a\\b", "é"])
def test_an_impossible_label_is_refused(label):
    with pytest.raises(InputError, match="is not a LaTeX label"):
        table(Column(name="n"), rows=()).to_latex(label=label)


def test_files_are_written_whole(tmp_path):
    made = table(Column(name="n"), Column(name="x"), rows=(("é", 0.25),))
    assert made.to_csv(tmp_path / "t.csv") is None
    assert (tmp_path / "t.csv").read_text(encoding="utf-8") == made.to_csv()
    assert made.to_latex(tmp_path / "t.tex") is None
    assert (tmp_path / "t.tex").read_text(encoding="ascii") == made.to_latex()
    with pytest.raises(InputError, match="does not exist"):
        made.to_csv(tmp_path / "none" / "t.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv", "t.tex"]


@pytest.mark.parametrize(
    ("export", "name", "said"),
    [
        ("to_latex", "bad.xyz", "bad.xyz is not a name for LaTeX: end it in .tex"),
        ("to_latex", "t", "t is not a name for LaTeX"),
        ("to_csv", "x.tex", "x.tex is not a name for CSV: end it in .csv"),
        ("to_csv", "x.csv.gz", "x.csv.gz is not a name for CSV"),
    ],
)
def test_a_file_has_the_suffix_of_its_format(tmp_path, export, name, said):
    made = table(Column(name="n"), rows=(("a",),))
    with pytest.raises(InputError, match=said):
        getattr(made, export)(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_suffix_may_have_large_letters(tmp_path):
    table(Column(name="n"), rows=(("a",),)).to_csv(str(tmp_path / "T.CSV"))
    assert (tmp_path / "T.CSV").exists()
