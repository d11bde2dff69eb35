"""Figure of similarities: measures on their ranges, and heat maps of all pairs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from upto.questions.similarity.measure_lines import grouped_lines, measure_label, measure_lines
from upto.questions.similarity.page import map_ends, pairs_in_order
from upto.report import chart
from upto.report.chart import ORANGE
from upto.report.markup import shorten, tell_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from upto.questions.similarity.result import MeasureSummary, SimilarityResult

_TITLE = 24
_MAX_MAPS = 12
_LABEL = 44
_MAX_WRITTEN = 4
"""Runs whose values fit into the cells of a narrow map."""


def draw(result: SimilarityResult, *, narrow: bool = False) -> Figure:
    """Draw every measure of two runs, or a heat map of all pairs per measure."""
    if len(result.runs) == 2:
        return _measures(result, narrow=narrow)
    return _maps(result, narrow=narrow)


def _measures(result: SimilarityResult, *, narrow: bool) -> Figure:
    groups = [members for _, members in grouped_lines(measure_lines(result))]
    lines = [line for members in groups for line in members]
    figure = chart.blank_figure(7.4, 1.2 + 0.22 * len(lines))
    axes = figure.subplots()
    length = _LABEL // 2 if narrow else _LABEL
    chart.range_rows(axes, [line.label for line in lines], ("far", "close"), length=length, size=8)
    for row, line in enumerate(lines):
        place = chart.on_range(line.far, line.near)
        chart.chance_mark(axes, row, line.limit, line.chance, place=place)
        chart.value_mark(axes, row, line.value, place=place, beyond=line.is_beyond)
    axes.set_xlabel("range" if narrow else "range of each measure", labelpad=-6, fontsize=8)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    # Measures have different units, so values are printed at the right.
    chart.write_beside(axes, [f"{line.value.value:.3f}   {line.last}" for line in lines])
    start = 0
    for members in groups[:-1]:
        start += len(members)
        axes.axhline(start - 0.5, color="#c9ced4", lw=0.8)
    keys = [
        chart.key("value, with interval", lw=3, alpha=0.8),
        chart.key("no closer than chance", mfc="white"),
        chart.key("chance: mean to limit", "", ORANGE, lw=5, alpha=0.3),
    ]
    at: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "borderaxespad": 2.6}
    chart.legend(axes, handles=keys, ncols=1 if narrow else 3, **at)
    first, second = (shorten(run.name, _TITLE) for run in result.runs)
    end = "\n" if narrow else " "
    title = f"{first} and {second}:{end}value, and calibrated from chance (0) to the best (1)"
    figure.suptitle(title, fontsize=9, parse_math=False)
    return figure


def _maps(result: SimilarityResult, *, narrow: bool) -> Figure:
    measures = result.measures[:_MAX_MAPS]
    most = 2 if narrow else 3
    rows, columns = chart.grid_shape(len(measures), most)
    size = 1.4 if narrow else min(max(2.2, 0.36 * len(result.runs)), 4.5)
    figure = chart.blank_figure((size + 1.3) * columns, (size + 0.9) * rows)
    for measure, axes in zip(measures, chart.panel_grid(figure, len(measures), most), strict=True):
        image = _map(axes, result, measure, narrow=narrow)
        chart.colour_bar(figure, image, axes, shrink=0.7, size=7)
    words = "dots: closer than chance, adjusted for all pairs and measures"
    if len(measures) < len(result.measures):
        words += f"; the first {len(measures)} of {len(result.measures)} measures"
    figure.suptitle(words, fontsize=9)
    return figure


def _map(axes: Axes, result: SimilarityResult, measure: MeasureSummary, *, narrow: bool) -> Any:
    far, near = map_ends(result, measure)
    pairs = pairs_in_order(result, measure)
    values = [[None if pair is None else pair.value.value for pair in row] for row in pairs]
    written = None if narrow and len(values) > _MAX_WRITTEN else -math.inf
    image = chart.heat_map(axes, values, pale=far, dark=near, write_from=written)
    beyond = [[pair is not None and pair.is_beyond_chance for pair in row] for row in pairs]
    chart.mark_cells(axes, beyond, shift=0.36)
    names = tell_apart([result.runs[place].name for place in measure.order])
    chart.name_ticks(axes.set_yticks, names)
    chart.name_ticks(axes.set_xticks, names, rotation=90)
    title = shorten(measure_label(measure), _LABEL // 2 if narrow else _LABEL)
    chart.write_title(axes, f"{title}\nmean {measure.mean:.3f}", 8)
    return image
