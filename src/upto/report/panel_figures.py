"""Draw panels as a matplotlib figure."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from upto.report.markup import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from upto.core import Marks, Panel

COLOURS = (
    "#0b5fa5", "#c45500", "#00805d", "#b8558f", "#b88600", "#43339b",
    "#6b4a2b", "#2b8f8a", "#82205a", "#565e69", "#7a9a01", "#15191e",
)  # fmt: skip
_NAME = 40
_COLUMNS = 2


def panels_size(panels: tuple[Panel, ...]) -> tuple[float, float]:
    """Return the width and height of a figure with all panels, in inches."""
    columns = min(len(panels), _COLUMNS)
    return 5.2 * columns, 3.4 * -(-len(panels) // columns)


def draw_panels(figure: Figure, panels: tuple[Panel, ...]) -> Figure:
    """Draw panels side by side, two per row."""
    columns = min(len(panels), _COLUMNS)
    places = figure.subplots(-(-len(panels) // columns), columns, squeeze=False).flat
    for axes, panel in itertools.zip_longest(places, panels):
        if panel is None:
            axes.set_axis_off()
        else:
            _draw_panel(axes, panel)
    return figure


def _draw_panel(axes: Axes, panel: Panel) -> None:
    for number, marks in enumerate(panel.marks):
        if marks.x:
            _draw(axes, marks, COLOURS[number % len(COLOURS)])
    axes.set_title(panel.title, loc="left", fontsize=10, parse_math=False)
    if panel.x_names:
        axes.set_xticks(range(1, len(panel.x_names) + 1))
        axes.set_xticklabels(
            [shorten(name, _NAME) for name in panel.x_names],
            rotation=40,
            ha="right",
            fontsize=7,
            parse_math=False,
        )
    else:
        axes.set_xlabel(panel.x, parse_math=False)
    axes.set_ylabel(panel.y, parse_math=False)
    if panel.x_log:
        axes.set_xscale("log")
    if panel.y_log:
        axes.set_yscale("log")
    elif panel.y_zero:
        axes.set_ylim(bottom=0.0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#e1e4e8", linewidth=0.7)
    axes.set_axisbelow(True)
    if len(panel.marks) > 1:
        legend = axes.legend(frameon=False, fontsize=7)
        for text in legend.get_texts():
            text.set_parse_math(False)


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
