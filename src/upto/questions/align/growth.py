"""Recall by the number of pairs that are fitted, and by the size of the index."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from upto.core import Estimate, random_stream
from upto.measures.recall import LEVEL, depth_for, recall_estimates, search
from upto.questions.align.carriers import fit_carrier
from upto.questions.align.judged import MOST_QUERIES
from upto.questions.align.result import BACK, PairsPoint, SizePoint

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from upto.core.array_types import Index
    from upto.measures.nearest import Searchable
    from upto.measures.recall import Searches
    from upto.questions.align.carriers import Carrier
    from upto.questions.align.judged import Searching
    from upto.questions.align.pairs import Pairs

_FEWEST_FITTED = 50
_SIZES = 4
"""Numbers of rows that are searched: all, a half, a quarter and an eighth."""
_FEWEST_FOR_EACH = 5
"""Rows searched for each that is retrieved: with fewer, chance raises the recall."""
_FEWEST_SEARCHED = 50
_ENOUGH_NEARER = 5
"""Number of nearest rows from which the recall among fewer of them shows a slope."""
_DECAY, _BIAS, _DOUBT = 0.85, 0.02, 0.06
_EDGE = 1e-4
"""Distance of a recall from 0 and 1 below which its normal quantile is cut."""


def pair_counts(n_fitted: int) -> list[int]:
    """Return numbers of pairs, each half of the next, ascending and without all pairs."""
    counts: list[int] = []
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
    recalls = recall_estimates(found, count, seed)
    points = [PairsPoint(n_pairs=n, name=name, recall=recalls[str(n)]) for n in counts]
    return (*points, PairsPoint(n_pairs=pairs.n_fitted, name=name, recall=whole))


def index_sizes(
    pairs: Pairs,
    carrier: Carrier,
    searching: Searching,
    searches: Searches,
    whole: dict[str, Estimate],
    *,
    index_size: int,
    count: int,
    seed: int,
) -> tuple[SizePoint, ...]:
    """Return the recall in parts of the rows, and its extrapolation to the size of the index.

    `whole` is the recall among all rows, by name in `searches`: of the map, of the old model and,
    if it is there, of queries that the map carries back.
    """
    old, new = pairs.old.judged, pairs.new.judged
    images = carrier.carried(old)
    queries = carrier.carried_back(new) if carrier.name + BACK in whole else None
    n_rows = len(new)
    sizes = [n_rows >> step for step in range(_SIZES - 1, -1, -1)]
    sizes = [size for size in sizes if size >= max(_FEWEST_FOR_EACH * count, _FEWEST_SEARCHED)]

    def searched(part: Index, asked: int) -> dict[str, Searchable]:
        found = {
            carrier.name: searching.carried(new[part], images[part], asked),
            "old model": searching.old(old[part], old[part], asked),
        }
        if queries is not None:
            found[carrier.name + BACK] = searching.back(old[part], queries[part], asked)
        return found

    points: list[SizePoint] = []
    smaller: dict[str, list[float]] = {name: [] for name in whole}
    order = random_stream(seed, "sizes").permutation(n_rows)
    for size in sizes[:-1]:
        parts = np.array_split(order, n_rows // size)
        asked = -(-min(MOST_QUERIES, n_rows) // len(parts))
        means: dict[str, list[float]] = {name: [] for name in whole}
        for part in parts:
            found = search(searching.truth(new[part], asked), searched(part, asked), asked, count)
            for name, each in found.recalls([count]).items():
                means[name].append(float(each.mean()))
        for name, values in means.items():
            smaller[name].append(float(np.mean(values)))
            points.append(SizePoint(size=size, name=name, recall=Estimate(value=smaller[name][-1])))
    points += [SizePoint(size=n_rows, name=name, recall=recall) for name, recall in whole.items()]
    if index_size > n_rows:
        searches = replace(searches, others={name: searches.others[name] for name in whole})
        nearer = searches.recalls(range(1, count + 1))
        origins = recall_estimates(searches, origin(count, n_rows, index_size), seed)
        points += [
            SizePoint(
                size=index_size,
                name=name,
                recall=extrapolate(
                    recall,
                    nearer[name].mean(axis=0).tolist(),
                    origins[name],
                    n_rows,
                    index_size,
                    np.diff([_height(mean) for mean in (*smaller[name], recall.value)]).tolist(),
                ),
                extrapolated=True,
            )
            for name, recall in whole.items()
        ]
    return tuple(points)


def origin(count: int, n_rows: int, index_size: int) -> int:
    """Return how many nearest rows reach as far as `count` do in a larger index."""
    return max(1, round(count * n_rows / index_size))


def extrapolate(
    last: Estimate,
    nearer: Sequence[float],
    source: Estimate,
    n_rows: int,
    index_size: int,
    slopes: Sequence[float] = (),
) -> Estimate:
    """Return the recall in a larger index.

    The k nearest of N rows are as far away as the k n / N nearest of n rows, so recall among fewer
    nearest rows is that in a larger index. It comes within 0.06 of it, on the scale of the normal
    quantile and for each doubling of the size, and is lower by 0.02. Once not even one row
    is left, the curve goes on with 0.85 times the slope that it had; its interval reaches from the
    steepest slope to half the flattest. Recall among fewer rows, and a slope, are known less well
    than the recall among all: the interval contains their error too. No recall is above `last`.

    Parameters
    ----------
    last
        The recall among the rows that were searched, with its interval.
    nearer
        The recall among the nearest row, the two nearest, and so on to the number of `last`.
    source
        The one of them that the value is made of, with its interval.
    n_rows, index_size
        Number of rows that were searched, and of the index.
    slopes
        Change of the recall with each doubling of the rows searched, on that scale, if `nearer` has
        too few numbers to show it.
    """
    count = len(nearer)
    heights = [_height(value) for value in nearer]
    doublings = math.log2(index_size / n_rows)
    within = min(doublings, math.log2(count))
    numbers = np.log2(np.arange(1, count + 1))
    middle = float(np.interp(math.log2(count) - within, numbers, heights)) + _BIAS * within
    below = _height(source.value) - _height(0.0 if source.low is None else source.low)
    above = _height(1.0 if source.high is None else source.high) - _height(source.value)
    if (beyond := doublings - within) > 0:
        seen = float(len(slopes))
        if count >= _ENOUGH_NEARER:
            seen = math.log2(count)
            slopes = [
                (heights[0] - heights[place]) / math.log2(place + 1)
                for place in (count // 2, count - 1)
            ]
        if not slopes:
            return Estimate(value=last.value, low=0.0, high=1.0, level=LEVEL)
        falling = np.minimum(slopes, 0.0)
        slope = _DECAY * float(falling.mean())
        middle += slope * beyond
        # The slope starts at the same number, whose error it repeats.
        below, above = (error * (1.0 + _DECAY * beyond / seen) for error in (below, above))
        below = math.hypot(below, beyond * (slope - float(falling.min())))
        above = math.hypot(above, beyond * (float(falling.max()) / 2 - slope))
    below, above = (math.hypot(error, _DOUBT * within) for error in (below, above))
    value, low, high = (_share(each) for each in (middle, middle - below, middle + above))
    # Among more rows, no more is found.
    value = min(value, last.value)
    low = min(low, value if last.low is None else last.low)
    return Estimate(value=value, low=min(low, value), high=max(high, value), level=LEVEL)


def _height(share: float) -> float:
    return float(ndtri(min(max(share, _EDGE), 1.0 - _EDGE)))


def _share(height: float) -> float:
    """Return the recall at a height; at the cut it may be anything up to 0 or 1."""
    share = float(ndtr(height))
    if share >= 1.0 - _EDGE * (1.0 + 1e-6):
        return 1.0
    return 0.0 if share <= _EDGE * (1.0 + 1e-6) else share
