"""Commands for papers: LaTeX, HTML, figures and references, checked before any work."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner
from latex_reader import read_tables

import upto
from upto.cli.main import main


@pytest.fixture
def run(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", rng.normal(size=(40, 3)))
    return lambda *arguments: CliRunner().invoke(main, [*arguments])


def test_latex_and_html_are_formats_and_suffixes(run, tmp_path):
    shown = run("inspect", "a.npy", "--format", "latex", "-q")
    assert shown.exit_code == 0
    assert shown.stdout.startswith("% upto ")
    assert len(read_tables(shown.stdout)) == 1
    assert len(read_tables(run("inspect", "a.npy", "--format", "latex", "-v", "-q").stdout)) == 2
    assert run("inspect", "a.npy", "-o", "t.tex").exit_code == 0
    assert (tmp_path / "t.tex").read_text() == shown.stdout
    assert run("inspect", "a.npy", "-o", "t.html").exit_code == 0
    page = (tmp_path / "t.html").read_text()
    assert page.startswith("<!doctype html>")
    assert page.count("<table>") == 2
    assert "http" not in page


@pytest.mark.parametrize("form", ["latex", "html"])
def test_lists_of_a_command_have_the_formats_too(run, form):
    shown = run("similarity", "--list", "--format", form)
    assert shown.exit_code == 0
    assert "linear-cka" in shown.stdout


def test_a_figure_is_saved_beside_the_result(run, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    done = run("inspect", "a.npy", "--figure", "f.svg", "--figure-columns", "2")
    assert done.exit_code == 0
    assert "wrote f.svg" in done.stderr
    assert 'width="518.4pt"' in (tmp_path / "f.svg").read_text()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--figure", "f.gif"), "f.gif is not a figure"),
        (("--figure", "none/f.pdf"), "does not exist"),
        (("--figure", "a.npy"), "a.npy is an input"),
        (("--figure", "t.html", "--report", "t.html"), "are the same file"),
    ],
)
def test_an_impossible_figure_is_refused_before_any_work(run, monkeypatch, options, said):
    monkeypatch.setattr(upto, "inspect", lambda *_, **__: pytest.fail("work was done"))
    done = run("inspect", "a.npy", *options)
    assert done.exit_code == 3
    assert said in done.stderr


def test_missing_matplotlib_is_named_before_any_work(run, monkeypatch):
    monkeypatch.setattr(upto, "inspect", lambda *_, **__: pytest.fail("work was done"))
    monkeypatch.setattr("upto.report.figure_file.find_spec", lambda _: None)
    done = run("inspect", "a.npy", "--figure", "f.pdf")
    assert done.exit_code == 3
    assert "upto[plot]" in done.stderr


def test_cite_prints_the_papers_behind_results(run):
    assert run("cite").stdout.count("\n@") == 1
    run("diversity", "a.npy", "-o", "d.json")
    cited = run("cite", "d.json")
    assert cited.exit_code == 0
    assert "@inproceedings{roeder2021," in cited.stdout
    assert run("cite", "a.npy").exit_code == 3
