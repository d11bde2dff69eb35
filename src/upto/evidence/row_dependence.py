"""Dependence between rows: near copies, and serial dependence.

Only dependence shared by all runs invalidates a test of their relation: rows that are close, or
serially dependent, in one run alone are kept unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core.array_types import Float, Index
from upto.evidence.memory import Memory, fit_coefficients
from upto.evidence.serial import clear_autocorrelation, clearest, leading
from upto.evidence.split import RowKeys, take_rows
from upto.evidence.strata import class_means
from upto.measures import squared_distances

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.engines.base import Engine


LOOKED_AT, ANCHORS = 4096, 256
"""Rows searched for near copies, and the number of them whose neighbours are computed."""
GROUPED = 20_000
"""Largest number of rows that are grouped into near copies."""
FOLLOWING = 4096
"""Leading rows tested for serial dependence."""
_NEIGHBOURS = (8, 32)
"""Smallest and largest number of neighbours the density is estimated from."""
_CLOSE, _SUSPECT = 1e-4, 1e-2
"""Chance, given the local density, of so close a neighbour below which it is a near copy: without
and with other evidence of near copies."""
_GAP = 1e-5
"""The same for a gap between neighbours, without other evidence: clusters have gaps too."""
_FEWEST, _OFTEN, _OFTEN_BY_GAP = 5, 0.05, 0.1
"""Smallest number and fraction of rows with a near copy to report them: by density, and also by
gaps."""
_SPARSE = 0.7
"""Fraction of values equal to the median of their coordinate above which rows are sparse."""
_FEWEST_IN_ORDER = 20
"""Smallest number of rows to test for serial dependence."""
_BLOCK_BYTES = 2**26


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NearCopies:
    """Near copies among the rows.

    `share` is the fraction of the sampled rows with a near copy in the sample; `units` numbers the
    groups of copies by row, None if there were too many rows to group.
    """

    share: float
    units: Index | None


@dataclass(frozen=True, slots=True, eq=False)
class _Closeness:
    """Radius of near copies, from the distance to the k-th neighbour and the dimension."""

    n_neighbours: int
    dimension: float

    def pairs(self, distances: Float, own: Index, *, known: bool) -> tuple[Index, Index]:
        """Return the rows of a block and the columns too close to them."""
        by_density, by_gap = self.radii(_neighbours(distances, own, self.n_neighbours), known=known)
        rows, columns = np.nonzero(distances < np.maximum(by_density, by_gap)[:, None])
        return rows, columns

    def radii(self, near: Float, *, known: bool) -> tuple[Float, Float]:
        """Return the radii within which rows are too close, by density and by a gap.

        Without other evidence of near copies, a lower local dimension is used where found: rows
        along a broad direction lie on a line where they are sparse.
        """
        dimension, chance, of_gap = np.full(len(near), self.dimension), _SUSPECT, _SUSPECT
        if not known:
            dimension = np.minimum(_dimension(near), dimension)
            chance, of_gap = _CLOSE, _GAP
        by_density: Float = (chance / self.n_neighbours) ** (1.0 / dimension) * near[:, -1]
        return by_density, _within_gap(near, dimension, of_gap)


def _within_gap(near: Float, dimension: Float, chance: float) -> Float:
    """Return a distance inside a gap after the nearest rows that density cannot explain, or 0.

    For independent rows, the ratio of the j-th distance to the next is below x with probability
    x^(j · dimension): several copies of a row are detectable where a single one is not.
    """
    half = near.shape[1] // 2
    steps = np.log(np.maximum(near[:, : half + 1], np.finfo(float).tiny))
    surprise = np.diff(steps, axis=1) * np.arange(1, half + 1) * dimension[:, None]
    every, place = np.arange(len(near)), np.argmax(surprise, axis=1)
    middle = np.exp((steps[every, place] + steps[every, place + 1]) / 2)
    return np.where(surprise[every, place] > np.log(half / chance), middle, 0.0)


def find_near_copies(
    engine: Engine, runs: Sequence[Any], keys: RowKeys, *, only_sure: bool = False
) -> NearCopies | None:
    """Find rows whose nearest neighbour is far closer than the density around them explains.

    Near copies are close in every run. If the sampled rows have some, all rows are grouped, unless
    there are too many. Groups keep copies together, so they include rows that are only fairly
    close; `only_sure` excludes those, e.g. to count copies.
    """
    n_samples = len(keys.order)
    if not keys.copied:
        # Rows with few distinct values lie on a lattice, where distances do not reveal copies.
        return None
    # Equal rows follow each other.
    distinct = keys.order[np.diff(keys.equal[keys.order], prepend=-1) != 0]
    if len(distinct) < 4 * _FEWEST:
        return None
    looked_at = distinct[:LOOKED_AT]
    samples = [take_rows(engine, rows, looked_at) for rows in runs]
    if any(_is_sparse(sample) for sample in samples):
        return None
    centres = [sample.mean(axis=0) for sample in samples]
    for sample, centre in zip(samples, centres, strict=True):
        sample -= centre
    scales = [_scale(sample) for sample in samples]
    anchors = np.arange(min(ANCHORS, len(looked_at)))
    distances = _distances(samples, scales, anchors)
    near = _neighbours(distances, anchors, int(np.clip(len(looked_at) // 16, *_NEIGHBOURS)))
    closeness = _closeness(near)
    if closeness is None:
        return None
    by_density, by_gap = closeness.radii(near, known=False)
    close = near[:, 0] < by_density
    either = close | (near[:, 0] < by_gap)
    share = float(either.mean())
    if either.sum() < _FEWEST or (close.mean() < _OFTEN and share < _OFTEN_BY_GAP):
        return None
    if len(distinct) > GROUPED:
        return NearCopies(share=share, units=None)
    if len(distinct) > len(looked_at):
        samples = [
            take_rows(engine, rows, distinct) - centre
            for rows, centre in zip(runs, centres, strict=True)
        ]
    units = np.empty(n_samples, dtype=np.intp)
    # Equal rows are copies as well: they join the group of the row that was compared.
    of_distinct = np.empty(len(distinct), dtype=np.intp)
    # If few rows have a copy, most fairly close rows are not copies.
    known = share >= _OFTEN_BY_GAP and not only_sure
    of_distinct[keys.equal[distinct]] = _grouped(samples, scales, closeness, known=known)
    units[:] = of_distinct[keys.equal]
    return NearCopies(share=share, units=units)


def _is_sparse(sample: Float) -> bool:
    """Return whether most values equal the median of their coordinate, e.g. zero.

    Rows with few non-zero values are close to each other where these happen to be small.
    """
    some = sample[:ANCHORS]
    return float(np.mean(some == np.median(some, axis=0))) > _SPARSE


def _scale(centred: Float) -> float:
    spread = float(np.sqrt(np.vdot(centred, centred) / len(centred)))
    return spread if spread > 0 else 1.0


def _distances(samples: Sequence[Float], scales: Sequence[float], rows: Index) -> Float:
    """Return distances of some rows to all, scaled by the spread; the largest over the runs."""
    found = None
    for sample, scale in zip(samples, scales, strict=True):
        own = np.sqrt(squared_distances(sample[rows], sample)) / scale
        found = own if found is None else np.maximum(found, own)
    return np.asarray(found)


def _closeness(near: Float) -> _Closeness | None:
    """Estimate the local dimension: the number of rows within a radius grows as its power.

    It is estimated from farther neighbours, because the nearest may be the copies in question.
    """
    k = near.shape[1]
    inner, outer = near[:, k // 2 - 1], near[:, -1]
    usable = (inner > 0) & (outer > inner)
    if usable.sum() < _FEWEST:
        return None
    return _Closeness(k, float(np.median(_dimension(near[usable]))))


def _neighbours(distances: Float, own: Index, k: int) -> Float:
    """Return the distances to the nearest neighbours up to the k-th, in order."""
    distances[np.arange(len(own)), own] = np.inf
    return np.sort(np.partition(distances, k - 1, axis=1)[:, :k], axis=1)


def _dimension(near: Float) -> Float:
    """Return the local dimension, from the distances to the k/2-th and the k-th neighbour."""
    k, tiny = near.shape[1], np.finfo(float).tiny
    inner, outer = near[:, k // 2 - 1], near[:, -1]
    growth = np.log(np.maximum(outer, tiny) / np.maximum(inner, tiny))
    found: Float = np.maximum(np.log(k / (k // 2)) / np.maximum(growth, 1e-9), 0.5)
    return found


def _grouped(
    samples: Sequence[Float], scales: Sequence[float], closeness: _Closeness, *, known: bool
) -> Index:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n_rows = len(samples[0])
    block = max(1, _BLOCK_BYTES // (8 * n_rows))
    left, right = [], []
    for start in range(0, n_rows, block):
        own = np.arange(start, min(start + block, n_rows))
        rows, columns = closeness.pairs(_distances(samples, scales, own), own, known=known)
        left.append(own[rows])
        right.append(columns)
    i, j = np.concatenate(left), np.concatenate(right)
    links = coo_array((np.ones(len(i), dtype=bool), (i, j)), shape=(n_rows, n_rows))
    labels: Index = connected_components(links, directed=False)[1].astype(np.intp)
    return labels


def find_memory(
    engine: Engine, runs: Sequence[Any], *, units: Index | None = None, classes: Index | None = None
) -> Memory | None:
    """Fit the serial dependence of rows, if every run has one.

    Parameters
    ----------
    engine, runs
        The engine and the runs placed on it.
    units
        Group of copies of each row; only the first row of each is used. All rows by default.
    classes
        Class of each row, if known: class means are removed, as neighbours of the same class are
        not dependent for that reason.

    Returns
    -------
    The autoregression shared by all runs, or None if some run shows none beyond chance.
    """
    index = np.arange(int(runs[0].shape[0]))
    if units is not None:
        index = np.sort(np.unique(units, return_index=True)[1])
    index = index[:FOLLOWING]
    if len(index) < _FEWEST_IN_ORDER:
        return None
    found, series = [], list[Float]()
    for rows in runs:
        sample = take_rows(engine, rows, index)
        if classes is not None:
            sample = sample - class_means(sample, classes[index])
        scores = leading(sample)
        clear = clear_autocorrelation(scores)
        if not clear.any():
            return None
        found.append(clearest(clear))
        series.extend(scores[:, clear.any(axis=0)].T)
    correlation, lag = max(found, key=lambda each: abs(each[0]))
    return Memory(
        correlation=float(np.clip(correlation, -1.0, 1.0)),
        lag=lag,
        coefficients=fit_coefficients(series, len(clear)),
    )
