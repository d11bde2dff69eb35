"""Affine pieces of many networks along lines, side by side.

The line of a network is z = start + t·direction. A unit that is affine in t on a piece changes sign
at most once there, so the ends of all pieces are found exactly, layer by layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from upto.core.array_types import Float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinePieces:
    """Pieces of each network on its line: ``f = slope t + offset`` between two ends.

    Parameters
    ----------
    ends
        Ends of the pieces in t, networks × (pieces + 1), from -∞ to ∞. Networks with fewer pieces
        than others have empty ones, from ∞ to ∞.
    slopes, offsets
        Networks × pieces × outputs.
    """

    ends: Float
    slopes: Float
    offsets: Float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StackedLayers:
    """Networks of one shape, stacked.

    Parameters
    ----------
    weights
        Networks × outputs × inputs of each layer.
    biases
        Networks × outputs of each layer.
    leak
        Slope of the activation below zero.
    activated_output
        Whether the last layer is followed by the activation too.
    """

    weights: Sequence[Float]
    biases: Sequence[Float]
    leak: float
    activated_output: bool

    def pieces(self, starts: Float, directions: Float) -> LinePieces:
        """Find the pieces along one line per network, whose starts and directions are rows."""
        infinite = np.full((len(starts), 1), np.inf)
        ends = np.hstack([-infinite, infinite])
        slopes, offsets = directions[:, None], starts[:, None]
        last = len(self.weights) - 1
        for number, (matrices, shifts) in enumerate(zip(self.weights, self.biases, strict=True)):
            maps = matrices.swapaxes(1, 2)
            slopes, offsets = slopes @ maps, offsets @ maps + shifts[:, None]
            if number < last or self.activated_output:
                ends, slopes, offsets = self._bent(ends, slopes, offsets)
        return LinePieces(ends=ends, slopes=slopes, offsets=offsets)

    def _bent(self, ends: Float, slopes: Float, offsets: Float) -> tuple[Float, Float, Float]:
        """Split pieces where a unit changes sign, and apply the activation."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            roots = -offsets / slopes
        inside = (roots > ends[:, :-1, None]) & (roots < ends[:, 1:, None])
        found = np.where(inside, roots, np.inf).reshape(len(ends), -1)
        cuts = np.sort(np.hstack([ends[:, 1:-1], found]), axis=1)
        cuts = cuts[:, : int(np.isfinite(cuts).sum(axis=1).max(initial=0))]
        infinite = np.full((len(ends), 1), np.inf)
        cut_ends = np.hstack([-infinite, cuts, infinite])
        points = _points_between(cut_ends[:, :-1], cut_ends[:, 1:])
        parents = (ends[:, None, 1:-1] <= points[:, :, None]).sum(axis=2)[:, :, None]
        slopes, offsets = (np.take_along_axis(each, parents, axis=1) for each in (slopes, offsets))
        active = slopes * points[:, :, None] + offsets > 0
        factors = np.where(active, 1.0, self.leak)
        return cut_ends, factors * slopes, factors * offsets


def _points_between(low: Float, high: Float) -> Float:
    """Return a point of each piece; any point for empty ones."""
    from_left, from_right = np.isfinite(low), np.isfinite(high)
    left = np.where(from_left, low, np.where(from_right, high - 2.0, -1.0))
    right = np.where(from_right, high, np.where(from_left, low + 2.0, 1.0))
    points: Float = left + 0.5 * (right - left)
    return points
