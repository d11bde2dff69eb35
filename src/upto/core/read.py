"""Files that are read: they are there, they are files, and they are no larger than they may be."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

from upto.core.errors import InputError, reason

if TYPE_CHECKING:
    import os

LONGEST_TEXT = 2**28
"""Bytes of the longest text that is read as one record: a result, a manifest, a configuration."""

_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def expanded(path: str | Path) -> Path:
    """Return a path with the home folder in place of ``~``.

    Raises
    ------
    InputError
        If it is the home of somebody unknown.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError:
        message = f"{path} begins with the home of a user who is not known: write the folder out."
        raise InputError(message) from None


def check_readable(path: Path) -> os.stat_result | None:
    """Return what is known of a file or a folder, or nothing where there is none.

    Raises
    ------
    InputError
        If it is a pipe, a socket or a device, which may have no end, or cannot be reached.
    """
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        message = f"{path} cannot be read: {_why(error)}."
        raise InputError(message) from None
    if (kind := special_kind(status)) is not None:
        message = f"{path} is {kind}, not a file: save what comes from it to a file first."
        raise InputError(message)
    return status


def special_kind(status: os.stat_result) -> str | None:
    """Return what is neither a file nor a folder as a sentence has it, such as "a pipe"."""
    return next((kind for is_kind, kind in _KINDS if is_kind(status.st_mode)), None)


def read_whole(path: str | Path, longest: int | None = LONGEST_TEXT) -> bytes:
    """Read all of a file, which must be one.

    Parameters
    ----------
    path
        The file.
    longest
        The most bytes it may have; None for any number.

    Raises
    ------
    InputError
        If it cannot be read, is no file, or is too long.
    """
    path = Path(path)
    status = check_readable(path)
    if status is not None and longest is not None and status.st_size > longest:
        message = (
            f"{path} has {status.st_size} bytes, more than the {longest} that such a file may "
            "have: is it the right one?"
        )
        raise InputError(message)
    try:
        return path.read_bytes()
    except OSError as error:
        message = f"{path} cannot be read: {_why(error)}."
        raise InputError(message) from None


def _why(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or reason(error)
