"""Draw a value on the axis of its range, with its interval and the chance level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.report.axis_scale import Scale
from upto.report.markup import Inert, element
from upto.report.planes import path, picture

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from upto.core import Estimate

_ROW = 30
_BAND = 16


def range_drawing(
    *,
    far: float,
    near: float,
    value: Estimate,
    chance: float | None,
    limit: float | None,
    is_beyond: bool,
    words: Sequence[str],
    others: Iterable[float] = (),
) -> Inert:
    """Draw a value on the axis from `far` to `near`; `words` are the lines of its tooltip."""
    # The axis runs from far to near, so small distances are on the right.
    inside = (0.0,) if min(far, near) < 0 < max(far, near) else ()
    scale = Scale(low=far, high=near, ticks=(far, *inside, near))
    middle = _ROW / 2
    marks = [_upright("grid", scale.position(tick), middle) for tick in scale.ticks]
    if chance is not None and limit is not None:
        ends = sorted((scale.position(chance), scale.position(limit)))
        marks.append(
            element(
                "rect", class_="chance-area", x=f"{ends[0]:.2f}%", y=middle - _BAND / 2,
                width=f"{ends[1] - ends[0]:.2f}%", height=_BAND,
            )
        )  # fmt: skip
    if limit is not None:
        marks.append(_upright("chance", scale.position(limit), _BAND / 2))
    # Values at the same position share one mark, however many pairs there are.
    if places := sorted({round(10 * scale.position(other)) for other in others}):
        pieces = (f"M{place} {middle - 5:g}v10" for place in places)
        marks.append(picture(path("span alone", pieces), height=_ROW))
    if value.low is not None and value.high is not None:
        x1, x2 = (f"{scale.position(end):.2f}%" for end in (value.low, value.high))
        marks.append(element("line", class_="interval", x1=x1, x2=x2, y1=middle, y2=middle))
    kind = "held-out" if is_beyond else "within-chance"
    x = f"{scale.position(value.value):.2f}%"
    marks.append(element("circle", class_=kind, cx=x, cy=middle, r=4.5))
    return element(
        "svg",
        *marks,
        class_="row",
        height=_ROW,
        role="img",
        tabindex=0,
        aria_label=", ".join(words),
        data_tip="\n".join(words),
    )


def _upright(kind: str, x: float, half: float) -> Inert:
    place, middle = f"{x:.2f}%", _ROW / 2
    return element("line", class_=kind, x1=place, x2=place, y1=middle - half, y2=middle + half)
