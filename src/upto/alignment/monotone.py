"""A permutation and a monotone function of each coordinate: the indeterminacy of nonlinear ICA.

Coordinates are matched by rank correlation, which is invariant to monotone functions. Each function
is the increasing or decreasing one with the smallest squared error, fitted to means of neighbouring
rows: single rows at both ends, which determine heavy tails, and more rows per mean in between.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.optimize

from upto.core import InputError
from upto.core.array_types import Float, Index
from upto.engines import host_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.alignment.maps import AffineMap
    from upto.engines.base import Arrays, Engine, Statistic

_Sort = tuple[Index, Float, Float]

MIDDLE_BINS, GROWTH = 64, 1.25
"""A mean includes at most the number of rows over this; towards the ends it includes fewer."""
_END = 4
"""Number of means at each end from which a function is extrapolated."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MonotoneMap:
    """Target coordinate j is a monotone function of source coordinate ``index[j]``.

    The function interpolates ``(knots[:, j], values[:, j])`` linearly. A coordinate without a
    partner (−1) is predicted by its mean.
    """

    index: Index
    knots: Float
    values: Float
    target_mean: Float

    def predict(self, rows: Any) -> Float:
        """Map rows in memory."""
        source = np.asarray(rows, dtype=np.float64)
        predicted = np.tile(self.target_mean, (len(source), 1))
        for j in np.flatnonzero(self.index >= 0):
            predicted[:, j] = _follow(source[:, self.index[j]], self.knots[:, j], self.values[:, j])
        return predicted

    def block_function(self) -> tuple[Statistic, tuple[Any, ...]]:
        """Return the function of a block of rows, for passes, and its params."""
        return partial(_mapped_block, monotone=self), ()

    def of_columns(self, places: Index) -> MonotoneMap:
        """Return the map of rows whose column i is the map's source coordinate ``places[i]``."""
        return replace(self, index=np.where(self.index < 0, -1, np.argsort(places)[self.index]))

    def linear(self) -> None:
        """Return None: monotone functions have no linear part."""

    def exact_inverse(self) -> AffineMap:
        """Refuse: monotone functions can be constant on intervals.

        Raises
        ------
        InputError
            Always.
        """
        message = (
            "monotone functions can be constant on intervals and then have no inverse: fit the map "
            "in the other direction."
        )
        raise InputError(message)


def _follow(x: Float, knots: Float, values: Float) -> Float:
    """Interpolate, and extrapolate linearly beyond the ends."""
    found: Float = np.interp(x, knots, values)
    inward = min(_END, len(knots) - 1)
    for end, inner, beyond in ((0, inward, x < knots[0]), (-1, -1 - inward, x > knots[-1])):
        run = knots[end] - knots[inner]
        if run != 0 and beyond.any():
            slope = (values[end] - values[inner]) / run
            found[beyond] += slope * (x[beyond] - knots[end])
    return found


class MonotoneFit:
    """Fits of monotone maps between rows, which are sorted once.

    Parameters
    ----------
    source, target
        Paired rows in memory.
    """

    def __init__(
        self, source: Float, target: Float, *, sorts: tuple[_Sort, _Sort] | None = None
    ) -> None:
        self.source, self.target = source, target
        self._sorts = sorts or (_sort(source), _sort(target))
        (self._order, self._sorted, own), (_, _, other) = self._sorts
        self._ranks = own, other
        self._tied = (np.diff(self._sorted, axis=1) == 0).any(axis=1)
        self._starts = _starts(len(source))
        self._counts = np.diff(np.append(self._starts, len(source))).astype(float)
        self._mean, self._variance = target.mean(axis=0), target.var(axis=0)

    def flipped(self) -> MonotoneFit:
        """Exchange source and target."""
        return MonotoneFit(self.target, self.source, sorts=self._sorts[::-1])

    @property
    def n_rows(self) -> int:
        """Number of row pairs."""
        return len(self.source)

    def fit(self, order: Index | None = None) -> MonotoneMap:
        """Match and fit; with `order`, to reordered target rows."""
        ranks, target = self._ranks[1], self.target
        if order is not None:
            ranks, target = ranks[:, order], target[order]
        correlation = np.asarray(self._ranks[0] @ ranks.T, dtype=np.float64)
        gain = correlation**2 * self._variance
        sources, targets = scipy.optimize.linear_sum_assignment(gain, maximize=True)
        index = np.full(target.shape[1], -1, dtype=np.intp)
        index[targets] = sources
        knots = np.zeros((len(self._starts), target.shape[1]))
        values = knots.copy()
        partners = np.take_along_axis(target.T[targets], self._order[sources], axis=1)
        for tied in np.flatnonzero(self._tied[sources]):
            partners[tied] = _levelled(self._sorted[sources[tied]], partners[tied])
        heights = (np.add.reduceat(partners, self._starts, axis=1) / self._counts).T
        widths = np.add.reduceat(self._sorted[sources], self._starts, axis=1) / self._counts
        knots[:, targets] = widths.T
        rising = correlation[sources, targets] >= 0
        for column, j in enumerate(targets):
            fitted = scipy.optimize.isotonic_regression(
                heights[:, column], weights=self._counts, increasing=bool(rising[column])
            ).x
            values[:, j] = _levelled(knots[:, j], fitted, self._counts)
        return MonotoneMap(index=index, knots=knots, values=values, target_mean=self._mean)


def monotone_errors(
    engine: Engine,
    source: Any,
    target: Any,
    monotone: MonotoneMap,
    keep: NDArray[np.bool_] | None = None,
) -> Float:
    """Return the L2 error of every row (or every kept row), in one pass."""
    vectors = () if keep is None else (keep,)
    function = partial(_errors_of_block, monotone=monotone)
    errors: Float = engine.map_blocks(function, source, target, *vectors)
    return errors


def _mapped_block(xp: Any, x: Any, *, monotone: MonotoneMap) -> Arrays:
    return (monotone.predict(host_array(x)),)


def _errors_of_block(xp: Any, x: Any, y: Any, *keep: Any, monotone: MonotoneMap) -> Arrays:
    # The array API has no interpolation, so this function runs on the host.
    x, y = host_array(x), host_array(y)
    if keep:
        chosen = host_array(keep[0])
        x, y = x[chosen], y[chosen]
    return (np.linalg.norm(y - monotone.predict(x), axis=1),)


def _sort(rows: Float) -> _Sort:
    """Return, by coordinate, the order of the rows, their sorted values and their ranks.

    Ranks are centred and scaled to unit norm; ties share a rank.
    """
    columns = np.ascontiguousarray(rows.T)
    order = np.argsort(columns, axis=1, kind="stable")
    ordered = np.take_along_axis(columns, order, axis=1)
    ranks = np.empty(columns.shape)
    np.put_along_axis(ranks, order, np.arange(columns.shape[1], dtype=float)[None], axis=1)
    tied = (np.diff(ordered, axis=1) == 0).any(axis=1)
    if tied.any():
        from scipy.stats import rankdata

        ranks[tied] = rankdata(columns[tied], axis=1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(ranks, axis=1, keepdims=True)
    ranks /= np.where(lengths > 0, lengths, 1.0)
    return order, ordered, ranks


def _starts(n_rows: int) -> Index:
    """Return where means of neighbouring rows begin; at both ends they contain single rows."""
    largest = max(1, n_rows // MIDDLE_BINS)
    ends, size = [0], 1.0
    while ends[-1] + int(size) <= n_rows // 2:
        ends.append(ends[-1] + int(size))
        size = min(size * GROWTH, float(largest))
    # Symmetric: the reversed order of rows gives the same means.
    lower = np.array(ends)
    starts = np.concatenate([lower, n_rows - lower])
    return np.unique(starts[starts < n_rows]).astype(np.intp)


def _levelled(places: Float, values: Float, weights: Float | None = None) -> Float:
    """Replace values at equal places by their mean; places are sorted."""
    is_new = np.append(True, np.diff(places) > 0)
    if is_new.all():
        return values
    weights = np.ones(len(values)) if weights is None else weights
    place = np.cumsum(is_new) - 1
    sums = np.bincount(place, weights=values * weights)
    levelled: Float = (sums / np.bincount(place, weights=weights))[place]
    return levelled
