"""Two binary formats of arrays: IDX, of MNIST, and the matrices of NORB."""

from __future__ import annotations

import gzip
import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError

if TYPE_CHECKING:
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


def read_idx(path: str | Path) -> NDArray[Any]:
    """Read one array in the IDX format, gzipped or not.

    Raises
    ------
    InputError
        If the file cannot be read, is not of this format, or is damaged.
    """
    content = _content(path)
    head = content[:4]
    if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in _IDX_KINDS or head[3] == 0:
        message = (
            f"{path} does not begin as an IDX file does but with {head.hex(' ')}: "
            "copy or download it again."
        )
        raise InputError(message)
    start = 4 + 4 * head[3]
    shape = struct.unpack(f">{head[3]}I", content[4:start].ljust(4 * head[3], b"\0"))
    return _array(path, content, start, shape, _IDX_KINDS[head[2]])


def read_norb_matrix(path: str | Path) -> NDArray[Any]:
    """Read one array in the format of NORB, gzipped or not; its files end in ``.mat`` too.

    Raises
    ------
    InputError
        If the file cannot be read, is not of this format, or is damaged.
    """
    content = _content(path)
    kind, n_axes = struct.unpack("<Ii", content[:8].ljust(8, b"\0"))
    if kind not in _MATRIX_KINDS or not 0 < n_axes < 33:
        message = (
            f"{path} does not begin as a matrix of NORB does but with {content[:8].hex(' ')}: "
            "copy or download it again."
        )
        raise InputError(message)
    # The head of a matrix with fewer axes is filled up.
    start = 8 + 4 * max(_FEWEST_AXES, n_axes)
    shape = struct.unpack(f"<{n_axes}I", content[8 : 8 + 4 * n_axes].ljust(4 * n_axes, b"\0"))
    return _array(path, content, start, shape, _MATRIX_KINDS[kind])


def _content(path: str | Path) -> bytes:
    try:
        content = Path(path).read_bytes()
        return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    except (OSError, EOFError, zlib.error) as error:
        message = f"{path} cannot be read: {getattr(error, 'strerror', None) or error}."
        raise InputError(message) from None


def _array(
    path: str | Path, content: bytes, start: int, shape: tuple[int, ...], code: str
) -> NDArray[Any]:
    kind = np.dtype(code)
    n_bytes = int(np.prod(shape, dtype=object)) * kind.itemsize
    if len(content) - start != n_bytes:
        message = (
            f"{path} promises {' × '.join(map(str, shape))} values, {n_bytes} bytes, but "
            f"{max(len(content) - start, 0)} follow: copy or download it again."
        )
        raise InputError(message)
    try:
        values = np.frombuffer(content, dtype=kind, offset=start).reshape(shape)
    except ValueError as error:
        # One value or none at all may still have a shape that no array can have.
        message = f"{path} promises {len(shape)} axes that make no array ({error}): get it again."
        raise InputError(message) from None
    return values.astype(kind.newbyteorder("="), copy=False)
