"""Fits of classifiers side by side."""

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
    """Make calls in threads and return what they give in their order, one step for each.

    A classifier of few rows has little to share out between threads, so each has one of its own.
    """
    found: list[T] = []
    with ThreadPoolExecutor(threads or n_cores()) as pool:
        futures = [pool.submit(call) for call in calls]
        try:
            for future in futures:
                found.append(future.result())
                advance(1)
        except BaseException:
            # Whoever interrupts does not wait for what has not begun.
            pool.shutdown(cancel_futures=True)
            raise
    return found
