"""Axis scales: positions of values and choice of ticks."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_EDGE = 2.0
_FEWEST = 3
"""Smallest number of ticks of a logarithmic axis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """An axis from `low` to `high` over the width of a plot, in per cent."""

    low: float
    high: float
    ticks: tuple[float, ...]
    logarithmic: bool = False

    def position(self, value: float) -> float:
        """Return the position of a value in per cent of the width, clipped to the axis."""
        low, high = self.low, self.high
        if self.logarithmic:
            value, low, high = math.log(max(value, low)), math.log(low), math.log(high)
        share = (value - low) / (high - low)
        return _EDGE + (100 - 2 * _EDGE) * min(max(share, 0.0), 1.0)


def linear_scale(values: Iterable[float]) -> Scale:
    """Return an axis from zero to just above the largest value."""
    high = max(values, default=0.0)
    if not (math.isfinite(high) and high > 0):
        high = 1.0
    step = _step(high / 5)
    count = math.floor(high * 1.02 / step)
    return Scale(low=0.0, high=high * 1.02, ticks=tuple(i * step for i in range(count + 1)))


def _step(raw: float) -> float:
    magnitude: float = 10.0 ** math.floor(math.log10(raw))
    return next(m * magnitude for m in (1, 2, 2.5, 5, 10) if m * magnitude >= raw * 0.999)


def range_scale(values: Iterable[float]) -> Scale:
    """Return a linear axis from the smallest to the largest value, wherever they lie."""
    finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        # Values that are equal up to rounding are centred.
        room = 0.01 * abs(low) or 1.0
        low, high = low - room, high + room
    step = _step((high - low) / 5)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return Scale(low=low, high=high, ticks=tuple(i * step for i in range(first, last + 1)))


def log_scale(values: Iterable[float], *, span: float = 1e6) -> Scale:
    """Return a logarithmic axis over the positive values, with zeros at its left end.

    Values below the largest divided by `span` are placed there too: such small errors are
    rounding and must not compress the rest of the axis.
    """
    positive = [value for value in values if 0 < value < math.inf]
    if not positive:
        return linear_scale(())
    low = max(min(positive), max(positive) / span) / 1.25
    high = max(positive) * 1.1
    return Scale(low=low, high=high, ticks=_log_ticks(low, high), logarithmic=True)


def _log_ticks(low: float, high: float) -> tuple[float, ...]:
    """Return at least three ticks, at the roundest numbers possible."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for marks in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        if marks == (1,) and high / low <= 500:
            continue
        ticks = [mark * 10.0**decade for decade in decades for mark in marks]
        inside = tuple(tick for tick in ticks if low <= tick <= high)
        if len(inside) >= _FEWEST:
            return inside
    step = _step((high - low) / 5)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(i * step for i in range(first, last + 1))


def tick_text(value: float) -> str:
    """Format a tick."""
    return f"{value:.3g}" if value >= 1e-4 or value == 0 else f"{value:.0e}"


def tick_texts(ticks: Sequence[float], *, logarithmic: bool = False) -> list[str]:
    """Format the ticks of one axis uniformly, with just enough digits to distinguish them."""
    if logarithmic and min(ticks) < 1e-4:
        # Ticks of a short axis differ in later digits only.
        digits = next(d for d in range(17) if len({f"{t:.{d}e}" for t in ticks}) == len(ticks))
        texts = [f"{tick:.{digits}e}" for tick in ticks]
        return [text.replace("e-0", "e-").replace("e+00", "") for text in texts]
    if logarithmic or len(ticks) < 2:
        return [f"{tick:.4g}" for tick in ticks]
    step = min(b - a for a, b in itertools.pairwise(ticks))
    largest = max(abs(tick) for tick in ticks)
    if largest >= 1e6 or step < 1e-6:
        digits = max(0, math.ceil(math.log10(largest / step)))
        return [f"{tick:.{digits}e}" if tick else "0" for tick in ticks]
    digits = next(d for d in range(8) if abs(round(step, d) - step) < 1e-3 * step)
    return [f"{tick:.{digits}f}" if round(tick, digits) else "0" for tick in ticks]
