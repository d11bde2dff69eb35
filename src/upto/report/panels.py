"""Draw panels as SVG for a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from upto.report.axis_scale import log_scale, range_scale, tick_texts
from upto.report.markup import shorten
from upto.report.planes import WIDTH, Plot, counting_axis, level, path, picture, plane

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from upto.core import Marks, Panel
    from upto.report.axis_scale import Scale
    from upto.report.markup import Inert

COLOURS = 12
"""Number of distinct colours."""
_HEIGHT = 260
_MAX_TIPS = 1500
_LOG_SPAN = 1e12


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One entry in the legend of a panel: name, number of its colour and kind of mark."""

    name: str
    colour: int
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelView:
    """One plot with its title, caption and legend."""

    title: str
    caption: str
    keys: tuple[Key, ...]
    plot: Plot


def panel_views(panels: Iterable[Panel]) -> tuple[PanelView, ...]:
    """Draw panels, skipping those without marks."""
    return tuple(_view(panel) for panel in panels if any(marks.x for marks in panel.marks))


def panels_data(views: Iterable[PanelView]) -> list[dict[str, object]]:
    """Return the positions and tooltips for the page's script."""
    return [{"at": view.plot.at, "tips": view.plot.tips} for view in views]


def _view(panel: Panel) -> PanelView:
    places = [x for marks in panel.marks for x in marks.x]
    named = [0.5, len(panel.x_names) + 0.5] if panel.x_names else []
    across = _scale([*places, *named], logarithmic=panel.x_log)
    heights = [y for marks in panel.marks for y in (*marks.y, *marks.low, *marks.high)]
    up = _scale([0.0, *heights] if panel.y_zero else heights, logarithmic=panel.y_log)
    drawn = [piece for n, marks in enumerate(panel.marks) for piece in _marks(marks, n, across, up)]
    tips = sorted(_tips(panel, across))
    ticks = [float(number + 1) for number in range(len(panel.x_names))] or across.ticks
    written = zip(ticks, tick_texts(ticks, logarithmic=across.logarithmic), strict=True)
    return PanelView(
        title=panel.title,
        caption=" ".join(part for part in (_list(panel), panel.caption) if part),
        keys=tuple(
            Key(name=shorten(marks.name), colour=number % COLOURS, kind=marks.kind)
            for number, marks in enumerate(panel.marks)
        ),
        plot=Plot(
            planes=(
                plane(
                    picture(*drawn, height=_HEIGHT),
                    name=panel.y,
                    label=f"{panel.y} against {panel.x}, {len(panel.marks)} series",
                    height=_HEIGHT,
                    scale=up,
                ),
            ),
            axis=counting_axis((across.position(tick), text) for tick, text in written),
            axis_name=panel.x,
            at=tuple(round(x, 3) for x, _ in tips),
            tips=tuple(tip for _, tip in tips),
        ),
    )


def _scale(values: Iterable[float], *, logarithmic: bool) -> Scale:
    return log_scale(values, span=_LOG_SPAN) if logarithmic else range_scale(values)


def _marks(marks: Marks, number: int, across: Scale, up: Scale) -> Iterator[Inert]:
    colour = f"p{number % COLOURS}"
    points = [_place(x, y, across, up) for x, y in zip(marks.x, marks.y, strict=True)]
    if marks.low and marks.kind == "line":
        there = [_place(x, y, across, up) for x, y in zip(marks.x, marks.high, strict=True)]
        back = [_place(x, y, across, up) for x, y in zip(marks.x, marks.low, strict=True)]
        yield path(f"band {colour} pale", (*_line([*there, *reversed(back)]), "Z"))
    elif marks.low:
        ends = zip(marks.x, marks.low, marks.high, strict=True)
        yield path(
            f"span {colour}",
            (
                f"M{_text(_place(x, low, across, up))}L{_text(_place(x, high, across, up))}"
                for x, low, high in ends
            ),
        )
    if marks.kind == "line":
        yield path(f"curve {colour}", _line(points))
    else:
        yield path(f"step {colour}", (f"M{_text(point)}h0" for point in points))


def _place(x: float, y: float, across: Scale, up: Scale) -> tuple[float, float]:
    return WIDTH * across.position(x) / 100, level(up, y, _HEIGHT)


def _line(points: Sequence[tuple[float, float]]) -> list[str]:
    return [f"{'L' if place else 'M'}{_text(point)}" for place, point in enumerate(points)]


def _text(point: tuple[float, float]) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"


def _tips(panel: Panel, across: Scale) -> Iterator[tuple[float, str]]:
    total = sum(len(marks.x) for marks in panel.marks)
    every = -(-total // _MAX_TIPS)
    for marks in panel.marks:
        for place in range(0, len(marks.x), every):
            x, y = marks.x[place], marks.y[place]
            interval = ""
            if marks.low:
                interval = f" [{marks.low[place]:.4g}, {marks.high[place]:.4g}]"
            what = f"{panel.x} {x:.4g}"
            if panel.x_names:
                what = shorten(panel.x_names[round(x) - 1], 60)
            tip = f"{shorten(marks.name, 60)}\n{what}\n{panel.y} {y:.4g}{interval}"
            yield across.position(x), tip


def _list(panel: Panel) -> str:
    if not panel.x_names:
        return ""
    return "; ".join(f"{place + 1} {name}" for place, name in enumerate(panel.x_names)) + "."
