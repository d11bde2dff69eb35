"""Heat maps: cells of a matrix of pairs and their levels on the colour scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

N_LEVELS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatCell:
    """One ordered pair of runs: the text of the cell and its level on the colour scale."""

    text: str
    level: int | None
    beyond: bool = False


def colour_ends(
    values: Sequence[float],
    *,
    low: float | None,
    high: float | None,
    closer: Literal["higher", "lower"],
) -> tuple[float, float]:
    """Return the values drawn palest (least similar) and darkest (most similar)."""
    low = min(values, default=0.0) if low is None else low
    high = max(values, default=0.0) if high is None else high
    if closer == "lower":
        return high, low
    # Negative similarities are drawn like zero.
    return (max(low, 0.0) if high > 0 else low), high


def closeness_level(value: float | None, far: float, near: float) -> int | None:
    """Return the level of a value on the colour scale from `far` to `near`."""
    if value is None:
        return None
    share = (value - far) / (near - far) if near != far else 0.0
    return min(max(int(N_LEVELS * share), 0), N_LEVELS - 1)
