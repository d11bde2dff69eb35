"""Read NumPy's `.npy` and `.npz` files without unpickling."""

from __future__ import annotations

import io
import math
import os
import struct
import zipfile
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy_format

from upto.core import InputError, Rows
from upto.core.errors import shortened
from upto.files.checksums import SummedPiece
from upto.files.containers import (
    ArrayContainer,
    Entry,
    as_columns,
    container_columns,
    container_labels,
    problem_of,
    read_container,
)
from upto.files.damage import PICKLED, damage_reported, damaged, quietly
from upto.files.declared import FREE_BYTES, check_inflated, check_memory, check_promised
from upto.files.request import Columns, Contents, Request, listed
from upto.files.rows import StoredRows
from upto.files.signatures import check_exists
from upto.files.zips import check_entry, members

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_LONGEST_HEADER = 10_000  # bytes; the limit of NumPy
_MOST_AXES = 32


@dataclass(frozen=True, slots=True)
class NpyHeader:
    """Shape, order and type of the array in a `.npy` file, and the length of the header."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    length: int


def read_npy(request: Request) -> Contents:
    """Read a `.npy` file by block."""
    header = _npy_header(request)
    if (problem := problem_of(header.shape, header.dtype)) is not None:
        raise InputError(f"{request.path} {problem}")  # noqa: EM102 - a sentence in two
    if request.ids is not None or request.columns:
        message = (
            f"{request.path} holds one array and nothing else: store ids and columns in an .npz "
            "file, or pass them separately."
        )
        raise InputError(message)
    rows = StoredRows(
        request.path, header.length, header.shape, header.dtype, fortran=header.fortran
    )
    return Contents(rows=rows)


def npy_labels(request: Request) -> tuple[str, NDArray[Any]]:
    """Read a one-dimensional `.npy` file."""
    header = _npy_header(request)
    if header.dtype.kind == "O":
        message = f"{request.path} {PICKLED}"
        raise InputError(message)
    if len(header.shape) != 1:
        message = (
            f"{request.path} has shape {header.shape}: labels have one dimension, with one label "
            "per row."
        )
        raise InputError(message)
    return request.path.stem, _load(request.path)


def npy_columns(request: Request) -> Columns:
    """Read a `.npy` file of one or two dimensions as columns, numbered from 0."""
    header = _npy_header(request)
    if header.dtype.kind == "O":
        message = f"{request.path} {PICKLED}"
        raise InputError(message)
    return Columns(
        ids=None,
        columns=as_columns(request, request.path.stem, _load(request.path)),
    )


def _load(path: Path) -> NDArray[Any]:
    with damage_reported(path), quietly():
        array: NDArray[Any] = np.load(path, allow_pickle=False)
    return array


def mapped_npy(path: Path) -> NDArray[Any]:
    """Memory-map a `.npy` file of any shape."""
    header = _npy_header(Request(path=path))
    if header.dtype.hasobject:
        message = f"{path} {PICKLED}"
        raise InputError(message)
    with damage_reported(path):
        order: Any = "F" if header.fortran else "C"
        return np.memmap(path, header.dtype, "r", header.length, header.shape, order)


def loaded_npz(path: Path, key: str | None) -> NDArray[Any]:
    """Read an array of any shape from an `.npz` archive, by name or because it is the only one."""
    check_exists(path)
    archive = _Archive(path)
    names = [*archive.arrays] if key is None else [key]
    if len(names) != 1 or names[0] not in archive.arrays:
        message = f"{path} has no array to choose: it holds {listed([*archive.arrays])}."
        raise InputError(message)
    return archive.values(names[0])


def npz_arrays(path: Path) -> ArrayContainer:
    """Return the arrays of an `.npz` archive, read one by one on demand."""
    return _Archive(path)


def npz_columns(request: Request) -> Columns:
    """Read the vectors of an `.npz` archive, or the columns of one array."""
    return container_columns(request, _Archive(request.path))


def read_npz(request: Request) -> Contents:
    """Read an `.npz` archive: uncompressed members by block, compressed ones at once."""
    return read_container(request, _Archive(request.path))


def npz_labels(request: Request) -> tuple[str, NDArray[Any]]:
    """Read a one-dimensional member of an `.npz` archive."""
    return container_labels(request, _Archive(request.path))


class _Archive(ArrayContainer):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self._members: dict[str, tuple[zipfile.ZipInfo, NpyHeader]] = {}
        with damage_reported(path), zipfile.ZipFile(path) as archive:
            for member in members(archive):
                if member.filename.endswith(".npy"):
                    self._add(archive, member)
                else:
                    # Opening compares the name: a damaged one would hide ids or labels.
                    archive.open(member).close()

    def _add(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
        name = member.filename.removesuffix(".npy")
        if name in self._members:
            message = f"{self.path} holds two arrays named {shortened(name)!r}: save it again."
            raise InputError(message)
        header = member_header(archive, self.path, member)
        entry = Entry.of(header.shape, header.dtype)
        is_vector = len(header.shape) < 2 or header.dtype.kind not in "fiub"
        if entry.problem is not None and (is_vector or member.file_size <= FREE_BYTES):
            # Arrays whose header does not fit are skipped, so the header must be intact.
            with damage_reported(self.path, shortened(name)):
                check_entry(archive, member)
        self._members[name] = member, header
        self.add(name, entry)

    def rows(self, key: str) -> Rows:
        member, header = self._members[key]
        if member.compress_type != zipfile.ZIP_STORED:
            return self._load(key)
        piece = stored_piece(self.path, member)
        return StoredRows(
            self.path,
            piece.offset + header.length,
            header.shape,
            header.dtype,
            fortran=header.fortran,
            piece=piece,
        )

    def values(self, name: str) -> NDArray[Any]:
        return self._load(name)

    def whole(self, name: str) -> NDArray[Any]:
        return self._load(name)

    def _load(self, name: str) -> NDArray[Any]:
        with zipfile.ZipFile(self.path) as archive:
            return load_member(archive, self.path, self._members[name][0])


def member_header(archive: zipfile.ZipFile, path: Path, member: zipfile.ZipInfo) -> NpyHeader:
    """Return the header of an array in an archive, and check its size against it.

    Raises
    ------
    InputError
        If the header is damaged or does not match the size of the array.
    """
    name = member.filename.removesuffix(".npy")
    where = f"{path}::{shortened(name)}"
    with damage_reported(path, shortened(name)), archive.open(member) as file:
        header = read_npy_header(file)
    if member.compress_type == zipfile.ZIP_DEFLATED:
        check_inflated(where, member.compress_size, member.file_size)
    if header.dtype.kind != "O":
        held = member.file_size - header.length
        check_promised(where, header.shape, header.dtype, held)
        promised = math.prod(header.shape) * header.dtype.itemsize
        if held > promised:
            why = f"{held} bytes follow its header, which announces {promised}"
            raise InputError(damaged(where, why))
    return header


def load_member(archive: zipfile.ZipFile, path: Path, member: zipfile.ZipInfo) -> NDArray[Any]:
    """Read one array of an archive into memory and verify its checksum, without unpickling.

    Raises
    ------
    InputError
        If the array is damaged or does not fit into memory.
    """
    name = shortened(member.filename.removesuffix(".npy"))
    remedy = "save it uncompressed, with numpy.savez, to have it read by block"
    check_memory(f"{path}::{name}", member.file_size, remedy)
    with damage_reported(path, name), archive.open(member) as file:
        array: NDArray[Any] = npy_format.read_array(file, allow_pickle=False)
        # The checksum is verified at the end of the member, which may lie beyond the array.
        while file.read(2**20):
            pass
    return array


def stored_piece(path: Path, member: zipfile.ZipInfo) -> SummedPiece:
    """Return the position and checksum of an uncompressed member of an archive."""
    with damage_reported(path), path.open("rb") as file:
        # The local header repeats the name and may have an extra field of another length.
        file.seek(member.header_offset + 26)
        name_length, extra_length = struct.unpack("<HH", file.read(4))
        offset = member.header_offset + 30 + int(name_length) + int(extra_length)
        held = file.seek(0, os.SEEK_END) - offset
    if member.compress_size != member.file_size or held < member.file_size:
        why = f"{member.filename} should have {member.file_size} bytes but has {held}"
        raise InputError(damaged(path, why))
    return SummedPiece(offset, member.file_size, member.CRC)


def _npy_header(request: Request) -> NpyHeader:
    if request.key is not None:
        message = f"{request.path} holds one array without a name: drop `::{request.key}`."
        raise InputError(message)
    check_exists(request.path)
    with damage_reported(request.path), request.path.open("rb") as file:
        header = read_npy_header(file)
    if header.dtype.kind != "O":
        held = request.path.stat().st_size - header.length
        check_promised(request.path, header.shape, header.dtype, held)
    return header


def read_npy_header(file: IO[bytes]) -> NpyHeader:
    """Read the header of a `.npy` file, leaving the file at the start of the array.

    Raises
    ------
    ValueError
        If it is not a header, or describes an impossible array.
    """
    version = npy_format.read_magic(file)
    if version not in ((1, 0), (2, 0), (3, 0)):
        message = f"format version {version[0]}.{version[1]} is unknown"
        raise ValueError(message)
    packed = file.read(2 if version == (1, 0) else 4)
    length = int.from_bytes(packed, "little")
    if length > _LONGEST_HEADER:
        message = f"its header has {length} bytes, more than the limit of {_LONGEST_HEADER}"
        raise ValueError(message)
    head = io.BytesIO(packed + file.read(length))
    read = npy_format.read_array_header_1_0
    with quietly():
        # Version 3 differs only in the encoding of field names, which plain numbers do not have.
        shape, fortran, dtype = (
            read(head) if version == (1, 0) else npy_format.read_array_header_2_0(head)
        )
    if any(isinstance(size, bool) or size < 0 for size in shape) or len(shape) > _MOST_AXES:
        message = f"its shape is {shape}"
        raise ValueError(message)
    if version == (3, 0) and dtype.names:
        message = "format version 3.0 is for records, not for plain numbers"
        raise ValueError(message)
    if dtype.itemsize == 0 and dtype.kind != "O":
        message = f"its values are {dtype} of no length"
        raise ValueError(message)
    return NpyHeader(shape, bool(fortran), dtype, file.tell())
