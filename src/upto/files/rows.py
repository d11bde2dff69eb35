"""Rows that stay in their file and are read slice by slice."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError, Rows
from upto.core.errors import reason
from upto.files.checksums import SummedPiece, verify
from upto.files.damage import damage_reported

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray


class BlockRows(ABC):
    """A numeric matrix in a file, read block by block in native byte order.

    A reader stores a path and a key rather than an open file, so it can be pickled and each
    worker opens the file itself.
    """

    def __init__(self, path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.path = path.absolute()
        self.shape = tuple(int(size) for size in shape)
        self.dtype = np.dtype(dtype).newbyteorder("=")

    @abstractmethod
    def _read(self, start: int, stop: int) -> NDArray[Any]:
        """Return the rows from `start` to `stop`, both within the file."""

    def __getitem__(self, key: slice) -> NDArray[Any]:
        wanted = range(self.shape[0])[key]
        if not len(wanted):
            return np.empty((0, self.shape[1]), dtype=self.dtype)
        # min and max of the whole range would iterate over it.
        start, stop = min(wanted[0], wanted[-1]), max(wanted[0], wanted[-1]) + 1
        # A block may be damaged even if the header was intact.
        with damage_reported(self.path):
            block = self._block(start, stop)
        if block.shape != (stop - start, self.shape[1]):
            message = (
                f"{self.path} changed while it was read: rows {start} to {stop} now have shape "
                f"{block.shape}. Read it again once nothing writes to it."
            )
            raise InputError(message)
        return block if wanted.step == 1 else block[[row - start for row in wanted]]

    def _block(self, start: int, stop: int) -> NDArray[Any]:
        try:
            return np.require(self._read(start, stop), dtype=self.dtype, requirements="A")
        except OSError as error:
            if error.errno is None:
                raise
            message = (
                f"{self.path} can no longer be read: {reason(error)}. Is it still there and intact?"
            )
            raise InputError(message) from None

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return np.array(self[:], dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        size = " × ".join(map(str, self.shape))
        return f"{type(self).__name__}({str(self.path)!r}: {size} {self.dtype})"


@dataclass(frozen=True, slots=True, eq=False)
class LaterRows:
    """The rows of another source from one on; other processes get the source's reader."""

    source: Rows
    first: int

    @property
    def shape(self) -> tuple[int, int]:
        """Number of these rows and of coordinates."""
        n_rows, width = self.source.shape
        return max(int(n_rows) - self.first, 0), int(width)

    @property
    def dtype(self) -> Any:
        """Type of the source."""
        return self.source.dtype

    @property
    def path(self) -> Path:
        """File of the source, if it has one."""
        path: Path = getattr(self.source, "path")  # noqa: B009 - not all sources have one
        return path

    def __getitem__(self, key: slice) -> Any:
        start, stop, step = key.indices(self.shape[0])
        return self.source[start + self.first : stop + self.first : step]


def rows_from(rows: Rows, first: int) -> Any:
    """Return the rows from one on."""
    if first == 0:
        return rows
    return rows[first:] if isinstance(rows, np.ndarray) else LaterRows(rows, first)


class StoredRows(BlockRows):
    """Raw numbers at an offset of a file.

    Blocks of rows are read, so that a pass leaves nothing of the file in memory; single rows and
    column-major arrays are memory-mapped, so that only the pages needed are touched.

    Parameters
    ----------
    path, offset
        The file and the position of its first number.
    shape, dtype
        Shape and type from the file's header.
    fortran
        Whether columns, not rows, are contiguous.
    bfloat16
        Whether the numbers are bfloat16, which are converted losslessly to float32.
    piece
        Piece of the file with a checksum, if any, which is verified before any row is read.
    """

    def __init__(
        self,
        path: Path,
        offset: int,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        *,
        fortran: bool = False,
        bfloat16: bool = False,
        piece: SummedPiece | None = None,
    ) -> None:
        super().__init__(path, shape, np.dtype(np.float32) if bfloat16 else dtype)
        self._stored = np.dtype("<u2") if bfloat16 else np.dtype(dtype)
        self._bfloat16 = bfloat16
        self._offset, self._fortran, self._piece = offset, fortran, piece
        order = "F" if fortran else "C"
        self._map = ThreadHandles(
            partial(np.memmap, self.path, self._stored, "r", offset, self.shape, order)
        )

    def _read(self, start: int, stop: int) -> NDArray[Any]:
        self._verify()
        if self._fortran:
            return self._decoded(np.asarray(self._map()[start:stop]))
        width = self.shape[1]
        offset = self._offset + start * width * self._stored.itemsize
        block = np.fromfile(self.path, self._stored, (stop - start) * width, offset=offset)
        whole = block[: block.size // width * width]
        return self._decoded(whole.reshape(-1, width))

    def gather(self, index: NDArray[np.intp]) -> NDArray[Any]:
        """Return the rows at ascending positions, touching no page between them."""
        self._verify()
        return np.require(self._decoded(np.asarray(self._map()[index])), dtype=self.dtype)

    def _verify(self) -> None:
        if self._piece is not None:
            verify(self.path, self._piece)

    def _decoded(self, block: NDArray[Any]) -> NDArray[Any]:
        if self._bfloat16:
            return (block.astype(np.uint32) << 16).view(np.float32)
        return block


class ThreadHandles:
    """One open file per thread, reopened after pickling or forking."""

    def __init__(self, opener: Callable[[], Any]) -> None:
        self._opener = opener
        self._local = threading.local()

    def __call__(self) -> Any:
        """Return this thread's open file."""
        process = os.getpid()
        if getattr(self._local, "process", None) != process:
            self._local.handle = self._opener()
            self._local.process = process
        return self._local.handle

    def __reduce__(self) -> tuple[type[ThreadHandles], tuple[Callable[[], Any]]]:
        return ThreadHandles, (self._opener,)
