"""Cores of this machine, and how many of them BLAS uses."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, nullcontext
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDEST_IN_ONE_THREAD = 512
"""Width up to which one BLAS thread factorises matrices about as fast as several."""


@cache
def n_cores() -> int:
    """Return the number of cores."""
    # Asking the system takes as long as a pass over few rows.
    return os.cpu_count() or 1


_WITH_BLAS = ("scipy.linalg", "faiss")
"""Modules that load a BLAS of their own, perhaps after the first limit was set."""


def _controller() -> ThreadpoolController:
    return _found(tuple(name in sys.modules for name in _WITH_BLAS))


@cache
def _found(_loaded: tuple[bool, ...]) -> ThreadpoolController:
    # Finding the libraries of a process takes as long as a pass over few rows.
    return ThreadpoolController()


class Limits:
    """Limits on the number of BLAS threads, one setting for the whole process.

    Several threads may set limits at the same time: the smallest applies, and the original number
    is restored when the last one ends, in whatever order they end.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._limits: list[int] = []
        self._before: list[tuple[Any, int]] = []

    @contextmanager
    def at_most(self, n_threads: int) -> Iterator[None]:
        """Limit BLAS to a number of threads."""
        with self._lock:
            if not self._limits:
                libraries = _controller().select(user_api="blas").lib_controllers
                self._before = [(each, each.num_threads) for each in libraries]
            self._limits.append(n_threads)
            self._apply()
        try:
            yield
        finally:
            with self._lock:
                self._limits.remove(n_threads)
                self._apply()

    def lift(self) -> None:
        """Forget the limits of threads that a fork left behind."""
        self._lock = Lock()
        self._limits.clear()
        self._apply()

    def _apply(self) -> None:
        for library, before in self._before:
            library.set_num_threads(min(before, *self._limits) if self._limits else before)


_limits = Limits()

if hasattr(os, "register_at_fork"):
    # The threads that would end their limits do not survive a fork.
    os.register_at_fork(after_in_child=_limits.lift)


def blas_threads(count: int) -> Any:
    """Return a context that limits BLAS to a number of threads."""
    return _limits.at_most(count)


def one_blas_thread() -> Any:
    """Return a context that limits BLAS to one thread."""
    return blas_threads(1)


def blas_threads_for(width: int) -> Any:
    """Return a context that limits BLAS to one thread if matrices are narrow.

    Idle BLAS threads spin on the cores that a pass needs, which only wide matrices justify.
    """
    return one_blas_thread() if width <= WIDEST_IN_ONE_THREAD else nullcontext()
