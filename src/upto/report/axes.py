"""Shared style of the axes of figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from upto.core import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, INK, GREY = "#0b5fa5", "#c45500", "#15191e", "#565e69"
COLOURS = ("#00805d", "#b8558f", "#b88600", "#43339b", "#6b4a2b", "#2b8f8a", "#82205a")


def blank_figure(width: float, height: float) -> Figure:
    """Return a figure without axes, not registered with pyplot.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        what = "a figure"
        raise MissingExtraError(what, package="matplotlib", extra="plot") from None
    return Figure(figsize=(width, height), layout="constrained", dpi=150)


def plain(axes: Axes, *, grid: Literal["x", "y"] = "x") -> None:
    """Style axes with only a bottom spine and pale grid lines along `grid`."""
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(GREY)
    axes.grid(axis=grid, color="#e1e4e8", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", color=GREY)


def stems(axes: Axes, values: list[float], colours: list[str], width: float) -> None:
    """Draw one vertical line per value, each in its own colour."""
    axes.vlines(range(len(values)), 0, values, colors=colours, linewidth=width)


def say(axes: Axes, text: str) -> None:
    """Write a sentence in the centre of empty axes."""
    axes.text(
        0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=GREY, size=9
    )
