"""The k-nearest-neighbour batch effect test, within each label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csgraph
from scipy.stats import chi2

from upto.batch_metrics.mixing.diffusion import connectivities, diffusion_map
from upto.batch_metrics.mixing.nearest_rows import Neighbours, find_neighbours
from upto.batch_metrics.mixing.points import Grouping, Points, UndefinedScoreError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core.array_types import Float

MIN_ROWS = 10
_TIES = 1e-7


def acceptance(
    points: Points,
    near: Neighbours,
    batches: Grouping,
    labels: Grouping,
    *,
    alpha: float = 0.05,
    n_components: int = 100,
) -> float:
    """Return the acceptance rate of kBET, averaged over labels.

    Labels with fewer than ten rows or only one batch are left out. Neighbours are the nearest rows
    of the label by diffusion distance.
    """
    graph = connectivities(near)
    scores = []
    for label in range(labels.n_groups):
        rows = np.flatnonzero(labels.codes == label)
        members = np.zeros((points.n_points, batches.n_groups))
        np.add.at(members, (points.of_row[rows], batches.codes[rows]), 1.0)
        present = np.flatnonzero(members.any(axis=1))
        members = members[present]
        members = members[:, members.any(axis=0)]
        if len(rows) >= MIN_ROWS and members.shape[1] > 1:
            part = graph[present][:, present].tocsr()
            scores.append(_accepted(part, members, alpha, n_components))
    if not scores:
        message = f"No label has {MIN_ROWS} rows and two batches."
        raise UndefinedScoreError(message)
    return float(np.mean(scores))


def accepts(near: Neighbours, members: Float) -> Float:
    """Return p-values of the batches among a row and its neighbours, per point and batch.

    Parameters
    ----------
    near
        Neighbours of points.
    members
        Number of rows of each batch at each point.
    """
    expected = members.sum(axis=0) / members.sum() * near.k
    around = near.matrix(near.shares) @ members
    # A row is its own first neighbour, whatever the share of its duplicates.
    own = 1.0 - near.own(near.shares)
    p_values = np.empty(members.shape)
    for batch in range(members.shape[1]):
        observed = around.copy()
        observed[:, batch] += own
        statistic = ((observed - expected) ** 2 / expected).sum(axis=1)
        p_values[:, batch] = chi2.sf(statistic, members.shape[1] - 1)
    return p_values


def _accepted(graph: Any, members: Float, alpha: float, n_components: int) -> float:
    counts: NDArray[np.intp] = members.sum(axis=1).astype(np.intp)
    n_samples = int(counts.sum())
    k = min(70, max(10, int(n_samples / members.shape[1] // 4)))
    n_parts, part_of = csgraph.connected_components(graph, directed=False)
    if n_parts > 1:
        large = np.flatnonzero(np.bincount(part_of, weights=counts) >= 3 * k)
        kept = np.flatnonzero(np.isin(part_of, large))
        if counts[kept].sum() < 0.75 * n_samples:
            return 0.0
        graph, members, counts = graph[kept][:, kept], members[kept], counts[kept]
        members = members[:, members.any(axis=0)]
        if members.shape[1] < 2:
            return 0.0
        n_samples = int(counts.sum())
    coordinates = diffusion_map(graph, counts, min(n_components, n_samples - 1))
    near = find_neighbours(coordinates, counts, k + 1, ties=_TIES)
    is_accepted = accepts(near, members) >= alpha
    return float((members * is_accepted).sum() / n_samples)
