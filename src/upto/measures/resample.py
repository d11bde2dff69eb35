"""Random pairings and half-samples of rows, and what a value means beside them.

Intervals come from half-samples drawn without replacement and not from the bootstrap: a bootstrap
sample holds rows twice, and a row at distance zero to its copy is its own nearest neighbour, gives
kernels a second diagonal and lets what is fitted see what it is judged on. For a mean over n rows,
half-samples vary about the whole as much as the whole varies about the truth, (1 - ½) / (n/2) = 1/n
times the variance of a row, and smooth measures follow it.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from upto.core import Estimate, random_stream
from upto.core.arrays import Float, Index

if TYPE_CHECKING:
    from collections.abc import Iterator

Better = Literal["higher", "lower"]

LEVEL = 0.05
"""Of the tests; the limit of chance is the value that just fails to reach it."""
ROUNDING = 1e-9
"""Pairings that differ by equal rows score the same up to the order of sums."""
MIN_HALF = 10
"""Half-samples of fewer rows give no interval."""
_NORMAL_QUANTILE = 1.959963984540054


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Pairings:
    """Orders of rows that keep every row in its cell; the true pairing is not among them.

    `complete` says that there are no others: p-values are then exact, and not estimates.
    """

    orders: Index
    complete: bool


def draw_pairings(cells: Index, permutations: int, seed: int) -> Pairings:
    """Return random pairings within cells, or all of them where they are no more than asked for.

    Draws follow the positions of rows: give rows in an order that their content decides.
    """
    if permutations == 0:
        return Pairings(orders=np.empty((0, len(cells)), dtype=np.intp), complete=False)
    sizes = np.unique(cells, return_counts=True)[1]
    # A product of factorials is too long a number to write out for many rows.
    if math.fsum(math.lgamma(size + 1.0) for size in sizes) <= math.log(permutations) + 1e-9:
        every = list(_every_pairing(cells))
        return Pairings(
            orders=np.array(every[1:], dtype=np.intp).reshape(-1, len(cells)), complete=True
        )
    rng = random_stream(seed, "pairings of similarities")
    home = np.argsort(cells, kind="stable")
    orders = np.empty((permutations, len(cells)), dtype=np.intp)
    for order in orders:
        order[home] = np.lexsort((rng.random(len(cells)), cells))
    return Pairings(orders=orders, complete=False)


def draw_shifts(parts: Index, gap: int, permutations: int, seed: int) -> Pairings:
    """Return pairings that move the rows of every part along, round its end, by `gap` at least.

    For rows that depend on their neighbours: what follows what stays as it is. There are none where
    a part is too short.
    """
    rng = random_stream(seed, "shifts of similarities")
    members = [np.flatnonzero(parts == part) for part in np.unique(parts)]
    if min(len(each) for each in members) < 2 * gap:
        permutations = 0
    orders = np.empty((permutations, len(parts)), dtype=np.intp)
    for order in orders:
        for each in members:
            order[each] = np.roll(each, int(rng.integers(gap, len(each) - gap + 1)))
    return Pairings(orders=orders, complete=False)


def draw_halves(parts: Index, count: int, seed: int, *, stretch: int = 1) -> list[Index]:
    """Return the positions of half the rows of every part, drawn without replacement.

    Rows that depend on their neighbours are drawn as stretches of so many rows.
    """
    rng = random_stream(seed, "half-samples")
    members = [np.flatnonzero(parts == part) for part in np.unique(parts)]
    if stretch == 1:
        return [
            np.sort(np.concatenate([rng.permutation(each)[: len(each) // 2] for each in members]))
            for _ in range(count)
        ]
    halves = []
    for _ in range(count):
        drawn = []
        for each in members:
            stretches = np.array_split(each, max(2, len(each) // stretch))
            chosen = rng.permutation(len(stretches))[: len(stretches) // 2]
            drawn += [stretches[number] for number in chosen]
        halves.append(np.sort(np.concatenate(drawn)))
    return halves


def share_as_good(value: float, null: Float, *, better: Better) -> float:
    """Return the p-value: the share of pairings as good as the true one, which counts as one.

    Where all pairings are in the null this is exact, else it is an estimate that keeps the level.
    """
    sign = 1.0 if better == "higher" else -1.0
    least = sign * value - ROUNDING * max(1.0, abs(value))
    return (1.0 + float(np.count_nonzero(sign * null >= least))) / (1.0 + len(null))


def limit_of_chance(null: Float, *, better: Better) -> float | None:
    """Return the value that must be beaten for a p-value of 5 %.

    None where there are too few pairings for that.
    """
    allowed = math.floor(LEVEL * (len(null) + 1) + ROUNDING)
    if allowed == 0:
        return None
    ordered = np.sort(null)
    return float(ordered[-allowed] if better == "higher" else ordered[allowed - 1])


def share_beyond(value: float, limit: float, best: float) -> float | None:
    """Return the share of the way from a limit to the best value; 0 before the limit.

    None where the best value is infinite.
    """
    if not math.isfinite(best):
        return None
    if limit == best:
        return 0.0
    return min(max((value - limit) / (best - limit), 0.0), 1.0)


def half_sample_interval(value: float, halves: Float, low: float, high: float) -> Estimate:
    """Return a value with its interval between `low` and `high`, where there are half-samples."""
    if len(halves) < 2:
        return Estimate(value=value)
    half = _NORMAL_QUANTILE * float(halves.std(ddof=1))
    return Estimate(
        value=value,
        low=min(max(value - half, low), high),
        high=min(max(value + half, low), high),
    )


def _every_pairing(cells: Index) -> Iterator[Index]:
    """Yield all orders, the true one first."""
    members = [np.flatnonzero(cells == cell) for cell in np.unique(cells)]
    for moved in itertools.product(*(itertools.permutations(each) for each in members)):
        order = np.arange(len(cells))
        for own, others in zip(members, moved, strict=True):
            order[own] = others
        yield order
