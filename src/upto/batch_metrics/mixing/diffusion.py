"""Diffusion distances on the neighbour graph, from which kBET takes its neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import eigsh

if TYPE_CHECKING:
    from upto.batch_metrics.mixing.nearest_rows import Neighbours
    from upto.core.array_types import Float, Index

_TRIES = 64
_TOLERANCE = 1e-5
_FLOOR = 1e-3
_DENSE = 500
_ONE = 2.0**-25
"""Eigenvalues within this of one belong to connected components, not to slow diffusion."""


def connectivities(near: Neighbours) -> Any:
    """Return UMAP's connection strengths of points as a sparse symmetric matrix.

    Between rows of two points: exp(-(distance - ρ) / σ), with ρ the distance to the nearest
    distinct row and σ such that the strengths sum to log2 k; the two directions combine as
    a + b - ab.
    """
    places, distances = near.places, near.distances
    apart = np.where((places > 0.0) & (distances > 0.0), distances, np.inf)
    nearest = np.minimum.reduceat(apart, near.starts)
    rho = np.where(np.isinf(nearest), 0.0, nearest)
    beyond = np.maximum(distances - rho[near.owners], 0.0)
    sigma = _widths(near, beyond, places)
    mean = np.add.reduceat(places * distances, near.starts) / near.k
    overall = float(near.counts @ mean / near.counts.sum())
    sigma = np.maximum(sigma, _FLOOR * np.where(rho > 0.0, mean, overall))
    positive = np.where(sigma > 0.0, sigma, 1.0)
    strength = np.where(sigma[near.owners] > 0.0, np.exp(-beyond / positive[near.owners]), 1.0)
    one_way = near.matrix(near.shares * strength)
    other = one_way.T.tocsr()
    return (one_way + other - one_way.multiply(other)).tocsr()


def diffusion_map(graph: Any, counts: Index, n_components: int) -> Float:
    """Return coordinates whose distances are diffusion distances over all times.

    Equal rows have equal coordinates: eigenvectors that differ between them share one eigenvalue,
    so any choice would be arbitrary. Each connected component is solved separately, so no repeated
    eigenvalue is missed.

    Parameters
    ----------
    graph
        Connection strength between a row of one point and a row of another, or another row of the
        same point.
    counts
        Number of rows at each point.
    n_components
        Number of coordinates, those of the eigenvalues of largest magnitude.
    """
    degrees = _degrees(graph, counts)
    kernel = sparse.diags(1.0 / degrees) @ graph @ sparse.diags(1.0 / degrees)
    roots = np.sqrt(_degrees(kernel, counts))
    sides = sparse.diags(np.sqrt(counts) / roots)
    steps = (sides @ kernel @ sides).tolil()
    steps.setdiag(steps.diagonal() * (counts - 1) / counts)
    steps = steps.tocsr()
    n_parts, part_of = csgraph.connected_components(steps, directed=False)
    values, columns = [], []
    for part in range(n_parts):
        inside = np.flatnonzero(part_of == part)
        found, vectors = _largest(steps[inside][:, inside], n_components)
        whole = np.zeros((graph.shape[0], len(found)))
        whole[inside] = vectors
        values.append(found)
        columns.append(whole)
    spectrum = np.concatenate(values)
    kept = np.argsort(-np.abs(spectrum), kind="stable")[:n_components]
    spectrum = spectrum[kept]
    is_one = np.abs(1.0 - spectrum) < _ONE
    scales = np.where(is_one, 1.0, spectrum / np.where(is_one, 1.0, 1.0 - spectrum))
    coordinates: Float = np.concatenate(columns, axis=1)[:, kept] * scales
    coordinates /= np.sqrt(counts)[:, None]
    return coordinates


def _degrees(graph: Any, counts: Index) -> Float:
    """Return the summed connections of one row of each point to all other rows."""
    degrees: Float = graph @ counts.astype(float) - graph.diagonal()
    return degrees


def _widths(near: Neighbours, beyond: Float, places: Float) -> Float:
    target = np.log2(near.k)
    n_points = len(near.starts)
    low, high, sigma = np.zeros(n_points), np.full(n_points, np.inf), np.ones(n_points)
    for _ in range(_TRIES):
        total = np.add.reduceat(places * np.exp(-beyond / sigma[near.owners]), near.starts)
        open_ = np.abs(total - target) >= _TOLERANCE
        if not open_.any():
            break
        above, below = open_ & (total > target), open_ & (total <= target)
        high[above] = sigma[above]
        low[below] = sigma[below]
        middle = np.where(np.isinf(high), sigma * 2.0, (low + np.minimum(high, 1e300)) / 2.0)
        sigma = np.where(open_, np.maximum(middle, np.finfo(np.float64).tiny), sigma)
    return sigma


def _largest(matrix: Any, count: int) -> tuple[Float, Float]:
    """Return the eigenvalues of largest magnitude and their eigenvectors."""
    size = matrix.shape[0]
    if size <= max(_DENSE, count + 1):
        values, vectors = np.linalg.eigh(matrix.toarray())
        kept = np.argsort(-np.abs(values), kind="stable")[:count]
        return values[kept], vectors[:, kept]
    # A fixed start makes results reproducible bit for bit.
    values, vectors = eigsh(matrix, k=count, which="LM", v0=np.linspace(1.0, 2.0, size))
    return values, vectors
