"""Sources of images: arrays, packed bits, HDF5 datasets, numbered PNG files."""

from __future__ import annotations

import io
import struct
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError, MissingExtraError
from upto.core.read_file import check_readable
from upto.files import damage
from upto.files.checksums import SummedPiece, verify
from upto.files.damage import damage_reported
from upto.files.stored import refuse_other_files
from upto.files.zips import check_directory

if TYPE_CHECKING:
    from upto.datasets.image_set import Int, Pixels

_N_THREADS = 8
REMEDY = "copy or download it again"
_LARGEST_PNG = 2**26  # bytes
_MOST_PIXELS = 2**26
_UNCHUNKED_ROWS = 64
"""Images read at once from a dataset without chunks."""


@dataclass(frozen=True, slots=True, eq=False)
class ArrayPictures:
    """Images in one array, in memory or mapped from a file.

    Parameters
    ----------
    array
        Byte array of shape (n, height, width, channels).
    path, piece
        The file it is mapped from, and the part of it with a checksum.
    """

    array: NDArray[np.uint8]
    path: Path | None = None
    piece: SummedPiece | None = None

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Number of images, height, width and channels."""
        n_images, height, width, n_channels = self.array.shape
        return n_images, height, width, n_channels

    def read(self, rows: Int) -> Pixels:
        """Read the images at these indices."""
        if self.path is not None and self.piece is not None:
            verify(self.path, self.piece)
        return np.array(self.array[rows])


@dataclass(frozen=True, slots=True, eq=False)
class BitPictures:
    """Binary images, eight pixels per byte.

    Parameters
    ----------
    packed
        One row per image, as from ``numpy.packbits``.
    shape
        Number of images, height, width and channels.
    """

    packed: NDArray[np.uint8]
    shape: tuple[int, int, int, int]

    def read(self, rows: Int) -> Pixels:
        """Read the images at these indices."""
        _, height, width, n_channels = self.shape
        flat = np.unpackbits(self.packed[rows], axis=1, count=height * width * n_channels)
        return flat.reshape(len(rows), height, width, n_channels)


@dataclass(frozen=True, slots=True, eq=False)
class Hdf5Pictures:
    """Images in one dataset of an HDF5 file, read chunk by chunk.

    Parameters
    ----------
    path, key
        File, and dataset in it.
    shape
        Number of images, height, width and channels.
    """

    path: Path
    key: str
    shape: tuple[int, int, int, int]

    def read(self, rows: Int) -> Pixels:
        """Read the images at these indices, opening each chunk once."""
        images = np.empty((len(rows), *self.shape[1:]), dtype=np.uint8)
        order = np.argsort(rows, kind="stable")
        with open_hdf5(self.path) as file:
            stored = file[self.key]
            step = stored.chunks[0] if stored.chunks else _UNCHUNKED_ROWS
            blocks = rows[order] // step
            for own in np.split(order, np.flatnonzero(np.diff(blocks)) + 1) if len(rows) else ():
                start = int(rows[own[0]] // step * step)
                with damage_reported(self.path, remedy=REMEDY):
                    block = stored[start : start + step]
                    images[own] = block.reshape(len(block), *self.shape[1:])[rows[own] - start]
        return images


@dataclass(frozen=True, slots=True, eq=False)
class PngPictures:
    """Images in numbered PNG files from ``000000.png``, in a folder or a zip archive.

    Parameters
    ----------
    path
        Folder or archive.
    inside
        Folder within an archive, with a trailing slash, or empty.
    shape
        Number of images, height, width and channels.
    archive
        The open archive, because listing its members is slow.
    """

    path: Path
    inside: str
    shape: tuple[int, int, int, int]
    archive: zipfile.ZipFile | None = field(default=None, repr=False)

    def read(self, rows: Int) -> Pixels:
        """Read the images at these indices, several in parallel."""
        images = np.empty((len(rows), *self.shape[1:]), dtype=np.uint8)
        names = [f"{self.inside}{number:06d}.png" for number in rows]
        with ThreadPoolExecutor(_N_THREADS) as pool:
            for place, image in enumerate(pool.map(self._decoded, names)):
                images[place] = image
        return images

    def _decoded(self, name: str) -> Pixels:
        where = self.path / name
        with damage_reported(where, remedy=REMEDY):
            if self.archive is None:
                check_readable(where)
            with self.archive.open(name) if self.archive else where.open("rb") as file:
                image = decode_png(file, where)
        if image.shape != self.shape[1:]:
            found, wanted = (" × ".join(map(str, each)) for each in (image.shape, self.shape[1:]))
            message = f"{where} is {found}, but the first image is {wanted}: get it again."
            raise InputError(message)
        return image


def decode_png(file: IO[bytes], where: object) -> Pixels:
    """Return an image as height × width × 3 bytes."""
    try:
        from PIL import Image
    except ImportError:
        what = f"reading {where}"
        raise MissingExtraError(what, package="pillow", extra="images") from None
    with damage_reported(where):
        # Read to the end, where an archive verifies its checksum.
        content = file.read(_LARGEST_PNG + 1)
        width, height = struct.unpack(">II", content[16:24].ljust(8, b"\0"))
        if len(content) > _LARGEST_PNG or width * height > _MOST_PIXELS:
            message = f"{where} is {width} × {height} pixels, too many for an image: get it again."
            raise InputError(message)
        with Image.open(io.BytesIO(content), formats=["PNG"]) as image:
            return np.asarray(image.convert("RGB"))


def open_hdf5(path: Path) -> Any:
    """Open an HDF5 file for reading."""
    try:
        import h5py
    except ImportError:
        what = f"reading {path}"
        raise MissingExtraError(what, package="h5py", extra="images") from None
    check_readable(path)
    with damage_reported(path, remedy=REMEDY):
        file = h5py.File(path, "r")
        refuse_other_files(path, file)
    return file


def open_zip(path: Path) -> zipfile.ZipFile:
    """Open a zip archive for reading."""
    check_readable(path)
    with damage_reported(path, remedy=REMEDY):
        archive = zipfile.ZipFile(path)
        try:
            check_directory(archive)
        except zipfile.BadZipFile:
            archive.close()
            raise
        return archive


def damaged(where: object, why: object) -> str:
    """Return the message that a file cannot be read, with the reason."""
    return damage.damaged(where, why, REMEDY)
