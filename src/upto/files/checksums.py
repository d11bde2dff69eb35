"""Verify checksums of archives, once, before any number is returned.

A zip archive has one checksum per member, so no block can be trusted before the whole member has
been read. That read leaves the file in the system's cache for the passes that follow.
"""

from __future__ import annotations

import os
import threading
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from upto.core import InputError

if TYPE_CHECKING:
    from pathlib import Path

_READ_BYTES = 2**21
"""Large enough for a disk, small enough to stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class SummedPiece:
    """A piece of a file, from `offset` on, and its recorded CRC-32."""

    offset: int
    length: int
    crc: int


_VERIFIED: dict[tuple[str, SummedPiece], tuple[int, ...]] = {}
_MOST_REMEMBERED = 4096
_LOCK = threading.Lock()


def verify(path: Path, piece: SummedPiece) -> None:
    """Refuse a piece of a file whose checksum differs; verified pieces are not read again.

    Concurrent threads wait for the one that reads. A changed file is read again.

    Raises
    ------
    InputError
        If the checksum differs.
    """
    if _VERIFIED.get((str(path), piece)) == _state(path):
        return
    with _LOCK:
        state = _state(path)
        if _VERIFIED.get((str(path), piece)) == state:
            return
        found = _checksum(path, piece)
        if found != piece.crc:
            message = (
                f"{path} is damaged: its numbers are not those that were written, their checksum "
                f"is {found:08x} instead of {piece.crc:08x}. Copy or save it again."
            )
            raise InputError(message)
        while len(_VERIFIED) >= _MOST_REMEMBERED:
            _VERIFIED.pop(next(iter(_VERIFIED)))
        _VERIFIED[str(path), piece] = state


def _state(path: Path) -> tuple[int, ...]:
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _checksum(path: Path, piece: SummedPiece) -> int:
    crc, left = 0, piece.length
    buffer = memoryview(bytearray(min(left, _READ_BYTES)))
    with path.open("rb", buffering=0) as file:
        file.seek(piece.offset)
        while left and (count := file.readinto(buffer[: min(left, _READ_BYTES)])):
            crc = zlib.crc32(buffer[:count], crc)
            left -= count
    return crc if not left else ~piece.crc & 0xFFFFFFFF


def _forget_lock() -> None:
    # A thread that held the lock does not exist in a forked process.
    global _LOCK
    _LOCK = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_lock)
