"""The nearest rows of every row, where rows that tie for the last places share them.

Of the k nearest rows of a row the first is the row itself. Rows at one distance that are more than
the places left have each an equal share of a place: what random choices among them give on average.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from upto.batch_metrics.mixing.points import BLOCK_VALUES, DistanceBlock, distance_blocks
from upto.core.array_types import Float, Index

TIES = 1e-10
"""Distances that differ by less, relatively, are equal."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Neighbours:
    """For every point the points around it, the nearest first.

    Parameters
    ----------
    k
        How many rows are the neighbours of a row, itself included.
    counts
        How many rows each point stands for.
    starts
        Where the neighbours of each point begin.
    owners, points
        Whose neighbour, and which point.
    distances
        How far they are apart.
    shares
        The share of a place that each row of the point has; one but for those that tie.
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
        """Whether an entry is of a point to itself."""
        return self.owners == self.points

    @property
    def places(self) -> Float:
        """How many places the rows of an entry fill, the row itself left out."""
        places: Float = self.shares * (self.counts[self.points] - self.is_own)
        return places

    def matrix(self, values: Float) -> Any:
        """Return a value for each entry as a sparse matrix of points."""
        shape = (len(self.counts), len(self.counts))
        return sparse.csr_matrix((values, (self.owners, self.points)), shape=shape)

    def own(self, values: Float) -> Float:
        """Return for each point its value of the entry to itself, or zero."""
        found = np.zeros(len(self.counts))
        found[self.owners[self.is_own]] = values[self.is_own]
        return found

    def nearest(self, k: int) -> Neighbours:
        """Return fewer neighbours."""
        counts = self.counts[self.points] - self.is_own
        rings = _rings(self.owners, self.distances, TIES)
        return _fill(self, counts, rings, min(k, self.k))


class NeighbourSearch:
    """Collects neighbours from blocks of distances."""

    def __init__(self, values: Float, counts: Index, k: int, *, ties: float = TIES) -> None:
        self.values = values
        self.counts = counts
        self.k = min(k, int(counts.sum()))
        self.ties = ties
        self._found: list[tuple[Index, Index, Float]] = []

    def take(self, block: DistanceBlock) -> None:
        """Keep whatever may be among the nearest."""
        squared = block.squared
        assert squared is not None
        last = min(self.k, len(self.counts)) - 1
        limit = np.partition(squared, last, axis=1)[:, last] + block.doubt
        local, points = np.nonzero(squared <= limit[:, None])
        owners = local + block.points.start
        self._found.append((owners, points, self._distances(owners, points)))

    def _distances(self, owners: Index, points: Index) -> Float:
        # A product of matrices loses small distances between large rows: these decide.
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
    """Return numbers of the sets of entries of one owner at one distance."""
    is_new = np.ones(len(owners), dtype=bool)
    farther = distances[1:] > distances[:-1] * (1.0 + ties)
    is_new[1:] = (owners[1:] != owners[:-1]) | farther
    rings: Index = np.cumsum(is_new) - 1
    return rings


def _fill(found: Neighbours, counts: Index, rings: Index, k: int) -> Neighbours:
    """Give out k - 1 places to the rows of rings, from the nearest ring on."""
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
