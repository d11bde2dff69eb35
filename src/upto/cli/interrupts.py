"""SIGTERM and SIGHUP end a command as Ctrl-C does: by an exception that cleans up on its way."""

from __future__ import annotations

import signal
from typing import NoReturn

received: list[int] = []
"""Signals that came. A library may take the exception for one of its own errors, or drop it."""


_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
"""Those of `upto.core.signals`, here again because importing that takes NumPy."""


def install() -> None:
    """Raise `KeyboardInterrupt` on every signal that would end the process.

    A signal that is ignored stays ignored, as those under ``nohup`` or in the background are.
    """
    for name in _SIGNALS:
        number = getattr(signal, name, None)
        usual = (signal.SIG_DFL, signal.default_int_handler)
        if number is not None and signal.getsignal(number) in usual:
            signal.signal(number, _interrupt)


def uninstall() -> None:
    """Let a signal end the process at once, when nothing is left to clean up."""
    for name in _SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is _interrupt:
            signal.signal(number, signal.SIG_DFL)


def _interrupt(number: int, _frame: object) -> NoReturn:
    received.append(number)
    raise KeyboardInterrupt
