"""Ascending values, and how many of them lie within a radius of each of many centres."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.core.arrays import Float

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integer = NDArray[np.intp]

_STRETCHES = 8
"""Of equal length for each value: in the bulk, a value is about alone in its own."""
_MOST_STRETCHES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ascending:
    """Ascending values with a table of where to look for them.

    A search from end to end jumps through memory for every centre. The table tells how many values
    lie before a stretch of the line, so that a few comparisons of all centres at once are left.

    Parameters
    ----------
    values
        Ascending.
    padded
        The values, and after them as many infinite ones as a search may look at.
    starts
        For every stretch, how many values lie before the stretch before it.
    scale
        Stretches a unit.
    steps
        How often a search is halved: three stretches hold fewer values than two to that power.
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
        # Rounding of a sum must not lead further than into the next stretch.
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
        """Return where the values within a radius of every centre start and end.

        Their difference to the centre decides.
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
