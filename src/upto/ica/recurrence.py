"""Recovery of components in two disjoint parts of the rows, from different starts.

A direction that is less Gaussian than expected by chance need not be a source: with few rows per
dimension, a search finds mixtures of a few. A component recovered in another part of the rows from
another start is not an accident of either.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.optimize
import scipy.special
from numpy.typing import NDArray

from upto.core.array_types import Float
from upto.engines import algebra_on
from upto.ica.components import (
    Unmixing,
    is_safe_in_single,
    pose,
    settle,
    starting_rotation,
    whitening_for,
)
from upto.ica.restarts import correlated
from upto.ica.search import LARGE, search

if TYPE_CHECKING:
    from upto.engines.base import Engine
    from upto.ica.contrasts import Contrast
    from upto.ica.search import Solver


FOUND, FOUND_OF_FEW = 0.7, 0.9
"""Lowest and highest value of the correlation above which a component counts as recovered.

Each part has half of the rows, so components of two parts differ four times as much as that of all
rows does from its source: 0.7 between parts is about 0.92 with the source, 0.9 about 0.97.
"""
CHANCE = 0.05
"""Chance that a random direction is as close to one of the axes."""
PART_ROWS, PART_ROWS_EACH, PART_BYTES = 20_000, 500, 2**28
"""Largest number of rows searched in a part: in total, per component, and by memory."""
ITERATIONS = 100


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Recurrence:
    """Component of each part matched to each component of all rows, and their correlations.

    `first` and `second` are -1 without a match. `between` is the correlation between the components
    of the two parts, `similarity` the lowest of the three among them and that of all rows.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    between: Float
    similarity: Float

    @property
    def known(self) -> NDArray[np.bool_]:
        """Components matched in both parts."""
        known: NDArray[np.bool_] = (self.first >= 0) & (self.second >= 0)
        return known

    @property
    def found(self) -> NDArray[np.bool_]:
        """Components recovered in both parts."""
        limit = found_limit(len(self.similarity))
        found: NDArray[np.bool_] = self.known & (self.similarity >= limit)
        return found


def found_limit(n_components: int) -> float:
    """Return the correlation above which one of `n_components` counts as recovered.

    Among few axes a random direction is close to one of them: the squared cosine with each follows
    a beta distribution.
    """
    if n_components < 2:
        return FOUND
    square = scipy.special.betainccinv(0.5, (n_components - 1) / 2, CHANCE / n_components)
    return float(np.clip(np.sqrt(square), FOUND, FOUND_OF_FEW))


def affordable_part(n_components: int, width: int) -> int:
    """Return the number of rows of a part to search."""
    wanted = max(PART_ROWS, PART_ROWS_EACH * n_components)
    return max(min(wanted, PART_BYTES // (8 * width)), 4 * width)


def find_in_part(
    engine: Engine,
    rows: Any,
    *,
    n_components: int,
    contrast: Contrast,
    solver: Solver = "auto",
    rank_tolerance: float | None = None,
    seed: int,
) -> Unmixing:
    """Find the components of a part of the rows, to the accuracy its number of rows supports.

    No component is frozen, whether or not it looks Gaussian: the result of an unconstrained search
    is the evidence.
    """
    with algebra_on(engine, rows.shape[1]):
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
        unmixing = settle(found, whitening, tolerance=tolerance)
        if unmixing.interrupted:
            raise KeyboardInterrupt
        return unmixing


def recurrence(unmixing: Unmixing, first: Unmixing, second: Unmixing) -> Recurrence:
    """Match the components of two parts with those of all rows, one to one."""
    mixing = unmixing.mixing
    ours, theirs = (_matched(unmixing, part) for part in (first, second))
    k = len(unmixing.components)
    similarity, between = np.full((2, k), np.nan)
    known = (ours >= 0) & (theirs >= 0)
    whole = unmixing.components[known]
    mine, other = first.components[ours[known]], second.components[theirs[known]]
    pairs = [
        np.abs(np.diag(correlated(a, b, mixing)))
        for a, b in ((whole, mine), (whole, other), (mine, other))
    ]
    between[known] = pairs[2]
    similarity[known] = np.min(pairs, axis=0)
    return Recurrence(first=ours, second=theirs, between=between, similarity=similarity)


def _matched(unmixing: Unmixing, part: Unmixing) -> NDArray[np.intp]:
    likeness = np.abs(correlated(unmixing.components, part.components, unmixing.mixing))
    ours, theirs = scipy.optimize.linear_sum_assignment(likeness, maximize=True)
    match = np.full(len(likeness), -1, dtype=np.intp)
    match[ours] = theirs
    return match
