"""Sample of rows that all measures use."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from upto.core.array_types import Float, Index
from upto.engines import ThreadsEngine
from upto.evidence.serial import effective_rows
from upto.evidence.split import row_keys
from upto.questions.similarity.result import MeasuredRun

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Sample:
    """The rows that all measures use, with rows and runs in an order decided by their content.

    `runs` are in input order; `places` is the index in `runs` of each entry of `rows`. `far` marks
    outliers in every run, if any, and `gap` is the lag beyond which serially dependent rows are
    independent.
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
        """Cells of the re-pairing: the class of each row, and whether it is an outlier."""
        if self.far is None:
            return self.strata
        far = self.far.astype(np.intp)
        return far if self.strata is None else far + 2 * self.strata

    @property
    def cells(self) -> Index:
        """Cell of each row: its class within the fitted or held-out part."""
        cells: Index = self.parts.astype(np.intp)
        return cells if self.strata is None else cells + 2 * self.strata

    @property
    def worth(self) -> float:
        """Effective number of independent rows; infinite if rows are independent."""
        if self.gap is None or self.strata is not None:
            return math.inf
        return min(effective_rows(own) for own in self.rows)

    def equal_runs(self) -> list[str]:
        """Return the names of pairs of equal runs, which are neighbours in order of content."""
        neighbours = pairwise(zip(self.places, self.rows, strict=True))
        return [
            " and ".join(self.runs[place].name for place in sorted((one, other)))
            for (one, rows), (other, others) in neighbours
            if np.array_equal(rows, others)
        ]


def order_of_content(rows: Sequence[Float], seed: int) -> tuple[int, ...]:
    """Return the indices of runs sorted by content, so that input order does not matter."""
    engine = ThreadsEngine()
    keys = [int(row_keys(engine, each, seed).sum(dtype=np.uint64)) for each in rows]
    return tuple(sorted(range(len(rows)), key=keys.__getitem__))
