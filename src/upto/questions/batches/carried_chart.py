"""Chart of the batch and label information that each component carries."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from upto.questions.batches.parts import Carries
from upto.report.markup import Inert, counted, element
from upto.report.planes import counting_axis

if TYPE_CHECKING:
    from collections.abc import Iterable

    from upto.questions.batches.parts import ComponentCarries
    from upto.questions.batches.result import BatchesResult

SAYS: dict[Carries, tuple[str, str]] = {
    "batch": ("batch", "differ between batches, not between labels"),
    "label": ("label", "differ between labels, not between batches"),
    "both": ("both", "differ between batches and between labels"),
    "neither": ("neither", "no difference detected"),
}
"""Name and meaning of each kind, in the order of the legend."""

SIDE = 1000
"""Width and height of the drawing in its own units."""
_EDGE = 30
_TICKS = (0.0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
_NARROW_TICKS = (0.0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1)
_MAX_DRAWN = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedKind:
    """Number of components of one kind, and their mark."""

    kind: Carries
    name: str
    says: str
    count: int
    mark: Inert


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedMap:
    """Scatter plot of components by both shares; `points` are the tooltip data."""

    drawing: Inert
    side: Inert
    axis: Inert
    kinds: tuple[CarriedKind, ...]
    note: str
    points: tuple[tuple[Any, ...], ...]


def carried_map(result: BatchesResult) -> CarriedMap | None:
    """Draw the components by what they carry; None if there are none."""
    if not result.components:
        return None
    known = [
        each
        for each in result.components
        if each.batch_share is not None and each.label_share is not None
    ]
    drawn = known[:_MAX_DRAWN]
    high = shares_end(drawn)
    places = [
        (share_place(each.batch_share, high), 1 - share_place(each.label_share, high))
        for each in drawn
    ]
    points = tuple(
        (_unit(x), _unit(y), *_told(each)) for each, (x, y) in zip(drawn, places, strict=True)
    )
    marks = [_grid(high)]
    size = 9 if len(drawn) <= 100 else 7
    # The many components that carry nothing are drawn below the others.
    for kind in ("neither", "batch", "label", "both"):
        own = [(x, y) for x, y, _, carries, *_ in points if carries == kind]
        if own:
            marks.append(carried_path(kind, own, size))
    ring = element("circle", class_="ring-mark", r=16)
    counts = {kind: sum(each.carries == kind for each in result.components) for kind in SAYS}
    told = ", ".join(f"{counts[kind]:,} {SAYS[kind][0]}" for kind in SAYS)
    label = f"Components by what they carry: {told}"
    return CarriedMap(
        drawing=element(
            "svg", *marks, ring, class_="scatter carried", viewBox=f"0 0 {SIDE} {SIDE}",
            role="img", tabindex=0, aria_label=label,
        ),
        side=_side(high),
        axis=_axis(high),
        kinds=tuple(
            CarriedKind(
                kind=kind, name=name, says=says, count=counts[kind], mark=_key(kind)
            )
            for kind, (name, says) in SAYS.items()
        ),
        note=_note(len(result.components), len(known), len(drawn)),
        points=points,
    )  # fmt: skip


def shares_end(components: Iterable[ComponentCarries]) -> float:
    """Return the upper end of both axes."""
    shares = [share for each in components for share in (each.batch_share, each.label_share)]
    return min(max([0.02, *(1.15 * share for share in shares if share is not None)]), 1.0)


def share_place(share: float | None, high: float) -> float:
    """Return the axis position of a share; the square root separates small ones."""
    return math.sqrt(min(max(share or 0.0, 0.0), high) / high)


def share_ticks(high: float) -> tuple[float, ...]:
    """Return the ticks of an axis."""
    ticks = _TICKS if high > 0.1 else _NARROW_TICKS
    kept: list[float] = []
    for tick in ticks:
        if tick <= high and (
            not kept or share_place(tick, high) - share_place(kept[-1], high) > 0.07
        ):
            kept.append(tick)
    return tuple(kept)


def carried_path(kind: str, places: Iterable[tuple[float, float]], size: float) -> Inert:
    """Draw all components of a kind as one path of squares, dots, diamonds or crosses."""
    r, w = f"{size:g}", f"{2 * size:g}"
    shapes = {
        "batch": f"m-{r}-{r}h{w}v{w}h-{w}z",
        "label": f"m-{r} 0a{r} {r} 0 1 0 {w} 0a{r} {r} 0 1 0-{w} 0z",
        "both": f"m0-{1.4 * size:g}l{1.4 * size:g} {1.4 * size:g}-{1.4 * size:g} "
        f"{1.4 * size:g}-{1.4 * size:g}-{1.4 * size:g}z",
        "neither": f"m-{r} 0h{w}m-{r}-{r}v{w}",
    }
    pieces = (f"M{x:g} {y:g}{shapes[kind]}" for x, y in places)
    return element("path", class_=f"carries-{kind}", d="".join(pieces), data_carries=kind)


def _unit(share: float) -> int:
    return round(_EDGE + (SIDE - 2 * _EDGE) * share)


def _told(each: ComponentCarries) -> tuple[Any, ...]:
    numbers = (each.batch_share, each.label_share, each.batch_q, each.label_q)
    return (
        each.component,
        each.carries,
        *(None if number is None else float(f"{number:.3g}") for number in numbers),
    )


def _grid(high: float) -> Inert:
    lines = []
    for tick in share_ticks(high):
        at = _unit(share_place(tick, high))
        low = SIDE - at
        lines.append(element("line", class_="grid", x1=at, x2=at, y1=0, y2=SIDE))
        lines.append(element("line", class_="grid", x1=0, x2=SIDE, y1=low, y2=low))
    return element("g", *lines)


def _axis(high: float) -> Inert:
    return counting_axis(
        (_unit(share_place(tick, high)) * 100 / SIDE, f"{tick:g}") for tick in share_ticks(high)
    )


def _side(high: float) -> Inert:
    """Draw the tick labels on the left."""
    texts = [
        element(
            "text",
            f"{tick:g}",
            x="100%",
            y=f"{100 - _unit(share_place(tick, high)) * 100 / SIDE:.2f}%",
            dy=4,
            text_anchor="end",
        )
        for tick in share_ticks(high)
    ]
    return element("svg", *texts, class_="side", width=38, height="100%", aria_hidden="true")


def _key(kind: str) -> Inert:
    mark = carried_path(kind, [(9, 9)], 5.5)
    return element("svg", mark, width=18, height=18, aria_hidden="true")


def _note(count: int, known: int, drawn: int) -> str:
    parts = []
    if known < count:
        parts.append(f"{counted(count - known, 'component')} without a share")
    if drawn < known:
        parts.append(f"the components after the first {drawn:,}")
    return f"Not drawn: {' and '.join(parts)}." if parts else ""
