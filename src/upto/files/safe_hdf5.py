"""Write HDF5 files so that a full disk or an interrupt does no harm.

HDF5 ends the process when it cannot close a file. Here it writes through a Python file that never
fails: data that cannot be written are kept in memory, where HDF5 can read them back, and the first
error is raised once HDF5 is done. Signals are deferred until then as well, because HDF5 would treat
the exceptions they raise as its own errors.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from upto.signals import clean_up, hold_signals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    Careful = Callable[[], AbstractContextManager[None]]


@contextmanager
def open_hdf5(path: Path, *, new: bool) -> Iterator[tuple[Any, Careful]]:
    """Open an HDF5 file for writing; yield it and the context in which to use it.

    On exit, that context raises any error or signal that occurred in it.
    """
    import h5py

    with path.open("x+b" if new else "r+b", buffering=0) as opened:
        shelter, file = _Sheltered(opened), None
        try:
            with shelter.careful():
                file = h5py.File(shelter, "w" if new else "r+")
            yield file, shelter.careful
        finally:
            if file is not None:
                clean_up(file.close)
        shelter.check()


class _Sheltered:
    """A file for HDF5 that stops writing to disk after the first error."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file: Any = file
        self._position = 0
        self._size = int(file.seek(0, os.SEEK_END))
        self._kept: list[tuple[int, bytes]] = []
        self._error: OSError | None = None

    @contextmanager
    def careful(self) -> Iterator[None]:
        with hold_signals():
            yield
        self.check()

    def check(self) -> None:
        if self._error is not None:
            raise self._error

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, size: int = -1) -> bytes:
        wanted = self._size - self._position if size < 0 else size
        buffer = bytearray(max(wanted, 0))
        return bytes(buffer[: self.readinto(buffer)])

    def readinto(self, buffer: Any) -> int:
        view, start = memoryview(buffer).cast("B"), self._position
        n_bytes = max(min(len(view), self._size - start), 0)
        # Unwritten parts of a file read as zeros.
        view[:n_bytes] = bytes(n_bytes)
        self._try(self._read_disk, view[:n_bytes])
        for position, data in self._kept:
            first, last = max(position, start), min(position + len(data), start + n_bytes)
            if first < last:
                view[first - start : last - start] = data[first - position : last - position]
        self._position += n_bytes
        return n_bytes

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        if self._error is None:
            self._try(self._write_disk, view)
        if self._error is not None:
            self._kept.append((self._position, bytes(view)))
        self._position += len(view)
        self._size = max(self._size, self._position)
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        self._size = self._position if size is None else size
        if self._error is None:
            self._try(self._file.truncate, self._size)
        return self._size

    def flush(self) -> None:
        """Do nothing: writes are unbuffered."""

    def _read_disk(self, view: memoryview) -> None:
        self._file.seek(self._position)
        while len(view) and (count := self._file.readinto(view)):
            view = view[count:]

    def _write_disk(self, view: memoryview) -> None:
        self._file.seek(self._position)
        while len(view):
            view = view[self._file.write(view) :]

    def _try(self, call: Callable[..., Any], *args: Any) -> None:
        try:
            call(*args)
        except OSError as error:
            self._error = self._error or error
