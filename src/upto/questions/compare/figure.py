"""Figure of a comparison: errors per group for two runs, a heat map per group for more."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from upto.report import chart
from upto.report.chart import BLUE, INK, ORANGE
from upto.report.markup import shorten, tell_apart

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from upto.core import RunSummary
    from upto.questions.compare.matrix import Pairs
    from upto.questions.compare.result import CompareResult

_NAME = 24
_ERROR = "mean error over the diameter"


def draw(result: CompareResult, *, narrow: bool = False) -> Figure:
    """Draw a comparison."""
    if result.pairs is None:
        return _pair(result)
    return _all_pairs(result.runs, result.pairs, narrow=narrow)


def _pair(result: CompareResult) -> Figure:
    figure = chart.blank_figure(6.3, 1.3 + 0.36 * len(result.fits))
    axes = figure.subplots()
    for row, fit in enumerate(result.fits):
        if fit.up_to is result.up_to and not fit.unmixed:
            axes.axhspan(row - 0.5, row + 0.5, color=BLUE, alpha=0.07, linewidth=0)
        if fit.chance is not None:
            chart.chance_mark(axes, row, fit.chance.mean.value, size=13)
        if fit.held_out is not None:
            chart.value_mark(axes, row, fit.held_out.mean, size=6)
        axes.plot(fit.in_sample.mean.value, row, "o", mfc="none", mec=INK, markersize=7.5, mew=1)
    chart.name_rows(axes, [fit.name for fit in result.fits])
    axes.set_xlim(left=0)
    axes.set_xlabel(_ERROR)
    first, second = (shorten(run.name, _NAME) for run in (result.first, result.second))
    chart.write_title(axes, f"{first} → {second}")
    chart.plain(axes)
    keys = [
        chart.key("held out", size=6, lw=3, alpha=0.8),
        chart.key("in sample", colour=INK, size=7.5, mfc="none"),
        chart.key("chance", "|", ORANGE, size=13, mew=1.7),
    ]
    chart.legend(figure, handles=keys, loc="outside lower center", ncols=3, size=9)
    return figure


def _all_pairs(runs: tuple[RunSummary, ...], pairs: Pairs, *, narrow: bool) -> Figure:
    count = len(pairs.matrices)
    rows, columns = chart.grid_shape(count, 2 if narrow else 3)
    size = 1.8 if narrow else min(max(1.9, 0.42 * len(runs)), 4.5)
    figure = chart.blank_figure(size * columns + 2.0, (size + 0.25) * rows + 0.2)
    panels = chart.panel_grid(figure, count, columns, sharex=True, sharey=True)
    top = max((v for m in pairs.matrices for r in m.error for v in r if v is not None), default=1)
    short = tell_apart([run.name for run in runs])
    names = [f"{shorten(name, _NAME)}  {row}" for row, name in enumerate(short, start=1)]
    for index, (matrix, axes) in enumerate(zip(pairs.matrices, panels, strict=True)):
        image = chart.heat_map(axes, matrix.error, dark=top or 1.0, write_from=-math.inf, size=8)
        chart.write_title(axes, matrix.name, 9)
        axes.set_yticks(range(len(names)), names, parse_math=False)
        axes.set_xticks(range(len(names)), [str(i + 1) for i in range(len(names))])
        axes.tick_params(labelbottom=index + columns >= count, labelleft=index % columns == 0)
    if panels:
        chart.colour_bar(figure, image, panels, _ERROR, shrink=0.6, aspect=30)
    return figure
