"""NumPy's own files: `.npy` and `.npz`, without ever unpickling anything."""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy_format

from upto.core import InputError, Rows
from upto.load.containers import (
    PICKLED,
    Container,
    Entry,
    as_columns,
    container_columns,
    container_labels,
    problem_of,
    read_container,
)
from upto.load.request import Columns, Contents, Request
from upto.load.rows import StoredRows

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class NpyHeader:
    """What the head of a `.npy` file says of its array, and the length of the head."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    length: int

    @property
    def n_bytes(self) -> int:
        """The bytes of the array."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_npy(request: Request) -> Contents:
    """Read a `.npy` file by block."""
    header = _npy_header(request)
    if (problem := problem_of(header.shape, header.dtype)) is not None:
        raise InputError(f"{request.path} {problem}")  # noqa: EM102 - a sentence in two
    if request.ids is not None or request.columns:
        message = (
            f"{request.path} holds one array and nothing else: keep ids and columns in an .npz "
            "file, or give them separately."
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
            f"{request.path} has the shape {header.shape}: labels have one dimension, one label "
            "for each row."
        )
        raise InputError(message)
    return request.path.stem, np.load(request.path, allow_pickle=False)


def npy_columns(request: Request) -> Columns:
    """Read a `.npy` file of one or two dimensions as columns, numbered from 0."""
    header = _npy_header(request)
    if header.dtype.kind == "O":
        message = f"{request.path} {PICKLED}"
        raise InputError(message)
    return Columns(
        ids=None,
        columns=as_columns(request, request.path.stem, np.load(request.path, allow_pickle=False)),
    )


def npz_columns(request: Request) -> Columns:
    """Read the vectors of an `.npz` archive, or the columns of one array."""
    return container_columns(request, _Archive(request.path))


def read_npz(request: Request) -> Contents:
    """Read an `.npz` archive: stored members by block, compressed ones when they are chosen."""
    return read_container(request, _Archive(request.path))


def npz_labels(request: Request) -> tuple[str, NDArray[Any]]:
    """Read a one-dimensional member of an `.npz` archive."""
    return container_labels(request, _Archive(request.path))


class _Archive(Container):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self._members: dict[str, tuple[zipfile.ZipInfo, NpyHeader]] = {}
        try:
            with zipfile.ZipFile(path) as archive:
                for member in archive.infolist():
                    if member.filename.endswith(".npy"):
                        with archive.open(member) as file:
                            header = read_npy_header(file)
                        name = member.filename.removesuffix(".npy")
                        self._members[name] = member, header
                        self.add(name, Entry.of(header.shape, header.dtype))
        except (zipfile.BadZipFile, ValueError, EOFError, OSError, zlib.error, RuntimeError) as why:
            raise InputError(_damaged(path, why)) from None

    def rows(self, key: str) -> Rows:
        member, header = self._members[key]
        if member.compress_type != zipfile.ZIP_STORED:
            return self._load(key)
        offset = member_offset(self.path, member) + header.length
        return StoredRows(self.path, offset, header.shape, header.dtype, fortran=header.fortran)

    def values(self, name: str) -> NDArray[Any]:
        return self._load(name)

    def _load(self, name: str) -> NDArray[Any]:
        try:
            with zipfile.ZipFile(self.path) as archive, archive.open(f"{name}.npy") as file:
                array: NDArray[Any] = npy_format.read_array(file, allow_pickle=False)
        except (zipfile.BadZipFile, ValueError, EOFError, OSError, zlib.error) as why:
            raise InputError(_damaged(self.path, f"{name}: {why}")) from None
        return array


def _npy_header(request: Request) -> NpyHeader:
    if request.key is not None:
        message = f"{request.path} holds one array without a name: drop `::{request.key}`."
        raise InputError(message)
    try:
        with request.path.open("rb") as file:
            header = read_npy_header(file)
    except (ValueError, EOFError) as why:
        raise InputError(_damaged(request.path, why)) from None
    held = request.path.stat().st_size - header.length
    if header.dtype.kind != "O" and held < header.n_bytes:
        shape = " × ".join(map(str, header.shape))
        message = (
            f"{request.path} is truncated: its header promises {shape} {header.dtype} values, "
            f"{header.n_bytes} bytes, but {held} follow. Copy or save it again."
        )
        raise InputError(message)
    return header


def read_npy_header(file: IO[bytes]) -> NpyHeader:
    """Read the head of a `.npy` file and leave the file where its array begins."""
    version = npy_format.read_magic(file)
    if version == (1, 0):
        shape, fortran, dtype = npy_format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, fortran, dtype = npy_format.read_array_header_2_0(file)
    else:
        message = f"format version {version[0]}.{version[1]} is for records, not for plain numbers"
        raise ValueError(message)
    return NpyHeader(shape, fortran, dtype, file.tell())


def member_offset(path: Path, member: zipfile.ZipInfo) -> int:
    """Return where the content of a stored member of an archive begins."""
    # The local header repeats the name and has an extra field of its own length.
    with path.open("rb") as file:
        file.seek(member.header_offset + 26)
        name_length, extra_length = struct.unpack("<HH", file.read(4))
    return member.header_offset + 30 + int(name_length) + int(extra_length)


def _damaged(path: Path, why: object) -> str:
    return f"{path} is damaged or truncated ({why}): copy or save it again."
