"""Where a number falls on an axis, and which numbers the axis names."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_EDGE = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """An axis from `low` to `high` over the width of a drawing, in per cent."""

    low: float
    high: float
    ticks: tuple[float, ...]
    logarithmic: bool = False

    def position(self, value: float) -> float:
        """Return the per cent of the width at which a value stands, inside the axis."""
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
    raw = high / 5
    magnitude = 10 ** math.floor(math.log10(raw))
    step = next(m * magnitude for m in (1, 2, 2.5, 5, 10) if m * magnitude >= raw * 0.999)
    count = math.floor(high * 1.02 / step)
    return Scale(low=0.0, high=high * 1.02, ticks=tuple(i * step for i in range(count + 1)))


def log_scale(values: Iterable[float]) -> Scale:
    """Return a logarithmic axis over the positive values; a zero stands at its left end."""
    positive = [value for value in values if value > 0]
    if not positive:
        return linear_scale(())
    # An error far below the others is rounding, and must not squeeze them together.
    low = max(min(positive), max(positive) * 1e-6) / 1.25
    high = max(positive) * 1.1
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    marks = (1,) if high / low > 500 else (1, 2, 5)
    ticks = [mark * 10.0**decade for decade in decades for mark in marks]
    inside = tuple(tick for tick in ticks if low <= tick <= high)
    return Scale(low=low, high=high, ticks=inside or (low, high), logarithmic=True)


def tick_text(value: float) -> str:
    """Write a number of an axis."""
    return f"{value:.3g}" if value >= 1e-4 or value == 0 else f"{value:.0e}"
