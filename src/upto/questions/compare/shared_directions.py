"""Directions shared by two runs: canonical pairs evaluated on held-out rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.linalg

from upto.core import Shared
from upto.core.array_types import Float
from upto.engines.algebra import compute, eigh_of, product
from upto.measures.variates import Variates, settled
from upto.questions.compare.side import White, covariances, explained_variance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.engines import CrossMoments
    from upto.engines.base import Arrays
    from upto.evidence.memory import Memory
    from upto.questions.compare.pair import Pair


AGREEING = 0.5
"""Smallest held-out R² of a direction on which the runs agree."""
CLOSELY = 0.8
"""Smallest held-out R² of close agreement, required on every direction of the same runs."""
UNRELATED = 0.1
"""Held-out R² below which directions are unrelated."""
_ROUNDED = 1e-10
"""Value along a direction of unit variance below which it is rounding."""
_SMALLEST = 1e-4
"""Canonical correlation, relative to the largest, down to which squares give the directions."""
_TIED = 1e-6
"""Largest difference between correlations that may be rounding, in narrow directions too."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Canonical:
    """Canonical directions of two runs from the fitted rows, and held-out rows along them.

    `first` and `second` are rows along the directions at unit variance, weighted by the correlation
    on the fitted rows, so that directions that do not agree count little.
    """

    first: Float
    second: Float
    shared: Shared

    def flipped(self) -> Canonical:
        """Swap the runs."""
        return Canonical(first=self.second, second=self.first, shared=self.shared.flipped())


def find_canonical(pair: Pair, moments: CrossMoments) -> Canonical:
    """Match directions on the fitted rows and measure their agreement on held-out rows."""
    runs = (pair.source, pair.target)
    is_thin = any(run.is_thin for run in runs)
    sides = [pair.side(run) for run in runs]
    first, second = whites = [side.white(from_rows=is_thin) for side in sides]
    n_rows = int(np.count_nonzero((pair.split.parts == 0) & ~pair.split.repeats))
    if is_thin:
        x, y = (side.sample_along(white) for side, white in zip(sides, whites, strict=True))
        cross = product(x.T, y) / len(x)
        n_rows = min(n_rows, len(x))
    else:
        cross = product(product(first.directions.T, moments.cross), second.directions)
        cross /= moments.weight
    turns = _singular(cross)
    del cross
    # Centring takes one row.
    if n_rows <= sum(white.directions.shape[1] for white in whites):
        turns = _settled(pair, whites, turns)
    left, strength, right = turns.x, turns.correlations, turns.y
    x, y = product(first.paired, left), product(second.paired, right)
    for rows in (x, y):
        # With fewer rows than coordinates, held-out rows are orthogonal to the fitted ones.
        rows[np.abs(rows) < _ROUNDED] = 0.0
    agreement = _squared_correlations(*(_new(rows, pair.split.memory) for rows in (x, y)))
    return Canonical(
        first=x * strength,
        second=y * strength,
        shared=_find_shared(pair, agreement, whites, (left, right)),
    )


def _find_shared(
    pair: Pair, agreement: Float, whites: Sequence[White], turns: tuple[Float, Float]
) -> Shared:
    """Count the directions whose held-out R², their agreement, is large.

    The others are not tested if fewer rows than directions were fitted. The directions of each run
    are its white ones, turned.
    """
    agreeing = agreement >= AGREEING
    first, second = (
        explained_variance(run.fitted, white, turn, agreeing)
        for run, white, turn in zip((pair.source, pair.target), whites, turns, strict=True)
    )
    n_fitted = len(pair.split.parts) - pair.split.n_held_out
    n_first, n_second = pair.source.summary.rank, pair.target.summary.rank
    rest: Literal["unrelated", "less alike", "not judged"] = "less alike"
    if n_fitted <= max(n_first, n_second):
        rest = "not judged"
    elif float(agreement[~agreeing].max(initial=0.0)) < UNRELATED:
        rest = "unrelated"
    return Shared(
        n_shared=int(agreeing.sum()),
        n_closely=int(np.count_nonzero(agreement >= CLOSELY)),
        n_first=n_first,
        n_second=n_second,
        variance_first=first,
        variance_second=second,
        rest=rest,
    )


def _settled(pair: Pair, whites: Sequence[White], turns: Variates) -> Variates:
    """Turn directions of equal correlation to those that explain most of the variance of both runs.

    With fewer rows than directions of both runs many correlations equal one. Any basis of these
    directions serves, but agreement on held-out rows depends on it: neither rounding nor the order
    of rows or runs must choose it.
    """
    runs = (pair.source, pair.target)

    def explained(*chosen: Float) -> list[tuple[Float, Float]]:
        found = []
        for run, white, turn in zip(runs, whites, chosen, strict=True):
            each = covariances(run.fitted, product(white.directions, turn))
            each /= math.sqrt(run.fitted.total_variance)
            found.append((each, each))
        return found

    return settled(turns, explained, _TIED)


def _singular(cross: Float) -> Variates:
    """Return the singular values, and the left and the right singular vectors in columns."""
    if min(cross.shape) > 0:
        left, strength, right = compute(_by_squares, cross)
        # Vectors of far smaller values would lose their digits in squares.
        if strength.min() > _SMALLEST * strength.max():
            return Variates(correlations=strength, x=left, y=right)
    left, strength, right = scipy.linalg.svd(cross, full_matrices=False)
    return Variates(correlations=strength, x=left, y=right.T)


def _by_squares(xp: Any, cross: Any) -> Arrays:
    if cross.shape[0] < cross.shape[1]:
        right, strength, left = _by_squares(xp, cross.T)
        return left, strength, right
    _, vectors = eigh_of(xp, xp.matmul(cross.T, cross))
    right = xp.flip(vectors, axis=1)
    left = xp.matmul(cross, right)
    strength = xp.sqrt(xp.linalg.vecdot(left, left, axis=0))
    return left / xp.where(strength > 0, strength, xp.ones_like(strength)), strength, right


def _new(rows: Float, memory: Memory | None) -> Float:
    """Return the innovations of serially dependent rows, because trends agree by chance."""
    return rows if memory is None else memory.what_is_new(rows)


def _squared_correlations(x: Float, y: Float) -> Float:
    if len(x) < 2:
        return np.zeros(x.shape[1])
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    both = np.einsum("ij,ij->j", x, y)
    spread = np.einsum("ij,ij->j", x, x) * np.einsum("ij,ij->j", y, y)
    # Directions with a negative correlation on held-out rows do not agree.
    found: Float = np.divide(
        np.maximum(both, 0.0) ** 2, spread, out=np.zeros_like(both), where=spread > 0
    )
    return found
