"""The chance level of pairwise comparisons, and the type of their matrices."""

from __future__ import annotations

BEYOND_CHANCE = 0.05
"""Largest adjusted p-value at which a pair counts as more similar than chance."""

Numbers = tuple[tuple[float | None, ...], ...]
