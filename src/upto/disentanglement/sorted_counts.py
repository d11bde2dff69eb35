"""Count ascending values within a radius of each of many centres."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.core.array_types import Float

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integer = NDArray[np.intp]

_STRETCHES = 8
"""Intervals of equal length per value: in the bulk, each contains about one value."""
_MOST_STRETCHES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ascending:
    """Ascending values with a lookup table.

    A plain binary search jumps through memory for every centre. The table contains the number of
    values before each interval of the line, which leaves a few vectorised comparisons.

    Parameters
    ----------
    values
        Ascending values.
    padded
        The values, followed by as many infinite ones as a search may read.
    starts
        For each interval, the number of values before the preceding interval.
    scale
        Intervals per unit.
    steps
        Halvings of a search: three intervals contain fewer than two to that power values.
    """

    values: Float
    padded: Float
    starts: Integer
    scale: float
    steps: int

    @staticmethod
    def of(values: Float) -> Ascending:
        """Prepare ascending values."""
        span = float(values[-1] - values[0])
        # Rounding of a sum must not lead beyond the next interval.
        resolved = 8 * np.finfo(np.float64).eps * float(np.abs(values[[0, -1]]).max())
        count = min(_STRETCHES * len(values), _MOST_STRETCHES)
        if span <= count * resolved:
            count = max(int(span / resolved), 1) if span else 1
        scale = count / span if span and np.isfinite(count / span) else 0.0
        places = ((values - values[0]) * scale).astype(np.intp)
        before = np.zeros(count + 4, dtype=np.intp)
        np.cumsum(np.bincount(places, minlength=count + 1)[: count + 1], out=before[2:-1])
        before[-1] = len(values)
        steps = int((before[3:] - before[:-3]).max()).bit_length()
        padded = np.concatenate([values, np.full(1 << steps, np.inf)])
        return Ascending(
            values=padded[: len(values)],
            padded=padded,
            starts=before[:-3],
            scale=scale,
            steps=steps,
        )

    def within(self, centres: Float, radii: Float) -> tuple[Integer, Integer]:
        """Return where the values within a radius of each centre start and end.

        The difference to the centre decides.
        """
        first = self._from(centres - radii)
        last = self._from(centres + radii)
        for step in reversed(range(self.steps)):
            ahead = 1 << step
            farther = centres - self.padded[first + (ahead - 1)] > radii
            first += farther.astype(np.intp) << step
            near = self.padded[last + (ahead - 1)] - centres <= radii
            last += near.astype(np.intp) << step
        return first, last

    def _from(self, positions: Float) -> Integer:
        inside = np.minimum(np.maximum(positions, self.values[0]), self.values[-1])
        stretches = ((inside - self.values[0]) * self.scale).astype(np.intp)
        found: Integer = self.starts[stretches]
        return found
