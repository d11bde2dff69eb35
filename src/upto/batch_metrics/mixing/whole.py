"""Scores of the whole embedding: graph connectivity, regression on batches, k-means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csgraph
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from upto.batch_metrics.mixing.points import Grouping, Points, UndefinedScoreError
from upto.core import random_stream

if TYPE_CHECKING:
    from upto.batch_metrics.mixing.nearest_rows import Neighbours
    from upto.core.array_types import Float, Index

STARTS = 3
"""Restarts of k-means; the best is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAgreement:
    """Agreement of clusters with labels.

    Parameters
    ----------
    nmi
        Mutual information over the mean of the two entropies.
    ari
        The adjusted Rand index: 0 for random clusters, 1 for the labels.

    See Also
    --------
    kmeans_agreement : Returns it.
    """

    nmi: float
    ari: float


def connectivity(points: Points, near: Neighbours, labels: Grouping) -> float:
    """Return the fraction of rows in the largest connected component, averaged over labels.

    Rows are connected if each can be reached from the other through neighbours of their label.
    Equal rows are neighbours of each other, so points represent them.
    """
    graph = near.matrix(np.ones(len(near.owners)))
    members = points.members(labels.codes, labels.n_groups).tocsc()
    shares = []
    for label in range(labels.n_groups):
        column = members[:, [label]].tocoo()
        part = graph[column.row][:, column.row]
        _, part_of = csgraph.connected_components(part, directed=True, connection="strong")
        sizes = np.bincount(part_of, weights=column.data)
        shares.append(sizes.max() / sizes.sum())
    return float(np.mean(shares))


def explained_by(rows: Float, codes: Index | Grouping) -> float:
    """Return the fraction of the variance of rows that lies between groups.

    This equals principal component regression on all components: squared correlations, weighted by
    each component's fraction of the variance.
    """
    groups = codes.codes if isinstance(codes, Grouping) else codes
    centred = rows - rows.mean(axis=0)
    total = float(np.einsum("ij,ij->", centred, centred))
    if total == 0.0:
        message = "All rows are equal: there is no variance to explain."
        raise UndefinedScoreError(message)
    sizes = np.bincount(groups)
    sums = np.zeros((len(sizes), rows.shape[1]))
    np.add.at(sums, groups, centred)
    between = float(np.einsum("ij,ij->", sums, sums / np.maximum(sizes, 1)[:, None]))
    return between / total


def removed(before: float, after: float) -> float:
    """Return the fraction of explained variance that was removed, zero if it grew."""
    if before <= 0.0:
        message = "Batches explain no variance before: there was nothing to remove."
        raise UndefinedScoreError(message)
    return max(0.0, (before - after) / before)


def agreement(rows: Float, n_points: int, labels: Grouping, seed: int) -> ClusterAgreement:
    """Compare labels with as many k-means clusters."""
    if labels.n_groups < 2:
        message = "There is one label: clusters cannot agree with it."
        raise UndefinedScoreError(message)
    clusters = KMeans(
        n_clusters=min(labels.n_groups, n_points),
        n_init=STARTS,
        random_state=int(random_stream(seed, "mixing", "k-means").integers(2**31)),
    ).fit_predict(rows - rows.mean(axis=0))
    return ClusterAgreement(
        nmi=float(normalized_mutual_info_score(labels.codes, clusters)),
        ari=float(adjusted_rand_score(labels.codes, clusters)),
    )
