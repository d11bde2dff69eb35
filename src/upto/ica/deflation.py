"""FastICA by deflation: components one by one, each orthogonal to the previous ones."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from upto.core import TraceStep
from upto.ica.search import Search, despite_interrupt
from upto.ica.solver import orthogonalised

if TYPE_CHECKING:
    from upto.core.array_types import Float
    from upto.ica.search import Listener
    from upto.ica.solver import Problem


def deflate(
    problem: Problem,
    start: Float,
    *,
    turn: float,
    max_iterations: int,
    listener: Listener | None = None,
) -> Search:
    """Find components one by one; errors in the first propagate to the later ones.

    A component has converged when the cosine between two of its steps is within `turn` of one;
    `max_iterations` applies to each component.
    """
    started, rotation, steps = time.perf_counter(), start.copy(), []
    passes = longest = 0
    converged, interrupted = True, False

    def tell(excess: float, moved: float, count: int) -> None:
        steps.append(
            TraceStep(
                iteration=count,
                solver="deflation",
                dtype="float64",
                contrast=excess,
                gradient=moved,
                turned=moved,
                passes=passes,
                seconds=time.perf_counter() - started,
            )
        )
        if listener is not None:
            listener(steps[-1], rotation)

    try:
        for number in range(len(rotation)):
            before = rotation[:number]
            row = rotation[number]
            for count in range(1, max_iterations + 1):
                products, slope, _ = problem.means([row[None]])
                passes += 1
                longest = max(longest, count)
                following = _apart(products[0] - slope[0] * row, before)
                moved = abs(abs(float(following @ row)) - 1.0)
                excess = abs(float(slope[0] - products[0] @ row))
                row = rotation[number] = following
                tell(excess, moved, longest)
                if moved < turn:
                    break
            else:
                converged = False
    except KeyboardInterrupt:
        converged, interrupted = False, True
    # This completes components that were not reached and removes rounding from the others.
    rotation = orthogonalised(rotation)
    (point,), interrupted = despite_interrupt(
        lambda: problem.evaluate([rotation], values=False), interrupted=interrupted
    )
    passes += 1
    tell(point.contrast, point.gradient, longest)
    return Search(
        problem=problem,
        point=point,
        converged=converged and not interrupted,
        interrupted=interrupted,
        steps=tuple(steps),
        n_passes=passes,
    )


def _apart(row: Float, others: Float) -> Float:
    """Return the unit vector along the part of `row` that is orthogonal to `others`."""
    row = row - (row @ others.T) @ others
    length = float(np.linalg.norm(row))
    return row / length if length > 0 else row
