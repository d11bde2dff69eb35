"""Defer signals that end a process: Ctrl-C, and those of schedulers and closed terminals."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ENDING_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


@contextmanager
def hold_signals() -> Iterator[None]:
    """Defer signals until the end of the block.

    For work that must not be interrupted halfway, and for libraries that treat an exception in a
    callback as an ordinary error.
    """
    # Only the main thread is interrupted, and only a Python handler raises anything.
    handlers = {
        number: handler
        for number in ENDING_SIGNALS
        if callable(handler := signal.getsignal(number))
    }
    if threading.current_thread() is not threading.main_thread() or not handlers:
        yield
        return
    came: list[int] = []
    try:
        for number in handlers:
            signal.signal(number, lambda number, _frame: came.append(number))
        yield
    finally:
        try:
            _set(handlers)
        except BaseException:
            # The first that is set again may raise at once, and the others must not be lost.
            _set(handlers)
            raise
        # Even if the block failed: the sender expects the process to end, not another error.
        if came:
            handlers[signal.Signals(came[0])](came[0], None)


def _set(handlers: dict[signal.Signals, Callable[[int, Any], Any]]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


def clean_up(action: Callable[[], object]) -> None:
    """Run a clean-up action and handle signals only afterwards.

    Parameters
    ----------
    action
        Function to call, possibly twice.
    """
    try:
        with hold_signals():
            action()
    except KeyboardInterrupt:
        # The signal may have arrived before signals were deferred.
        with hold_signals():
            action()
        raise
