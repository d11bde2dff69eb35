"""Check that the index looks like the pairs, and that the lengths of rows are carried."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import random_stream
from upto.measures.nearest import Searchable, unit_rows
from upto.transforms.coordinate_names import places_among

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core import Embeddings
    from upto.core.array_types import Float

_SAMPLED, _STRETCH = 2_000, 50
_NEAR_TO = 5_000
"""Fitted rows that distances are measured to."""
FAR_PAIRS = 0.1
"""Share of the held-out pairs that are far from all fitted ones, by definition."""


def share_unlike(
    index: Sequence[Embeddings],
    fitted: Float,
    judged: Float,
    metric: str,
    seed: int,
    features: Sequence[str] = (),
) -> float | None:
    """Return the share of the index that is far from every fitted pair.

    Far is farther than nine in ten of the held-out pairs are, so of rows that were drawn as the
    pairs were, one in ten is far. None without an index. `features` are the columns of the pairs,
    if they have names: those of the index may be in another order.
    """
    if not index:
        return None
    sizes = [part.n_samples for part in index]
    counts = [-(-_SAMPLED * size // sum(sizes)) for size in sizes]
    sample = np.concatenate(
        [_sample(part, count, seed, features) for part, count in zip(index, counts, strict=True)]
    )
    rows = [sample, fitted[:_NEAR_TO], judged[:_SAMPLED]]
    if metric == "cosine":
        rows = [unit_rows(each) for each in rows]
    asked, near, like = rows
    limit = np.quantile(_distances(like, near), 1.0 - FAR_PAIRS)
    return float(np.mean(_distances(asked, near) > limit * (1.0 + 1e-9)))


def _sample(part: Embeddings, count: int, seed: int, features: Sequence[str]) -> Float:
    rows = sample_rows(part.rows, count, seed)
    places = places_among(features, part.features, part.name)
    return rows if places is None else rows[:, np.argsort(places)]


def sample_rows(rows: Any, count: int, seed: int) -> Float:
    """Read some rows of an index of any size: short stretches at random places."""
    n_rows = int(rows.shape[0])
    if n_rows <= max(count, 2 * _STRETCH):
        sample = np.asarray(rows[:n_rows], dtype=np.float64)
    else:
        n_stretches = -(-count // _STRETCH)
        # One stretch in each part of the index: files are often sorted.
        edges = np.linspace(0, n_rows - _STRETCH, n_stretches + 1).astype(np.int64)
        stream = random_stream(seed, "index")
        starts = [
            int(stream.integers(first, max(after, first + 1))) for first, after in pairwise(edges)
        ]
        sample = np.concatenate(
            [np.asarray(rows[start : start + _STRETCH], dtype=np.float64) for start in starts]
        )
    return sample[np.isfinite(sample).all(axis=1)]


def length_correlation(images: Float, new: Float) -> float:
    """Return how the lengths of mapped rows correlate with the true ones; 1 if none vary."""
    first, second = (np.linalg.norm(rows, axis=1) for rows in (images, new))
    if np.ptp(second) <= 1e-3 * np.median(second) or np.ptp(first) == 0:
        return float(np.ptp(second) <= 1e-3 * np.median(second))
    return float(np.corrcoef(first, second)[0, 1])


def _distances(queries: Float, rows: Float) -> Float:
    space = Searchable.by("euclidean", queries, rows)
    found = np.empty(len(queries))
    for block in space.blocks():
        asked = space.queries[block]
        squares = np.einsum("ij,ij->i", asked, asked) - 2.0 * space.scores(block).max(axis=1)
        found[block] = np.sqrt(np.maximum(squares, 0.0))
    return found
