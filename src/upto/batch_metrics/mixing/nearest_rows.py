"""Nearest rows of every row, with ties for the last places shared.

The first of the k nearest rows is the row itself. If more rows tie at one distance than places are
left, each gets an equal share of a place: the average over random tie-breaking.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from upto.batch_metrics.mixing.points import BLOCK_VALUES, DistanceBlock, distance_blocks
from upto.core.array_types import Float, Index

TIES = 1e-10
"""Relative difference below which distances count as equal."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Neighbours:
    """Neighbours of every point, nearest first.

    Parameters
    ----------
    k
        Number of neighbours of a row, itself included.
    counts
        Number of rows at each point.
    starts
        Offset of the first neighbour of each point.
    owners, points
        The point each entry belongs to, and its neighbour.
    distances
        Distances between them.
    shares
        Share of a place of each row of the neighbour; one except for ties.
    """

    k: int
    counts: Index
    starts: Index
    owners: Index
    points: Index
    distances: Float
    shares: Float

    @property
    def is_own(self) -> Any:
        """Mask of entries from a point to itself."""
        return self.owners == self.points

    @property
    def places(self) -> Float:
        """Number of places that the rows of an entry fill, without the row itself."""
        places: Float = self.shares * (self.counts[self.points] - self.is_own)
        return places

    def matrix(self, values: Float) -> Any:
        """Return one value per entry as a sparse matrix over points."""
        shape = (len(self.counts), len(self.counts))
        return sparse.csr_matrix((values, (self.owners, self.points)), shape=shape)

    def own(self, values: Float) -> Float:
        """Return the value of each point's entry to itself, or zero."""
        found = np.zeros(len(self.counts))
        found[self.owners[self.is_own]] = values[self.is_own]
        return found

    def nearest(self, k: int) -> Neighbours:
        """Return the k nearest of these neighbours."""
        counts = self.counts[self.points] - self.is_own
        rings = _rings(self.owners, self.distances, TIES)
        return _fill(self, counts, rings, min(k, self.k))


class NeighbourSearch:
    """Collector of neighbours from blocks of distances."""

    def __init__(self, values: Float, counts: Index, k: int, *, ties: float = TIES) -> None:
        self.values = values
        self.counts = counts
        self.k = min(k, int(counts.sum()))
        self.ties = ties
        self._found: list[tuple[Index, Index, Float]] = []

    def take(self, block: DistanceBlock) -> None:
        """Keep the candidates of a block."""
        squared = block.squared
        assert squared is not None
        last = min(self.k, len(self.counts)) - 1
        limit = np.partition(squared, last, axis=1)[:, last] + block.doubt
        local, points = np.nonzero(squared <= limit[:, None])
        owners = local + block.points.start
        self._found.append((owners, points, self._distances(owners, points)))

    def _distances(self, owners: Index, points: Index) -> Float:
        # Matrix products lose small distances between large rows, so these are recomputed.
        found = np.empty(len(owners))
        step = max(1, BLOCK_VALUES // self.values.shape[1])
        for start in range(0, len(owners), step):
            some = slice(start, start + step)
            difference = self.values[owners[some]]
            difference -= self.values[points[some]]
            found[some] = np.sqrt(np.einsum("ij,ij->i", difference, difference))
        return found

    def finish(self) -> Neighbours:
        """Return the neighbours of all points."""
        owners, points, distances = (
            np.concatenate(parts) for parts in zip(*self._found, strict=False)
        )
        order = np.lexsort((points, distances, owners))
        candidates = Neighbours(
            k=self.k,
            counts=self.counts,
            starts=np.empty(0, dtype=np.intp),
            owners=owners[order],
            points=points[order],
            distances=distances[order],
            shares=np.ones(len(order)),
        )
        counts = self.counts[candidates.points] - candidates.is_own
        rings = _rings(candidates.owners, candidates.distances, self.ties)
        return _fill(candidates, counts, rings, self.k)


def find_neighbours(values: Float, counts: Index, k: int, *, ties: float = TIES) -> Neighbours:
    """Return the nearest rows of every point."""
    search = NeighbourSearch(values, counts, k, ties=ties)
    for block in distance_blocks(values, metric="euclidean"):
        search.take(block)
    return search.finish()


def _rings(owners: Index, distances: Float, ties: float) -> Index:
    """Return codes of the sets of entries at one distance from one owner."""
    is_new = np.ones(len(owners), dtype=bool)
    farther = distances[1:] > distances[:-1] * (1.0 + ties)
    is_new[1:] = (owners[1:] != owners[:-1]) | farther
    return np.cumsum(is_new) - 1


def _fill(found: Neighbours, counts: Index, rings: Index, k: int) -> Neighbours:
    """Assign k - 1 places to the rows of rings, nearest ring first."""
    sizes = np.bincount(rings, weights=counts)
    first = np.flatnonzero(np.diff(rings, prepend=-1))
    owner_of_ring = found.owners[first]
    before = np.cumsum(sizes) - sizes
    is_first = np.diff(owner_of_ring, prepend=-1) > 0
    before -= before[np.maximum.accumulate(np.where(is_first, np.arange(len(sizes)), 0))]
    share = np.divide(k - 1 - before, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    shares = np.clip(share, 0.0, 1.0)[rings]
    kept = shares > 0.0
    owners = found.owners[kept]
    return Neighbours(
        k=k,
        counts=found.counts,
        starts=np.searchsorted(owners, np.arange(len(found.counts))),
        owners=owners,
        points=found.points[kept],
        distances=found.distances[kept],
        shares=shares[kept],
    )
