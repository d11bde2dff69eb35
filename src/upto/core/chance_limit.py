"""Where chance ends, and the numbers of all pairs that are set beside it."""

from __future__ import annotations

BEYOND_CHANCE = 0.05
"""Adjusted p-value up to which a pair is called closer than chance."""

Numbers = tuple[tuple[float | None, ...], ...]
