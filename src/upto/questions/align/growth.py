"""Recall by the number of pairs that are fitted, and by the size of the index."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from upto.core import Estimate, random_stream
from upto.measures.recall import LEVEL, depth_for, recall_estimates, search
from upto.questions.align.carriers import fit_carrier
from upto.questions.align.judged import MOST_QUERIES
from upto.questions.align.result import PairsPoint, SizePoint

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from upto.core.array_types import Float, Index
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

    `whole` is the recall among all rows of the map and of the old model, by name in `searches`.
    """
    old, new = pairs.old.judged, pairs.new.judged
    images = carrier.carried(old)
    n_rows = len(new)
    sizes = [n_rows >> step for step in range(_SIZES - 1, -1, -1)]
    sizes = [size for size in sizes if size >= max(_FEWEST_FOR_EACH * count, _FEWEST_SEARCHED)]
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
        nearer = searches.recalls(range(1, count + 1))
        points += [
            SizePoint(
                size=index_size,
                name=name,
                recall=extrapolate(
                    recall,
                    nearer[name].mean(axis=0).tolist(),
                    n_rows,
                    index_size,
                    np.diff([_height(mean) for mean in (*found[name], recall.value)]).tolist(),
                ),
                extrapolated=True,
            )
            for name, recall in whole.items()
        ]
    return tuple(points)


def _means_in_parts(
    parts: Sequence[Index],
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
    last: Estimate,
    nearer: Sequence[float],
    n_rows: int,
    index_size: int,
    slopes: Sequence[float] = (),
) -> Estimate:
    """Return the recall in a larger index.

    The k nearest of N rows are as far away as the k n / N nearest of n rows, so recall among fewer
    nearest rows is that in a larger index. It comes within 0.06 of it, on the scale of the normal
    quantile and for each doubling of the size, and is lower by 0.02. Once not even one row
    is left, the curve goes on with 0.85 times the slope that it had; its interval reaches from the
    steepest slope to half the flattest.

    Parameters
    ----------
    last
        The recall among the rows that were searched, with its interval.
    nearer
        The recall among the nearest row, the two nearest, and so on to the number of `last`.
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
    below = _height(last.value) - _height(0.0 if last.low is None else last.low)
    above = _height(1.0 if last.high is None else last.high) - _height(last.value)
    below, above = (math.hypot(error, _DOUBT * within) for error in (below, above))
    if (beyond := doublings - within) > 0:
        if count >= _ENOUGH_NEARER:
            slopes = [
                (heights[0] - heights[place]) / math.log2(place + 1)
                for place in (count // 2, count - 1)
            ]
        if not slopes:
            return Estimate(value=last.value, low=0.0, high=1.0, level=LEVEL)
        falling = np.minimum(slopes, 0.0)
        slope = _DECAY * float(falling.mean())
        middle += slope * beyond
        below = math.hypot(below, beyond * (slope - float(falling.min())))
        above = math.hypot(above, beyond * (float(falling.max()) / 2 - slope))
    value, low, high = (float(ndtr(each)) for each in (middle, middle - below, middle + above))
    return Estimate(value=value, low=low, high=high, level=LEVEL)


def _height(share: float) -> float:
    return float(ndtri(min(max(share, _EDGE), 1.0 - _EDGE)))
