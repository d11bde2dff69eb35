"""Row groups too large to keep in memory: decoded in order, page by page."""

from __future__ import annotations

import tempfile
import threading
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.core.errors import reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

_KEPT_BYTES = 2**26


class LargeGroup:
    """Rows that can only be decoded in order, and are asked for in any order.

    Threads share the rows decoded last, which is all that one pass in order needs. As soon as
    earlier rows are asked for again, everything is decoded once more, into a temporary file
    without a name, and read from there.

    Parameters
    ----------
    path
        The file, for messages.
    shape, dtype
        Shape and type of the rows.
    decode
        Function that returns an iterator over consecutive blocks of rows, from the first.
    """

    def __init__(
        self,
        path: Path,
        shape: tuple[int, int],
        dtype: np.dtype[Any],
        decode: Callable[[], Iterator[NDArray[Any]]],
    ) -> None:
        self._path = path
        self._shape, self._dtype = shape, dtype
        self._decode = decode
        self._lock = threading.Lock()
        self._file: Any = None
        self._restart()

    @property
    def is_stored(self) -> bool:
        """Whether the rows are in a temporary file."""
        return self._file is not None

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return the rows from `start` to `stop`."""
        out = np.empty((stop - start, self._shape[1]), dtype=self._dtype)
        with self._lock:
            try:
                if self._file is None and start < self._n_decoded - self._n_kept:
                    self._file = tempfile.TemporaryFile(prefix="upto-")  # noqa: SIM115 - as below
                    weakref.finalize(self, self._file.close)
                    self._restart()
                self._copy_known(out, start, stop)
                while self._n_decoded < stop:
                    begin = self._n_decoded
                    _copy(self._next(), begin, out, start)
            except BaseException:
                # What was written before an error or an interrupt is unknown.
                if self._file is not None:
                    self._file.close()
                self._file = None
                self._restart()
                raise
        return out

    def _restart(self) -> None:
        self._blocks: Iterator[NDArray[Any]] | None = None
        self._kept: deque[NDArray[Any]] = deque()
        self._n_kept = self._n_decoded = 0

    def _copy_known(self, out: NDArray[Any], start: int, stop: int) -> None:
        if self._file is None:
            begin = self._n_decoded - self._n_kept
            for block in self._kept:
                _copy(block, begin, out, start)
                begin += len(block)
            return
        known = out[: max(min(stop, self._n_decoded) - start, 0)]
        self._file.seek(start * self._shape[1] * self._dtype.itemsize)
        self._file.readinto(known.data)

    def _next(self) -> NDArray[Any]:
        """Decode another block, and keep it."""
        if self._blocks is None:
            self._blocks = self._decode()
        block = next(self._blocks)
        if self._file is None:
            self._kept.append(block)
            self._n_kept += len(block)
            row_bytes = self._shape[1] * self._dtype.itemsize
            while len(self._kept) > 2 and self._n_kept * row_bytes > _KEPT_BYTES:
                self._n_kept -= len(self._kept.popleft())
        else:
            self._store(block, self._file)
        self._n_decoded += len(block)
        if self._n_decoded == self._shape[0]:
            # The decoder holds a page of every column.
            self._blocks = None
        return block

    def _store(self, block: NDArray[Any], file: Any) -> None:
        try:
            file.seek(self._n_decoded * self._shape[1] * self._dtype.itemsize)
            file.write(np.ascontiguousarray(block).data)
            file.flush()
        except OSError as error:
            n_bytes = self._shape[0] * self._shape[1] * self._dtype.itemsize
            message = (
                f"{self._path} has a row group of {n_bytes} bytes, which does not fit in "
                f"{tempfile.gettempdir()} ({reason(error)}) to be read more than once: set TMPDIR "
                "to a larger disk, or write the table in smaller row groups."
            )
            raise InputError(message) from None


def _copy(block: NDArray[Any], begin: int, out: NDArray[Any], start: int) -> None:
    """Copy the rows that a block and `out` share; their first rows are `begin` and `start`."""
    first, last = max(begin, start), min(begin + len(block), start + len(out))
    if first < last:
        out[first - start : last - start] = block[first - begin : last - begin]
