"""Standard streams that can be written to, whatever they were opened as."""

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
    """Open streams that are closed, and write what an encoding lacks in letters it has."""
    codecs.register_error(_ERRORS, _readable)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # Its descriptor is free, and would be that of the first file that is opened.
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):  # not every stream that stands in for one has it
            stream.reconfigure(errors=_ERRORS)  # type: ignore[union-attr]


def discard(stream: IO[str]) -> None:
    """Throw away what is still to be written to a stream that takes nothing."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _readable(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_ASCII)
    return text.encode("ascii", "backslashreplace").decode(), error.end
