"""The default engine: blocks of rows on a pool of threads."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from threading import Barrier
from typing import TYPE_CHECKING, Any, TypeVar

import array_api_compat
import numpy as np

from upto.engines.base import add, block_length
from upto.engines.blocks import common_length, no_rows, slices_of
from upto.engines.cores import n_cores, one_blas_thread
from upto.signals import hold_signals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from upto.engines.base import Arrays, Combine, Statistic

T = TypeVar("T")

_TASKS = 64
"""Number of tasks, which fixes the order of summation independently of the number of threads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadsEngine:
    """Passes over arrays, memory maps and block readers on the threads of this machine.

    Parameters
    ----------
    n_threads
        Number of threads; all cores by default. Each uses one BLAS thread.
    block_rows
        Rows per block; by default as many as fit the cache.
    namespace
        Array namespace that blocks are converted to; NumPy by default.

    See Also
    --------
    upto.TorchEngine : A GPU.
    upto.DaskEngine : A cluster.
    upto.engines.Engine : The protocol they follow.

    Notes
    -----
    The order of summation depends only on the block length, so the number of threads never changes
    a result.

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> rows = np.random.default_rng(0).normal(size=(500, 3))
    >>> result = upto.inspect(rows, ica=False, engine=upto.ThreadsEngine(n_threads=1))
    >>> result.provenance.engine
    'threads'
    """

    n_threads: int | None = None
    block_rows: int | None = None
    namespace: Any = None
    name: str = "threads"

    def place(self, rows: Any) -> Any:
        """Return rows unchanged: blocks are read during the passes."""
        return rows

    @property
    def n_at_a_time(self) -> int:
        """Number of items that are worked on at a time, if there are as many."""
        return self.n_threads or n_cores()

    @contextmanager
    def beside_others(self, n_items: int) -> Iterator[ThreadsEngine]:
        """Yield the engine for one of several items, with its share of the threads."""
        yield replace(self, n_threads=max(1, self.n_at_a_time // n_items))

    def reduce_blocks(
        self,
        statistic: Statistic,
        *rows: Any,
        params: Sequence[Any] = (),
        combine: Combine | None = None,
        dtype: str = "float64",
    ) -> tuple[NDArray[Any], ...]:
        """Combine the statistics of all blocks in row order, by default by addition."""
        in_place = combine is None and self._is_numpy
        merge = _add_in_place if in_place else (combine or add)

        def partial(blocks: list[slice]) -> Arrays:
            total: Arrays | None = None
            for block in blocks:
                part = self._call(statistic, rows, block, params, dtype)
                if in_place:
                    part = tuple(_widened(array) for array in part)
                total = part if total is None else merge(total, part)
            return total or ()

        total: Arrays | None = None
        for _, part in self._run(partial, rows, params):
            total = part if total is None else merge(total, part)
        if total is None:
            raise no_rows()
        return tuple(_to_host(array) for array in total)

    def map_blocks(
        self,
        function: Statistic,
        *rows: Any,
        params: Sequence[Any] = (),
        out: Any = None,
        dtype: str = "float64",
    ) -> Any:
        """Transform blocks of rows and concatenate the results."""

        def piece(blocks: list[slice]) -> NDArray[Any]:
            return _to_host(self._call(function, rows, blocks[0], params, dtype)[0])

        joined: list[NDArray[Any]] = []
        # A task for each block: what waits to be written does not grow with the rows.
        for (block,), part in self._run(piece, rows, params, block_by_block=True):
            if out is None:
                joined.append(part)
            else:
                out[block] = part
        return np.concatenate(joined) if out is None else out

    @property
    def _is_numpy(self) -> bool:
        return self.namespace is None

    def _call(
        self,
        function: Statistic,
        rows: Sequence[Any],
        block: slice,
        params: Sequence[Any],
        dtype: str,
    ) -> Arrays:
        arrays = [_read(source, block, dtype) for source in rows]
        if self._is_numpy:
            return function(_numpy_namespace(), *arrays, *params)
        xp = self.namespace
        placed = [xp.asarray(np.ascontiguousarray(array)) for array in arrays]
        return function(xp, *placed, *(_place_param(xp, param) for param in params))

    def _run(
        self,
        work: Callable[[list[slice]], T],
        rows: Sequence[Any],
        params: Sequence[Any],
        *,
        block_by_block: bool = False,
    ) -> Iterator[tuple[list[slice], T]]:
        """Yield the results of tasks in row order, with few tasks in flight."""
        n_samples = common_length(rows)
        # A block becomes as wide as the matrices it is multiplied by.
        matrices = [array for array in (*rows, *params) if len(np.shape(array)) == 2]
        widths = [int(np.shape(array)[1]) for array in matrices]
        length = self.block_rows or block_length(n_samples, widths or [1])
        blocks = slices_of(n_samples, length)
        size = 1 if block_by_block else -(-len(blocks) // _TASKS)
        tasks = [blocks[i : i + size] for i in range(0, len(blocks), size or 1)]
        n_threads = min(self.n_threads or n_cores(), len(tasks))
        if n_threads <= 1:
            limits = nullcontext() if len(tasks) == 1 else one_blas_thread()
            with limits:
                for task in tasks:
                    yield task, work(task)
            return
        with one_blas_thread():
            pool = _pool(n_threads)
            waiting: deque[tuple[list[slice], Future[T]]] = deque()
            left = iter(tasks)

            def submit(count: int) -> None:
                for task in islice(left, count):
                    # Before it can start, or an interrupt in between would lose it.
                    future: Future[T] = Future()
                    waiting.append((task, future))
                    pool.submit(_fulfil, future, work, task)

            try:
                submit(n_threads + 1)
                while waiting:
                    task, future = waiting[0]
                    yield task, future.result()
                    waiting.popleft()
                    submit(1)
            finally:
                # Running tasks still read rows that the caller may close.
                wait([future for _, future in waiting if not future.cancel()])


def _fulfil(future: Future[T], work: Callable[[list[slice]], T], task: list[slice]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(work(task))
    except BaseException as error:  # noqa: BLE001 - raised where the result is awaited
        future.set_exception(error)
        # The error refers to this frame, which must not refer to the error.
        del future


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    # Starting threads for every pass takes as long as a pass over few rows.
    pool = ThreadPoolExecutor(n_threads, thread_name_prefix="upto")
    all_there = Barrier(n_threads)
    # All at once: a pool does not know a thread whose start was interrupted, and never ends it.
    try:
        with hold_signals():
            wait([pool.submit(all_there.wait) for _ in range(n_threads)])
    except BaseException:
        all_there.abort()
        pool.shutdown(wait=False)
        raise
    return pool


if hasattr(os, "register_at_fork"):
    # The threads of a pool do not survive a fork.
    os.register_at_fork(after_in_child=_pool.cache_clear)


@cache
def _numpy_namespace() -> Any:
    return array_api_compat.array_namespace(np.empty(0))


def _read(source: Any, block: slice, dtype: str) -> NDArray[Any]:
    array = source[block]
    if len(source.shape) == 2:
        return np.asarray(array, dtype=dtype)
    return np.asarray(array)


def _place_param(xp: Any, param: Any) -> Any:
    return xp.asarray(param) if isinstance(param, np.ndarray) else param


def _to_host(array: Any) -> NDArray[Any]:
    return np.asarray(array)


def _add_in_place(first: Arrays, second: Arrays) -> Arrays:
    # Allocating a d×d sum per block would cost as much memory traffic as the product itself.
    return tuple(
        np.add(a, b, out=a) if _is_ours(a) else a + b for a, b in zip(first, second, strict=True)
    )


def _widened(array: Any) -> Any:
    # Sums within a block may be in single precision; sums over blocks are not.
    is_single = getattr(array, "dtype", None) == np.float32
    return array.astype(np.float64) if is_single else array


def _is_ours(array: Any) -> bool:
    # A view may share the caller's rows.
    return (
        isinstance(array, np.ndarray)
        and array.ndim > 0
        and array.flags.owndata
        and array.flags.writeable
    )
