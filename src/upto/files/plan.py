"""What is to be written, and what a writer of one format is made of."""

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
"""Takes the next block of rows, in the plan's type and C order."""

IDS = ID_NAMES[0]
"""What ids are called where they need a name: the one that readers look for first."""

_GROUP_BYTES = 2**24


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """New coordinates of a run, on their way to a file.

    Parameters
    ----------
    path
        Where to write: a temporary name that will take the place of the real one.
    like
        The run whose ids and columns belong to the rows.
    n_columns
        Number of new coordinates.
    dtype
        Their type.
    prefix
        What the array is called, and what the names of coordinates begin with.
    source
        The AnnData file of the run and the key of its array there; None if it has none.
    mixing
        How variables are made of the coordinates, where AnnData can keep it.
    stored
        More arrays and words for AnnData's `uns`.
    features
        What tables call the coordinates; numbered after the prefix by default.
    ids_name
        What tables call the ids.
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
        """Name each new coordinate."""
        if self.features:
            return list(self.features)
        return [f"{self.prefix}_{number}" for number in range(self.n_columns)]

    def labels(self, ids: str = IDS, *, taken: tuple[str, ...] = ()) -> dict[str, NDArray[Any]]:
        """Return the ids, under a name of their own, and the columns, each as plain values.

        Columns of an earlier result with the same prefix are left out, because these coordinates
        replace them. A column whose name is `taken` gets another.
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
        """How many rows to write together, for formats that keep rows in groups."""
        width = max(1, self.n_columns * self.dtype.itemsize)
        return int(min(max(_GROUP_BYTES // width, 1), 65_536, self.like.n_samples))


class Grouped:
    """Blocks of any length, handed on in groups of one length.

    Parameters
    ----------
    put
        Takes each group, before the next one is filled.
    plan
        Says how long a group is.
    """

    def __init__(self, put: Put, plan: Plan) -> None:
        self._put = put
        self._group = np.empty((plan.group_rows, plan.n_columns), dtype=plan.dtype)
        self._filled = 0

    def __call__(self, block: NDArray[Any]) -> None:
        """Take the next block."""
        while len(block):
            part = block[: len(self._group) - self._filled]
            self._group[self._filled : self._filled + len(part)] = part
            self._filled += len(part)
            block = block[len(part) :]
            if self._filled == len(self._group):
                self.finish()

    def finish(self) -> None:
        """Hand on the rows that do not fill a group."""
        if self._filled:
            self._put(self._group[: self._filled])
        self._filled = 0


def plain_values(values: NDArray[Any]) -> NDArray[Any]:
    """Turn values into numbers or text of fixed width, which every format has."""
    array = np.asarray(values)
    return array if array.dtype.kind in "fiub" else array.astype(str)
