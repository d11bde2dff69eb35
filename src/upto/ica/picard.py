"""Picard-O: preconditioned L-BFGS on the rotation group (Ablin, Cardoso and Gramfort 2018)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.linalg

from upto.core.array_types import Float
from upto.engines.algebra import compute

if TYPE_CHECKING:
    from upto.engines.base import Arrays
    from upto.ica.solver import Point, Problem


MEMORY = 10
FLOOR = 0.02
"""Smallest curvature of a pair; those of near-Gaussian pairs would make steps too large."""
LARGEST_TURN = 0.7
TRIALS = 8
STRETCH = 4.0
"""Growth of steps where the contrast is not convex."""


@dataclass(slots=True)
class PicardO:
    """Quasi-Newton steps on the contrast, accepted only if the contrast decreases.

    The preconditioner is the Hessian of independent components, pair by pair. Signs that separate
    sub- from super-Gaussian components change with the rotation, which clears the memory.
    """

    name: ClassVar[str] = "picard"
    signs: Float | None = None
    memory: deque[tuple[Float, Float]] = field(default_factory=lambda: deque(maxlen=MEMORY))
    stretch: float = 1.0

    def advance(self, problem: Problem, point: Point, dtype: str) -> list[Point]:
        """Return the points that were evaluated, the accepted one last."""
        tried: list[Point] = []
        if point.value is None:
            (point,) = problem.evaluate([point.rotation], dtype)
            tried.append(point)
        if self.signs is None or not np.array_equal(self.signs, point.signs):
            self.memory.clear()
            self.signs = point.signs
        for fresh in (False, True):
            if fresh:
                self.memory.clear()
            direction = self._direction(point)
            largest = LARGEST_TURN / max(float(np.abs(direction).max()), 1e-300)
            step = min(1.0 if fresh else self.stretch, largest)
            for _ in range(TRIALS):
                turn = step * direction
                (found,) = problem.evaluate([_turned(turn, point.rotation)], dtype)
                tried.append(found)
                if found.loss(point.signs) <= point.loss(point.signs) + _slack(point, dtype):
                    self._remember(point, found, turn)
                    return tried
                step *= 0.5
            if not self.memory:
                break
        # No descent within rounding: stay.
        return [*tried[:-1], point]

    def _direction(self, point: Point) -> Float:
        """Apply the inverse Hessian estimate to the gradient (the two-loop recursion)."""
        gradient = point.skew
        scale = np.maximum(point.curvature, FLOOR)
        q = gradient.copy()
        factors = []
        for turn, change in reversed(self.memory):
            rho = 1.0 / float(np.vdot(turn, change))
            factor = rho * float(np.vdot(turn, q))
            _add_to(q, -factor, change)
            factors.append((rho, factor))
        q /= scale
        for (turn, change), (rho, factor) in zip(self.memory, reversed(factors), strict=True):
            _add_to(q, factor - rho * float(np.vdot(change, q)), turn)
        direction: Float = np.negative(q, out=q)
        if np.vdot(direction, gradient) >= 0:
            self.memory.clear()
            direction = -gradient / scale
        return direction

    def _remember(self, point: Point, found: Point, turn: Float) -> None:
        if not np.array_equal(found.signs, point.signs):
            return
        change = found.skew - point.skew
        if np.vdot(turn, change) > 1e-12 * np.linalg.norm(turn) * np.linalg.norm(change):
            self.memory.append((turn, change))
            self.stretch = 1.0
        else:
            # The contrast is concave this way, as near a saddle: no Hessian gives a step size.
            self.stretch *= STRETCH


def _add_to(matrix: Float, factor: float, other: Float) -> None:
    """Add a multiple of another matrix in place, in one pass over both."""
    scipy.linalg.blas.daxpy(other.ravel(), matrix.ravel(), a=factor)


def _turned(turn: Float, rotation: Float) -> Float:
    return compute(_turn, turn, rotation)[0]


def _turn(xp: Any, turn: Any, rotation: Any) -> Arrays:
    """Turn a rotation by Cayley's transform: to second order, the exponential of a skew matrix."""
    half = 0.5 * turn
    identity = xp.eye(turn.shape[0], dtype=turn.dtype)
    return (xp.matmul(xp.linalg.solve(identity - half, identity + half), rotation),)


def _slack(point: Point, dtype: str) -> float:
    return 16.0 * float(np.finfo(dtype).eps) * abs(point.loss(np.ones(len(point.rotation))))
