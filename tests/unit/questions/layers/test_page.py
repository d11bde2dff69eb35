"""The view and the figure of layers."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from browser import sample_layers as sample

from upto.core import InputError
from upto.questions.layers.page import (
    MAX_PANELS,
    ends_of_colours,
    layers_body,
    layers_facts,
    layers_tables,
)
from upto.questions.layers.result import LayersResult
from upto.report import Report, draw
from upto.report.summary import summarise


def test_the_darkest_cell_is_the_closest_whichever_way_the_measure_goes() -> None:
    result = sample.layers(6, 4)
    assert ends_of_colours(result, result.measures[0]) == (0.0, 1.0)
    view = layers_body(result)
    for row, cells in zip(result.pairs[0].value, view.panels[0].rows, strict=True):
        levels = [each.cell.level for each in cells]
        assert levels == [min(int(10 * (value or 0)), 9) for value in row]
        assert [each.closest for each in cells].index(True) == row.index(max(row))  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("closer", "low", "high", "ends"),
    [
        ("higher", 0.0, 1.0, (0.0, 1.0)),
        ("higher", -1.0, 1.0, (0.0, 1.0)),
        ("higher", None, None, (0.01, 0.75)),
        ("higher", -5.0, -1.0, (-5.0, -1.0)),
        ("lower", 0.0, None, (0.75, 0.0)),
        ("lower", 0.0, 1.5, (1.5, 0.0)),
        ("lower", -1.0, 0.0, (0.0, -1.0)),
    ],
)
def test_colours_end_where_the_range_does(closer, low, high, ends) -> None:
    result = sample.layers(3, 3)
    measure = replace(result.measures[0], closer=closer, low=low, high=high)
    values = [cell for row in result.pairs[0].value for cell in row]
    found = ends_of_colours(result, measure)
    extremes = {0.01: min(values), 0.75: max(values)}
    assert found == tuple(extremes.get(end, end) for end in ends)


def test_facts_count_layers_over_all_pairs() -> None:
    result = sample.layers(4, 4, 4)
    facts = {label: (value, detail) for label, value, detail in layers_facts(result)}
    level = sum(pair.n_level for pair in result.pairs)
    assert facts["closest at the same depth"] == (f"{level} of 12", "layers")
    assert facts["rows"] == ("1,024", "of 5,000")
    own = {label: value for label, value, _ in layers_facts(sample.layers(5))}
    assert "closest next to it" in own


def test_facts_of_runs_aligned_in_different_ways_say_beside() -> None:
    result = sample.layers(3, 3, 3)
    named = replace(result.pairs[0], aligned_by="name")
    mixed = replace(result, pairs=(named, *result.pairs[1:]))
    assert layers_facts(mixed)[1][0] == "closest aligned with it"


@pytest.mark.parametrize(
    ("place", "value", "why"),
    [
        (("pairs", 0, "closest", 0, "closest"), 99, "the closest layer 99, but second has 2"),
        (("pairs", 0, "closest", 0, "layer"), -1, "closest layer of layer -1, but first has 3"),
        (("pairs", 0, "along", 1, "beside"), 2, "the aligned layer 2, but second has 2 layers"),
        (
            ("pairs", 0, "along", 1, "layer"),
            3,
            "the aligned layer of layer 3, but first has 3 layers",
        ),
        (("pairs", 0, "first"), "nobody", "has no run 'nobody'"),
        (("pairs", 0, "measure"), "nothing", "has no measure 'nothing'"),
        (("pairs", 0, "value"), [[0.5, 0.5]], r"value of first and second is not 3 × 2"),
        (("pairs", 0, "limit", 1), [0.5], r"limit of first and second is not 3 × 2"),
        (("pairs", 0, "p_value", 2), [], r"p_value of first and second is not 3 × 2"),
        (("pairs",), [], "no pair of runs by linear-cka"),
        (("measures",), [], "0 measures"),
        (("runs",), [], "0 runs"),
        (("runs", 0, "layers"), [], "first has no layers"),
        (("runs", 1, "name"), "first", "two runs are called first"),
    ],
)
def test_a_result_whose_parts_do_not_fit_is_refused_when_it_is_read(place, value, why) -> None:
    result = sample.layers(3, 2)
    names = {run.name: name for run, name in zip(result.runs, ("first", "second"), strict=True)}
    text = result.to_json()
    for old, new in names.items():
        text = text.replace(json.dumps(old), json.dumps(new))
    record = json.loads(text)
    assert LayersResult.from_json(json.dumps(record)).pairs
    inner = record
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    with pytest.raises(InputError, match=f"this layers result is damaged: .*{why}"):
        LayersResult.from_json(json.dumps(record))


def test_a_page_of_many_runs_shows_the_first_pairs_and_says_so() -> None:
    result = sample.layers(*[3] * 6)
    view = layers_body(result)
    assert (len(view.panels), len(result.pairs)) == (MAX_PANELS, 15)
    tables, words = layers_tables(result)
    assert len(tables) == 2 + MAX_PANELS
    assert words == (f"In the JSON only: the plots and matrices after the first {MAX_PANELS}.")
    page = Report([result]).html()
    assert len(re.findall(r'data-layers="\d', page)) == MAX_PANELS
    assert words in page


def test_a_page_of_twenty_four_layers_is_small() -> None:
    assert len(Report([sample.layers(24, 24)]).html()) < 300_000


def test_layers_without_intervals_or_numbers_are_drawn() -> None:
    plain = layers_body(sample.layers(3, 3, interval=False)).panels[0]
    assert not plain.any_interval
    assert plain.plot is not None
    one = layers_body(sample.layers(1, 1)).panels[0]
    assert one.plot is not None
    assert one.plot.at == (50.0,)
    nothing = sample.layers(1, 1, dead=0)
    assert layers_body(nothing).panels[0].plot is None
    assert "No two aligned layers both vary." in Report([nothing]).html()


def test_the_view_survives_json() -> None:
    result = sample.layers(4, 3, dead=1, measures=("linear-cka", "mutual-knn:10"))
    again = LayersResult.from_json(result.to_json())
    assert again == result
    assert summarise(again) == summarise(result)


@pytest.mark.parametrize("sizes", [(6, 4), (1, 1), (5,), (45, 3), (3, 3, 3)])
def test_a_figure_has_a_map_and_a_curve_for_every_pair(sizes: tuple[int, ...]) -> None:
    result = sample.layers(*sizes)
    figure = draw(result)
    maps = [axes for axes in figure.axes if axes.images]
    curves = [axes for axes in figure.axes if axes.get_legend() is not None]
    assert len(maps) == len(curves) == len(result.pairs)
    shown = maps[0].images[0].get_array()
    assert shown.shape == (sizes[0], sizes[-1] if len(sizes) == 2 else sizes[0])
    line = next(line for line in curves[0].lines if line.get_label() == "linear cka")
    values = dict(zip(line.get_xdata(), line.get_ydata(), strict=True))
    for step in result.pairs[0].along:
        assert values[step.layer + 1] == step.value.value


@pytest.mark.parametrize("name", ["$\\frac$", "x" * 10_000])
def test_any_name_can_be_saved(name: str, tmp_path) -> None:
    result = sample.layers(2, 3, names=(name, "other"), stem=name)
    draw(result).savefig(tmp_path / "figure.svg")
    assert re.search("<svg", (tmp_path / "figure.svg").read_text())
