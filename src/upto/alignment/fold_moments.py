"""Moments of a source, or of features of it, and of a target, in folds of the rows, in one pass.

Folds depend on the values of the source's rows, never on their position; copies of a row are in
one fold. The moments of all folds but one are those of a fit, and what the fit would err by on the
fold left out follows from the moments of that fold: no fit goes back to the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core.array_types import Float

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from upto.engines.base import Arrays, Engine

    Features = Callable[..., Any]
    """``features(xp, rows, *params)`` returns the features of a block of rows."""

PILOT_ROWS = 256


@dataclass(frozen=True, slots=True, eq=False)
class PairMoments:
    """Weight, means, scatter of the source, cross-scatter, and total scatter of the target."""

    weight: float
    source_mean: Float
    target_mean: Float
    scatter: Float
    cross: Float
    target_scatter: float

    def about(self, source_mean: Float, target_mean: Float) -> PairMoments:
        """Return the second moments about other means."""
        shifts = self.source_mean - source_mean, self.target_mean - target_mean
        return PairMoments(
            self.weight,
            source_mean,
            target_mean,
            self.scatter + self.weight * np.outer(shifts[0], shifts[0]),
            self.cross + self.weight * np.outer(*shifts),
            self.target_scatter + self.weight * float(shifts[1] @ shifts[1]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class FoldMoments:
    """Sums of each fold about common pilots.

    `sums` lists, for each fold, its weight, the sums of source and target, the sums of products of
    the source with itself and with the target, and the sum of squares of the target.
    """

    sums: list[tuple[Float, ...]]
    pilots: tuple[Float, Float]

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self.sums)

    def whole(self) -> PairMoments:
        """Return the moments of all rows."""
        return self._centred(self.sums)

    def pairs(self) -> Iterator[tuple[PairMoments, PairMoments]]:
        """Yield, for each fold, the moments of the others, and its own about their means."""
        for number in range(self.n_folds):
            rest = self._centred([each for at, each in enumerate(self.sums) if at != number])
            own = self._centred([self.sums[number]])
            yield rest, own.about(rest.source_mean, rest.target_mean)

    def _centred(self, parts: list[tuple[Float, ...]]) -> PairMoments:
        weight, x_sum, y_sum, xx, xy, yy = (
            sum(each[1:], each[0]) for each in zip(*parts, strict=True)
        )
        n = float(weight)
        shifts = x_sum / n, y_sum / n
        return PairMoments(
            n,
            self.pilots[0] + shifts[0],
            self.pilots[1] + shifts[1],
            xx - n * np.outer(shifts[0], shifts[0]),
            xy - n * np.outer(*shifts),
            float(yy) - n * float(shifts[1] @ shifts[1]),
        )


def fold_rows(keys: NDArray[np.uint64], n_folds: int) -> NDArray[np.int8]:
    """Return the fold of each row from its key; fewer folds if there are fewer distinct keys."""
    distinct, places = np.unique(keys, return_inverse=True)
    return (places % min(n_folds, len(distinct))).astype(np.int8)


def fold_moments(
    engine: Engine,
    source: Any,
    target: Any,
    folds: NDArray[np.int8],
    *,
    features: Features | None = None,
    params: tuple[Any, ...] = (),
    pilot: Float | None = None,
) -> FoldMoments:
    """Return the moments of every fold, in one pass.

    Parameters
    ----------
    engine
        Engine of the pass.
    source, target
        Paired rows, where the engine reads them.
    folds
        Fold of each row.
    features, params
        Function of a block of source rows and its params; the rows themselves by default.
    pilot
        Rough mean of the features; that of the first rows by default.
    """
    pilots = (_pilot(source) if pilot is None else pilot, _pilot(target))
    n_folds = int(folds.max()) + 1
    statistic = partial(_fold_sums, n_folds=n_folds, features=features)
    found = engine.reduce_blocks(statistic, source, target, folds, params=(*pilots, *params))
    width = len(found) // n_folds
    return FoldMoments([found[at : at + width] for at in range(0, len(found), width)], pilots)


def _pilot(rows: Any) -> Float:
    # The mean of a few rows is close enough for the sums to lose no precision.
    found: Float = np.asarray(rows[:PILOT_ROWS], dtype=np.float64).mean(axis=0)
    return found


def _fold_sums(
    xp: Any,
    x: Any,
    y: Any,
    folds: Any,
    x_pilot: Any,
    y_pilot: Any,
    *params: Any,
    n_folds: int,
    features: Features | None,
) -> Arrays:
    if features is not None:
        x = features(xp, x, *params)
    x, y = x - x_pilot, y - y_pilot
    results: list[Any] = []
    for fold in range(n_folds):
        own, other = x[folds == fold], y[folds == fold]
        results += [
            xp.asarray(own.shape[0], dtype=x.dtype),
            xp.sum(own, axis=0),
            xp.sum(other, axis=0),
            xp.matmul(own.T, own),
            xp.matmul(own.T, other),
            xp.sum(other * other),
        ]
    return tuple(results)
