"""Which rows are held out: decided by what a row holds, never by where it stands.

A row's key is a hash of its values in every run. Keys make the split, and every other random
choice, independent of row order, and keep equal rows on one side of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.core import GatheringRows, random_stream
from upto.engines import host_array, select_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.engines.base import Arrays, Engine

Float = NDArray[np.float64]

MIN_HELD_OUT = 5
"""Rows held out of a small sample: five can be permuted in enough ways for a 5 % level."""
_COPIED = 0.9
"""Share of different rows that are different in every single run, where equal ones are copies."""


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Part 1 of the rows is held out; `order` lists all rows by key.

    `repeats` marks the rows that equal an earlier one of that order in every run, where that means
    that a sample was copied. In runs of few different values, such as codes, rows of different
    samples are equal too, and how often they are is what the runs say.
    """

    parts: NDArray[np.int8]
    order: NDArray[np.intp]
    repeats: NDArray[np.bool_]

    @property
    def n_held_out(self) -> int:
        """Number of rows held out."""
        return int(self.parts.sum())

    @property
    def n_duplicates(self) -> int:
        """Number of rows that repeat another in every run."""
        return int(self.repeats.sum())

    def distinct_held_out(self, count: int) -> NDArray[np.intp]:
        """Return the positions of the first held-out rows in key order, without repeats.

        A pair that occurs twice is one observation: pairings that separate its copies are not
        equally likely, and a test that draws them finds agreement in noise.
        """
        index = self.first_rows(len(self.order), 1)
        return index[~self.repeats[index]][:count]

    def first_rows(self, count: int, part: int | None = None) -> NDArray[np.intp]:
        """Return the positions of the first rows in key order, of one part or of all."""
        order = self.order if part is None else self.order[self.parts[self.order] == part]
        return order[:count]


def split_rows(engine: Engine, runs: Sequence[Any], held_out: float, seed: int) -> Split:
    """Hold out a fraction of the rows that all runs share."""
    n_samples = int(runs[0].shape[0])
    keys, apart = np.zeros((2, n_samples), dtype=np.uint64)
    fewest = n_samples
    for number, rows in enumerate(runs, start=1):
        own = row_keys(engine, rows, seed)
        keys += own
        # Sums do not tell (p, q) from (q, p); these do.
        apart += _mix(own + np.uint64(number))
        fewest = min(fewest, len(np.unique(own)))
    ordered = np.sort(keys)
    wanted = 0
    if held_out > 0:
        wanted = max(round(held_out * n_samples), min(MIN_HELD_OUT, n_samples // 2))
        wanted = min(wanted, n_samples - 2)
    parts = np.zeros(n_samples, dtype=np.int8)
    if 0 < wanted < n_samples:
        parts[keys <= ordered[wanted - 1]] = 1
    if parts.sum() > n_samples - 2:
        parts[:] = 0
    # Mixed once more, or the first rows in order would be the held-out ones.
    mixed = _mix(keys + np.uint64(1))
    order = np.lexsort((apart, mixed))
    repeats = np.zeros(n_samples, dtype=bool)
    repeats[order[1:]] = (np.diff(mixed[order]) == 0) & (np.diff(apart[order]) == 0)
    if fewest < _COPIED * (n_samples - repeats.sum()):
        repeats[:] = False
    return Split(parts, order, repeats)


def row_keys(engine: Engine, rows: Any, seed: int) -> NDArray[np.uint64]:
    """Hash every row to 64 bits."""
    draws = random_stream(seed, "row keys").integers(
        2**63, size=rows.shape[1], dtype=np.uint64, endpoint=False
    )
    keys: NDArray[np.uint64] = engine.map_blocks(_hash_rows, rows, params=(draws * 2 + 1,))
    return _mix(keys)


def take_rows(engine: Engine, rows: Any, index: NDArray[np.intp]) -> Float:
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


def _mix(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
