"""The list of a zip archive's entries, held against its own count and against its checksums.

Python's reader steps through the list by the lengths in it, so one wrong length hides the entries
behind it without a word.
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
    """Return the entries of an archive, all of them; not what macOS notes beside each.

    Raises
    ------
    zipfile.BadZipFile
        If the archive counts other entries than its list has.
    """
    check_directory(archive)
    return [member for member in archive.infolist() if not member.filename.startswith(_FOREIGN)]


def check_directory(archive: zipfile.ZipFile) -> None:
    """Refuse an archive whose list of entries is not as long as its end says.

    Raises
    ------
    zipfile.BadZipFile
        If it is shorter or longer.
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
        message = f"its list of entries has {found}, and its end says {count}"
        raise zipfile.BadZipFile(message)


def check_entry(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Read an entry to its end, where its checksum is compared.

    Raises
    ------
    zipfile.BadZipFile
        If the checksum is another.
    """
    if member.compress_type not in _BOUNDED and member.file_size > _MOST_UNBOUNDED:
        # These compress without bounds, so a small file could keep us for days.
        return
    with archive.open(member) as file:
        while file.read(_READ_BYTES):
            pass


def _end_record(file: IO[bytes]) -> tuple[int, int, int, int]:
    """Return where the list ends, its count and length, and at what number counts wrap around."""
    size = file.seek(0, os.SEEK_END)
    start = max(size - _LONGEST_COMMENT - _END_LENGTH, 0)
    file.seek(start)
    content = file.read()
    plain = content[-_END_LENGTH:]
    has_comment = not plain.startswith(_END) or plain[-2:] != b"\0\0"
    place = content.rfind(_END) if has_comment else len(content) - _END_LENGTH
    if place < 0 or place + _END_LENGTH > len(content):
        message = "it has no end of a zip archive"
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
