"""Objects that the dask engine sends to its workers: sources they can open, and tasks."""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import pickle
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from upto.core import InputError, SelectedRows
from upto.core.errors import reason
from upto.engines.base import add
from upto.engines.threads import ThreadsEngine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from upto.engines.base import Arrays

_PORTABLE_BYTES, _PORTABLE_SHARE = 2**18, 64
"""A source whose pickle is smaller, or a small part of its rows, refers to them only."""


@dataclass(frozen=True, slots=True)
class MappedArray:
    """An array in a file, or a view of one, that any process can memory-map."""

    path: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]

    def __getitem__(self, key: slice) -> NDArray[Any]:
        whole = np.memmap(self.path, np.uint8, "r")
        try:
            array: NDArray[Any] = np.ndarray(
                self.shape, self.dtype, whole, self.offset, self.strides
            )
        except (TypeError, ValueError):
            message = f"{self.path} shrank to {len(whole)} bytes: save it again."
            raise InputError(message) from None
        return array[key]


def portable(rows: Any) -> Any:
    """Return a source from which a worker can read the rows, or None if there is none."""
    if isinstance(rows, np.ndarray):
        return _mapped(rows)
    if isinstance(rows, SelectedRows):
        source = portable(rows.source)
        return None if source is None else SelectedRows(source, rows.index)
    import cloudpickle

    try:
        n_bytes = math.prod(rows.shape) * np.dtype(rows.dtype).itemsize
        room = max(_PORTABLE_BYTES, n_bytes // _PORTABLE_SHARE)
        cloudpickle.Pickler(_Measure(room)).dump(rows)
    except Exception:  # noqa: BLE001 - pickling may fail for any reason
        return None
    return rows


class _Measure:
    """A file that discards its input and refuses more than a reader needs."""

    def __init__(self, room: int) -> None:
        self._room = room

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self._room -= size
        if self._room < 0:
            message = "too large to be a reader"
            raise OverflowError(message)
        return size


def _mapped(rows: NDArray[Any]) -> MappedArray | None:
    root: Any = rows
    while isinstance(root.base, np.ndarray):
        root = root.base
    if not (isinstance(root, np.memmap) and isinstance(root.base, mmap.mmap)):
        return None
    # Changes to a copy-on-write map exist only in this process.
    if root.mode == "c" or root.filename is None or not os.path.isfile(root.filename):  # noqa: PTH113
        return None
    if root.mode != "r":
        root.flush()
    return MappedArray(
        path=os.fspath(root.filename),
        offset=int(root.offset) + _address(rows) - _address(root),
        shape=rows.shape,
        strides=rows.strides,
        dtype=rows.dtype,
    )


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One pass: the function applied to every chunk and how results are combined."""

    function: Callable[..., Any]
    params: tuple[Any, ...] = ()
    combine: Callable[..., Any] | None = None
    dtype: str = "float64"
    engine: ThreadsEngine = field(default_factory=lambda: ThreadsEngine(n_threads=1))

    def reduce(self, chunks: Sequence[Any]) -> Arrays:
        """Return the combined statistics of the blocks of a chunk."""
        return self.engine.reduce_blocks(
            self.function, *chunks, params=self.params, combine=self.combine, dtype=self.dtype
        )

    def map(self, chunks: Sequence[Any], out: Any = None) -> Any:
        """Return the transformed rows of a chunk, or write them."""
        return self.engine.map_blocks(
            self.function, *chunks, params=self.params, out=out, dtype=self.dtype
        )

    def __reduce__(self) -> tuple[Any, ...]:
        import cloudpickle

        # Functions of the user's script do not exist on a worker, so their code is sent along.
        functions = cloudpickle.dumps((self.function, self.combine))
        return _job, (functions, self.params, self.dtype)


def _job(functions: bytes, params: tuple[Any, ...], dtype: str) -> Job:
    function, combine = pickle.loads(functions)
    return Job(function=function, params=params, combine=combine, dtype=dtype)


def load_chunk(source: Any, span: tuple[int, int]) -> NDArray[Any]:
    """Read a chunk to keep it in the worker's memory."""
    return np.array(_opened(source, span))


def reduce_chunk(*sources: Any, job: Job) -> Arrays:
    """Return the statistics of one chunk; sources and their spans of rows alternate."""
    with _one_blas_thread:
        return job.reduce(_chunks(sources))


def map_chunk(*sources: Any, job: Job) -> NDArray[Any]:
    """Return the transformed rows of one chunk; sources and their spans of rows alternate."""
    with _one_blas_thread:
        mapped: NDArray[Any] = job.map(_chunks(sources))
        return mapped


def merge(parts: Sequence[Arrays], job: Job) -> Arrays:
    """Combine partial results pairwise, in row order."""
    combine = job.combine or add
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [combine(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return parts[0]


def _chunks(sources: Sequence[Any]) -> list[NDArray[Any]]:
    return [_opened(source, span) for source, span in zip(sources[::2], sources[1::2], strict=True)]


def _opened(source: Any, span: tuple[int, int]) -> NDArray[Any]:
    start, stop = span
    try:
        return np.asarray(source[start:stop])
    except (OSError, InputError) as error:
        path = _path(source)
        if isinstance(error, InputError) and (path is None or Path(path).exists()):
            # The file is there, and the error says what is wrong with it.
            raise
        what = f"rows {start} to {stop}" if path is None else path
        message = (
            f"the worker {_own_address()} cannot read {what} ({reason(error)}): put the file where "
            "every worker finds it under the same path, or load it into memory first."
        )
        raise InputError(message) from None


def _path(source: Any) -> Any:
    while isinstance(source, SelectedRows):
        source = source.source
    path = getattr(source, "path", "")
    # The path of a zarr array is one within its store.
    return path if Path(path).is_absolute() else None


def _own_address() -> str:
    from distributed import get_worker

    try:
        return str(get_worker().address)
    except ValueError:
        return f"of process {os.getpid()}"


class _Hold:
    """Settings of a process while any of its tasks runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_tasks = 0
        self._limits: Any = None

    def __enter__(self) -> None:
        # Both settings are process-wide: the first task sets them, the last restores them.
        with self._lock:
            if self._n_tasks == 0:
                self._limits = threadpool_limits(1, "blas")
                _keep_freed_memory(keep=True)
            self._n_tasks += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_tasks -= 1
            if self._n_tasks == 0:
                _keep_freed_memory(keep=False)
                self._limits.restore_original_limits()


_one_blas_thread = _Hold()

_TRIM, _MMAP = -1, -3
"""Parameters of `mallopt`: M_TRIM_THRESHOLD and M_MMAP_THRESHOLD."""


def _keep_freed_memory(*, keep: bool) -> None:
    """Let the blocks of a pass reuse freed memory.

    Workers started by dask return freed memory to the system at once, and getting it back would
    take a third of a pass; other processes do not.
    """
    usual = os.environ.get("MALLOC_TRIM_THRESHOLD_", "")
    if not (usual.isdigit() and sys.platform == "linux"):
        return
    with suppress(AttributeError, OSError):
        library = ctypes.CDLL(None)
        library.mallopt(_TRIM, 2**26 if keep else int(usual))
        library.mallopt(_MMAP, 2**25 if keep else 2**17)
        if not keep:
            library.malloc_trim(0)
