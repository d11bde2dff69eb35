"""Locks between processes, as files that the system forgets when a process ends."""

from __future__ import annotations

import errno
import sys
from typing import IO, TYPE_CHECKING

from upto.core.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

_BUSY = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)


def locked(path: Path, busy: str) -> IO[bytes]:
    """Open a file that no other process has open in this way.

    Parameters
    ----------
    path
        The file.
    busy
        Message of the error if another process has.

    Raises
    ------
    InputError
        If another process has it open.
    """
    file = path.open("ab")
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # Some network file systems have no locks.
        if error.errno in _BUSY:
            file.close()
            raise InputError(busy) from None
    return file
