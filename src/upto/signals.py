"""Signals that end a run: Ctrl-C, and what schedulers and closed terminals send."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ENDING_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


@contextmanager
def hold_signals() -> Iterator[None]:
    """Keep signals waiting until the end of the block, where they are handled.

    For work that must not be left half done, and for libraries that take an exception inside a
    callback for an error like any other.
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
    for number in handlers:
        signal.signal(number, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        # Even if the block failed: whoever sent it expects an end, and not another error.
        if came:
            handlers[signal.Signals(came[0])](came[0], None)


def clean_up(action: Callable[[], object]) -> None:
    """Do what must be done before the end, whatever signals come; they are handled afterwards.

    Parameters
    ----------
    action
        What to do; it may be done twice.
    """
    try:
        with hold_signals():
            action()
    except KeyboardInterrupt:
        # It may have come before signals were held.
        with hold_signals():
            action()
        raise
