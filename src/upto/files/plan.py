"""Plans for writing runs, and building blocks of writers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from upto.core import Embeddings
from upto.files.request import ID_NAMES

Put = Callable[[NDArray[Any]], Any]
"""Function that takes the next block of rows, in the plan's type and C order."""

IDS = ID_NAMES[0]
"""Default name of ids: the one that readers look for first."""

_GROUP_BYTES = 2**24


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """New coordinates of a run, to be written to a file.

    Parameters
    ----------
    path
        Destination: a temporary path that is renamed at the end.
    like
        The run whose ids and columns belong to the rows.
    n_columns
        Number of new coordinates.
    dtype
        Type of the coordinates.
    prefix
        Name of the array, and prefix of the names of coordinates.
    source
        AnnData file of the run and the key of its array there, or None.
    mixing
        Matrix that maps the coordinates back to variables, if AnnData can store it.
    stored
        Further arrays and strings for AnnData's `uns`.
    features
        Names of the coordinates in tables; by default the prefix with numbers.
    ids_name
        Name of the ids in tables.
    """

    path: Path
    like: Embeddings
    n_columns: int
    dtype: np.dtype[Any]
    prefix: str
    source: tuple[Path, str] | None = None
    mixing: NDArray[Any] | None = None
    stored: Mapping[str, Any] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    ids_name: str = IDS

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of new coordinates."""
        return self.like.n_samples, self.n_columns

    @property
    def names(self) -> list[str]:
        """Names of the new coordinates."""
        if self.features:
            return list(self.features)
        return [f"{self.prefix}_{number}" for number in range(self.n_columns)]

    def labels(self, ids: str = IDS, *, taken: tuple[str, ...] = ()) -> dict[str, NDArray[Any]]:
        """Return the ids, under their own name, and the columns, each as plain values.

        Columns of an earlier result with the same prefix are dropped, because these coordinates
        replace them. A column whose name is `taken` is renamed.
        """
        found: dict[str, NDArray[Any]] = {}
        if self.like.ids is not None:
            found[ids] = plain_values(self.like.ids)
        replaced = re.compile(rf"{re.escape(self.prefix)}_\d+")
        for name, values in self.like.columns.items():
            if not replaced.fullmatch(name):
                free = name
                while free in found or free in taken:
                    free += "_"
                found[free] = plain_values(values)
        return found

    @property
    def group_rows(self) -> int:
        """Number of rows per group, for formats that store rows in groups."""
        width = max(1, self.n_columns * self.dtype.itemsize)
        return int(min(max(_GROUP_BYTES // width, 1), 65_536, self.like.n_samples))


class Grouped:
    """Regroup blocks of any length into groups of one length.

    Parameters
    ----------
    put
        Function that takes each group before the next one is filled.
    plan
        Plan that sets the length of a group.
    """

    def __init__(self, put: Put, plan: Plan) -> None:
        self._put = put
        self._group = np.empty((plan.group_rows, plan.n_columns), dtype=plan.dtype)
        self._filled = 0

    def __call__(self, block: NDArray[Any]) -> None:
        """Add the next block."""
        while len(block):
            part = block[: len(self._group) - self._filled]
            self._group[self._filled : self._filled + len(part)] = part
            self._filled += len(part)
            block = block[len(part) :]
            if self._filled == len(self._group):
                self.finish()

    def finish(self) -> None:
        """Pass on the rows of the last, incomplete group."""
        if self._filled:
            self._put(self._group[: self._filled])
        self._filled = 0


def plain_values(values: NDArray[Any]) -> NDArray[Any]:
    """Convert values to numbers or fixed-width text, which every format supports."""
    array = np.asarray(values)
    return array if array.dtype.kind in "fiub" else array.astype(str)
