"""Which rows measures see, and in which order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from upto.core.arrays import Float, Index
from upto.engines import ThreadsEngine
from upto.evidence.serial import effective_rows
from upto.evidence.split import row_keys
from upto.questions.similarity.result import MeasuredRun

if TYPE_CHECKING:
    from collections.abc import Sequence


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


def order_of_content(rows: Sequence[Float], seed: int) -> tuple[int, ...]:
    """Return the places of runs in an order that their rows decide, and not who names them."""
    engine = ThreadsEngine()
    keys = [int(row_keys(engine, each, seed).sum(dtype=np.uint64)) for each in rows]
    return tuple(sorted(range(len(rows)), key=keys.__getitem__))
