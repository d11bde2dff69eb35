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
    from upto.questions.align.carriers import Carrier
    from upto.questions.align.judged import Searching
    from upto.questions.align.pairs import Pairs

_FEWEST_FITTED = 50
_SIZES = 4
"""Numbers of rows that are searched: all, a half, a quarter and an eighth."""
_FEWEST_FOR_EACH = 5
"""Rows searched for each that is retrieved: with fewer, chance raises the recall."""
_DECAY = 0.85
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
    sizes: Sequence[int], recalls: Sequence[float], last: Estimate, index_size: int
) -> Estimate:
    """Return the recall in a larger index, from how the recall fell with the size.

    On the scale of the normal quantile, recalls of real and simulated upgrades fall by nearly as
    much with each doubling of the size, a little less each time. From the last recall, the curve
    goes on with 0.85 times the mean of the last two slopes; its interval reaches from the steepest
    slope to half the flattest, and has the error of the last recall.

    Parameters
    ----------
    sizes, recalls
        Ascending sizes, and the recall in each.
    last
        The recall at the largest size, with its interval.
    index_size
        Size of the index.
    """
    heights = [_height(value) for value in recalls]
    slopes = np.minimum(np.diff(heights) / np.diff(np.log2(sizes)), 0.0)
    if not len(slopes):
        return Estimate(value=last.value, low=0.0, high=1.0, level=LEVEL)
    away = math.log2(index_size / sizes[-1])
    slope = _DECAY * float(slopes[-2:].mean())
    steepest, flattest = float(slopes.min()), float(slopes[-2:].max()) / 2
    low, high = (heights[-1] if end is None else _height(end) for end in (last.low, last.high))
    below = math.hypot(heights[-1] - low, away * (slope - steepest))
    above = math.hypot(high - heights[-1], away * (flattest - slope))
    middle = heights[-1] + slope * away
    value, low, high = (float(ndtr(each)) for each in (middle, middle - below, middle + above))
    return Estimate(value=value, low=low, high=high, level=LEVEL)


def _height(share: float) -> float:
    return float(ndtri(min(max(share, _EDGE), 1.0 - _EDGE)))
