"""Files that are either written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def write_atomically(path: str | Path, *, binary: bool = False) -> Iterator[IO[Any]]:
    """Open a file that takes its name only once everything is on the disk.

    The content goes to a temporary name in the same folder. An exception leaves whatever was at
    `path` untouched and nothing else behind.

    Parameters
    ----------
    path
        Where the file shall be; its folder must exist.
    binary
        Whether to write bytes and not UTF-8 text.
    """
    target = Path(path)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        mode, encoding, newline = ("wb", None, None) if binary else ("w", "utf-8", "\n")
        with os.fdopen(descriptor, mode, encoding=encoding, newline=newline) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files only their owner can read; a written file follows the umask.
        Path(temporary).chmod(_permissions(target))
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_text_atomically(path: str | Path, text: str) -> None:
    """Write a text file that is never seen half written."""
    with write_atomically(path) as file:
        file.write(text)


def _permissions(target: Path) -> int:
    if target.exists():
        return target.stat().st_mode & 0o777
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
