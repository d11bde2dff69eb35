"""Functions called in several threads, where the cores or a device have room for them."""

from __future__ import annotations

from collections import deque
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from upto.engines import cores
from upto.engines.cores import WIDEST_IN_ONE_THREAD, blas_threads, one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from threading import Event

S = TypeVar("S")
T = TypeVar("T")

WIDEST_SIDE_BY_SIDE, _SIDE_BY_SIDE = 3000, 4
"""Width from which work is done one item after another, and the most items at a time: each needs
memory for a few square matrices."""
_NARROWEST_SIDE_BY_SIDE = 128
"""Width of matrices below which starting a thread takes as long as their algebra."""
NARROWEST_STEPS = 384
"""Width below which steps are mostly passes, which occupy all cores and end in turn."""


@contextmanager
def items_side_by_side(
    engine: Any, work: Callable[[Any, S], T], items: Sequence[S], *, width: int
) -> Iterator[Iterator[T]]:
    """Give an iterator of ``work(engine, item)`` of every item, in order, several at a time.

    Factorising narrow matrices takes one thread, so other items occupy the other cores, or the
    device. Engines without `n_at_a_time` work on one item at a time, as do all of them where
    matrices are wide: their factorisations use all cores and need most memory.
    """
    n_threads = 1
    if width < WIDEST_SIDE_BY_SIDE:
        n_threads = min(getattr(engine, "n_at_a_time", 1), len(items), _SIDE_BY_SIDE)
    if n_threads <= 1:
        yield (work(engine, item) for item in items)
        return
    waiting: deque[Future[T]] = deque()
    left = iter(items)

    def call(item: S) -> T:
        with engine.beside_others(n_threads) as own:
            return work(own, item)

    # Not the threads of passes, for which an item may wait. BLAS threads would wait for each other.
    with one_blas_thread(), ThreadPoolExecutor(n_threads) as pool:

        def submit(count: int) -> None:
            for item in islice(left, count):
                waiting.append(pool.submit(copy_context().run, call, item))

        def results() -> Iterator[T]:
            while waiting:
                yield waiting.popleft().result()
                submit(1)

        try:
            submit(n_threads + 1)
            yield results()
        finally:
            for future in waiting:
                future.cancel()
            wait(waiting)


def side_by_side(
    calls: Sequence[Callable[[], T]],
    *,
    width: int | None = None,
    n_blas_threads: int | None = None,
    stop: Event | None = None,
) -> list[T]:
    """Call functions in threads that share the cores, and return their results in order.

    Functions of matrices of a `width` are called in turn if these are so narrow that starting a
    thread takes as long, or so wide that those of several functions fill the memory. Functions that
    call others side by side need one BLAS thread: how many there are must not depend on timing.
    After an error or an interrupt `stop` is set, which long functions look at.
    """
    n_threads = min(len(calls), cores.n_cores())
    if width is not None and not _NARROWEST_SIDE_BY_SIDE <= width < WIDEST_SIDE_BY_SIDE:
        n_threads = 1
    if n_threads <= 1:
        return [call() for call in calls]
    limit = blas_threads(n_blas_threads or cores.n_cores() // n_threads)
    # Not the threads of passes, for which a call may wait.
    with limit, ThreadPoolExecutor(n_threads) as pool:
        waiting = [pool.submit(copy_context().run, call) for call in calls]
        try:
            done, _ = wait(waiting, return_when=FIRST_EXCEPTION)
            return [each.result() for each in (waiting if len(done) == len(waiting) else done)]
        except BaseException:
            if stop is not None:
                stop.set()
            for each in waiting:
                each.cancel()
            raise


def has_cores_to_spare(engine: Any, width: int) -> bool:
    """Return whether steps with matrices of this width are worth doing side by side.

    The cores have little to do while an engine computes on a device, and where one BLAS thread
    factorises as fast as several, a single step does not occupy them. Of wide matrices memory has
    room for one step.
    """
    if getattr(engine, "is_elsewhere", False):
        return cores.n_cores() >= _MANY_CORES and width < WIDEST_SIDE_BY_SIDE
    has_threads = getattr(engine, "n_at_a_time", 1) > 1
    return has_threads and NARROWEST_STEPS <= width <= WIDEST_IN_ONE_THREAD


_MANY_CORES = 4


def meanwhile(
    engine: Any, first: Callable[[], S], second: Callable[[], T], *, width: int
) -> tuple[S, T]:
    """Call one function in another thread while this one calls the other, if cores are idle."""
    if not has_cores_to_spare(engine, width):
        return first(), second()
    with one_blas_thread(), ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(copy_context().run, first)
        found = second()
        return waiting.result(), found
