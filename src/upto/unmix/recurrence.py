"""Whether components are found again: in two parts of the rows that share none, from other starts.

A direction that is less Gaussian than chance makes it need not be a source: with few rows for each
dimension a search finds mixtures of a few. What another part of the rows has too, found from
another start, is no accident of either.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.optimize
import scipy.stats
from numpy.typing import NDArray

from upto.core import random_stream
from upto.engines import blas_threads_for
from upto.unmix.components import (
    Unmixing,
    is_safe_in_single,
    pose,
    settle,
    starting_rotation,
    whitening_for,
)
from upto.unmix.restarts import correlated
from upto.unmix.searching import LARGE, search
from upto.unmix.whitening import RANK_TOLERANCE

if TYPE_CHECKING:
    from upto.engines.base import Engine
    from upto.unmix.contrasts import Contrast
    from upto.unmix.searching import Solver

Float = NDArray[np.float64]

FOUND = 0.8
"""Correlation from which on a component counts as found again.

Each part has half of the rows, so between two parts a component strays four times as much as the
one of all rows does: 0.8 between them is about 0.95 of that one with its source.
"""
LEVEL = 0.01
"""Chance that components which may turn freely are taken for found again."""
PART_ROWS, PART_ROWS_EACH, PART_BYTES = 20_000, 500, 2**28
"""Rows of a part that are searched at most: in any case, for each component, and by memory."""
ITERATIONS = 100
_GRID = (2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64)
_DRAWS, _FEW_DRAWS, _MANY_AXES = 2000, 40, 16


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Recurrence:
    """Which component of each part is which of all rows, -1 for none, and how alike they are.

    `between` holds the correlation of the two parts' components with each other, and `similarity`
    the lowest of the three correlations between them and the component of all rows.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    between: Float
    similarity: Float

    @property
    def known(self) -> NDArray[np.bool_]:
        """Components that both parts span."""
        known: NDArray[np.bool_] = (self.first >= 0) & (self.second >= 0)
        return known

    @property
    def found(self) -> NDArray[np.bool_]:
        """Components that both parts have."""
        found: NDArray[np.bool_] = self.known & (self.similarity >= FOUND)
        return found


def affordable_part(n_components: int, width: int) -> int:
    """Return how many rows of a part are searched."""
    wanted = max(PART_ROWS, PART_ROWS_EACH * n_components)
    return max(min(wanted, PART_BYTES // (8 * width)), 4 * width)


def find_in_part(
    engine: Engine,
    rows: Any,
    *,
    n_components: int,
    contrast: Contrast,
    solver: Solver = "auto",
    rank_tolerance: float = RANK_TOLERANCE,
    seed: int,
) -> Unmixing:
    """Find the components of a part of the rows, to the accuracy that so many rows deserve.

    None of them is held still, whether it looks Gaussian or not: what comes of a free search is the
    evidence.
    """
    with blas_threads_for(rows.shape[1]):
        whitening = whitening_for(
            engine, rows, None, n_components=n_components, rank_tolerance=rank_tolerance
        )
        problem = replace(pose(engine, rows, whitening, contrast), noise=0.0)
        tolerance = 0.1 / np.sqrt(problem.n_samples)
        is_large = problem.n_samples * whitening.matrix.size > LARGE
        found = search(
            problem,
            starting_rotation(whitening, None, seed),
            solver=solver,
            tolerance=tolerance,
            max_iterations=ITERATIONS,
            single=is_large and is_safe_in_single(whitening),
        )
        if found.interrupted:
            raise KeyboardInterrupt
        return settle(found, whitening, tolerance=tolerance)


def recurrence(unmixing: Unmixing, first: Unmixing, second: Unmixing) -> Recurrence:
    """Match the components of two parts with those of all rows, one to one."""
    mixing = unmixing.mixing
    ours, theirs = (_matched(unmixing, part) for part in (first, second))
    k = len(unmixing.components)
    similarity, between = np.full((2, k), np.nan)
    known = (ours >= 0) & (theirs >= 0)
    kept = (unmixing.components[known], first.components[ours[known]])
    kept += (second.components[theirs[known]],)
    pairs = [np.abs(np.diag(correlated(a, b, mixing))) for a, b in (kept[:2], kept[::2], kept[1:])]
    between[known] = pairs[2]
    similarity[known] = np.min(pairs, axis=0)
    return Recurrence(first=ours, second=theirs, between=between, similarity=similarity)


def _matched(unmixing: Unmixing, part: Unmixing) -> NDArray[np.intp]:
    likeness = np.abs(correlated(unmixing.components, part.components, unmixing.mixing))
    ours, theirs = scipy.optimize.linear_sum_assignment(likeness, maximize=True)
    match = np.full(len(likeness), -1, dtype=np.intp)
    match[ours] = theirs
    return match


def beyond_chance(between: Float) -> NDArray[np.bool_]:
    """Say which components agree more between parts than freely turned ones do.

    Few directions agree by chance: of two planes' axes, turned at random, the better half are
    within 22.5°. From all components down, those that agree least are compared with axes
    turned at random in as many dimensions and matched; the first time that they agree no more than
    these, they are left, and all above them agree beyond chance. One component alone cannot turn.
    """
    order = np.argsort(between, kind="stable")
    beyond = np.zeros(len(between), dtype=np.bool_)
    size = len(between)
    while size > 1 and between[order[:size]].mean() > _random_agreement(_on_grid(size)):
        size -= 1
    beyond[order[size if size > 1 else 0 :]] = True
    return beyond


def _on_grid(size: int) -> int:
    """Return the next smaller size that is simulated, whose limit is higher."""
    return max(each for each in _GRID if each <= size)


@lru_cache(maxsize=len(_GRID))
def _random_agreement(size: int) -> float:
    """Return the mean correlation that matched axes exceed with chance `LEVEL` if turned freely."""
    if size == 2:
        # The angle between the axes is uniform up to an eighth of a turn.
        return float(np.cos(LEVEL * np.pi / 4))
    rng = random_stream(0, "axes turned at random", str(size))
    found = np.empty(_DRAWS if size < _MANY_AXES else _FEW_DRAWS)
    for draw in range(len(found)):
        turn = np.abs(np.linalg.qr(rng.normal(size=(size, size)))[0])
        rows, columns = scipy.optimize.linear_sum_assignment(turn, maximize=True)
        found[draw] = turn[rows, columns].mean()
    if size >= _MANY_AXES:
        # The mean of so many is nearly normal, and few draws tell its ends.
        return float(found.mean() + scipy.stats.norm.isf(LEVEL) * found.std(ddof=1))
    return float(np.quantile(found, 1 - LEVEL))
