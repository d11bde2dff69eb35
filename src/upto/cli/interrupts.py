"""Let SIGTERM and SIGHUP end a command like Ctrl-C: by an exception, so that it cleans up."""

from __future__ import annotations

import signal
import sys
import time

from upto.signals import ENDING_SIGNALS

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


def uninstall(instead: signal.Handlers = signal.SIG_DFL) -> None:
    """Let signals end the process at once, or ignore them, once nothing is left to clean up."""
    for number in ENDING_SIGNALS:
        if signal.getsignal(number) is _interrupt:
            signal.signal(number, instead)


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
