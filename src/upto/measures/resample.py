"""Random pairings and half-samples of rows, with the p-values, limits and intervals from them.

Intervals use half-samples drawn without replacement, not the bootstrap: a bootstrap sample contains
rows twice, and a copy at distance zero becomes a row's nearest neighbour, adds a second diagonal to
kernels and leaks fitted rows into held-out ones. For a mean over n rows, half-samples vary around
the full sample as much as the full sample varies around the truth, (1 - ½) / (n/2) = 1/n times the
variance of a row, and smooth measures behave alike.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from upto.core import Estimate, random_stream
from upto.core.array_types import Float, Index

if TYPE_CHECKING:
    from collections.abc import Iterator

Better = Literal["higher", "lower"]

LEVEL = 0.05
"""Level of the tests; the chance limit is the value that just fails to reach it."""
ROUNDING = 1e-9
"""Pairings that only exchange equal rows score the same up to the order of summation."""
MIN_HALF = 10
"""Fewest rows of a half-sample for which an interval is computed."""
_NORMAL_QUANTILE = 1.959963984540054


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Pairings:
    """Orders of rows that keep every row in its cell; the true pairing is not included.

    If `complete`, there are no other pairings and p-values are exact.
    """

    orders: Index
    complete: bool


def draw_pairings(cells: Index, permutations: int, seed: int) -> Pairings:
    """Return random pairings within cells, or all of them if there are at most `permutations`.

    Draws follow the positions of rows: pass rows in an order determined by their content.
    """
    if permutations == 0:
        return Pairings(orders=np.empty((0, len(cells)), dtype=np.intp), complete=False)
    sizes = np.unique(cells, return_counts=True)[1]
    # For many rows the product of factorials is too large to compute.
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
    """Return pairings that shift the rows of each part cyclically by at least `gap`.

    They keep the order of rows that depend on their neighbours. There are none if a part is too
    short.
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
    """Return the positions of half the rows of each part, drawn without replacement.

    Rows that depend on their neighbours are drawn in contiguous blocks of `stretch` rows.
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


def share_fits(pairings: Pairings, n_fit: int, shared: int, seed: int) -> Pairings:
    """Let successive pairings share the order of the first `n_fit` rows, `shared` at a time.

    The true pairing takes a place among them at random and shares its order as well. All places are
    then alike if runs are unrelated, so p-values keep their level as with independent pairings. A
    random pairing of held-out rows has the same expected score for any fit, so a null of few fits
    is about as precise as one of independent pairings.
    """
    if shared == 1 or pairings.complete or not len(pairings.orders):
        return pairings
    count = len(pairings.orders)
    own = int(random_stream(seed, "place of the true pairing").integers(count + 1))
    place = np.arange(count)
    place[own:] += 1
    block = place // shared
    orders = pairings.orders.copy()
    orders[:, :n_fit] = orders[np.searchsorted(block, block), :n_fit]
    orders[block == own // shared, :n_fit] = np.arange(n_fit)
    return Pairings(orders=orders, complete=False)


def share_halves(halves: list[Index], n_fit: int, shared: int) -> list[list[Index]]:
    """Let successive half-samples share those of the first `n_fit` rows, `shared` at a time.

    Unlike nulls, intervals depend on how much fits vary: few should share one.
    """
    found = []
    for start in range(0, len(halves), shared):
        block = halves[start : start + shared]
        fitted = block[0][block[0] < n_fit]
        found.append([np.concatenate([fitted, half[half >= n_fit]]) for half in block])
    return found


def share_as_good(value: float, null: Float, *, better: Better) -> float:
    """Return the p-value: the share of pairings as good as the true one, which is included.

    Exact if the null contains all pairings; otherwise an estimate that keeps the level.
    """
    sign = 1.0 if better == "higher" else -1.0
    least = sign * value - ROUNDING * max(1.0, abs(value))
    return (1.0 + float(np.count_nonzero(sign * null >= least))) / (1.0 + len(null))


def limit_of_chance(null: Float, *, better: Better) -> float | None:
    """Return the value that must be exceeded for a p-value of 5 %.

    None if there are too few pairings.
    """
    allowed = math.floor(LEVEL * (len(null) + 1) + ROUNDING)
    if allowed == 0:
        return None
    ordered = np.sort(null)
    return float(ordered[-allowed] if better == "higher" else ordered[allowed - 1])


def share_beyond(value: float, limit: float, best: float) -> float | None:
    """Rescale a value so that 0 is the limit (or below) and 1 the best value.

    None if the best value is infinite.
    """
    if not math.isfinite(best):
        return None
    if limit == best:
        return 0.0
    return min(max((value - limit) / (best - limit), 0.0), 1.0)


def half_sample_interval(value: float, halves: Float, low: float, high: float) -> Estimate:
    """Return a value with its interval, clipped to `low` and `high`, if there are half-samples."""
    if len(halves) < 2:
        return Estimate(value=value)
    half = _NORMAL_QUANTILE * float(halves.std(ddof=1))
    return Estimate(
        value=value, low=min(max(value - half, low), high), high=min(max(value + half, low), high)
    )


def _every_pairing(cells: Index) -> Iterator[Index]:
    """Yield all orders, starting with the true one."""
    members = [np.flatnonzero(cells == cell) for cell in np.unique(cells)]
    for moved in itertools.product(*(itertools.permutations(each) for each in members)):
        order = np.arange(len(cells))
        for own, others in zip(members, moved, strict=True):
            order[own] = others
        yield order
