"""Read two binary array formats: IDX (MNIST) and the matrices of NORB."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np

from upto.core import InputError
from upto.core.errors import one_sentence, reason
from upto.core.read_file import check_readable
from upto.files.declared import LARGEST_DEFLATE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_IDX_KINDS = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
_MATRIX_KINDS = {
    0x1E3D4C51: "<f4",
    0x1E3D4C53: "<f8",
    0x1E3D4C54: "<i4",
    0x1E3D4C55: "<u1",
    0x1E3D4C56: "<i2",
}
_FEWEST_AXES = 3
_GZIPPED = b"\x1f\x8b"


def read_idx(path: str | Path) -> NDArray[Any]:
    """Read one array in the IDX format, gzipped or not.

    Raises
    ------
    InputError
        If the file cannot be read, has another format, or is damaged.
    """
    with _opened(path) as file:
        head = file.read(4)
        if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in _IDX_KINDS or head[3] == 0:
            message = (
                f"{path} is not an IDX file (it starts with {head.hex(' ')}): "
                "copy or download it again."
            )
            raise InputError(message)
        shape = struct.unpack(f">{head[3]}I", _head(path, file, 4 * head[3]))
        return _array(path, file, shape, _IDX_KINDS[head[2]])


def read_norb_matrix(path: str | Path) -> NDArray[Any]:
    """Read one array in the NORB format, gzipped or not; its files also end in ``.mat``.

    Raises
    ------
    InputError
        If the file cannot be read, has another format, or is damaged.
    """
    with _opened(path) as file:
        head = file.read(8)
        kind, n_axes = struct.unpack("<Ii", head.ljust(8, b"\0"))
        if kind not in _MATRIX_KINDS or not 0 < n_axes < 33:
            message = (
                f"{path} is not a NORB matrix (it starts with {head.hex(' ')}): "
                "copy or download it again."
            )
            raise InputError(message)
        # Headers of matrices with fewer axes are padded.
        sizes = _head(path, file, 4 * max(_FEWEST_AXES, n_axes))
        shape = struct.unpack(f"<{n_axes}I", sizes[: 4 * n_axes])
        return _array(path, file, shape, _MATRIX_KINDS[kind])


@contextmanager
def _opened(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file that may be gzipped."""
    path = Path(path)
    check_readable(path)
    try:
        with path.open("rb") as file:
            is_packed = file.read(2) == _GZIPPED
            file.seek(0)
            if is_packed:
                with gzip.open(file) as unpacked:
                    yield cast("IO[bytes]", unpacked)
            else:
                yield file
    except (OSError, EOFError, zlib.error) as error:
        message = f"{path} cannot be read: {getattr(error, 'strerror', None) or reason(error)}."
        raise InputError(message) from None


def _head(path: str | Path, file: IO[bytes], length: int) -> bytes:
    content = file.read(length)
    if len(content) < length:
        message = (
            f"{path} declares {length // 4} sizes, but {len(content)} bytes follow: copy or "
            "download it again."
        )
        raise InputError(message)
    return content


def _array(path: str | Path, file: IO[bytes], shape: tuple[int, ...], code: str) -> NDArray[Any]:
    """Read the values after a header, no more than it declares."""
    kind, stored = np.dtype(code), Path(path).stat().st_size
    n_bytes = math.prod(shape) * kind.itemsize
    # Content cannot exceed the file size times the largest deflate ratio.
    content = file.read(min(n_bytes, stored * LARGEST_DEFLATE) + 1)
    if len(content) != n_bytes:
        message = (
            f"{path} declares {' × '.join(map(str, shape))} values, {n_bytes} bytes, but "
            f"{len(content)}{' or more' if len(content) > n_bytes else ''} follow: copy or "
            "download it again."
        )
        raise InputError(one_sentence(message))
    try:
        values = np.frombuffer(content, dtype=kind).reshape(shape)
    except ValueError as error:
        # Even zero or one value may have a shape that NumPy cannot represent.
        message = (
            f"{path} declares {len(shape)} axes that form no array ({reason(error)}): get it again."
        )
        raise InputError(message) from None
    return values.astype(kind.newbyteorder("="), copy=False)
