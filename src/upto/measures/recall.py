"""Recall of nearest rows: how many of the true nearest rows a search in another space finds.

The rows that are searched are also the queries, or the first of them are, and no query finds
itself. A row that ties with the last true neighbour counts as one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from upto.core import Estimate, InputError, random_stream
from upto.core.array_types import Float, Index
from upto.measures.nearest import Metric, Searchable, largest

Mask = NDArray[np.bool_]

N_SPLITS = 32
"""Random splits of the rows into halves, from which the error of a recall is estimated."""
_MOST_COPIES = 0.25
"""Share of the rows up to which equal ones stay in one half."""
LEVEL = 0.95
_QUANTILE = 2.04
"""0.975 quantile of Student's t for one degree of freedom fewer than there are splits."""
_TIES = 1e-9
"""Difference of scores, over those of the rows that a query found, below which they are equal."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Positions of the rows that each query found, best first, and their true scores."""

    rows: Index
    scores: Float

    def ranks(self, asked: Index | slice, within: Mask | None) -> Index:
        """Return the rank of each found row among those that are searched; 0 for the others."""
        rows = self.rows[asked]
        if within is None:
            return np.broadcast_to(np.arange(1, rows.shape[1] + 1), rows.shape)
        kept = within[rows]
        return np.where(kept, np.cumsum(kept, axis=1), 0)


@dataclass(frozen=True, slots=True, eq=False)
class Searches:
    """What the first rows found, as queries, among all rows in the true space and in others.

    `firsts` is the position of the first row that equals each row in the true space.
    """

    n_rows: int
    firsts: Index
    truth: Found
    others: Mapping[str, Found]

    def recalls(self, counts: Sequence[int], within: Mask | None = None) -> dict[str, Float]:
        """Return the recall of each query by the name of the search, one column for each count.

        Parameters
        ----------
        counts
            Numbers of rows that are retrieved.
        within
            Mask of the rows that are searched, and of the queries among them; by default all.
        """
        asked = slice(None) if within is None else np.flatnonzero(within[: len(self.truth.rows)])
        ranks, scores = self.truth.ranks(asked, within), self.truth.scores[asked]
        limits = []
        for count in counts:
            last = np.where(ranks <= count, ranks, 0).argmax(axis=1)[:, None]
            limit = np.take_along_axis(scores, last, axis=1)
            # Scores of far-off or small rows differ little: what counts as equal is relative to it.
            spread = scores[:, :1] - scores[:, -1:]
            rounding = 8 * np.finfo(np.float64).eps * np.abs(limit)
            limits.append(limit - _TIES * spread - rounding)
        recalls = {}
        for name, found in self.others.items():
            ranks, scores = found.ranks(asked, within), found.scores[asked]
            hits = [
                np.count_nonzero((ranks > 0) & (ranks <= count) & (scores >= limit), axis=1) / count
                for count, limit in zip(counts, limits, strict=True)
            ]
            recalls[name] = np.stack(hits, axis=1)
        return recalls


def search(
    truth: Searchable, others: Mapping[str, Searchable], n_queries: int, depth: int
) -> Searches:
    """Search the rows of several spaces for those nearest to each of the first rows.

    Parameters
    ----------
    truth
        The space whose nearest rows are the right ones. Its queries are its rows.
    others
        The spaces to judge, with the same rows in the same order.
    n_queries
        Number of queries; all rows if there are fewer.
    depth
        Number of rows that are kept for each query.
    """
    n_rows = len(truth.rows)
    n_queries, depth = min(n_queries, n_rows), min(depth, n_rows - 1)
    found = [
        Found(np.empty((n_queries, depth), np.intp), np.empty((n_queries, depth)))
        for _ in range(1 + len(others))
    ]
    for block in truth.blocks():
        if block.start >= n_queries:
            break
        asked = slice(block.start, min(block.stop, n_queries))
        places = np.arange(asked.start, asked.stop)[:, None]
        true = truth.scores(asked)
        np.put_along_axis(true, places, -np.inf, axis=1)
        for each, space in zip(found, (truth, *others.values()), strict=True):
            scores = true if space is truth else space.scores(asked)
            np.put_along_axis(scores, places, -np.inf, axis=1)
            rows = largest(scores, depth)
            each.rows[asked] = rows
            each.scores[asked] = np.take_along_axis(true, rows, axis=1)
    return Searches(
        n_rows, _first_equals(truth.rows), found[0], dict(zip(others, found[1:], strict=True))
    )


def _first_equals(rows: Float) -> Index:
    # Adding zero makes -0 into 0. Whole rows are compared as bytes.
    rows = np.ascontiguousarray(rows + 0.0)
    keys = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1])))[:, 0]
    _, firsts, groups, sizes = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    are_many = sizes[groups] > max(1.0, _MOST_COPIES * len(rows))
    return np.where(are_many, np.arange(len(rows)), firsts[groups])


def depth_for(count: int) -> int:
    """Return how many rows of each query are needed to also know its recall in halves."""
    return 2 * count + math.ceil(5 * math.sqrt(2 * count)) + 10


def recall_estimates(searches: Searches, count: int, seed: int) -> dict[str, Estimate]:
    """Return the mean recall of each search among `count` rows, with an interval.

    A row takes part as a query and as a row that is found, so queries are not independent. The rows
    are split into random halves that have no row in common, nor copies of one: how much their
    recalls differ shows the error of one half, and the error of all rows is smaller by the root of
    two. In a half, the nearest `count` / 2 rows reach as far as the nearest `count` of all.

    Parameters
    ----------
    searches
        The searches, as deep as `depth_for`.
    count
        Number of rows that are retrieved.
    seed
        Seed of the random number generator.
    """
    stream = random_stream(seed, "halves of queries")
    squares = dict.fromkeys(searches.others, 0.0)
    for _ in range(N_SPLITS):
        places = stream.permutation(searches.n_rows)[searches.firsts]
        half = places <= np.partition(places, searches.n_rows // 2 - 1)[searches.n_rows // 2 - 1]
        parts = [searches.recalls([-(-count // 2)], within) for within in (half, ~half)]
        for name in squares:
            squares[name] += float(parts[0][name].mean() - parts[1][name].mean()) ** 2
    n_queries = len(searches.truth.rows)
    return {
        name: recall_interval(
            float(values.mean()), math.sqrt(squares[name] / N_SPLITS) / 2, n_queries
        )
        for name, values in searches.recalls([count]).items()
    }


def recall_interval(mean: float, error: float, n_queries: int) -> Estimate:
    """Return a recall with an interval that stays between 0 and 1.

    The interval is symmetric in the logarithm of the odds. It is never narrower than if each query
    had found all or nothing and no query had missed: three misses more would be likely enough.
    """
    least = 3.0 / n_queries
    inside = min(max(mean, least / 2), 1.0 - least / 2)
    step = _QUANTILE * error / (inside * (1.0 - inside))
    odds = inside / (1.0 - inside)
    low, high = (odds * math.exp(sign * step) for sign in (-1.0, 1.0))
    low, high = low / (1.0 + low), high / (1.0 + high)
    if mean > 1.0 - least:
        low, high = min(low, 1.0 - least), 1.0
    if mean < least:
        low, high = 0.0, max(high, least)
    return Estimate(value=mean, low=min(low, mean), high=max(high, mean), level=LEVEL)


def neighbour_recall(
    first: Float,
    second: Float,
    count: int = 10,
    *,
    metric: Metric = "cosine",
    seed: int = 0,
) -> Estimate:
    """Return the share of each row's nearest rows in `first` that its search in `second` finds.

    Parameters
    ----------
    first
        Rows whose nearest rows are the right ones.
    second
        The same samples in the same order, in any other space.
    count
        Number of rows that are retrieved.
    metric
        ``"cosine"``, ``"inner-product"`` or ``"euclidean"``.
    seed
        Seed of the random number generator.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(200, 3))
    >>> neighbour_recall(rows, 2 * rows[:, ::-1]).value
    1.0
    """
    if len(first) != len(second):
        message = f"first has {len(first)} rows but second has {len(second)}: pass the same rows."
        raise InputError(message)
    if not 1 <= count < len(first):
        message = f"count is {count}, but it must be from 1 to {len(first) - 1} for these rows."
        raise InputError(message)
    truth = Searchable.by(metric, first, first)
    others = {"second": Searchable.by(metric, second, second)}
    found = search(truth, others, len(first), depth_for(count))
    return recall_estimates(found, count, seed)["second"]
