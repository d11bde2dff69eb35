"""SIGTERM and SIGHUP end a command as Ctrl-C does: by an exception that cleans up on its way."""

from __future__ import annotations

import signal
import sys
import time

from upto.signals import ENDING_SIGNALS

received: list[int] = []
"""Signals that came. A library may take the exception for one of its own errors, or drop it."""
_SECONDS = 1.0
"""How long a signal is deaf to others: they come in flocks, and the first is being handled."""
_latest = float("-inf")


def install() -> None:
    """Raise `KeyboardInterrupt` on every signal that would end the process.

    A signal that is ignored stays ignored, as those under ``nohup`` or in the background are.
    """
    for number in ENDING_SIGNALS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _interrupt)


def uninstall(instead: signal.Handlers = signal.SIG_DFL) -> None:
    """Let signals end the process at once, or ignore them, when nothing is left to clean up."""
    for number in ENDING_SIGNALS:
        if signal.getsignal(number) is _interrupt:
            signal.signal(number, instead)


def exit_code() -> int:
    """Return the exit code of the first signal that came; Ctrl-C where none is known."""
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
    # What was being made when the signal came may fail to end itself, and nobody needs to know.
    sys.unraisablehook = _say_nothing
    raise KeyboardInterrupt


def _say_nothing(_: object) -> None:
    """Drop an error that Python can only print."""
