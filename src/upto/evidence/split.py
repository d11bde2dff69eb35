"""Split rows into fitted and held-out ones by their content, never by their position.

A row's key is a hash of its values in every run. Keys make the split, and every other random
choice, independent of row order. Copies of a sample, near copies and named groups stay on one side
of the split; serially dependent rows are held out as one stretch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.special
from numpy.typing import NDArray

from upto.core import GatheringRows, random_stream
from upto.core.array_types import Float, Index
from upto.engines import select_rows
from upto.engines.device_rows import DeviceRows
from upto.engines.row_keys import mixed_keys
from upto.engines.row_keys import row_keys as row_keys
from upto.evidence.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.engines.base import Engine


MIN_HELD_OUT = 5
"""Rows held out of a small sample: five have enough permutations for a 5 % level."""
_COPIED = 0.9
"""Fraction of distinct rows that must be distinct in every run for equal rows to be copies."""
_MANY_COPIES, _UNEVEN, _EVEN = 10.0, 2.0, 1e-4
"""Number of rows per distinct row, and variance over mean of that number, that copying does not
explain, and the chance of numbers as even as those of copies."""


@dataclass(frozen=True, slots=True, eq=False)
class RowKeys:
    """Keys of rows: `order` lists rows by key, `equal` numbers rows that are equal in every run.

    `copied` is whether equal rows are copies of one sample. Rows with few distinct values, such as
    counts or codes, are equal without being copies, and their frequencies are data.
    """

    keys: NDArray[np.uint64]
    order: Index
    equal: Index
    copied: bool

    @property
    def units(self) -> Index | None:
        """Group of copies of each row; None if every row is a separate sample."""
        return self.equal if self.copied else None

    def first_rows(self, count: int) -> Index:
        """Return the positions of the first rows in key order."""
        return self.order[:count]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Split:
    """Part 1 of the rows is held out; `order` lists all rows by key.

    `units` numbers the groups that were held out or fitted whole, `repeats` marks the rows that are
    not the first of their unit in that order, and `n_duplicates` counts those equal to it. `memory`
    is the autoregression of serially dependent rows, whose held-out rows are one stretch. `strata`
    are the classes within which rows are re-paired at random.
    """

    parts: NDArray[np.int8]
    order: Index
    repeats: NDArray[np.bool_]
    units: Index | None = None
    n_duplicates: int = 0
    memory: Memory | None = None
    strata: Index | None = None

    @property
    def n_held_out(self) -> int:
        """Number of rows held out."""
        return int(self.parts.sum())

    @property
    def n_units(self) -> int:
        """Number of samples, counting each unit once."""
        return len(self.parts) if self.units is None else int(self.units.max()) + 1

    def distinct_held_out(self, count: int) -> Index:
        """Return the positions of the first held-out rows in key order, one per unit.

        A pair that occurs twice is one observation: pairings that separate its copies are not
        equally likely, and a test that draws them finds agreement in noise. Serially dependent
        rows are returned as one stretch, away from the fitted rows.
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
        """Return the independent cluster of each selected row; None if each row is one."""
        if self.memory is not None:
            return np.asarray(index // self.memory.fading, dtype=np.intp)
        return None if self.units is None else self.units[index]


def split_rows(engine: Engine, runs: Sequence[Any], held_out: float, seed: int) -> Split:
    """Hold out a fraction of the rows; copies of a sample stay together."""
    found = find_keys(engine, runs, seed)
    return hold_out(found, held_out, units=found.units)


def find_keys(
    engine: Engine, runs: Sequence[Any], seed: int, *, copies_together: bool = True
) -> RowKeys:
    """Compute the key of every row, and find rows that are equal in every run.

    Without `copies_together`, equal rows have keys of their own, as if they were no copies.
    """
    n_samples = int(runs[0].shape[0])
    keys, apart = np.zeros((2, n_samples), dtype=np.uint64)
    fewest = n_samples
    for number, rows in enumerate(runs, start=1):
        own = row_keys(engine, rows, seed)
        keys += own
        # Sums do not distinguish (p, q) from (q, p); these do.
        apart += mixed_keys(own + np.uint64(number))
        # Sorted: np.unique takes ten times as long.
        fewest = min(fewest, 1 + int(np.count_nonzero(np.diff(np.sort(own)))))
    # Mixed again, or the first rows in key order would be the held-out ones.
    mixed = mixed_keys(keys + np.uint64(1))
    order = np.argsort(mixed)
    is_new = np.ones(n_samples, dtype=bool)
    is_new[1:] = np.diff(mixed[order]) != 0
    if not is_new.all():
        order = np.lexsort((apart, mixed))
        is_new[1:] = (np.diff(mixed[order]) != 0) | (np.diff(apart[order]) != 0)
    equal = np.empty(n_samples, dtype=np.intp)
    equal[order] = np.cumsum(is_new) - 1
    copied = copies_together and _are_copies(np.bincount(equal), fewest)
    if not copied and not is_new.all():
        # Equal rows are interchangeable, so it does not matter which gets which key.
        keys = mixed_keys(keys + _MULTIPLIER * _occurrences(order, is_new))
        order = np.argsort(mixed_keys(keys + np.uint64(1)), kind="stable")
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
        Fraction of rows held out.
    units
        Unit of each row; units stay together. By default every row is one.
    unit_keys
        Key of every unit; by default the smallest key of its rows.
    memory
        Autoregression of the rows, if they are serially dependent.
    seed
        Seed of the start of a stretch of rows.
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
    n_duplicates = 0
    if found.copied:
        n_duplicates = n_samples - int(found.equal.max()) - 1
    if units is not None:
        first = np.unique(units[found.order], return_index=True)[1]
        repeats[:] = True
        repeats[found.order[first]] = False
    return Split(
        parts=parts,
        order=found.order,
        repeats=repeats,
        units=units if repeats.any() else None,
        n_duplicates=n_duplicates,
        memory=memory,
    )


def _chosen_units(
    keys: NDArray[np.uint64], units: Index, unit_keys: NDArray[np.uint64] | None, wanted: int
) -> NDArray[np.bool_]:
    """Choose units by key with `wanted` rows in total, or the nearest smaller number."""
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
        # Every unit has more than `wanted` rows: the smallest is nearest to it.
        smallest = order[np.argmin(sizes[order])]
        chosen[smallest] = len(units) - int(sizes[smallest]) >= 2
    return chosen


def _are_copies(counts: Index, fewest: int) -> bool:
    """Return whether equal rows are copies of one sample, from how often each occurs.

    `fewest` is the smallest number of distinct rows in a single run. Copies are about equally
    frequent; values of which some are common and others rare are not copies.
    """
    n_distinct, n_samples = len(counts), int(counts.sum())
    if fewest < _COPIED * n_distinct:
        return False
    if n_distinct >= n_samples / 2:
        return True
    mean, variance = n_samples / n_distinct, float(counts.var())
    # Under chance alone the frequency of a common value has a variance equal to its mean.
    evenness = float(scipy.special.chdtr(n_distinct - 1, n_distinct * variance / mean))
    return evenness < _EVEN or (mean <= _MANY_COPIES and variance <= _UNEVEN * mean)


def _occurrences(order: Index, is_new: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return the numbers of equal rows, from zero."""
    places = np.arange(len(order))
    numbers = np.empty(len(order), dtype=np.uint64)
    numbers[order] = places - np.maximum.accumulate(np.where(is_new, places, 0))
    return numbers


def name_keys(names: NDArray[Any], seed: int) -> NDArray[np.uint64]:
    """Hash every name to 64 bits."""
    import hashlib

    salt = str(seed).encode()
    digests = [hashlib.blake2b(str(name).encode(), digest_size=8, key=salt) for name in names]
    return np.array([int.from_bytes(each.digest(), "big") for each in digests], dtype=np.uint64)


def take_rows(engine: Engine, rows: Any, index: Index) -> Float:
    """Load the selected rows into memory, in the order of `index`, in at most one pass."""
    if type(rows) is np.ndarray:
        return rows[index].astype(np.float64, copy=False)
    ordered = np.sort(index)
    back = np.searchsorted(ordered, index)
    if isinstance(rows, np.ndarray):
        return np.asarray(rows[ordered], dtype=np.float64)[back]
    if isinstance(rows, GatheringRows):
        return np.asarray(rows.gather(ordered), dtype=np.float64)[back]
    keep = np.zeros(rows.shape[0], dtype=bool)
    keep[index] = True
    return select_rows(engine, rows, keep)[back]


def pick_rows(engine: Engine, rows: Any, index: Index) -> Any:
    """Return the selected rows where the engine keeps them, for further passes."""
    return rows.pick(index) if isinstance(rows, DeviceRows) else take_rows(engine, rows, index)


_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
