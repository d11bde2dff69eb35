"""Whitened rows in memory, where a search needs only some of the rows or few directions.

A part of the rows is whitened by its own covariance: by that of all rows it would be white only
roughly, and fixed-point steps then do not converge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core.array_types import Float
from upto.engines import row_moments
from upto.engines.algebra import eigh
from upto.engines.device_rows import has_room, room_for
from upto.ica.search import search
from upto.ica.solver import NEARLY_WHITE, Problem, orthogonalised

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.engines.base import Arrays


SAMPLE_ROWS, SAMPLE_BYTES = 100, 2**29
"""Least rows per dimension of the sample a search starts on, and its largest size in memory."""
_DEGENERATE = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class WhiteRows:
    """The problem that is searched in place of another, e.g. for whitened rows in memory.

    ``rotation @ inner`` are its components in the coordinates of the other; None if these are the
    same.
    """

    problem: Problem
    inner: Float | None = None

    @property
    def is_white(self) -> bool:
        """Whether the rows themselves are white, not only after the map of the problem."""
        k, width = self.problem.matrix.shape
        return k == width and bool(np.abs(self.problem.matrix - np.eye(k)).max() < NEARLY_WHITE)

    def there(self, rotation: Float) -> Float:
        """Return the nearest rotation of these rows to one of the other problem."""
        if self.inner is None:
            return rotation
        turned = np.asarray(np.linalg.solve(self.inner.T, rotation.T).T, dtype=np.float64)
        return orthogonalised(turned)

    def back(self, rotation: Float) -> Float:
        """Return the nearest rotation of the other problem to one of these rows."""
        return rotation if self.inner is None else orthogonalised(rotation @ self.inner)


def start_on_a_sample(problem: Problem, rotation: Float) -> tuple[Float, bool]:
    """Run most of the search on a sample of the rows; return also whether it came near.

    Most steps are taken far from the optimum, where a sample is accurate enough. At a random start
    the wider the rows, the less a component differs from a Gaussian: with fewer rows per dimension
    than dimensions, a search spends most of its steps on leaving the start.
    """
    n_samples, width = int(problem.rows.shape[0]), len(rotation)
    wanted = max(SAMPLE_ROWS, width) * width
    if n_samples < 4 * wanted or wanted * width * 4 > SAMPLE_BYTES:
        return rotation, False
    keep = np.zeros(n_samples, dtype=bool)
    keep[np.linspace(0, n_samples - 1, wanted).astype(np.intp)] = True
    if problem.keep is not None:
        keep &= problem.keep
    sample = part_of(problem, keep, "float32")
    if sample is None:
        return rotation, False
    found = search(
        sample.problem,
        sample.there(rotation),
        max_iterations=60,
        single=True,
        lazy=True,
        coarse=True,
    )
    if found.interrupted:
        raise KeyboardInterrupt
    return sample.back(found.point.rotation), found.converged


def searched_in_place_of(problem: Problem, weight: float, *, large: bool) -> WhiteRows:
    """Return the cheapest problem with the same components.

    Rows are whitened once if there are few components, which makes every pass cheaper, and by their
    own covariance if the moments are those of more rows, of this `weight`.
    """
    dtype = "float32" if large else "float64"
    k, width = problem.matrix.shape
    if problem.keep is None and problem.n_samples < weight:
        part = part_of(problem, None, dtype)
        if part is not None:
            return part
    is_cheap = 2 * k <= width and problem.n_samples * k * 8 <= SAMPLE_BYTES
    # On a device there is room, and white rows allow rough products.
    if problem.is_narrow or not (is_cheap or (large and has_room(problem.rows, k, dtype))):
        return WhiteRows(problem)
    return WhiteRows(_of_white_rows(problem, problem.keep, dtype))


def part_of(problem: Problem, keep: NDArray[np.bool_] | None, dtype: str) -> WhiteRows | None:
    """Whiten some of the rows by their own covariance; None if they do not span all directions."""
    white = _of_white_rows(problem, keep, dtype)
    part = row_moments(problem.engine, white.rows)
    values, axes = eigh(part.scatter / part.weight)
    if not values[0] > _DEGENERATE:
        return None
    inner = (axes / np.sqrt(values)) @ axes.T
    noise = problem.noise * np.sqrt(problem.n_samples / white.n_samples)
    return WhiteRows(replace(white, mean=part.mean, matrix=inner, noise=noise), inner)


def _of_white_rows(problem: Problem, keep: NDArray[np.bool_] | None, dtype: str) -> Problem:
    width = len(problem.matrix)
    params = (problem.mean, np.ascontiguousarray(problem.matrix.T))
    vectors = () if keep is None else (keep,)
    n_samples = int(problem.rows.shape[0] if keep is None else np.count_nonzero(keep))
    white = problem.engine.map_blocks(
        partial(_whitened, dtype=dtype),
        problem.rows,
        *vectors,
        params=params,
        out=room_for(problem.rows, (n_samples, width), dtype),
    )
    return replace(
        problem,
        rows=problem.engine.place(white),
        mean=np.zeros(width),
        matrix=np.eye(width),
        n_samples=float(n_samples),
        keep=None,
    )


def _whitened(xp: Any, x: Any, *rest: Any, dtype: str) -> Arrays:
    *keep, mean, matrix = rest
    x = x[keep[0]] if keep else x
    # In double precision, so that narrow directions keep their digits in single.
    return (xp.astype(xp.matmul(x - mean, matrix), getattr(xp, dtype)),)
