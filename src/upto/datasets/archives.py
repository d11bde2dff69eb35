"""Images in an `.npz` archive: memory-mapped if uncompressed, packed if binary."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.datasets.storage import ArrayPictures, BitPictures, open_zip
from upto.files.damage import damage_reported
from upto.files.declared import check_memory
from upto.files.npy import NpyHeader, load_member, read_npy_header, stored_piece
from upto.files.npy import member_header as header_of
from upto.files.request import listed

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_BLOCK_BYTES = 1 << 24


def read_member(path: Path, key: str) -> NDArray[Any]:
    """Read one array of an archive into memory, without unpickling.

    Raises
    ------
    InputError
        If it is missing, contains Python objects, or is damaged.
    """
    with open_zip(path) as archive:
        member, header = _find(archive, path, key)
        _refuse_objects(path, key, header)
        return load_member(archive, path, member)


def member_header(path: Path, key: str) -> NpyHeader:
    """Return the shape and dtype of one array of an archive."""
    with open_zip(path) as archive:
        _, header = _find(archive, path, key)
    _refuse_objects(path, key, header)
    return header


def member_pictures(path: Path, key: str) -> ArrayPictures:
    """Return the images of one array, memory-mapped if it is not compressed."""
    with open_zip(path) as archive:
        member, header = _find(archive, path, key)
    if member.compress_type != zipfile.ZIP_STORED or header.fortran:
        return ArrayPictures(read_member(path, key))
    piece = stored_piece(path, member)
    with damage_reported(path):
        mapped = np.memmap(
            path, header.dtype, "r", offset=piece.offset + header.length, shape=header.shape
        )
    return ArrayPictures(mapped, path, piece)


def member_bits(path: Path, key: str) -> BitPictures:
    """Return binary images, packed while the array is read block by block."""
    with open_zip(path) as archive:
        member, header = _find(archive, path, key)
        n_images, *size = header.shape
        n_values = int(np.prod(size, dtype=np.int64))
        check_memory(f"{path}::{key}", n_images * n_values // 8, "get the published file")
        packed = np.empty((n_images, -(-n_values // 8)), dtype=np.uint8)
        step = max(1, _BLOCK_BYTES // n_values)
        with damage_reported(path, key), archive.open(member) as file:
            read_npy_header(file)
            for start in range(0, n_images, step):
                n_rows = min(step, n_images - start)
                content = file.read(n_rows * n_values)
                block = np.frombuffer(content, dtype=np.uint8).reshape(n_rows, n_values)
                if block.max(initial=0) > 1:
                    message = f"{path}::{key} contains {block.max()}, not only zeros and ones."
                    raise InputError(message)
                packed[start : start + n_rows] = np.packbits(block, axis=1)
            # The checksum is verified at the end of the member, which may be after the array.
            while file.read(_BLOCK_BYTES):
                pass
    height, width = size
    return BitPictures(packed, (n_images, height, width, 1))


def _find(archive: zipfile.ZipFile, path: Path, key: str) -> tuple[zipfile.ZipInfo, NpyHeader]:
    names = archive.namelist()
    if f"{key}.npy" not in names:
        held = listed([name.removesuffix(".npy") for name in names], 8) or "nothing"
        message = f"{path} has no array {key}, but {held}: get it again."
        raise InputError(message)
    member = archive.getinfo(f"{key}.npy")
    return member, header_of(archive, path, member)


def _refuse_objects(path: Path, key: str, header: NpyHeader) -> None:
    if header.dtype.kind == "O":
        message = (
            f"{path}::{key} contains Python objects (a pickle), which upto never loads: get the "
            "published file."
        )
        raise InputError(message)
