"""Symmetric FastICA: the fixed-point step for all components at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from upto.engines.algebra import compute
from upto.ica.solver import orthogonal_factor

if TYPE_CHECKING:
    from upto.core.array_types import Float
    from upto.engines.base import Arrays
    from upto.ica.solver import Point, Problem


@dataclass(slots=True)
class FastICA:
    """Steps to the rotation nearest to the fixed-point update, one pass each.

    To first order this is Newton's step with the Hessian of independent components, but without a
    line search: far from the solution it is fast, but it may cycle if components are dependent.
    """

    name: ClassVar[str] = "fastica"

    def advance(self, problem: Problem, point: Point, dtype: str) -> list[Point]:
        """Return the points that were evaluated, the accepted one last."""
        return problem.evaluate([fixed_point(point)], dtype, values=False)


def fixed_point(point: Point) -> Float:
    """Return the next rotation of the fixed-point iteration, without flipping components."""
    update = np.diag(point.slope) - point.cross
    if point.frozen is not None:
        # Frozen components must not matter: the smaller their weight, the closer to a Newton step.
        update[point.frozen] = np.diag(0.1 * point.noise * point.signs)[point.frozen]
    return compute(_turned, point.signs[:, None] * update, point.rotation)[0]


def _turned(xp: Any, update: Any, rotation: Any) -> Arrays:
    return (xp.matmul(orthogonal_factor(xp, update), rotation),)
