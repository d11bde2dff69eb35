"""Images in an `.npz` archive: mapped where they are stored, packed where they are bits."""

from __future__ import annotations

import zipfile
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy_format

from upto.core import InputError
from upto.load.arrays import NpyHeader, member_offset, read_npy_header
from upto.load.image_sets.sources import ArrayPictures, BitPictures, damaged, open_zip

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_FAULTS = (zipfile.BadZipFile, ValueError, EOFError, OSError, RuntimeError, zlib.error)
_BLOCK_BYTES = 1 << 24


def read_member(path: Path, key: str) -> NDArray[Any]:
    """Read one array of an archive into memory; it is never unpickled.

    Raises
    ------
    InputError
        If it is not there, holds Python objects, or is damaged.
    """
    with open_zip(path) as archive:
        _, header = _find(archive, path, key)
        _refuse_objects(path, key, header)
        try:
            with archive.open(f"{key}.npy") as file:
                array: NDArray[Any] = npy_format.read_array(file, allow_pickle=False)
        except _FAULTS as error:
            raise InputError(damaged(path, f"{key}: {error}")) from None
    return array


def member_header(path: Path, key: str) -> NpyHeader:
    """Return the shape and type of one array of an archive."""
    with open_zip(path) as archive:
        _, header = _find(archive, path, key)
    _refuse_objects(path, key, header)
    return header


def member_pictures(path: Path, key: str) -> ArrayPictures:
    """Return the images of one array: mapped from the file where it is not compressed."""
    with open_zip(path) as archive:
        member, header = _find(archive, path, key)
    if member.compress_type != zipfile.ZIP_STORED or header.fortran:
        return ArrayPictures(read_member(path, key))
    offset = member_offset(path, member) + header.length
    try:
        mapped = np.memmap(path, header.dtype, "r", offset=offset, shape=header.shape)
    except (OSError, ValueError) as error:
        raise InputError(damaged(path, error)) from None
    return ArrayPictures(mapped)


def member_bits(path: Path, key: str) -> BitPictures:
    """Return images of zeros and ones, packed while the array is read block by block."""
    with open_zip(path) as archive:
        member, header = _find(archive, path, key)
        n_images, *size = header.shape
        n_values = int(np.prod(size, dtype=np.int64))
        packed = np.empty((n_images, -(-n_values // 8)), dtype=np.uint8)
        step = max(1, _BLOCK_BYTES // n_values)
        try:
            with archive.open(member) as file:
                read_npy_header(file)
                for start in range(0, n_images, step):
                    n_rows = min(step, n_images - start)
                    content = file.read(n_rows * n_values)
                    block = np.frombuffer(content, dtype=np.uint8).reshape(n_rows, n_values)
                    if block.max(initial=0) > 1:
                        message = f"{path}::{key} holds {block.max()}, not zeros and ones only."
                        raise InputError(message)
                    packed[start : start + n_rows] = np.packbits(block, axis=1)
        except _FAULTS as error:
            if isinstance(error, InputError):
                raise
            raise InputError(damaged(path, f"{key}: {error}")) from None
    height, width = size
    return BitPictures(packed, (n_images, height, width, 1))


def _find(archive: zipfile.ZipFile, path: Path, key: str) -> tuple[zipfile.ZipInfo, NpyHeader]:
    names = archive.namelist()
    if f"{key}.npy" not in names:
        held = ", ".join(name.removesuffix(".npy") for name in names[:8]) or "nothing"
        message = f"{path} has no array {key}: it holds {held}. Get it again."
        raise InputError(message)
    member = archive.getinfo(f"{key}.npy")
    try:
        with archive.open(member) as file:
            return member, read_npy_header(file)
    except _FAULTS as error:
        raise InputError(damaged(path, f"{key}: {error}")) from None


def _refuse_objects(path: Path, key: str, header: NpyHeader) -> None:
    if header.dtype.kind == "O":
        message = (
            f"{path}::{key} holds Python objects (a pickle), which upto never loads: get the "
            "published file."
        )
        raise InputError(message)
