"""Check the directory of a zip archive against its entry count and its checksums.

Python's reader walks the directory by the lengths in it, so one wrong length silently hides the
entries that follow.
"""

from __future__ import annotations

import os
import struct
import zipfile
from typing import IO

_END, _END_LENGTH = b"PK\x05\x06", 22
_LOCATOR, _LOCATOR_LENGTH = b"PK\x06\x07", 20
_END_64, _END_64_LENGTH = b"PK\x06\x06", 56
_ENTRY, _ENTRY_LENGTH = b"PK\x01\x02", 46
_LONGEST_COMMENT = 2**16
_READ_BYTES = 2**20
_BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MOST_UNBOUNDED = 2**30
_FOREIGN = "__MACOSX/"


def members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return all entries of an archive except macOS metadata.

    Raises
    ------
    zipfile.BadZipFile
        If the directory does not match the archive's entry count.
    """
    check_directory(archive)
    return [member for member in archive.infolist() if not member.filename.startswith(_FOREIGN)]


def check_directory(archive: zipfile.ZipFile) -> None:
    """Refuse an archive whose directory does not match its end record.

    Raises
    ------
    zipfile.BadZipFile
        If the directory is shorter or longer.
    """
    file = archive.fp
    if file is None:
        return
    end, count, length, wraps = _end_record(file)
    file.seek(end - length)
    content = file.read(length)
    at = found = 0
    while content[at : at + 4] == _ENTRY and at + _ENTRY_LENGTH <= length:
        at += _ENTRY_LENGTH + sum(struct.unpack_from("<HHH", content, at + 28))
        found += 1
    if at != length or found % wraps != count or found != len(archive.infolist()):
        message = f"its directory has {found} entries, but its end record gives {count}"
        raise zipfile.BadZipFile(message)


def check_entry(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Read an entry to its end, where its checksum is verified.

    Raises
    ------
    zipfile.BadZipFile
        If the checksum differs.
    """
    if member.compress_type not in _BOUNDED and member.file_size > _MOST_UNBOUNDED:
        # The ratio of these methods is unbounded: a small file could take days.
        return
    with archive.open(member) as file:
        while file.read(_READ_BYTES):
            pass


def _end_record(file: IO[bytes]) -> tuple[int, int, int, int]:
    """Return the end, count and length of the directory, and the modulus of the count."""
    size = file.seek(0, os.SEEK_END)
    start = max(size - _LONGEST_COMMENT - _END_LENGTH, 0)
    file.seek(start)
    content = file.read()
    plain = content[-_END_LENGTH:]
    has_comment = not plain.startswith(_END) or plain[-2:] != b"\0\0"
    place = content.rfind(_END) if has_comment else len(content) - _END_LENGTH
    if place < 0 or place + _END_LENGTH > len(content):
        message = "it has no end record of a zip archive"
        raise zipfile.BadZipFile(message)
    count, length = struct.unpack_from("<HI", content, place + 10)
    end = start + place
    before = end - _LOCATOR_LENGTH - _END_64_LENGTH
    if before >= 0:
        file.seek(before)
        record = file.read(_END_64_LENGTH + _LOCATOR_LENGTH)
        if record.startswith(_END_64) and record[_END_64_LENGTH:].startswith(_LOCATOR):
            count, length = struct.unpack_from("<QQ", record, 32)
            end, wraps = before, 2**64
            return end, count, min(length, end), wraps
    return end, count, min(length, end), 2**16
