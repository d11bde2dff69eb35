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
from upto.engines import compute, match
from upto.engines.array_functions import interpolate_columns
from upto.engines.concurrent_steps import WIDEST_SIDE_BY_SIDE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.alignment.maps import AffineMap
    from upto.engines.base import Arrays, Engine, Statistic

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
        predict, params = self.block_function()
        found: Float = compute(predict, np.asarray(rows, dtype=np.float64), *params)[0]
        return found

    def predict_placed(self, rows: Float, places: NDArray[np.uint8]) -> Float:
        """Map rows whose values were counted by `SortedColumns.places_of`: no search for each."""
        width = len(self.target_mean)
        knots, values = self.knots, self.values
        inward = min(_END, len(knots) - 1)
        rises = [
            values[:1] - values[[inward]],
            np.diff(values, axis=0),
            values[-1:] - values[[-1 - inward]],
        ]
        runs = [
            knots[:1] - knots[[inward]],
            np.diff(knots, axis=0),
            knots[-1:] - knots[[-1 - inward]],
        ]
        rise, run = np.concatenate(rises), np.concatenate(runs)
        slopes = np.divide(rise, run, out=np.zeros_like(rise), where=run != 0)
        matched = self.index >= 0
        column = np.where(matched, self.index, 0)
        # Place k is between knots k - 1 and k; the line of a place begins at the lower knot.
        place = np.take(places, column, axis=1).astype(np.intp)
        lower = np.maximum(place, 1)
        lower *= width
        place *= width
        for each in (place, lower):
            each += np.arange(width)
        lower -= width
        found: Float = np.take(np.asarray(rows, dtype=np.float64), column, axis=1)
        found -= knots.ravel()[lower]
        found *= slopes.ravel()[place]
        found += values.ravel()[lower]
        found[:, ~matched] = self.target_mean[~matched]
        return found

    def block_function(self) -> tuple[Statistic, tuple[Any, ...]]:
        """Return the function of a block of rows, for passes, and its params."""
        matched = np.flatnonzero(self.index >= 0)
        knots, values = self.knots[:, matched], self.values[:, matched]
        inward = min(_END, len(knots) - 1)
        # Beyond the ends, functions go on linearly.
        slopes = np.stack(
            [_slopes(knots, values, 0, inward), _slopes(knots, values, -1, -1 - inward)]
        )
        columns = np.full(len(self.index), len(matched), dtype=np.intp)
        columns[matched] = np.arange(len(matched))
        constant = np.where(self.index < 0, self.target_mean, 0.0)
        return _mapped_block, (self.index[matched], knots, values, slopes, columns, constant)

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


def _slopes(knots: Float, values: Float, end: int, inner: int) -> Float:
    run = knots[end] - knots[inner]
    rise = values[end] - values[inner]
    found: Float = np.divide(rise, run, out=np.zeros_like(run), where=run != 0)
    return found


class SortedColumns:
    """The columns of some rows, sorted once for every fit that they take part in.

    Parameters
    ----------
    rows
        Rows in memory.
    """

    def __init__(self, rows: Float) -> None:
        self._columns = np.ascontiguousarray(rows.T)
        self.n_rows = int(self._columns.shape[1])
        (order,) = compute(_order, self._columns)
        ordered = np.take_along_axis(self._columns, order, axis=1)
        self.tied = (np.diff(ordered, axis=1) == 0).any(axis=1)
        self.starts = _starts(self.n_rows)
        self.counts = np.diff(np.append(self.starts, self.n_rows)).astype(float)
        self.knots: Float = np.add.reduceat(ordered, self.starts, axis=1) / self.counts
        # Short numbers: every run of a comparison keeps these.
        self._order = order.astype(np.int32)
        self._ranks = _ranks(self._columns, order, self.tied)
        lengths = np.linalg.norm(self._ranks.astype(np.float64), axis=1)
        self._lengths = np.where(lengths > 0, lengths, 1.0)

    @property
    def rows(self) -> Float:
        """The rows."""
        return self._columns.T

    def correlation(self, other: SortedColumns, order: Index | None = None) -> Float:
        """Return the rank correlations with the columns of other rows, or of these reordered."""
        ranks = other._ranks if order is None else other._ranks[:, order]
        # Ranks are multiples of a half, so these sums are exact.
        found: Float = self._ranks.astype(np.float64) @ ranks.astype(np.float64).T
        found /= self._lengths[:, None]
        found /= other._lengths
        return found

    def means(self, sources: Index, others: Float) -> Float:
        """Return the means of others between the knots; row c follows column ``sources[c]``."""
        partners = np.take_along_axis(others, self._order[sources].astype(np.intp), axis=1)
        for tied in np.flatnonzero(self.tied[sources]):
            column = self._columns[sources[tied]]
            partners[tied] = _levelled(column[self._order[sources[tied]]], partners[tied])
        found: Float = np.add.reduceat(partners, self.starts, axis=1) / self.counts
        return found

    def places_of(self, rows: Float) -> NDArray[np.uint8]:
        """Return how many knots of its column are not above each value of some rows."""
        found = np.empty(rows.shape, dtype=np.uint8)
        for column, knots in enumerate(self.knots):
            found[:, column] = np.searchsorted(knots, rows[:, column], side="right")
        return found


def _order(xp: Any, columns: Any) -> Arrays:
    return (xp.argsort(columns, axis=1, stable=True),)


class MonotoneFit:
    """Fits of monotone maps between rows, which are sorted once.

    Parameters
    ----------
    source, target
        Paired rows in memory, or their sorted columns.
    """

    def __init__(self, source: Float | SortedColumns, target: Float | SortedColumns) -> None:
        self._source, self._target = (
            rows if isinstance(rows, SortedColumns) else SortedColumns(rows)
            for rows in (source, target)
        )
        self._correlation: Float | None = None

    def flipped(self) -> MonotoneFit:
        """Exchange source and target."""
        flipped = MonotoneFit(self._target, self._source)
        if self._correlation is not None:
            flipped._correlation = self._correlation.T
        return flipped

    @property
    def source(self) -> Float:
        """The rows of the source."""
        return self._source.rows

    @property
    def target(self) -> Float:
        """The rows of the target."""
        return self._target.rows

    @property
    def n_rows(self) -> int:
        """Number of row pairs."""
        return self._source.n_rows

    def fit(self, order: Index | None = None) -> MonotoneMap:
        """Match and fit; with `order`, to reordered target rows."""
        source, target = self._source, self.target
        if order is not None:
            target, correlation = target[order], source.correlation(self._target, order)
        else:
            correlation = self._correlated()
        gain = correlation**2 * target.var(axis=0)
        sources, targets = match(gain)
        index = np.full(target.shape[1], -1, dtype=np.intp)
        index[targets] = sources
        heights = source.means(sources, target.T[targets])
        places = source.knots[sources]
        rising = correlation[sources, targets] >= 0
        heights[~rising] *= -1.0
        heights = _increasing(heights, source.counts)
        heights[~rising] *= -1.0
        for tied in np.flatnonzero((np.diff(places, axis=1) == 0).any(axis=1)):
            heights[tied] = _levelled(places[tied], heights[tied], source.counts)
        knots = np.zeros((len(source.starts), target.shape[1]))
        values = knots.copy()
        knots[:, targets], values[:, targets] = places.T, heights.T
        return MonotoneMap(index=index, knots=knots, values=values, target_mean=target.mean(axis=0))

    def _correlated(self) -> Float:
        """Return the rank correlations, which are kept unless they are large."""
        if self._correlation is not None:
            return self._correlation
        found = self._source.correlation(self._target)
        if max(found.shape) < WIDEST_SIDE_BY_SIDE:
            self._correlation = found
        return found


def monotone_errors(
    engine: Engine,
    source: Any,
    target: Any,
    monotone: MonotoneMap,
    keep: NDArray[np.bool_] | None = None,
) -> Float:
    """Return the L2 error of every row (or every kept row), in one pass."""
    vectors = () if keep is None else (keep,)
    _, params = monotone.block_function()
    function = partial(_errors_of_block, selecting=keep is not None)
    errors: Float = engine.map_blocks(function, source, target, *vectors, params=params)
    return errors


def _mapped_block(
    xp: Any,
    x: Any,
    sources: Any,
    knots: Any,
    values: Any,
    slopes: Any,
    columns: Any,
    constant: Any,
) -> Arrays:
    places = xp.take(x, sources, axis=1)
    inside = xp.clip(places, knots[0, :], knots[-1, :])
    found = interpolate_columns(xp, inside, knots, values)
    beyond = places - inside
    found = found + xp.where(beyond < 0, slopes[0, :], slopes[1, :]) * beyond
    # One more column, of zeros, stands for coordinates without a partner.
    found = xp.concat([found, xp.zeros((x.shape[0], 1), dtype=found.dtype)], axis=1)
    return (xp.take(found, columns, axis=1) + constant,)


def _errors_of_block(xp: Any, x: Any, y: Any, *rest: Any, selecting: bool) -> Arrays:
    params = rest
    if selecting:
        keep, *params = rest  # type: ignore[assignment]
        x, y = x[keep], y[keep]
    residual = y - _mapped_block(xp, x, *params)[0]
    return (xp.sqrt(xp.linalg.vecdot(residual, residual)),)


def _ranks(columns: Float, order: Index, tied: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the centred ranks within each column; ties share a rank."""
    ranks = np.empty(columns.shape, dtype=np.float32)
    np.put_along_axis(ranks, order, np.arange(columns.shape[1], dtype=np.float32)[None], axis=1)
    if tied.any():
        # As scipy.stats.rankdata does, whose import takes a second.
        order = order[tied]
        shared = np.empty(order.shape, dtype=np.float32)
        np.put_along_axis(shared, order, _shared(np.take_along_axis(columns[tied], order, 1)), 1)
        ranks[tied] = shared
    ranks -= np.float32((columns.shape[1] - 1) / 2)
    return ranks


def _shared(ordered: Float) -> Float:
    """Return the mean place of the values equal to each, in ordered rows."""
    places = np.arange(ordered.shape[1])
    differs = ordered[:, 1:] != ordered[:, :-1]
    ends = np.ones((len(ordered), 1), dtype=bool)
    first = np.where(np.hstack([ends, differs]), places, 0)
    last = np.where(np.hstack([differs, ends]), places, places[-1])
    first = np.maximum.accumulate(first, axis=1)
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    return (first + last) / 2.0


def _increasing(heights: Float, weights: Float) -> Float:
    """Return the increasing rows with the smallest weighted squared distance to the given ones."""
    low = heights.min(axis=1, keepdims=True)
    spread = heights.max(axis=1, keepdims=True) - low
    # One regression for all rows: each is lifted above the one before, so none are pooled.
    lifted = (heights - low) / np.where(spread > 0, spread, 1.0)
    lifted += 2.0 * np.arange(len(heights))[:, None]
    weights = np.tile(weights, len(heights))
    blocks = scipy.optimize.isotonic_regression(lifted.ravel(), weights=weights).blocks
    starts = blocks[:-1]
    means = np.add.reduceat(heights.ravel() * weights, starts) / np.add.reduceat(weights, starts)
    found: Float = np.repeat(means, np.diff(blocks)).reshape(heights.shape)
    return found


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
