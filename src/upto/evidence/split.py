"""Which rows are held out: decided by what a row holds, never by where it stands.

A row's key is a hash of its values in every run. Keys make the split, and every other random
choice, independent of row order. What belongs together (copies of a sample, near copies, groups
that were named) stays on one side of it; rows that follow each other in time are held out as one
stretch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.special
from numpy.typing import NDArray

from upto.core import GatheringRows, random_stream
from upto.core.arrays import Float, Index
from upto.engines import host_array, select_rows
from upto.evidence.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.engines.base import Arrays, Engine


MIN_HELD_OUT = 5
"""Rows held out of a small sample: five can be permuted in enough ways for a 5 % level."""
_COPIED = 0.9
"""Share of different rows that are different in every single run, where equal ones are copies."""
_MANY_COPIES, _UNEVEN, _EVEN = 10.0, 2.0, 1e-4
"""Rows for each different one and their variance over their mean that no copying explains, and the
chance of values as even as copies are."""


@dataclass(frozen=True, slots=True, eq=False)
class RowKeys:
    """Keys of rows: `order` lists all rows by key, `equal` numbers what is equal in every run.

    `copied` says whether equal rows are copies of one sample. Rows of few different values, such as
    counts or codes, are equal without being copies, and how often they are is what the runs say.
    """

    keys: NDArray[np.uint64]
    order: Index
    equal: Index
    copied: bool

    @property
    def units(self) -> Index | None:
        """What each row is a copy of; None where every row is a sample of its own."""
        return self.equal if self.copied else None

    def first_rows(self, count: int) -> Index:
        """Return the positions of the first rows in key order."""
        return self.order[:count]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Split:
    """Part 1 of the rows is held out; `order` lists all rows by key.

    `units` numbers what was held out or fitted as a whole, and `repeats` marks the rows that are
    not the first of their unit in that order; `n_copies` counts those that equal it. `memory` is
    what rows keep of those before them, where they were found to depend on each other: the held-out
    rows are then one stretch. `strata` are the classes within which rows are paired at random.
    """

    parts: NDArray[np.int8]
    order: Index
    repeats: NDArray[np.bool_]
    units: Index | None = None
    n_copies: int = 0
    memory: Memory | None = None
    strata: Index | None = None

    @property
    def n_held_out(self) -> int:
        """Number of rows held out."""
        return int(self.parts.sum())

    @property
    def n_units(self) -> int:
        """Number of samples: what stays together counts once."""
        return len(self.parts) if self.units is None else int(self.units.max()) + 1

    @property
    def n_duplicates(self) -> int:
        """Number of rows that repeat another in every run."""
        return self.n_copies

    def distinct_held_out(self, count: int) -> Index:
        """Return the positions of the first held-out rows in key order, one of each unit.

        A pair that occurs twice is one observation: pairings that separate its copies are not
        equally likely, and a test that draws them finds agreement in noise. Rows that depend on
        their neighbours are returned as one stretch, away from the rows that were fitted.
        """
        if self.memory is not None:
            inner = np.flatnonzero(self.parts == 1)
            gap = min(len(inner) // 10, self.memory.fading)
            return inner[gap : len(inner) - gap][:count]
        index = self.first_rows(len(self.order), 1)
        return index[~self.repeats[index]][:count]

    def first_rows(self, count: int, part: int | None = None) -> Index:
        """Return the positions of the first rows in key order, of one part or of all."""
        order = self.order if part is None else self.order[self.parts[self.order] == part]
        return order[:count]

    def clusters(self, index: Index) -> Index | None:
        """Return the independent piece each chosen row belongs to; None where each is one."""
        if self.memory is not None:
            return np.asarray(index // self.memory.fading, dtype=np.intp)
        return None if self.units is None else self.units[index]


def split_rows(engine: Engine, runs: Sequence[Any], held_out: float, seed: int) -> Split:
    """Hold out a fraction of the rows that all runs share; copies of a sample stay together."""
    found = find_keys(engine, runs, seed)
    return hold_out(found, held_out, units=found.units)


def find_keys(engine: Engine, runs: Sequence[Any], seed: int) -> RowKeys:
    """Give every row a key, and find the rows that are equal in every run."""
    n_samples = int(runs[0].shape[0])
    keys, apart = np.zeros((2, n_samples), dtype=np.uint64)
    fewest = n_samples
    for number, rows in enumerate(runs, start=1):
        own = row_keys(engine, rows, seed)
        keys += own
        # Sums do not tell (p, q) from (q, p); these do.
        apart += _mix(own + np.uint64(number))
        fewest = min(fewest, len(np.unique(own)))
    # Mixed once more, or the first rows in order would be the held-out ones.
    mixed = _mix(keys + np.uint64(1))
    order = np.lexsort((apart, mixed))
    is_new = np.ones(n_samples, dtype=bool)
    is_new[1:] = (np.diff(mixed[order]) != 0) | (np.diff(apart[order]) != 0)
    equal = np.empty(n_samples, dtype=np.intp)
    equal[order] = np.cumsum(is_new) - 1
    copied = _are_copies(np.bincount(equal), fewest)
    if not copied and not is_new.all():
        # Equal rows can change places, so which of them gets which key does not matter.
        keys = _mix(keys + _MULTIPLIER * _occurrences(order, is_new))
        order = np.argsort(_mix(keys + np.uint64(1)), kind="stable")
    return RowKeys(keys, order, equal, copied)


def hold_out(
    found: RowKeys,
    held_out: float,
    *,
    units: Index | None = None,
    unit_keys: NDArray[np.uint64] | None = None,
    memory: Memory | None = None,
    seed: int = 0,
) -> Split:
    """Hold out a fraction of the rows.

    Parameters
    ----------
    found
        Keys of the rows.
    held_out
        The fraction.
    units
        Numbers of what stays together, by row; nothing does by default.
    unit_keys
        A key of every unit; by default, the smallest of its rows.
    memory
        What rows keep of those before them, where they depend on each other.
    seed
        Seed of where a stretch of rows begins.
    """
    n_samples = len(found.keys)
    wanted = 0
    if held_out > 0:
        wanted = max(round(held_out * n_samples), min(MIN_HELD_OUT, n_samples // 2))
        wanted = min(wanted, n_samples - 2)
    parts = np.zeros(n_samples, dtype=np.int8)
    if wanted > 0 and memory is not None:
        start = int(random_stream(seed, "stretch").integers(n_samples - wanted + 1))
        parts[start : start + wanted] = 1
    elif wanted > 0 and units is None:
        parts[np.argpartition(found.keys, wanted - 1)[:wanted]] = 1
    elif wanted > 0 and units is not None:
        chosen = _chosen_units(found.keys, units, unit_keys, wanted)
        parts[chosen[units]] = 1
    repeats = np.zeros(n_samples, dtype=bool)
    n_copies = 0
    if found.copied:
        n_copies = n_samples - int(found.equal.max()) - 1
    if units is not None:
        first = np.unique(units[found.order], return_index=True)[1]
        repeats[:] = True
        repeats[found.order[first]] = False
    return Split(
        parts=parts,
        order=found.order,
        repeats=repeats,
        units=units if repeats.any() else None,
        n_copies=n_copies,
        memory=memory,
    )


def _chosen_units(
    keys: NDArray[np.uint64], units: Index, unit_keys: NDArray[np.uint64] | None, wanted: int
) -> NDArray[np.bool_]:
    """Choose units by key that hold a number of rows together, or the nearest below it."""
    sizes = np.bincount(units)
    if unit_keys is None:
        unit_keys = np.full(len(sizes), np.iinfo(np.uint64).max, dtype=np.uint64)
        np.minimum.at(unit_keys, units, keys)
    order = np.argsort(unit_keys, kind="stable")
    chosen = np.zeros(len(sizes), dtype=bool)
    left, rest = wanted, order
    while len(rest := rest[sizes[rest] <= left]):
        count = int(np.searchsorted(np.cumsum(sizes[rest]), left, side="right"))
        chosen[rest[:count]] = True
        left -= int(sizes[rest[:count]].sum())
        rest = rest[count:]
    if not chosen.any():
        # Every unit is larger than what was asked for: the smallest is nearest to it.
        smallest = order[np.argmin(sizes[order])]
        chosen[smallest] = len(units) - int(sizes[smallest]) >= 2
    return chosen


def _are_copies(counts: Index, fewest: int) -> bool:
    """Say whether equal rows are copies of one sample, from how often each occurs.

    `fewest` is the smallest number of different rows that a single run has. Copies are about as
    many of every sample; values of which some are common and others rare are no copies.
    """
    n_distinct, n_samples = len(counts), int(counts.sum())
    if fewest < _COPIED * n_distinct:
        return False
    if n_distinct >= n_samples / 2:
        return True
    mean, variance = n_samples / n_distinct, float(counts.var())
    # Chance alone makes the number of a common value vary by as much as its mean.
    evenness = float(scipy.special.chdtr(n_distinct - 1, n_distinct * variance / mean))
    return evenness < _EVEN or (mean <= _MANY_COPIES and variance <= _UNEVEN * mean)


def _occurrences(order: Index, is_new: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return numbers of equal rows, from zero."""
    places = np.arange(len(order))
    numbers = np.empty(len(order), dtype=np.uint64)
    numbers[order] = places - np.maximum.accumulate(np.where(is_new, places, 0))
    return numbers


def row_keys(engine: Engine, rows: Any, seed: int) -> NDArray[np.uint64]:
    """Hash every row to 64 bits."""
    draws = random_stream(seed, "row keys").integers(
        2**63, size=rows.shape[1], dtype=np.uint64, endpoint=False
    )
    keys: NDArray[np.uint64] = engine.map_blocks(_hash_rows, rows, params=(draws * 2 + 1,))
    return _mix(keys)


def name_keys(names: NDArray[Any], seed: int) -> NDArray[np.uint64]:
    """Hash every name to 64 bits."""
    import hashlib

    salt = str(seed).encode()
    digests = [hashlib.blake2b(str(name).encode(), digest_size=8, key=salt) for name in names]
    return np.array([int.from_bytes(each.digest(), "big") for each in digests], dtype=np.uint64)


def take_rows(engine: Engine, rows: Any, index: Index) -> Float:
    """Bring chosen rows into memory, in the order of `index`: at most one pass."""
    ordered = np.sort(index)
    back = np.searchsorted(ordered, index)
    if isinstance(rows, np.ndarray):
        return np.asarray(rows[ordered], dtype=np.float64)[back]
    if isinstance(rows, GatheringRows):
        return np.asarray(rows.gather(ordered), dtype=np.float64)[back]
    keep = np.zeros(rows.shape[0], dtype=bool)
    keep[index] = True
    return select_rows(engine, rows, keep)[back]


def _hash_rows(xp: Any, x: Any, multipliers: Any) -> Arrays:
    # Bits have no array API, so this one function works on the host. Adding zero turns -0 into 0.
    bits = np.ascontiguousarray(host_array(x) + 0.0).view(np.uint64)
    # Low-precision floats leave the low bits empty: fold the high ones onto them.
    folded = bits ^ (bits >> np.uint64(32))
    return ((folded * host_array(multipliers)).sum(axis=1, dtype=np.uint64),)


_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def _mix(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
