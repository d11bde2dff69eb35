"""Permutation tests of pairings, and shuffles of rows before fitting."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from upto.core import random_stream
from upto.core.array_types import Float
from upto.engines import product, side_by_side
from upto.measures import squared_distances

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from upto.evidence.memory import Memory
    from upto.evidence.split import Split


PAIRED_ROWS, PAIRED_ROWS_OF_MANY = 1000, 300
"""Held-out rows whose pairing is permuted, for one pair of runs and for each of many."""
FAR, _INNER = 4.0, 0.9
"""Distance, in spreads of the inner rows, above which a row is far, and the fraction inner."""
_FEWEST = 10
"""With fewer rows, none counts as far."""


@dataclass(frozen=True, slots=True, eq=False)
class Close:
    """Rows of the first run and of the second that should be close, each times a factor.

    Rows with factors are about their means. Those that differ only in factors share a product.
    """

    first: Float
    second: Float
    first_factor: float = 1.0
    second_factor: float = 1.0

    @property
    def key(self) -> tuple[int, int]:
        """What identifies the rows without their factors."""
        return id(self.first), id(self.second)


def pairing_p_values(
    questions: Sequence[Sequence[Close]],
    *,
    permutations: int,
    seed: int,
    near: NDArray[np.bool_] | None = None,
    memory: Memory | None = None,
    strata: NDArray[np.intp] | None = None,
) -> list[float]:
    """Test, for each question, whether true pairs are closer than random pairs.

    Maps were fitted to other rows, so under independence every pairing of these rows is equally
    likely and the test is exact. All distances are computed once and permuted. The p-values are
    adjusted for multiplicity (single-step Westfall-Young, on standardised mean distances); with few
    rows all pairings are enumerated.

    For serially dependent rows, innovations are compared, and one run is circularly shifted against
    the other instead of re-paired at random.

    Parameters
    ----------
    questions
        For each question, one or more pairs of row arrays that should be close; the closest counts.
    permutations, seed
        Number of random pairings, and the seed of the random number generator.
    near
        Mask of rows that are far in neither run; the others are excluded. All by default.
    memory
        Autoregression of the rows, if they are serially dependent.
    strata
        Class of each row; rows are re-paired at random within classes only.
    """
    if memory is not None:
        strata = None if strata is None else strata[memory.order :]
        near = None if near is None else memory.known_throughout(near)
    if near is not None and near.all():
        near = None
    if near is not None:
        strata = None if strata is None else strata[near]
    chosen: dict[int, Float] = {}

    def rows_of(rows: Float) -> Float:
        if id(rows) not in chosen:
            own = rows if memory is None else _bounded(memory.what_is_new(rows))
            chosen[id(rows)] = own if near is None else own[near]
        return chosen[id(rows)]

    n_rows = len(rows_of(questions[0][0].first))
    orders = _pairings(n_rows, permutations, seed, strata, moved=memory is not None)
    orders = orders + n_rows * np.arange(n_rows)
    counts = Counter(each.key for ways in questions for each in ways)
    products: dict[tuple[int, int], _Products] = {}

    def closeness(each: Close) -> Float:
        first, second = rows_of(each.first), rows_of(each.second)
        if each.first_factor == each.second_factor == 1.0 and counts[each.key] == 1:
            return _closeness(squared_distances(first, second), orders)
        if each.key not in products:
            products[each.key] = _Products(first, second)
        factors = each.first_factor, each.second_factor
        return _closeness(products[each.key].squared_distances(*factors), orders)

    def closest(ways: Sequence[Close]) -> Float:
        found: Float = np.min([closeness(each) for each in ways], axis=0)
        return found

    width = max(ways[0].second.shape[1] for ways in questions)
    standardised = np.stack(
        side_by_side([partial(closest, ways) for ways in questions], width=width)
    )
    smallest = standardised.min(axis=0)
    # The first pairing is the true one: counting it makes the test valid.
    slack = 1e-9
    return [float(np.mean(smallest <= own[0] + slack)) for own in standardised]


class _Products:
    """Products of all rows of the first run and all of the second."""

    def __init__(self, first: Float, second: Float) -> None:
        self._first = np.einsum("ij,ij->i", first, first)[:, None]
        self._second = np.einsum("ij,ij->i", second, second)
        self._products = product(first, second.T)

    def squared_distances(self, first_factor: float, second_factor: float) -> Float:
        """Return the squared distances of the rows times their factors."""
        squared: Float = self._products * (-2 * first_factor * second_factor)
        squared += self._first * first_factor**2
        squared += self._second * second_factor**2
        return np.maximum(squared, 0.0, out=squared)


def _closeness(squared: Float, places: NDArray[np.intp]) -> Float:
    """Return the mean distances of paired rows, standardised over the pairings."""
    means = np.sqrt(squared.take(places)).mean(axis=1)
    spread = float(means.std())
    return (means - means.mean()) / spread if spread > 0 else np.zeros_like(means)


def _bounded(rows: Float) -> Float:
    """Shrink long rows to the median length.

    If series jump at the same rows, two long rows would be closer than a long and a short one,
    whatever their directions.
    """
    if len(rows) == 0:
        return rows
    centred = rows - np.median(rows, axis=0)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    shorter = np.minimum(lengths, np.median(lengths))
    found: Float = centred * (shorter / np.where(lengths > 0, lengths, 1.0))
    return found


def smallest_p_value(
    n_rows: int,
    permutations: int,
    *,
    memory: Memory | None = None,
    strata: NDArray[np.intp] | None = None,
) -> float:
    """Return the smallest p-value that `pairing_p_values` can return."""
    if strata is not None:
        sizes = np.unique(strata, return_counts=True)[1]
        pairings = math.fsum(math.lgamma(size + 1.0) for size in sizes)
        return max(1.0 / (permutations + 1), math.exp(-min(pairings, 700.0)))
    if memory is not None:
        return 1.0 / (min(permutations, max(n_rows - memory.order - 1, 0)) + 1)
    if n_rows < 2:
        return 1.0
    if n_rows <= _ENUMERATED:
        return 1.0 / math.factorial(n_rows)
    return 1.0 / (permutations + 1)


def are_near(away: Float) -> NDArray[np.bool_]:
    """Mark rows that are not far from the others, relative to the spread of the inner 90 %.

    Rows are given by their distances to the median.
    """
    if len(away) < _FEWEST:
        return np.ones(len(away), dtype=bool)
    inner = np.sort(away)[: int(_INNER * len(away))]
    spread = float(np.sqrt(np.mean(inner**2)))
    return away <= FAR * spread if spread > 0 else np.ones(len(away), bool)


def shuffles(
    split: Split, index: NDArray[np.intp], count: int, seed: int
) -> Iterator[NDArray[np.intp]]:
    """Yield orders of the selected rows, shuffled within the fitted and within the held-out rows.

    Shuffling within the parts does not change the moments and components of either run.
    """
    rng = random_stream(seed, "shuffles")
    parts = split.parts[index]
    for _ in range(count):
        order = np.arange(len(index))
        for part in (0, 1):
            members = np.flatnonzero(parts == part)
            if split.strata is None:
                order[members] = rng.permutation(members)
            else:
                order[members] = _within(members, split.strata[index[members]], rng)
        yield order


_ENUMERATED = 6


def _within(
    members: NDArray[np.intp], strata: NDArray[np.intp], rng: np.random.Generator
) -> NDArray[np.intp]:
    """Shuffle members within their classes."""
    order = np.lexsort((rng.random(len(members)), strata))
    found = np.empty_like(members)
    found[np.argsort(strata, kind="stable")] = members[order]
    return found


def _pairings(
    n_rows: int,
    permutations: int,
    seed: int,
    strata: NDArray[np.intp] | None = None,
    *,
    moved: bool = False,
) -> NDArray[np.intp]:
    rng = random_stream(seed, "pairings")
    if strata is not None:
        shuffled = [_within(np.arange(n_rows), strata, rng) for _ in range(permutations)]
        return np.stack([np.arange(n_rows), *shuffled])
    if moved:
        steps = np.arange(1, n_rows)
        if len(steps) > permutations:
            steps = np.sort(rng.choice(steps, size=permutations, replace=False))
        shifts = np.concatenate([[0], steps])[:, None]
        found: NDArray[np.intp] = (np.arange(n_rows)[None, :] + shifts) % max(n_rows, 1)
        return found
    if n_rows <= _ENUMERATED:
        return np.array(list(itertools.permutations(range(n_rows))), dtype=np.intp)
    drawn = [rng.permutation(n_rows) for _ in range(permutations)]
    return np.stack([np.arange(n_rows), *drawn])
