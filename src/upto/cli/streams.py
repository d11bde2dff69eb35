"""Make standard streams writable whatever their state and encoding."""

from __future__ import annotations

import codecs
import os
import sys
from contextlib import suppress
from typing import IO

_ERRORS = "upto.readable"
_ASCII = str.maketrans(
    {
        "→": "->", "←": "<-", "–": "-", "—": "-", "−": "-", "×": "x", "·": "|", "…": "...",
        "≤": "<=", "≥": ">=", "±": "+-", "≈": "~", "ε": "epsilon", "²": "^2", "ᵀ": "^T",
    }
)  # fmt: skip


def mend_streams() -> None:
    """Reopen closed streams, and replace characters that an encoding lacks."""
    codecs.register_error(_ERRORS, _readable)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # Its descriptor is free and would be taken by the next file opened.
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):  # replacement streams may lack it
            stream.reconfigure(errors=_ERRORS)  # type: ignore[union-attr]


def discard(stream: IO[str]) -> None:
    """Discard pending output of a stream that cannot be written."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _readable(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_ASCII)
    return text.encode("ascii", "backslashreplace").decode(), error.end
