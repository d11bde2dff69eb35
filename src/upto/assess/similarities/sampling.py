"""Which rows measures see, and in which order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.assess.serial import effective_rows
from upto.assess.split import row_keys
from upto.core import InputError, MeasuredRun
from upto.engines import ThreadsEngine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.assess.split import Split

Float = NDArray[np.float64]
Index = NDArray[np.intp]

MIN_HALF_SAMPLES = 10


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Sample:
    """The rows all measures see, in an order that their content decides, and so are the runs.

    `runs` are in the order given; `places` says for each entry of `rows` which of them it is. `far`
    marks rows that are far from the others in every run, if there are any, and `gap` says after how
    many rows they no longer depend on each other, if they do.
    """

    runs: tuple[MeasuredRun, ...]
    rows: tuple[Float, ...]
    places: tuple[int, ...]
    parts: NDArray[np.int8]
    strata: Index | None
    far: NDArray[np.bool_] | None
    within: str | None
    gap: int | None
    n_samples: int
    n_repeats: int
    asked: float

    @property
    def n_used(self) -> int:
        """Number of rows."""
        return len(self.parts)

    @property
    def n_held_out(self) -> int:
        """Number of rows held out."""
        return int(self.parts.sum())

    @property
    def classes(self) -> Index | None:
        """Within what rows are paired at random: their class, and whether all have them far."""
        if self.far is None:
            return self.strata
        far = self.far.astype(np.intp)
        return far if self.strata is None else far + 2 * self.strata

    @property
    def cells(self) -> Index:
        """Number of the class of each row among those of its part."""
        cells: Index = self.parts.astype(np.intp)
        return cells if self.strata is None else cells + 2 * self.strata

    @property
    def worth(self) -> float:
        """How many independent rows these are worth; infinite where each is one."""
        if self.gap is None or self.strata is not None:
            return math.inf
        return min(effective_rows(own) for own in self.rows)

    def equal_runs(self) -> list[str]:
        """Name the pairs of runs whose rows are equal; in order of content they are neighbours."""
        neighbours = pairwise(zip(self.places, self.rows, strict=True))
        return [
            " and ".join(self.runs[place].name for place in sorted((one, other)))
            for (one, rows), (other, others) in neighbours
            if np.array_equal(rows, others)
        ]


def check_options(
    held_out: Any, permutations: Any, half_samples: Any, max_rows: Any, seed: Any
) -> None:
    """Refuse what no similarity can be scored with."""
    lowest = {"permutations": 19, "half_samples": 0, "max_rows": 2, "seed": 0}
    values = (permutations, half_samples, max_rows, seed)
    for (name, low), value in zip(lowest.items(), values, strict=True):
        if not isinstance(value, int | np.integer) or value < low:
            message = f"{name} is {value!r}, but it must be a whole number of at least {low}."
            raise InputError(message)
    if 0 < half_samples < MIN_HALF_SAMPLES:
        message = (
            f"half_samples is {half_samples}, but an interval needs at least {MIN_HALF_SAMPLES}; "
            "0 leaves intervals out."
        )
        raise InputError(message)
    if not isinstance(held_out, float | int | np.number) or not 0 <= held_out < 1:
        message = f"held_out is {held_out!r}, but it must be a fraction from 0 to below 1."
        raise InputError(message)


def choose_rows(split: Split, strata: Index | None, max_rows: int) -> Index:
    """Return the rows to use, in the order of their keys, with as large a share held out.

    Rows that repeat another in every run are one observation: a pairing that separates such copies
    is not as likely as one that does not, so they are left out. Rows that follow each other are
    taken at equal distances, in their own order.
    """
    if split.memory is not None:
        following = np.flatnonzero(~split.repeats)
        return following[:: -(-len(following) // max_rows)]
    order, is_first = split.order, ~split.repeats[split.order]
    if strata is not None:
        # Equal rows may be of different classes: then the class decides, and not their place.
        order = order[np.lexsort((strata[order], np.cumsum(is_first)))]
    distinct = order[is_first]
    held_out = split.parts[distinct] == 1
    count = min(max_rows, len(distinct))
    n_held_out = min(round(count * float(held_out.mean())), max(count - 2, 0))
    ranks = np.where(held_out, np.cumsum(held_out), np.cumsum(~held_out))
    return distinct[ranks <= np.where(held_out, n_held_out, count - n_held_out)]


def order_of_content(rows: Sequence[Float], seed: int) -> tuple[int, ...]:
    """Return the places of runs in an order that their rows decide, and not who names them."""
    engine = ThreadsEngine()
    keys = [int(row_keys(engine, each, seed).sum(dtype=np.uint64)) for each in rows]
    return tuple(sorted(range(len(rows)), key=keys.__getitem__))
