"""Draw panels as a matplotlib figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.report import chart
from upto.report.axis_scale import log_scale, tick_texts
from upto.report.chart import BLUE, COLOURS, GREY, INK, ORANGE
from upto.report.markup import shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

    from upto.core import Marks, Panel

_COLOURS = (BLUE, ORANGE, *COLOURS, GREY, "#7a9a01", INK)
_NAME = 40
_DECADES = 100.0
"""Largest over smallest value of an axis up to which it is short."""


def draw_panels(panels: tuple[Panel, ...], *, columns: int) -> Figure:
    """Draw panels, so many per row."""
    rows, columns = chart.grid_shape(len(panels), columns)
    figure = chart.blank_figure(5.2 * columns, 3.4 * rows)
    for axes, panel in zip(chart.panel_grid(figure, len(panels), columns), panels, strict=True):
        _draw_panel(axes, panel)
    return figure


def _draw_panel(axes: Axes, panel: Panel) -> None:
    for number, marks in enumerate(panel.marks):
        if marks.x:
            _draw(axes, marks, _COLOURS[number % len(_COLOURS)])
    chart.write_title(axes, panel.title)
    if panel.x_names:
        names = [shorten(name, _NAME) for name in panel.x_names]
        axes.set_xticks(range(1, len(names) + 1))
        axes.set_xticklabels(names, rotation=40, ha="right", fontsize=7, parse_math=False)
    else:
        axes.set_xlabel(panel.x, parse_math=False)
    axes.set_ylabel(panel.y, parse_math=False)
    if panel.x_log:
        axes.set_xscale("log")
        _mark_short(axes.xaxis, [value for marks in panel.marks for value in marks.x])
    if panel.y_log:
        axes.set_yscale("log")
        _mark_short(axes.yaxis, [value for marks in panel.marks for value in marks.y])
    elif panel.y_zero:
        # The margin is of the height that is shown, from zero on.
        axes.update_datalim([(0.0, 0.0)], updatex=False)
        axes.autoscale_view(scalex=False)
        axes.set_ylim(bottom=0.0)
    chart.plain(axes, grid="both")
    if len(panel.marks) > 1:
        chart.legend(axes)


def _mark_short(axis: Axis, values: Sequence[float]) -> None:
    """Write round numbers on an axis of few decades, where those of Matplotlib overlap."""
    positive = [value for value in values if value > 0]
    if not positive or max(positive) > _DECADES * min(positive):
        return
    ticks = log_scale(positive).ticks
    axis.set_ticks(ticks, labels=tick_texts(ticks, logarithmic=True))
    axis.set_ticks([], minor=True)


def _draw(axes: Axes, marks: Marks, colour: str) -> None:
    # Matplotlib omits labels that start with an underscore from the legend.
    label = shorten(marks.name, _NAME).lstrip("_")
    if marks.kind == "line":
        if marks.low:
            axes.fill_between(marks.x, marks.low, marks.high, color=colour, alpha=0.2, lw=0)
        axes.plot(marks.x, marks.y, color=colour, lw=1.3, label=label)
        return
    if marks.low:
        axes.vlines(marks.x, marks.low, marks.high, color=colour, alpha=0.5, lw=1)
    axes.plot(marks.x, marks.y, "o", color=colour, markersize=3.5, label=label)
