"""Parallel fits of classifiers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from upto.batch_metrics.classifiers.prepared import n_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")


def side_by_side(
    calls: Sequence[Callable[[], T]], threads: int | None, advance: Callable[[int], None]
) -> list[T]:
    """Make calls in threads and return their results in order, with one progress step each.

    A fit to few rows parallelises poorly, so each fit runs on one thread.
    """
    found: list[T] = []
    with ThreadPoolExecutor(threads or n_cores()) as pool:
        futures = [pool.submit(call) for call in calls]
        try:
            for future in futures:
                found.append(future.result())
                advance(1)
        except BaseException:
            # On interruption, do not wait for calls that have not started.
            pool.shutdown(cancel_futures=True)
            raise
    return found
