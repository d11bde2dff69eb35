"""Recall by the number of pairs that are fitted, and by the size of the index."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from upto.core import Estimate, random_stream
from upto.measures.recall import LEVEL, depth_for, recall_estimates, search
from upto.questions.align.carriers import fit_carrier
from upto.questions.align.judged import MOST_QUERIES
from upto.questions.align.result import PairsPoint, SizePoint

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from upto.core.array_types import Float
    from upto.questions.align.carriers import Carrier
    from upto.questions.align.judged import Searching
    from upto.questions.align.pairs import Pairs

_FEWEST_FITTED = 50
_SIZES = 4
"""Numbers of rows that are searched: all, a half, a quarter and an eighth."""
_FEWEST_FOR_EACH = 5
"""Rows searched for each that is retrieved: with fewer, chance raises the recall."""


def pair_counts(n_fitted: int) -> list[int]:
    """Return numbers of pairs, each half of the next, ascending and without all pairs."""
    counts = []
    while (n_fitted := n_fitted // 2) >= _FEWEST_FITTED and len(counts) < 5:
        counts.append(n_fitted)
    return counts[::-1]


def learning_curve(
    pairs: Pairs,
    name: str,
    whole: Estimate,
    searching: Searching,
    count: int,
    seed: int,
    advance: Callable[[int], None],
) -> tuple[PairsPoint, ...]:
    """Return the recall of a map fitted to parts of the pairs, and to all of them (`whole`)."""
    old, new = pairs.old.judged, pairs.new.judged
    n_queries = min(MOST_QUERIES, len(new))
    counts = pair_counts(pairs.n_fitted)
    others = {}
    for n_pairs in counts:
        carrier = fit_carrier(
            name, pairs.old.fitted[:n_pairs], pairs.new.fitted[:n_pairs], seed=seed,
            forward_only=True,
        )  # fmt: skip
        others[str(n_pairs)] = searching.carried(new, carrier.carried(old), n_queries)
        advance(1)
    if not others:
        return ()
    found = search(searching.truth(new, n_queries), others, n_queries, depth_for(count))
    recalls = recall_estimates(found, count, seed, clusters=pairs.clusters)
    points = [PairsPoint(n_pairs=n, name=name, recall=recalls[str(n)]) for n in counts]
    return (*points, PairsPoint(n_pairs=pairs.n_fitted, name=name, recall=whole))


def index_sizes(
    pairs: Pairs,
    carrier: Carrier,
    searching: Searching,
    whole: dict[str, Estimate],
    *,
    index_size: int,
    count: int,
    seed: int,
) -> tuple[SizePoint, ...]:
    """Return the recall in parts of the rows, and its extrapolation to the size of the index.

    `whole` is the recall among all rows of the map and of the old model, by name.
    """
    old, new = pairs.old.judged, pairs.new.judged
    images = carrier.carried(old)
    n_rows = len(new)
    sizes = [n_rows >> step for step in range(_SIZES)]
    sizes = [size for size in sizes if size >= _FEWEST_FOR_EACH * count][::-1]
    points: list[SizePoint] = []
    found: dict[str, list[float]] = {name: [] for name in whole}
    order = random_stream(seed, "sizes").permutation(n_rows)
    for size in sizes[:-1]:
        parts = np.array_split(order, n_rows // size)
        means = _means_in_parts(parts, old, new, images, searching, count)
        for name, mean in zip(whole, means, strict=True):
            found[name].append(mean)
            points.append(SizePoint(size=size, name=name, recall=Estimate(value=mean)))
    points += [SizePoint(size=n_rows, name=name, recall=recall) for name, recall in whole.items()]
    if index_size > n_rows:
        points += [
            SizePoint(
                size=index_size,
                name=name,
                recall=extrapolate(sizes, [*found[name], recall.value], recall, index_size),
                extrapolated=True,
            )
            for name, recall in whole.items()
            if sizes
        ]
    return tuple(points)


def _means_in_parts(
    parts: Sequence[Float],
    old: Float,
    new: Float,
    images: Float,
    searching: Searching,
    count: int,
) -> tuple[float, float]:
    """Return the recall of the map and of the old model, each part searched by its own rows."""
    asked = -(-min(MOST_QUERIES, len(new)) // len(parts))
    means = []
    for part in parts:
        truth, rows, images_there = new[part], old[part], images[part]
        others = {
            "carried": searching.carried(truth, images_there, asked),
            "old": searching.old(rows, rows, asked),
        }
        found = search(searching.truth(truth, asked), others, asked, count)
        means.append([each.mean() for each in found.recalls([count]).values()])
    carried, staying = np.mean(means, axis=0)
    return float(carried), float(staying)


def extrapolate(
    sizes: Sequence[int], recalls: Sequence[float], last: Estimate, index_size: int
) -> Estimate:
    """Return the recall in a larger index by a straight line through the log-odds.

    The line passes through the last recall, with the mean slope per doubling of the size. Its
    interval has the error of the last recall, and as much again in slope as the doublings that were
    measured differ by.

    Parameters
    ----------
    sizes, recalls
        Ascending sizes, and the recall in each.
    last
        The recall at the largest size, with its interval.
    index_size
        Size of the index.
    """
    odds = [_log_odds(value) for value in recalls]
    doublings = np.diff(np.log2(sizes))
    slopes = np.minimum(np.diff(odds) / doublings, 0.0)
    slope = float(slopes.mean()) if len(slopes) else 0.0
    spread = float(np.ptp(slopes)) if len(slopes) else 0.0
    away = math.log2(index_size / sizes[-1])
    middle = odds[-1] + slope * away
    low, high = (
        odds[-1] if end is None else _log_odds(end) for end in (last.low, last.high)
    )
    below, above = (math.hypot(odds[-1] - end, away * spread) for end in (low, high))
    return Estimate(
        value=_share(middle),
        low=_share(middle - below),
        high=_share(middle + above),
        level=LEVEL,
    )


def _log_odds(share: float) -> float:
    share = min(max(share, 1e-4), 1.0 - 1e-4)
    return math.log(share / (1.0 - share))


def _share(log_odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-log_odds))
