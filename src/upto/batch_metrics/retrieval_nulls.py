"""Average precision of a ranking, and its distribution over random orders."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from upto.core import random_stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core.array_types import Float, Index

NULL_SIZE = 10_000
"""Default number of random orders, as in copairs' examples."""
TIES = 1e-12
"""Difference below which similarities tie."""
_ROUNDING = 1e-12
_DRAWN_VALUES = 2**22
_KEPT_VALUES = 2**24
_FEW = 16
"""Squared positives per pair up to which comparing them is faster than sorting all pairs."""


def average_precision_of(sought: Float, between: Float) -> float:
    """Return the average precision of positives among negatives, averaged over ties.

    Parameters
    ----------
    sought
        Similarities to the positives.
    between
        Similarities to the negatives.

    Examples
    --------
    >>> average_precision_of(np.array([3.0, 1.0]), np.array([2.0]))
    0.8333333333333333
    """
    found = np.sort(sought)[::-1]
    others = np.sort(between)
    starts = np.flatnonzero(np.append(True, found[:-1] - found[1:] > TIES))
    stops = np.append(starts[1:], len(found))
    # Half the tolerance on either side, so that no negative ties with two sets of positives.
    above = len(others) - np.searchsorted(others, found[starts] + TIES / 2.0, side="right")
    upto = len(others) - np.searchsorted(others, found[stops - 1] - TIES / 2.0, side="left")
    tied = upto - above
    if not tied.any():
        ranks = np.arange(1, len(found) + 1)
        return float(np.mean(ranks / (ranks + np.repeat(above, stops - starts))))
    total = 0.0
    for start, stop, before, ties in zip(starts, stops, above, tied, strict=True):
        relevant, size = stop - start, stop - start + ties
        places = np.arange(size)
        # Given a positive at one place, the others are uniform over the places before it.
        earlier = places * (relevant - 1) / max(size - 1, 1)
        total += (
            relevant / size * float(((start + 1 + earlier) / (start + before + places + 1)).sum())
        )
    return total / len(found)


def chance_precision(n_positives: Index, n_pairs: Index) -> Float:
    """Return the expected average precision over random orders; NaN without pairs of both kinds.

    Examples
    --------
    >>> chance_precision(np.array([1]), np.array([2]))
    array([0.75])
    """
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, n_pairs.max(initial=0) + 1))])
    chance = np.full(len(n_pairs), np.nan)
    known = (n_positives > 0) & (n_pairs > n_positives)
    some, every = n_positives[known].astype(float), n_pairs[known].astype(float)
    sums = harmonic[n_pairs[known]]
    chance[known] = ((some - 1.0) / (every - 1.0) * (every - sums) + sums) / every
    return chance


def mean_p_value(
    value: float, n_positives: Index, n_pairs: Index, *, null_size: int = NULL_SIZE, seed: int = 0
) -> tuple[float, bool]:
    """Return the p-value of a mean average precision, and whether it is exact.

    As in copairs, rows with equal numbers of positives and pairs share one random order, and other
    rows have independent ones: positives that retrieve each other are dependent, and this is
    conservative. If there are at most `null_size` orders, all are enumerated.

    Parameters
    ----------
    value
        Mean over rows.
    n_positives, n_pairs
        Numbers of positives and of ranked rows, for each row.
    null_size
        Number of random orders, or the maximum to enumerate.
    seed
        Seed of the random orders.

    Examples
    --------
    >>> mean_p_value(1.0, np.array([1]), np.array([4]))
    (0.25, True)
    """
    return RandomOrders(null_size=null_size, seed=seed).p_value(value, n_positives, n_pairs)


class RandomOrders:
    """Average precision of random orders, computed once for all means compared with it.

    Parameters
    ----------
    null_size
        Number of random orders, or the maximum to enumerate.
    seed
        Seed of the random orders.
    """

    def __init__(self, *, null_size: int, seed: int) -> None:
        self.null_size = null_size
        self.seed = seed
        kept = max(1, _KEPT_VALUES // max(null_size, 1))
        self._every = lru_cache(maxsize=kept)(every_order)
        self._drawn = lru_cache(maxsize=kept)(drawn_orders)

    def p_value(self, value: float, n_positives: Index, n_pairs: Index) -> tuple[float, bool]:
        """Return the p-value of a mean over rows, and whether it is exact."""
        pairs = np.stack([n_positives, n_pairs], axis=1)
        kinds, counts = np.unique(pairs, axis=0, return_counts=True)
        weights = counts / counts.sum()
        orders = [math.comb(int(every), int(some)) for some, every in kinds]
        limit = value * (1.0 - _ROUNDING)
        if math.prod(orders) <= self.null_size:
            means = np.zeros(1)
            for (some, every), weight in zip(kinds, weights, strict=True):
                means = np.add.outer(means, weight * self._every(int(some), int(every))).ravel()
            return float(np.mean(means >= limit)), True
        drawn = np.zeros(self.null_size)
        for (some, every), weight in zip(kinds, weights, strict=True):
            drawn += weight * self._drawn(int(some), int(every), self.null_size, self.seed)
        return float((1 + np.count_nonzero(drawn >= limit)) / (1 + self.null_size)), False


def every_order(n_positives: int, n_pairs: int) -> Float:
    """Return the average precision of every way to place positives among pairs."""
    ways = itertools.chain.from_iterable(itertools.combinations(range(n_pairs), n_positives))
    places = np.fromiter(ways, dtype=np.int64).reshape(-1, n_positives)
    return _precisions(places)


def drawn_orders(n_positives: int, n_pairs: int, null_size: int, seed: int) -> Float:
    """Return the average precision of random orders; deterministic given the seed."""
    random = random_stream(seed, "retrieval", str(n_positives), str(n_pairs))
    is_few = n_positives**2 <= _FEW * n_pairs
    draw = _drawn_one_by_one if is_few else _drawn_by_keys
    step = max(1, _DRAWN_VALUES // (n_positives if is_few else n_pairs))
    parts = []
    for start in range(0, null_size, step):
        places = draw(random, min(step, null_size - start), n_positives, n_pairs)
        parts.append(_precisions(np.sort(places, axis=1)))
    return np.concatenate(parts)


def _drawn_one_by_one(
    random: np.random.Generator, count: int, n_positives: int, n_pairs: int
) -> NDArray[np.int64]:
    """Draw the places of the positives by Floyd's algorithm."""
    places = np.empty((n_positives, count), dtype=np.int64)
    for number in range(n_positives):
        last = n_pairs - n_positives + number
        drawn = random.integers(0, last + 1, size=count)
        is_taken = (places[:number] == drawn).any(axis=0)
        places[number] = np.where(is_taken, last, drawn)
    return np.ascontiguousarray(places.T)


def _drawn_by_keys(
    random: np.random.Generator, count: int, n_positives: int, n_pairs: int
) -> NDArray[np.int64]:
    keys = random.random((count, n_pairs))
    return np.argpartition(keys, n_positives - 1, axis=1)[:, :n_positives]


def _precisions(places: NDArray[np.int64]) -> Float:
    found: Float = (np.arange(1, places.shape[1] + 1) / (places + 1.0)).mean(axis=1)
    return found
