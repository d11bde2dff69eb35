"""Let SIGTERM and SIGHUP end a command like Ctrl-C: by an exception, so that it cleans up."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from upto.signals import ENDING_SIGNALS

if TYPE_CHECKING:
    from collections.abc import Callable

received: list[int] = []
"""Signals received. A library may swallow the exception or take it for one of its own."""
_SECONDS = 1.0
"""Seconds during which further signals are ignored: they come in bursts."""
_latest = float("-inf")


def install() -> None:
    """Raise `KeyboardInterrupt` on every signal that would end the process.

    Ignored signals stay ignored, e.g. under ``nohup`` or in the background.
    """
    for number in ENDING_SIGNALS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _interrupt)


def uninstall(instead: signal.Handlers | Callable[[int, object], None] = signal.SIG_DFL) -> None:
    """Let signals end the process at once, or call `end`, once nothing is left to clean up."""
    for number in ENDING_SIGNALS:
        if signal.getsignal(number) is _interrupt:
            signal.signal(number, instead)


def end(number: int, _frame: object) -> None:
    """End the process at once on a signal, unless it belongs to the burst of an earlier one."""
    received.append(number)
    if time.monotonic() - _latest >= _SECONDS:
        os._exit(exit_code())


def leave(code: int) -> NoReturn:
    """End the process; after a signal without waiting for its threads, which may never end."""
    if not received:
        sys.exit(code)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def exit_code() -> int:
    """Return the exit code of the first signal received, by default that of Ctrl-C."""
    return 128 + (received[0] if received else signal.SIGINT)


def what_happened() -> str:
    """Return what ended the command, as the beginning of a sentence."""
    number = exit_code() - 128
    return "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"


def _interrupt(number: int, _frame: object) -> None:
    global _latest
    received.append(number)
    if time.monotonic() - _latest < _SECONDS:
        return
    _latest = time.monotonic()
    # Objects under construction may fail in their finalisers, which is irrelevant now.
    sys.unraisablehook = _say_nothing
    raise KeyboardInterrupt


def _say_nothing(_: object) -> None:
    """Drop an error that Python can only print."""
