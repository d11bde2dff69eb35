"""Stacked plots that share a horizontal axis and a cursor.

Horizontal positions are per cent of the width and vertical ones are pixels. Paths, which cannot
use per cent, are drawn in thousandths of the width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from upto.report.axis_scale import tick_texts
from upto.report.markup import Inert, element

if TYPE_CHECKING:
    from collections.abc import Iterable

    from upto.report.axis_scale import Scale

WIDTH = 1000
_SIDE = 52
_LABEL_ROOM = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """One subplot, its name and the tick labels on its left."""

    name: str
    numbers: Inert
    drawing: Inert


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Planes with one horizontal axis.

    `at` is the position of each column in per cent of the width, and `tips` its tooltip.
    """

    planes: tuple[Plane, ...]
    axis: Inert
    axis_name: str
    at: tuple[float, ...]
    tips: tuple[str, ...]
    few: bool = False


def plane(
    *marks: Inert, name: str, label: str, height: int, scale: Scale | None = None, stop: bool = True
) -> Plane:
    """Draw marks on a plane, with grid lines and tick labels if a vertical scale is passed.

    `stop` makes the plane a tab stop of the keyboard.
    """
    numbers, lines = _levels(scale, height) if scale is not None else (Inert(""), Inert(""))
    cursor = element("line", class_="cursor", x1="0%", x2="0%", y1=0, y2=height)
    drawing = element(
        "svg",
        lines,
        *marks,
        cursor,
        class_="plane",
        height=height,
        role="img",
        aria_label=label,
        tabindex=0 if stop else None,
    )
    side = element("svg", numbers, class_="side", width=_SIDE, height=height, aria_hidden="true")
    return Plane(name=name, numbers=side, drawing=drawing)


def level(scale: Scale, value: float, height: int) -> float:
    """Return the distance of a value from the top of a plane, in pixels."""
    return height * (1 - scale.position(value) / 100)


def _levels(scale: Scale, height: int) -> tuple[Inert, Inert]:
    texts, lines = [], []
    written = tick_texts(scale.ticks, logarithmic=scale.logarithmic)
    gap = 100 / max(len(scale.ticks) - 1, 1)
    if len(scale.ticks) > 1:
        gap = abs(scale.position(scale.ticks[1]) - scale.position(scale.ticks[0]))
    every = max(1, -(-_LABEL_ROOM * 100 // int(max(gap * height, 1))))
    for tick, text in list(zip(scale.ticks, written, strict=True))[::every]:
        y = level(scale, tick, height)
        texts.append(element("text", text, x=_SIDE, y=y + 4, text_anchor="end"))
        lines.append(element("line", class_="grid", x1="0%", x2="100%", y1=y, y2=y))
    return Inert("".join(texts)), Inert("".join(lines))


def picture(*paths: Inert, height: int) -> Inert:
    """Stretch paths drawn in thousandths of the width over a plane."""
    return element(
        "svg",
        *paths,
        viewBox=f"0 0 {WIDTH} {height}",
        preserveAspectRatio="none",
        width="100%",
        height="100%",
    )


def path(kind: str, pieces: Iterable[str]) -> Inert:
    """Draw one path whose stroke width does not stretch with the plane."""
    return element("path", class_=kind, d="".join(pieces), vector_effect="non-scaling-stroke")


def counting_axis(places: Iterable[tuple[float, str]]) -> Inert:
    """Draw tick labels below a plot, at positions in per cent of its width."""
    texts = []
    for x, text in places:
        anchor = "end" if x > 97 else "start" if x < 1 else "middle"
        texts.append(element("text", text, x=f"{x:.2f}%", y=13, text_anchor=anchor))
    return element("svg", *texts, class_="axis", height=18, aria_hidden="true")
