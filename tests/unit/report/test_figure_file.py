"""Figures in files: size, fonts, the same bytes again, and sentences instead of clipped labels."""

from __future__ import annotations

import re
import struct
from dataclasses import replace
from importlib.util import find_spec
from itertools import pairwise

import pytest
from browser import sample_results as sample

from upto.core import InputError, MissingExtraError
from upto.report import figure_file

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


def saved(path, **options):
    sample.inspection().save_figure(path, **options)
    return path.read_bytes()


@pytest.mark.parametrize(("columns", "width"), [(1, 3.5), (2, 7.2)])
def test_a_figure_is_as_wide_as_the_columns(tmp_path, columns, width):
    png = saved(tmp_path / "f.png", columns=columns)
    assert struct.unpack(">I", png[16:20])[0] == round(width * 300)
    svg = saved(tmp_path / "f.svg", columns=columns).decode()
    assert float(re.search(r'width="([\d.]+)pt"', svg)[1]) == pytest.approx(72 * width, abs=0.01)
    pdf = saved(tmp_path / "f.PDF", columns=columns)
    box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+)", pdf)[1]
    assert float(box) == pytest.approx(72 * width, abs=0.01)


def test_width_height_and_dpi_may_be_chosen(tmp_path):
    png = saved(tmp_path / "f.png", width=4, height=3, dpi=100)
    assert struct.unpack(">II", png[16:24]) == (400, 300)


def test_fonts_survive(tmp_path):
    pdf = saved(tmp_path / "f.pdf")
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf
    assert "<text" not in saved(tmp_path / "f.svg").decode()


@pytest.mark.parametrize("suffix", figure_file.SUFFIXES)
@pytest.mark.slow
def test_the_same_result_gives_the_same_file(tmp_path, suffix):
    first = saved(tmp_path / f"a{suffix}")
    assert first == saved(tmp_path / f"b{suffix}")
    assert b"Date" not in first


def test_long_and_hostile_names_are_broken_into_lines_and_not_read_as_mathematics():
    name = r"$\frac{$ a name with words"
    figure = figure_file.sized_figure(sample.comparison(first=name, second="b" * 30), 3.5)
    title = figure.axes[0].get_title(loc="left")
    assert "\n" in title
    assert r"$\frac{$" in title
    assert max(box.x1 for box in figure_file.text_boxes(figure)) < 3.53


def test_labels_of_many_runs_do_not_overlap():
    figure = figure_file.sized_figure(sample.matrix(n_runs=20), 3.5)
    boxes = [label.get_window_extent() for label in figure.axes[0].get_yticklabels()]
    assert 5 < len(boxes) < 20
    assert all(above.y0 > below.y1 - 2 for above, below in pairwise(boxes))


def test_settings_of_the_user_stay_as_they_are(tmp_path):
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    saved(tmp_path / "f.svg")
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("f.gif", {}, r"f.gif is not a figure: end its name in one of .pdf, .svg, .png"),
        ("f", {}, "is not a figure"),
        ("none/f.pdf", {}, "does not exist: make it first"),
        ("f.pdf", {"columns": 3}, "columns=3 is not a width of a figure: pass 1 or 2"),
        ("f.pdf", {"width": -1}, "width=-1 is not a positive number"),
        ("f.pdf", {"width": "a"}, "width='a' is not a positive number"),
        ("f.pdf", {"dpi": [300]}, r"dpi=\[300\] is not a positive number"),
        ("f.pdf", {"columns": [1]}, r"columns=\[1\] is not a width of a figure"),
        ("f.pdf", {"height": float("nan")}, "height=nan is not a positive number"),
        ("f.pdf", {"width": 0.4}, "do not fit into 0.4 × [0-9.]+ inches: save it two columns wide"),
        ("f.pdf", {"height": 0.2}, "do not fit into 3.5 × 0.2 inches"),
    ],
)
def test_what_cannot_be_saved_is_one_sentence_and_no_file(tmp_path, name, options, said):
    with pytest.raises(InputError, match=said):
        sample.inspection().save_figure(tmp_path / name, **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("made", ["comparison", "matrix"])
def test_a_character_that_the_font_lacks_is_named_and_not_drawn_as_a_box(tmp_path, made):
    result = getattr(sample, made)()
    runs = tuple(replace(run, name=f"日本語 {i}") for i, run in enumerate(result.runs))
    with pytest.raises(InputError, match=r"has no '.' \(U\+[0-9A-F]{4}\).*日本語.*name="):
        replace(result, runs=runs).save_figure(tmp_path / "f.png")
    assert not list(tmp_path.iterdir())


def test_letters_that_the_font_has_are_drawn(tmp_path):
    sample.comparison(first="Ψ-модель été №7 → β", second="b").save_figure(tmp_path / "f.png")
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")


def test_a_second_font_stands_in(tmp_path, monkeypatch):
    asked = []

    class Font:
        def get_charmap(self):
            return {ord("日"): 1} if len(asked) > 1 else {ord("a"): 1}

    def find(font, **_):
        asked.append(font.get_family())
        return "font"

    monkeypatch.setattr("matplotlib.font_manager.findfont", find)
    monkeypatch.setattr("matplotlib.font_manager.get_font", lambda _: Font())
    from matplotlib.font_manager import FontProperties

    assert figure_file._characters(FontProperties(family=["A", "B"])) == {ord("a"), ord("日")}
    assert asked == [["A"], ["B"]]


def test_without_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    found = {"matplotlib": None}
    monkeypatch.setattr(figure_file, "find_spec", lambda name: found.get(name, find_spec(name)))
    with pytest.raises(MissingExtraError, match=r"upto\[plot\]"):
        sample.inspection().save_figure(tmp_path / "f.pdf")
