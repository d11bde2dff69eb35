"""Statistics of rows that the mixing scores share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from upto.batch_metrics.mixing import kbet, lisi, whole
from upto.batch_metrics.mixing.nearest_rows import NeighbourSearch
from upto.batch_metrics.mixing.points import (
    UndefinedScoreError,
    as_codes,
    as_rows,
    distance_blocks,
    find_points,
    within,
)
from upto.batch_metrics.mixing.silhouettes import SilhouetteSums
from upto.core import InputError
from upto.core.cached import cached_property

if TYPE_CHECKING:
    from collections.abc import Collection

Needs = Literal["near", "by_label", "by_batch", "by_angle"]
"""Statistics of all distances: neighbours, or sums for silhouettes."""
LISI_NEIGHBOURS, KBET_NEIGHBOURS, GRAPH_NEIGHBOURS = 90, 50, 15
"""Numbers of neighbours, the row itself included, as in scib-metrics' benchmark."""


class MixingView:
    """Statistics of rows for the scores, each computed once."""

    def __init__(
        self,
        rows: Any,
        batches: Any,
        labels: Any,
        before: Any,
        needs: Collection[Needs | None],
        seed: int,
    ) -> None:
        values = as_rows(rows)
        codes = (
            as_codes(labels, len(values), what="labels"),
            as_codes(batches, len(values), what="batches"),
        )
        self.points, (self.labels, self.batches) = find_points(values, *codes)
        self.nested, self.outer = within(self.labels, self.batches)
        self.rows = values[self.points.order]
        self.before = None
        if before is not None:
            earlier = as_rows(before, what="the array of rows before")
            if len(earlier) != len(values):
                message = f"there are {len(earlier)} rows before and {len(values)} rows now."
                raise InputError(message)
            self.before = earlier[self.points.order]
        self.seed = seed
        self._look(needs)

    def _look(self, needs: Collection[Needs | None]) -> None:
        """Compute what the scores need in one pass over all distances."""
        points, flat = self.points, np.zeros(self.labels.n_groups, dtype=np.intp)
        search, cosine, euclidean = None, [], []
        if "near" in needs:
            search = NeighbourSearch(points.values, points.counts, LISI_NEIGHBOURS)
        if "by_label" in needs:
            self.by_label = SilhouetteSums(points, self.labels, flat, "nearest")
            euclidean.append(self.by_label)
        if "by_batch" in needs:
            self.by_batch = SilhouetteSums(points, self.nested, self.outer, "nearest")
            euclidean.append(self.by_batch)
        if "by_angle" in needs:
            self.by_angle = SilhouetteSums(points, self.nested, self.outer, "mean-other")
            cosine.append(self.by_angle)
        if not (search or euclidean or cosine):
            return
        metric = None if cosine else "euclidean"
        for block in distance_blocks(points.values, metric=metric):  # type: ignore[arg-type]
            if search:
                search.take(block)
            for sums in cosine:
                assert block.cosine is not None
                sums.take(block.points, block.cosine)
            if euclidean:
                assert block.squared is not None
                distances = np.sqrt(block.squared, out=block.squared)
                for sums in euclidean:
                    sums.take(block.points, distances)
        if search:
            self.near = search.finish()

    @cached_property
    def clusters(self) -> whole.ClusterAgreement:
        """Agreement of k-means clusters with the labels."""
        return whole.agreement(self.rows, self.points.n_points, self.labels, self.seed)

    def several_batches(self) -> None:
        """Raise an error if there is only one batch."""
        if self.batches.n_groups < 2:
            message = "There is one batch: mixing needs two."
            raise UndefinedScoreError(message)

    def pcr(self) -> float:
        """Return the fraction of batch variance that a correction removed."""
        self.several_batches()
        if self.before is None:
            message = "Rows before the correction are missing: pass them to compare with."
            raise UndefinedScoreError(message)
        first = whole.explained_by(self.before, self.batches)
        return whole.removed(first, whole.explained_by(self.rows, self.batches))

    def kbet(self) -> float:
        """Return the fraction of neighbourhoods that are random samples of batches."""
        self.several_batches()
        near = self.near.nearest(KBET_NEIGHBOURS)
        return kbet.acceptance(self.points, near, self.batches, self.labels)

    def connectivity(self) -> float:
        """Return the fraction of rows that the neighbour graph connects to their label."""
        return whole.connectivity(self.points, self.near.nearest(GRAPH_NEIGHBOURS), self.labels)

    def lisi(self, side: str) -> float:
        """Return the scaled number of batches or labels around rows."""
        near = self.near.nearest(LISI_NEIGHBOURS)
        if side == "batch":
            self.several_batches()
            inverse = lisi.inverse_simpson(self.points, near, self.batches)
            return lisi.scaled_ilisi(inverse, self.batches)
        inverse = lisi.inverse_simpson(self.points, near, self.labels)
        return lisi.scaled_clisi(inverse, self.labels)
