"""Which rows are paired, and which are left out: random pairings and half-samples."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from upto.core import random_stream

if TYPE_CHECKING:
    from collections.abc import Iterator

Index = NDArray[np.intp]


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


def _every_pairing(cells: Index) -> Iterator[Index]:
    """Yield all orders, the true one first."""
    members = [np.flatnonzero(cells == cell) for cell in np.unique(cells)]
    for moved in itertools.product(*(itertools.permutations(each) for each in members)):
        order = np.arange(len(cells))
        for own, others in zip(members, moved, strict=True):
            order[own] = others
        yield order


def draw_halves(parts: Index, count: int, seed: int) -> list[Index]:
    """Return the positions of half the rows of every part, drawn without replacement."""
    rng = random_stream(seed, "half-samples")
    members = [np.flatnonzero(parts == part) for part in np.unique(parts)]
    return [
        np.sort(np.concatenate([rng.permutation(each)[: len(each) // 2] for each in members]))
        for _ in range(count)
    ]
