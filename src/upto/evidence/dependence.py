"""Rows that say less than they are many: near copies, and rows that follow each other in time.

Only what all runs share breaks a test of their relation: rows that are close, or follow each other,
in one run alone are left as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core.arrays import Float, Index
from upto.evidence.memory import Memory, fit_coefficients
from upto.evidence.serial import clear_autocorrelation, clearest, leading
from upto.evidence.split import RowKeys, take_rows
from upto.evidence.strata import class_means
from upto.measures import squared_distances

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.engines.base import Engine


LOOKED_AT, ANCHORS = 4096, 256
"""Rows among which near copies are looked for, and of how many of them."""
GROUPED = 20_000
"""Most rows that are sorted into groups of near copies."""
FOLLOWING = 4096
"""Rows whose neighbours are looked at, from the first on."""
_NEIGHBOURS = (8, 32)
"""Neighbours from whose distance the density is taken: at least, and at most."""
_CLOSE, _SUSPECT = 1e-4, 1e-2
"""Chance of a neighbour so close, by the density around it, below which it is a near copy: where
none is known of, and where some are."""
_GAP = 1e-5
"""The same of a gap between neighbours where no copies are known of: clumps have some as well."""
_FEWEST, _OFTEN, _OFTEN_BY_GAP = 5, 0.05, 0.1
"""Rows with a near copy, and their share, from which on near copies are a matter: by density, and
by gaps too."""
_SPARSE = 0.7
"""Share of values that are the median of their coordinate above which rows count as sparse."""
_FEWEST_IN_ORDER = 20
"""Fewer rows than this show no memory."""
_BLOCK_BYTES = 2**26


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NearCopies:
    """Near copies among the rows: `units` numbers what is a copy of what, where it was sorted.

    `share` is the share of the rows looked at that have a near copy among these.
    """

    share: float
    units: Index | None


@dataclass(frozen=True, slots=True, eq=False)
class _Closeness:
    """How close is too close, by the distance to the k-th neighbour in so many dimensions."""

    n_neighbours: int
    dimension: float

    def pairs(self, distances: Float, own: Index, *, known: bool) -> tuple[Index, Index]:
        """Return rows of a block and the columns too close to them."""
        by_density, by_gap = self.radii(_neighbours(distances, own, self.n_neighbours), known=known)
        rows, columns = np.nonzero(distances < np.maximum(by_density, by_gap)[:, None])
        return rows, columns

    def radii(self, near: Float, *, known: bool) -> tuple[Float, Float]:
        """Return within which distance of rows others are too close, by density and by a gap.

        Unless near copies are known of, rows with fewer dimensions around them are doubted: those
        of a broad direction lie along a line where they are few.
        """
        dimension, chance, of_gap = np.full(len(near), self.dimension), _SUSPECT, _SUSPECT
        if not known:
            dimension = np.minimum(_dimension(near), dimension)
            chance, of_gap = _CLOSE, _GAP
        by_density: Float = (chance / self.n_neighbours) ** (1.0 / dimension) * near[:, -1]
        return by_density, _within_gap(near, dimension, of_gap)


def _within_gap(near: Float, dimension: Float, chance: float) -> Float:
    """Return a distance within the gap after the nearest rows that density does not explain, or 0.

    Of independent rows, the j-th distance over the next is below x with a chance of x to the power
    j times the dimension: several copies of a row are told from others where one alone is not.
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

    Near copies are rows that are close in every run. Where some of the first rows are, all rows are
    sorted into groups, unless there are too many. Groups are to keep copies together and take in
    what is rather close as well, unless `only_sure` is asked for, as to count them.
    """
    n_samples = len(keys.order)
    if not keys.copied:
        # Rows of few values lie on a lattice: their distances say nothing about copies.
        return None
    first = np.unique(keys.equal[keys.order], return_index=True)[1]
    distinct = keys.order[np.sort(first)]
    if len(distinct) < 4 * _FEWEST:
        return None
    looked_at = distinct[:LOOKED_AT]
    samples = [take_rows(engine, rows, looked_at) for rows in runs]
    if any(_is_sparse(sample) for sample in samples):
        return None
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
        samples = [take_rows(engine, rows, distinct) for rows in runs]
    units = np.empty(n_samples, dtype=np.intp)
    # Equal rows are copies as well: they follow the one that was looked at.
    of_distinct = np.empty(len(distinct), dtype=np.intp)
    # Where few rows have a copy, most rows that are rather close have none.
    known = share >= _OFTEN_BY_GAP and not only_sure
    of_distinct[keys.equal[distinct]] = _grouped(samples, scales, closeness, known=known)
    units[:] = of_distinct[keys.equal]
    return NearCopies(share=share, units=units)


def _is_sparse(sample: Float) -> bool:
    """Say whether most values are those that others of their coordinate have, as zeros are.

    Rows of few values other than zero lie close to each other where these happen to be small.
    """
    some = sample[:ANCHORS]
    return float(np.mean(some == np.median(some, axis=0))) > _SPARSE


def _scale(sample: Float) -> float:
    spread = float(np.sqrt(np.mean((sample - sample.mean(axis=0)) ** 2) * sample.shape[1]))
    return spread if spread > 0 else 1.0


def _distances(samples: Sequence[Float], scales: Sequence[float], rows: Index) -> Float:
    """Return the largest distance over the runs, each over its spread, of some rows to all."""
    found = None
    for sample, scale in zip(samples, scales, strict=True):
        centred = (sample - sample.mean(axis=0)) / scale
        own = np.sqrt(np.maximum(squared_distances(centred[rows], centred), 0.0))
        found = own if found is None else np.maximum(found, own)
    return np.asarray(found)


def _closeness(near: Float) -> _Closeness | None:
    """Learn from distances how many there are within a radius: a power of it, locally.

    The power is the dimension in which rows lie. It is taken between neighbours beyond the copies
    that are looked for, and not from the nearest ones.
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
    found: Float = np.sort(np.partition(distances, k - 1, axis=1)[:, :k], axis=1)
    return found


def _dimension(near: Float) -> Float:
    """Return the power of the distance by which neighbours become twice as many."""
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
    """Return what rows keep of the rows before them, where those of every run do.

    Parameters
    ----------
    engine, runs
        The runs and where they live.
    units
        What each row is a copy of: the first of each is looked at. Every row by default.
    classes
        Class of each row, if known: rows of a class that stand together do not depend on each
        other for it.

    Returns
    -------
    The memory that all runs have in common, or None where some run shows none beyond chance.
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
