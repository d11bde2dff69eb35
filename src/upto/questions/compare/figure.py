"""Figure of a comparison: errors per group for two runs, a heat map per group for more."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from upto.report.axes import BLUE, INK, ORANGE, blank_figure, plain
from upto.report.markup import shorten, tell_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from upto.core import RunSummary
    from upto.questions.compare.matrix import Matrix, Pairs
    from upto.questions.compare.result import CompareResult

_NAME = 24
_MAX_NUMBERED_RUNS = 8


def draw(result: CompareResult) -> Figure:
    """Draw a comparison."""
    if result.pairs is not None:
        return _all_pairs(result.runs, result.pairs)
    return _pair(result)


def _pair(result: CompareResult) -> Figure:
    figure = blank_figure(6.3, 1.3 + 0.36 * len(result.fits))
    axes = figure.subplots()
    for row, fit in enumerate(result.fits):
        chosen = fit.up_to is result.up_to and not fit.unmixed
        if chosen:
            axes.axhspan(row - 0.5, row + 0.5, color=BLUE, alpha=0.07, linewidth=0)
        if fit.chance is not None:
            axes.plot(fit.chance.mean.value, row, "|", color=ORANGE, markersize=13, mew=2)
        if fit.held_out is not None:
            mean = fit.held_out.mean
            if mean.low is not None and mean.high is not None:
                axes.plot([mean.low, mean.high], [row, row], color=BLUE, alpha=0.45, lw=3)
            axes.plot(mean.value, row, "o", color=BLUE, markersize=6)
        inner = fit.in_sample.mean.value
        axes.plot(inner, row, "o", mfc="none", mec=INK, markersize=7.5, mew=1)
    axes.set_yticks(range(len(result.fits)), [fit.name for fit in result.fits])
    axes.set_ylim(len(result.fits) - 0.5, -0.5)
    axes.set_xlim(left=0)
    axes.set_xlabel("mean error over the diameter")
    title = f"{shorten(result.first.name, _NAME)} → {shorten(result.second.name, _NAME)}"
    # Without it, matplotlib reads dollar signs in a name as mathematics.
    axes.set_title(title, loc="left", fontsize=10, parse_math=False)
    plain(axes)
    _keys(figure)
    return figure


def _keys(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=BLUE, marker="o", markersize=6, lw=3, alpha=0.8, label="held out"),
        Line2D([], [], color=INK, marker="o", mfc="none", markersize=7.5, lw=0, label="in sample"),
        Line2D([], [], color=ORANGE, marker="|", markersize=13, mew=2, lw=0, label="chance"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=9)


def _all_pairs(runs: tuple[RunSummary, ...], pairs: Pairs) -> Figure:
    count = len(pairs.matrices)
    columns = min(count, 3)
    rows = math.ceil(count / columns)
    size = min(max(1.9, 0.42 * len(runs)), 4.5)
    figure = blank_figure(size * columns + 2.0, (size + 0.25) * rows + 0.2)
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    top = max((v for m in pairs.matrices for r in m.error for v in r if v is not None), default=1)
    short = tell_apart([run.name for run in runs])
    names = [f"{shorten(name, _NAME)}  {row}" for row, name in enumerate(short, start=1)]
    image = None
    for matrix, axes in zip(pairs.matrices, panels.flat, strict=False):
        image = _heat_map(axes, matrix, top=top or 1.0)
        axes.set_yticks(range(len(names)), names, parse_math=False)
        axes.set_xticks(range(len(names)), [str(i + 1) for i in range(len(names))])
    for axes in panels.flat[count:]:
        axes.set_visible(False)
    for index, axes in enumerate(panels.flat[:count]):
        axes.tick_params(labelbottom=index + columns >= count, labelleft=index % columns == 0)
    if image is not None:
        label = "mean error over the diameter"
        bar = figure.colorbar(image, ax=panels.ravel().tolist(), label=label, shrink=0.6, aspect=30)
        bar.outline.set_visible(False)
    return figure


def _heat_map(axes: Axes, matrix: Matrix, *, top: float):  # type: ignore[no-untyped-def]
    values = [[math.nan if cell is None else cell for cell in row] for row in matrix.error]
    image = axes.imshow(values, cmap="Blues", vmin=0, vmax=top, interpolation="nearest")
    axes.set_title(matrix.name, loc="left", fontsize=9)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelsize=8)
    if len(values) <= _MAX_NUMBERED_RUNS:
        for i, row in enumerate(values):
            for j, cell in enumerate(row):
                if not math.isnan(cell):
                    ink = "white" if cell > 0.65 * top else INK
                    axes.text(j, i, f"{cell:.2f}", ha="center", va="center", fontsize=6, color=ink)
    return image
