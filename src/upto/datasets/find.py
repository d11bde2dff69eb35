"""Find the files of an image set, and compare them with the published checksums."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from typing import TYPE_CHECKING, Literal

from upto.core import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from upto.datasets.described import KnownFile, KnownSet

Check = Literal["quick", "full", "none"]

_PIECE = 16_384
_N_PIECES = 3
_QUICK_BYTES = 512 << 20
"""Largest file that a quick check reads completely, in about a second."""


def find_file(known: KnownSet, folder: Path, *names: str) -> Path | None:
    """Return the first of these files in a folder or in the usual subfolders.

    `folder` may also be the file itself.
    """
    if folder.is_file():
        return folder if folder.name in names else None
    for place in (folder, *(folder / each for each in known.places)):
        for name in names:
            if (place / name).is_file():
                return place / name
    return None


def missing_files(known: KnownSet, folder: Path, what: str | None = None) -> InputError:
    """Return an error with the missing files and their source."""
    where = f"{folder} is not a folder" if not folder.exists() else f"{folder} has no {what}"
    if folder.exists() and what is None:
        where = f"{folder} has nothing of {known.title}"
    message = (
        f"{where}: get {known.title} ({known.n_images:,} images, {known.size}, licence: "
        f"{known.licence}) from {known.source} and give the folder with {known.layout}."
    )
    return InputError(message)


def check_file(known: KnownSet, path: Path, check: Check) -> None:
    """Raise an error if a file differs from its published checksum, if there is one.

    Parameters
    ----------
    known
        The set it belongs to.
    path
        The file.
    check
        ``quick`` reads only three pieces of files above half a gigabyte, ``full`` reads every file
        completely, and ``none`` reads nothing.

    Raises
    ------
    InputError
        If it differs.
    """
    file = known.files.get(path.name) or known.files.get(path.name.removesuffix(".gz"))
    if check == "none" or file is None:
        return
    try:
        different = _difference(file, path, check)
    except (OSError, EOFError, zlib.error) as error:
        message = f"{path} cannot be read: {getattr(error, 'strerror', None) or error}."
        raise InputError(message) from None
    if different is not None:
        message = (
            f"{path} is not the published file of {known.title}: {different}. "
            'Get it again, or pass check="none" to read it unchecked.'
        )
        raise InputError(message)


def _difference(file: KnownFile, path: Path, check: Check) -> str | None:
    size = path.stat().st_size
    if file.size is not None and size != file.size:
        return f"it has {size:,} bytes, not {file.size:,}"
    if file.unpacked is not None:
        return _unlike("MD5 of its content", _hashed("md5", _content(path)), file.unpacked)
    if file.pieces is not None:
        found = _hashed("md5", _pieces(path, size))
        if (different := _unlike("MD5 of three of its pieces", found, file.pieces)) is not None:
            return different
    if check == "quick" and size > _QUICK_BYTES:
        return None
    if file.sha256 is not None:
        return _unlike("SHA-256", _hashed("sha256", _blocks(path)), file.sha256)
    if file.md5 is not None:
        return _unlike("MD5", _hashed("md5", _blocks(path)), file.md5)
    return None


def _unlike(what: str, found: str, wanted: str) -> str | None:
    return None if found == wanted else f"the {what} is {found}, not {wanted}"


def _hashed(kind: str, blocks: Iterator[bytes]) -> str:
    made = hashlib.new(kind, usedforsecurity=False)
    for block in blocks:
        made.update(block)
    return made.hexdigest()


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            yield block


def _content(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        is_packed = file.read(2) == b"\x1f\x8b"
    if not is_packed:
        yield from _blocks(path)
        return
    with gzip.open(path) as content:
        while block := content.read(1 << 20):
            yield block


def _pieces(path: Path, size: int) -> Iterator[bytes]:
    yield size.to_bytes(8, "big")
    if size < _PIECE * _N_PIECES:
        yield from _blocks(path)
        return
    with path.open("rb") as file:
        for number in range(_N_PIECES):
            file.seek(number * (size - _PIECE) // (_N_PIECES - 1))
            yield file.read(_PIECE)
