"""Figure of similarities: measures on their ranges, and heat maps of all pairs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from upto.questions.similarity.measure_lines import grouped_lines, measure_label, measure_lines
from upto.questions.similarity.page import map_ends, pairs_in_order
from upto.report.axes import blank_figure
from upto.report.markup import shorten, tell_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from upto.questions.similarity.measure_lines import Line
    from upto.questions.similarity.result import MeasureSummary, SimilarityResult

_BLUE, _ORANGE, _INK = "#0b5fa5", "#c45500", "#15191e"
_NAME = 18
_TITLE = 24
_MAX_MAPS = 12
_LABEL = 44
_MAX_NUMBERED_RUNS = 8
_MAX_NAMED_RUNS = 30
_MAX_MARKED_RUNS = 40


def draw(result: SimilarityResult) -> Figure:
    """Draw every measure of two runs, or a heat map of all pairs per measure."""
    if len(result.runs) == 2:
        figure = blank_figure(7.4, 1.2 + 0.22 * len(lines_in_order(result)))
        draw_measures(figure.subplots(), result)
        first, second = (shorten(run.name, _TITLE) for run in result.runs)
        title = f"{first} and {second}: value, and calibrated from chance (0) to the best (1)"
        figure.suptitle(title, fontsize=9, parse_math=False)
        return figure
    measures = result.measures[:_MAX_MAPS]
    columns = min(len(measures), 3)
    rows = math.ceil(len(measures) / columns)
    size = min(max(2.2, 0.36 * len(result.runs)), 4.5)
    figure = blank_figure((size + 1.3) * columns, (size + 0.9) * rows)
    panels = figure.subplots(rows, columns, squeeze=False)
    for measure, axes in zip(measures, panels.flat, strict=False):
        bar = figure.colorbar(draw_measure_map(axes, result, measure), ax=axes, shrink=0.7)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=7)
    for axes in panels.flat[len(measures) :]:
        axes.set_visible(False)
    words = "dots: closer than chance, adjusted for all pairs and measures"
    if len(measures) < len(result.measures):
        words += f"; the first {len(measures)} of {len(result.measures)} measures"
    figure.suptitle(words, fontsize=9)
    return figure


def lines_in_order(result: SimilarityResult) -> list[Line]:
    """Return the lines of the chart, top to bottom."""
    return [line for _, members in grouped_lines(measure_lines(result)) for line in members]


def draw_measures(axes: Axes, result: SimilarityResult) -> None:
    """Draw each measure over its range, far at the left and close at the right."""
    lines = lines_in_order(result)
    for row, line in enumerate(lines):
        _measure(axes, line, row)
    names = [shorten(line.label, _LABEL) for line in lines]
    axes.set_yticks(range(len(lines)), names, parse_math=False, fontsize=8)
    axes.set_ylim(len(lines) - 0.5, -0.5)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xticks([0, 1], ["far", "close"], fontsize=8)
    axes.set_xlabel("range of each measure", labelpad=-6, fontsize=8)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    # Measures have different units, so values are printed at the right.
    beside = axes.secondary_yaxis("right")
    beside.set_yticks(range(len(lines)), [_text(line) for line in lines], fontsize=7)
    beside.tick_params(length=0)
    beside.spines[:].set_visible(False)
    start = 0
    for _, members in grouped_lines(lines)[:-1]:
        start += len(members)
        axes.axhline(start - 0.5, color="#c9ced4", lw=0.8)
    _keys(axes)


def _measure(axes: Axes, line: Line, row: int) -> None:
    def place(value: float) -> float:
        return min(max((value - line.far) / (line.near - line.far), 0.0), 1.0)

    axes.plot([0, 1], [row, row], color="#e1e4e8", lw=0.8, zorder=0)
    if line.limit is not None:
        limit = place(line.limit)
        if line.chance is not None:
            chance = place(line.chance)
            axes.barh(row, limit - chance, 0.6, left=chance, color=_ORANGE, alpha=0.3, lw=0)
        axes.plot(limit, row, "|", color=_ORANGE, markersize=9, mew=1.6)
    value = line.value
    if value.low is not None and value.high is not None:
        ends = [place(value.low), place(value.high)]
        axes.plot(ends, [row, row], color=_BLUE, alpha=0.45, lw=3)
    inside = _BLUE if line.is_beyond else "white"
    axes.plot(place(value.value), row, "o", mfc=inside, mec=_BLUE, markersize=5, label="value")


def _keys(axes: Axes) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    value: dict[str, Any] = {"color": _BLUE, "marker": "o", "markersize": 5}
    within = "no closer than chance"
    handles = [
        Line2D([], [], lw=3, alpha=0.8, label="value, with interval", **value),
        Line2D([], [], lw=0, mfc="white", label=within, **value),
        Patch(color=_ORANGE, alpha=0.3, lw=0, label="chance: mean to limit"),
    ]
    axes.legend(
        handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0), borderaxespad=2.6, ncols=3,
        frameon=False, fontsize=7,
    )  # fmt: skip


def _text(line: Line) -> str:
    return f"{line.value.value:.3f}   {line.last}"


def draw_measure_map(axes: Axes, result: SimilarityResult, measure: MeasureSummary) -> Any:
    """Draw the heat map of a measure, with a dot where a pair is closer than chance."""
    far, near = map_ends(result, measure)
    pairs = pairs_in_order(result, measure)
    values = [[math.nan if pair is None else pair.value.value for pair in row] for row in pairs]
    image = axes.imshow(
        values,
        cmap="Blues" if near >= far else "Blues_r",
        vmin=min(far, near),
        vmax=max(far, near) if near != far else far + 1,
        interpolation="nearest",
    )
    marked = [
        (j, i)
        for i, row in enumerate(pairs)
        for j, pair in enumerate(row)
        if pair is not None and pair.is_beyond_chance
    ]
    count = len(pairs)
    if count <= _MAX_MARKED_RUNS:
        axes.scatter(
            [j + 0.36 for j, _ in marked], [i - 0.36 for _, i in marked], s=4, color=_ORANGE,
            linewidths=0,
        )  # fmt: skip
    if count <= _MAX_NUMBERED_RUNS:
        for i, row in enumerate(values):
            for j, value in enumerate(row):
                if not math.isnan(value):
                    dark = near != far and (value - far) / (near - far) > 0.65
                    ink = "white" if dark else _INK
                    axes.text(j, i, f"{value:.2f}", ha="center", va="center", size=6, color=ink)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelsize=7)
    every = -(-count // _MAX_NAMED_RUNS)
    names = tell_apart([result.runs[place].name for place in measure.order])
    shown = [shorten(name, _NAME) for name in names][::every]
    axes.set_yticks(range(0, count, every), shown, parse_math=False)
    axes.set_xticks(range(0, count, every), shown, parse_math=False, rotation=90)
    title = f"{shorten(measure_label(measure), _LABEL)}\nmean {measure.mean:.3f}"
    axes.set_title(title, loc="left", fontsize=8, parse_math=False)
    return image
