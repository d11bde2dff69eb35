"""Parts of matplotlib figures: colours, axes, legends, heat maps, rows of values, stems."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from upto.core import MissingExtraError
from upto.report.markup import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from upto.core import Estimate

BLUE, ORANGE, INK, GREY, PALE = "#0b5fa5", "#c45500", "#15191e", "#565e69", "#e1e4e8"
COLOURS = ("#00805d", "#b8558f", "#b88600", "#43339b", "#6b4a2b", "#2b8f8a", "#82205a")
_MAX_NUMBERED = (24, 8)
_MAX_MARKED = 40


def blank_figure(width: float, height: float) -> Figure:
    """Return a figure without axes, not registered with pyplot.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    try:
        from upto.report.notebook_figure import NotebookFigure
    except ImportError:
        what = "a figure"
        raise MissingExtraError(what, package="matplotlib", extra="plot") from None
    return NotebookFigure(figsize=(width, height), layout="constrained", dpi=150)


def grid_shape(count: int, most: int) -> tuple[int, int]:
    """Return the rows and columns of a grid of `count` panels, at most `most` in a row."""
    columns = min(count, most)
    return -(-count // columns), columns


def panel_grid(figure: Any, count: int, most: int, **options: Any) -> list[Axes]:
    """Return `count` axes, at most `most` in a row, and hide those left over."""
    places = figure.subplots(*grid_shape(count, most), squeeze=False, **options).flat
    for axes in places[count:]:
        axes.set_axis_off()
    return list(places[:count])


def plain(axes: Axes, *, grid: Literal["x", "y", "both"] = "x") -> None:
    """Style axes with pale grid lines along `grid`; along x or y, with only a bottom spine."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, color=PALE, linewidth=0.7)
    axes.set_axisbelow(True)
    if grid != "both":
        axes.spines["left"].set_visible(False)
        axes.spines["bottom"].set_color(GREY)
        axes.tick_params(axis="y", length=0)
        axes.tick_params(axis="x", color=GREY)


def write_title(axes: Axes, text: str, size: float = 10) -> None:
    """Write a title at the left; dollar signs in a name are not read as mathematics."""
    axes.set_title(text, loc="left", fontsize=size, parse_math=False)


def key(label: str, mark: str = "o", colour: str = BLUE, size: float = 5, **options: Any) -> Any:
    """Return the entry of a mark for a legend."""
    from matplotlib.lines import Line2D

    look: dict[str, Any] = {"color": colour, "marker": mark, "markersize": size, "lw": 0}
    return Line2D([], [], label=label, **(look | options))


def legend(owner: Axes | Figure, size: float = 7, **options: Any) -> None:
    """Draw the legend of axes or of a figure."""
    for text in owner.legend(frameon=False, fontsize=size, **options).get_texts():
        text.set_parse_math(False)


def say(axes: Axes, text: str) -> None:
    """Write a sentence in the centre of empty axes."""
    axes.text(
        0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=GREY, size=9
    )


def numbers(values: Iterable[float | None]) -> list[float]:
    """Replace missing values by NaN, which matplotlib leaves out."""
    return [math.nan if value is None else value for value in values]


def heat_map(
    axes: Axes,
    values: Iterable[Iterable[float | None]],
    *,
    pale: float = 0,
    dark: float = 1,
    write_from: float | None = None,
    size: float = 7,
    **options: Any,
) -> Any:
    """Colour the cells of a matrix from `pale` to `dark`, and return the image.

    Where the matrix is small, values from `write_from` on are written into the cells.
    """
    cells = [numbers(row) for row in values]
    image = axes.imshow(
        cells,
        cmap="Blues" if dark >= pale else "Blues_r",
        vmin=min(pale, dark),
        vmax=max(pale, dark) if pale != dark else pale + 1,
        interpolation="nearest",
        **options,
    )
    rows, columns = _MAX_NUMBERED
    is_small = len(cells) <= rows and len(cells[0]) <= columns
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            if write_from is not None and is_small and cell >= write_from:
                is_dark = pale != dark and (cell - pale) / (dark - pale) > 0.65
                ink = "white" if is_dark else INK
                axes.text(j, i, f"{cell:.2f}", ha="center", va="center", size=6, color=ink)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelsize=size)
    return image


def mark_cells(axes: Axes, marked: Sequence[Sequence[bool]], shift: float = 0) -> None:
    """Put a dot in the marked cells of a heat map that is not too large to show dots."""
    if max(len(marked), *map(len, marked)) <= _MAX_MARKED:
        places = [(i, j) for i, row in enumerate(marked) for j, each in enumerate(row) if each]
        x, y = [j + shift for _, j in places], [i - shift for i, _ in places]
        axes.scatter(x, y, s=4, color=ORANGE, linewidths=0)


def name_ticks(
    set_ticks: Callable[..., Any],
    names: Sequence[str],
    *,
    length: int = 18,
    most: int = 30,
    **options: Any,
) -> None:
    """Name evenly spaced ticks, at most `most` of them."""
    every = max(1, -(-len(names) // most))
    shown = [shorten(name, length) for name in names[::every]]
    set_ticks(range(0, len(names), every), shown, parse_math=False, **options)


def colour_bar(figure: Any, image: Any, axes: Any, label: str = "", **options: Any) -> None:
    """Draw the colour bar of a heat map; `size` is that of its texts."""
    size = options.pop("size", 10)
    bar = figure.colorbar(image, ax=axes, **options)
    bar.set_label(label, fontsize=size)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=size)


def value_mark(
    axes: Axes,
    y: float,
    estimate: Estimate | None,
    *,
    place: Callable[[float], float] = float,
    look: tuple[str, str] = ("o", BLUE),
    size: float = 5,
    beyond: bool | None = None,
) -> None:
    """Draw a known value with its interval in a row, hollow where it is not `beyond` chance.

    `look` is its marker and colour.
    """
    if estimate is None:
        return
    mark, colour = look
    if estimate.low is not None and estimate.high is not None:
        ends = [place(estimate.low), place(estimate.high)]
        axes.plot(ends, [y, y], color=colour, alpha=0.45, lw=3)
    inside = "white" if beyond is False else colour
    axes.plot(place(estimate.value), y, mark, mfc=inside, mec=colour, ms=size, label="value")


def chance_mark(
    axes: Axes,
    y: float,
    limit: float | None,
    mean: float | None = None,
    *,
    place: Callable[[float], float] = float,
    size: float = 9,
    height: float = 0.6,
) -> None:
    """Draw a known limit of chance in a row, and the span from the mean of chance."""
    if limit is None:
        return
    if mean is not None:
        span = place(limit) - place(mean)
        axes.barh(y, span, height, left=place(mean), color=ORANGE, alpha=0.3, lw=0)
    axes.plot(place(limit), y, "|", color=ORANGE, markersize=size, mew=1.7)


def on_range(far: float, near: float) -> Callable[[float], float]:
    """Return the function from a value to its place on a range, 0 at `far` and 1 at `near`."""
    return lambda value: min(max((value - far) / (near - far), 0.0), 1.0)


def name_rows(axes: Axes, names: Sequence[str], *, length: int = 44, size: float = 10) -> None:
    """Name rows from top to bottom."""
    name_ticks(axes.set_yticks, names, length=length, most=len(names), fontsize=size)
    axes.set_ylim(len(names) - 0.5, -0.5)


def range_rows(axes: Axes, names: Sequence[str], ends: tuple[str, str], **options: Any) -> None:
    """Name rows that each have their own range, and the ends of the ranges."""
    name_rows(axes, names, **options)
    axes.hlines(range(len(names)), 0, 1, color=PALE, lw=0.8, zorder=0)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xticks([0, 1], ends, fontsize=options["size"])


def write_beside(axes: Axes, texts: Sequence[str]) -> None:
    """Write a text at the right of each row."""
    beside = axes.secondary_yaxis("right")
    beside.set_yticks(range(len(texts)), texts, fontsize=7)
    beside.tick_params(length=0)
    beside.spines[:].set_visible(False)


def stems(axes: Axes, estimates: Sequence[Estimate | None], colours: Sequence[str]) -> None:
    """Draw one vertical line per known value, each in its own colour, and its interval."""
    width = min(max(240 / max(len(colours), 1), 0.7), 9)
    values, lows, highs = (
        numbers(None if each is None else getattr(each, part) for each in estimates)
        for part in ("value", "low", "high")
    )
    axes.vlines(range(len(values)), 0, values, colors=list(colours), linewidth=width)
    if not all(map(math.isnan, lows)):
        alpha = 0.75 if width > 1 else 0.3
        axes.vlines(range(len(lows)), lows, highs, colors=INK, linewidth=1, alpha=alpha)
