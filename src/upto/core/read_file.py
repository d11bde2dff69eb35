"""Check and read input files: existence, type and size."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

from upto.core.errors import InputError, reason

if TYPE_CHECKING:
    import os

LONGEST_TEXT = 2**28
"""Most bytes read as one record: a result, a manifest or a configuration."""

_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def expanded(path: str | Path) -> Path:
    """Return a path with ``~`` expanded.

    Raises
    ------
    InputError
        If the user after ``~`` is unknown.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError:
        message = f"{path} begins with the home folder of an unknown user: write the folder out."
        raise InputError(message) from None


def check_readable(path: Path) -> os.stat_result | None:
    """Return the status of a file or folder, or None if it does not exist.

    Raises
    ------
    InputError
        If it cannot be accessed, or is a pipe, a socket or a device, which may be endless.
    """
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        message = f"{path} cannot be read: {_why(error)}."
        raise InputError(message) from None
    if (kind := special_kind(status)) is not None:
        message = f"{path} is {kind}, not a file: save its contents to a file first."
        raise InputError(message)
    return status


def special_kind(status: os.stat_result) -> str | None:
    """Return a name such as "a pipe" for what is neither a file nor a folder, else None."""
    return next((kind for is_kind, kind in _KINDS if is_kind(status.st_mode)), None)


def read_whole(path: str | Path, longest: int | None = LONGEST_TEXT) -> bytes:
    """Read a whole file.

    Parameters
    ----------
    path
        The file.
    longest
        Largest size in bytes; None for no limit.

    Raises
    ------
    InputError
        If it cannot be read, is not a file, or is too long.
    """
    path = Path(path)
    status = check_readable(path)
    if status is not None and longest is not None and status.st_size > longest:
        message = (
            f"{path} has {status.st_size} bytes, more than the {longest} allowed for such a file: "
            "is it the right one?"
        )
        raise InputError(message)
    try:
        return path.read_bytes()
    except OSError as error:
        message = f"{path} cannot be read: {_why(error)}."
        raise InputError(message) from None


def _why(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or reason(error)
