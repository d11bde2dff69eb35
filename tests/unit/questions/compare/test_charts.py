import re
import xml.etree.ElementTree as ET

import pytest
from browser import sample_results as sample

from upto.core import Group, Scatter, Supremum
from upto.questions.compare.charts import bracket_chart, error_chart, histogram_chart, scatter_chart


def percentages(drawing: str, kind: str, attribute: str) -> list[float]:
    marks = re.findall(rf'<[a-z]+ class="{kind}"[^>]*>', drawing)
    found = [re.search(rf' {attribute}="([\d.]+)%"', mark) for mark in marks]
    return [float(match.group(1)) for match in found if match]


def test_a_row_places_held_out_between_its_interval_and_left_of_chance() -> None:
    chart = error_chart(sample.comparison())
    assert [row.name for row in chart.rows if row.chosen] == ["rigid"]
    for row in chart.rows:
        for drawing in (row.linear, row.logarithmic):
            (held_out,) = percentages(drawing, "held-out", "cx")
            (low,) = percentages(drawing, "interval", "x1")
            (high,) = percentages(drawing, "interval", "x2")
            (chance,) = percentages(drawing, "chance", "x1")
            assert low < held_out < high
            assert held_out < chance


def test_without_held_out_rows_only_in_sample_is_drawn() -> None:
    chart = error_chart(sample.comparison(held_out=False))
    drawing = chart.rows[3].linear
    assert percentages(drawing, "held-out", "cx") == []
    assert percentages(drawing, "chance", "x1") == []
    assert len(percentages(drawing, "in-sample", "cx")) == 1
    assert "chance not measured" in drawing


def test_drawings_are_well_formed() -> None:
    result = sample.comparison()
    chart = error_chart(result)
    scatter = scatter_chart(sample.scatter())
    assert scatter is not None
    for drawing in (chart.linear_axis, chart.rows[0].linear, scatter.drawing):
        ET.fromstring(drawing)
    ET.fromstring(f"<g>{histogram_chart(result.rigid)}</g>")
    ET.fromstring(f"<g>{bracket_chart('rigid', Supremum(high=0.0, low=None), 0.0)}</g>")


def test_a_histogram_has_a_target_per_bin_with_both_counts() -> None:
    fit = sample.comparison().rigid
    assert fit.histogram is not None
    assert fit.chance_histogram is not None
    tips = re.findall(r'data-tip="([^"]*)"', histogram_chart(fit))
    assert len(tips) == len(fit.histogram.counts)
    shown = [tuple(map(int, re.findall(r"(?:held out|chance) (\d+)", tip))) for tip in tips]
    assert shown == list(zip(fit.histogram.counts, fit.chance_histogram.counts, strict=True))


def test_the_scatter_keeps_distances_in_proportion() -> None:
    rows = ((0.0, 0.0), (2.0, 0.0), (0.0, 1.0))
    chart = scatter_chart(
        Scatter(up_to=Group.RIGID, target=rows, aligned=rows, label=None, labels=())
    )
    assert chart is not None
    (x0, y0, *_), (x1, _, *_), (_, y2, *_) = chart.points
    assert x1 - x0 == pytest.approx(2 * (y0 - y2), abs=1)
    assert chart.categories == ()


@pytest.mark.parametrize("n_rows", [1, 2])
def test_equal_rows_are_drawn(n_rows: int) -> None:
    rows = ((3.0, 3.0),) * n_rows
    chart = scatter_chart(
        Scatter(up_to=Group.RIGID, target=rows, aligned=rows, label="l", labels=("a",) * n_rows)
    )
    assert chart is not None
    assert chart.points[0][:2] == (500, 300)


def test_no_rows_no_scatter() -> None:
    empty = Scatter(up_to=Group.RIGID, target=(), aligned=(), label=None, labels=())
    assert scatter_chart(empty) is None


def test_rare_labels_become_other_and_digits_are_in_order() -> None:
    chart = scatter_chart(sample.scatter(n_rows=310, n_labels=31))
    assert chart is not None
    names = [category.name for category in chart.categories]
    assert len(names) == 13
    assert names[-1] == "other"
    assert names[:-1] == sorted(names[:-1], key=int)
    assert sum(category.count for category in chart.categories) == 310


def test_many_rows_are_thinned() -> None:
    chart = scatter_chart(sample.scatter(n_rows=4000))
    assert chart is not None
    assert len(chart.points) == 1334
    assert chart.n_rows == 4000
    assert len(chart.labels) == len(chart.points)
