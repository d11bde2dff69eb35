"""Outputs that grow block by block and can be continued where they stopped."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from upto.files.output_formats import OutputFormat
    from upto.files.plan import Plan, Put


class Growing(ABC):
    """An output that is not finished.

    Parameters
    ----------
    path
        The file or folder to write.
    plan
        What is written. If rows are left out, its run has more rows than the output will have.
    """

    def __init__(self, path: Path, plan: Plan) -> None:
        self.path, self.plan = path, plan
        self.n_rows = 0
        self.settled = (0, 0)
        """Rows that another process can continue after, once they are on disk: of the output, and
        of the run."""
        self.pieces: list[Any] = []
        """What the settled rows consist of, if they are in several pieces."""

    @abstractmethod
    def begin(self) -> None:
        """Open a new output."""

    @abstractmethod
    def restore(self) -> None:
        """Open an output of the settled rows and pieces, and discard what else is there."""

    @abstractmethod
    def put(self, rows: NDArray[Any], positions: NDArray[np.intp]) -> None:
        """Append rows, which are those at some positions of the run, in the plan's type."""

    @abstractmethod
    def finish(self, left_out: Sequence[int]) -> None:
        """Append what is gathered, and complete the output; some rows of the run are not in it."""

    @abstractmethod
    def close(self) -> None:
        """Close what is open, complete or not."""


class Gathered:
    """Gather rows into pieces of one length.

    Parameters
    ----------
    put
        Function that takes the rows of each piece and their positions in the run.
    length, width, dtype
        Number of rows of a piece and of coordinates, and their type.
    """

    def __init__(
        self,
        put: Callable[[NDArray[Any], NDArray[np.intp]], object],
        length: int,
        width: int,
        dtype: np.dtype[Any],
    ) -> None:
        self._put = put
        self._rows = np.empty((length, width), dtype=dtype)
        self._positions = np.empty(length, dtype=np.intp)
        self._filled = 0

    def __call__(self, rows: NDArray[Any], positions: NDArray[np.intp]) -> None:
        """Add rows."""
        while len(rows):
            count = min(len(rows), len(self._rows) - self._filled)
            held = slice(self._filled, self._filled + count)
            self._rows[held], self._positions[held] = rows[:count], positions[:count]
            self._filled += count
            rows, positions = rows[count:], positions[count:]
            if self._filled == len(self._rows):
                self.finish()

    def finish(self) -> None:
        """Pass on what was gathered last."""
        if self._filled:
            filled, self._filled = self._filled, 0
            self._put(self._rows[:filled], self._positions[:filled])


@contextmanager
def written_whole(found: Growing) -> Iterator[Put]:
    """Write all rows of a plan to an output that could grow, without an interrupt."""
    written = 0

    def put(block: NDArray[Any]) -> None:
        nonlocal written
        found.put(block, np.arange(written, written + len(block)))
        written += len(block)

    try:
        found.begin()
        yield put
        found.finish(())
    finally:
        found.close()


def growing(entry: OutputFormat, path: Path, plan: Plan) -> Growing:
    """Return the output of a format that grows."""
    module, _, name = str(entry.grows).partition(":")
    found: Growing = getattr(import_module(f"upto.files.{module}"), name)(path, plan)
    return found
