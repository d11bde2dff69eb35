"""Figures saved at the width of one or two columns of a journal."""

from __future__ import annotations

import math
import warnings
from contextlib import suppress
from importlib.util import find_spec
from itertools import pairwise
from numbers import Real
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from upto.core import InputError, MissingExtraError
from upto.core.errors import ArgumentError, shortened
from upto.core.files import check_target, replacing
from upto.report.figures import draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from upto.core import Result

SUFFIXES = (".pdf", ".svg", ".png")
WIDTHS = {1: 3.5, 2: 7.2}
"""Inches: 89 and 183 millimetres."""
_TEXT = 7.0
"""Points of the largest text."""
_TALLEST = 9.4
"""Inches of a page."""
_LAYOUTS = 4
"""Layouts to try: each starts from the lines and ticks of the one before."""
_TIGHT = 0.85
"""Distance of two lines over the height of their boxes, which have a margin."""
_SHORTEST = 8
"""Fewest characters of a line."""
_ROOM = 0.02
"""Inches by which a text may reach over the edge, because boxes of texts have a margin."""
_STYLE: dict[Any, Any] = {
    "font.size": _TEXT,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "axes.titlepad": 4.0,
    "axes.labelpad": 2.0,
    "figure.constrained_layout.w_pad": 0.04,
    "figure.constrained_layout.h_pad": 0.04,
    # TrueType, because journals refuse Type 3; SVG embeds no fonts, so its letters are outlines.
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    # Otherwise names inside an SVG change from file to file.
    "svg.hashsalt": "upto",
}


def check_figure(path: str | Path, *, columns: int = 1) -> None:
    """Check that a figure can be saved, before any work is done.

    Raises
    ------
    InputError
        If the suffix or the number of columns is unusable, or the file cannot be written.
    MissingExtraError
        If matplotlib is not installed.
    """
    # A tuple, because what is not hashable is refused too.
    if columns not in tuple(WIDTHS):
        message = (
            f"columns={columns!r} is not a width of a figure: pass 1 or 2, or width in inches."
        )
        raise ArgumentError(message, columns=columns)
    if Path(path).suffix.lower() not in SUFFIXES:
        message = (
            f"{Path(path).name} is not a figure: end its name in one of {', '.join(SUFFIXES)}."
        )
        raise InputError(message)
    check_target(path)
    if find_spec("matplotlib") is None:
        what = "a figure"
        raise MissingExtraError(what, package="matplotlib", extra="plot")


def save_figure(
    result: Result,
    path: str | Path,
    *,
    columns: int = 1,
    width: float | None = None,
    height: float | None = None,
    dpi: int = 300,
) -> None:
    """Save the figure of a result at the width of one or two columns.

    Parameters
    ----------
    result
        Result to draw.
    path
        File to write; its suffix sets the format.
    columns
        1 or 2.
    width, height
        Size in inches; the width of the columns and a fitting height by default.
    dpi
        Dots per inch of a PNG.
    """
    check_figure(path, columns=columns)
    given: dict[str, Any] = {"width": width, "height": height, "dpi": dpi}
    for name, value in given.items():
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if value is not None and not (is_number and math.isfinite(value) and value > 0):
            message = f"{name}={value!r} is not a positive number."
            raise ArgumentError(message, **{name: value})
    from matplotlib import rc_context

    with rc_context(_STYLE):
        figure = sized_figure(result, WIDTHS[columns] if width is None else width, height)
        kind = Path(path).suffix.lower()[1:]
        # Without a date, the same result gives the same file.
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
        with replacing(path) as temporary:
            figure.savefig(temporary, format=kind, dpi=dpi, metadata=metadata)


def sized_figure(result: Result, width: float, height: float | None = None) -> Figure:
    """Draw a result at a width and height in inches, with text of at most 7 points.

    Raises
    ------
    InputError
        If its labels do not fit, or have characters that the font lacks.
    """
    from matplotlib import rc_context

    with rc_context(_STYLE):
        figure = draw(result, narrow=width < sum(WIDTHS.values()) / 2)
        _check_characters(figure)
        return _fitted(figure, width, height)


def _check_characters(figure: Figure) -> None:
    """Refuse characters that the fonts lack, which would be drawn as boxes."""
    from matplotlib.text import Text

    known: dict[tuple[Any, ...], set[int]] = {}
    # Labels of ticks are made when they are asked for.
    ticks = [label for axes in figure.axes for label in axes.get_xticklabels(which="both")]
    ticks += [label for axes in figure.axes for label in axes.get_yticklabels(which="both")]
    for text in (*figure.findobj(Text), *ticks):
        letters = {letter for letter in text.get_text() if not letter.isspace()}
        font = text.get_fontproperties()
        key = (*font.get_family(), font.get_weight(), font.get_style())
        if key not in known:
            known[key] = _characters(font)
        lacking = sorted(letter for letter in letters if ord(letter) not in known[key])
        if lacking:
            message = (
                f"the font of the figure has no {lacking[0]!r} (U+{ord(lacking[0]):04X}), which "
                f"{shortened(repr(text.get_text()))} contains: give what has this name another one "
                "(name=), or set matplotlib.rcParams['font.family'] to a list of fonts that have "
                "all its characters."
            )
            raise InputError(message)


def _characters(font: Any) -> set[int]:
    """Return the code points of a font and of those that stand in for it."""
    from matplotlib.font_manager import findfont, get_font

    found: set[int] = set()
    for family in font.get_family():
        one = font.copy()
        one.set_family(family)
        # A family that is not installed is left out by matplotlib, too.
        with suppress(ValueError):
            found |= get_font(findfont(one, fallback_to_default=False)).get_charmap().keys()
    return found or set(get_font(findfont(font)).get_charmap())


def _fitted(figure: Figure, width: float, height: float | None) -> Figure:
    natural_width, natural_height = figure.get_size_inches()
    if height is None:
        height = min(natural_height * max(min(width / natural_width, 1.0), 0.72), _TALLEST)
    figure.set_size_inches(width, height)
    _limit_text(figure)
    for _ in range(_LAYOUTS):
        has_room = _lay_out(figure)
        _thin_labels(figure)
        if has_room and not _is_clipped(figure):
            figure.set_layout_engine("none")
            return figure
        _break_lines(figure)
    message = (
        f"the labels of this figure do not fit into {width:g} × {height:.3g} inches: save it two "
        "columns wide, or larger."
    )
    raise InputError(message)


def _lay_out(figure: Figure) -> bool:
    """Place axes and texts, and return whether there was room for them."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        figure.draw_without_rendering()
    return not any("constrained_layout not applied" in str(each.message) for each in said)


def _thin_labels(figure: Figure) -> None:
    """Hide labels of ticks, at equal steps, where they would overlap."""
    from matplotlib.axes import Axes

    for axes in figure.findobj(Axes):
        for side, axis in enumerate((axes.xaxis, axes.yaxis)):
            low, high = sorted(axis.get_view_interval())
            labels = [
                label
                for tick in axis.get_major_ticks()
                for label in (tick.label1, tick.label2)
                if low <= tick.get_loc() <= high and label.get_visible() and label.get_text()
            ]
            ends = [label.get_window_extent().get_points()[:, side] for label in labels]
            middles = sorted(sum(pair) / 2 for pair in ends)
            steps = [after - before for before, after in pairwise(middles)]
            if not steps or min(steps) <= 0:
                continue
            upright = side == 0 and labels[0].get_rotation() == 0
            needed = max(end - start for start, end in ends) * (1.05 if upright else _TIGHT)
            every = math.ceil(needed / min(steps))
            for index, label in enumerate(labels):
                label.set_visible(index % every == 0)


def _break_lines(figure: Figure) -> None:
    """Break titles and labels that reach over the edge into lines.

    Matplotlib's own wrapping would read dollar signs in a name as mathematics.
    """
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase
    from matplotlib.text import Text

    found = [each for part in figure.findobj(FigureBase) for each in part.get_children()]
    for axes in figure.findobj(Axes):
        # Not its texts, which stand at a place in the plane.
        found += [each for each in axes.get_children() if each not in axes.texts]
        found += [axes.xaxis.label, axes.yaxis.label]
    inches = figure.dpi_scale_trans.inverted()
    for text in found:
        if not (isinstance(text, Text) and text.get_text().strip()):
            continue
        box, side = text.get_window_extent().transformed(inches), int(text.get_rotation() == 90)
        low, high = box.get_points()[:, side]
        size = figure.get_size_inches()[side]
        if low >= -_ROOM and high <= size + _ROOM:
            continue
        middle = (low + high) / 2
        is_left = side == 0 and text.get_horizontalalignment() == "left"
        room = size - low if is_left else 2 * min(middle, size - middle)
        lines = text.get_text().splitlines()
        count = int(max(map(len, lines)) * room / (high - low)) - 1
        if count >= _SHORTEST:
            parts = [part for each in lines for part in wrap(each, count, break_on_hyphens=False)]
            text.set_text("\n".join(parts))


def _limit_text(figure: Figure) -> None:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

    for axes in figure.findobj(Axes):
        for axis in (axes.xaxis, axes.yaxis):
            size = axis.get_tick_params().get("labelsize", _TEXT)
            if isinstance(size, float | int) and size > _TEXT:
                axis.set_tick_params(labelsize=_TEXT)
    for text in figure.findobj(Text):
        if float(text.get_fontsize()) > _TEXT:
            text.set_fontsize(_TEXT)


def _is_clipped(figure: Figure) -> bool:
    """Return whether a text reaches over the edge of the figure."""
    return any(
        box.x0 < -_ROOM or box.y0 < -_ROOM or box.x1 > right + _ROOM or box.y1 > top + _ROOM
        for right, top in [figure.get_size_inches()]
        for box in text_boxes(figure)
    )


def text_boxes(figure: Figure) -> list[Any]:
    """Return the boxes of all visible texts of a figure that was drawn, in inches."""
    from matplotlib.axes import Axes
    from matplotlib.text import Text

    hidden: set[Any] = set()
    for axes in figure.findobj(Axes):
        if not (axes.get_visible() and axes.axison):
            hidden.update(axes.findobj(Text))
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            margin = 1e-9 * (high - low)
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not low - margin <= tick.get_loc() <= high + margin:
                    hidden.update((tick.label1, tick.label2))
    inches = figure.dpi_scale_trans.inverted()
    return [
        text.get_window_extent().transformed(inches)
        for text in figure.findobj(Text)
        if text not in hidden and text.get_visible() and text.get_text().strip()
    ]
