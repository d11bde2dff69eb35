"""Read byte arrays from MATLAB 5 files.

SciPy's reader crashes the process on some damaged files, so the needed subset is read here.
"""

from __future__ import annotations

import math
import struct
import zlib
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from upto.core import InputError
from upto.files.damage import damaged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_HEAD_LENGTH = 128
_BYTES, _MATRIX, _COMPRESSED = 2, 14, 15
_BYTE_CLASS = 9
_LARGEST = 2**28  # bytes of an array, fifty times those of a car


def read_matlab_bytes(content: bytes, name: str, where: object) -> NDArray[np.uint8]:
    """Return a byte array from the content of a `.mat` file.

    Parameters
    ----------
    content
        Content of the file.
    name
        Name of the array.
    where
        Name of the file in error messages.

    Raises
    ------
    InputError
        If the file has another format, is damaged, or has no such array.
    """
    order = {b"IM": "<", b"MI": ">"}.get(content[126:_HEAD_LENGTH])
    if order is None:
        message = (
            f"{where} is not a MATLAB 5 file (it starts with {content[:8].hex(' ')}): "
            "copy or download it again."
        )
        raise InputError(message)
    try:
        for kind, data in _elements(content[_HEAD_LENGTH:], order):
            if kind == _COMPRESSED:
                (kind, data), *_ = _elements(_unpacked(data), order)
            found = _array(data, name, order) if kind == _MATRIX else None
            if found is not None:
                return found
    except (ValueError, struct.error, zlib.error) as error:
        raise InputError(damaged(where, error, "copy or download it again")) from None
    message = f"{where} has no array {name}: copy or download it again."
    raise InputError(message)


def _unpacked(data: bytes) -> bytes:
    packed = zlib.decompressobj()
    content = packed.decompress(data, _LARGEST)
    if packed.unconsumed_tail:
        message = f"an element has more than {_LARGEST} bytes"
        raise ValueError(message)
    return content


def _array(matrix: bytes, name: str, order: str) -> NDArray[np.uint8] | None:
    """Return the array of a matrix, or None if its name differs."""
    (_, flags), (_, sizes), (_, found), (kind, values) = islice(_elements(matrix, order), 4)
    if found != name.encode():
        return None
    shape = struct.unpack(f"{order}{len(sizes) // 4}i", sizes)
    is_bytes = struct.unpack(f"{order}I", flags[:4])[0] & 0xFF == _BYTE_CLASS and kind == _BYTES
    if not is_bytes or min(shape, default=0) < 1 or math.prod(shape) != len(values):
        message = f"{name} is not a byte array of shape {shape}"
        raise ValueError(message)
    return np.frombuffer(values, dtype=np.uint8).reshape(shape, order="F")


def _elements(content: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """Yield the type and data of each element; those of up to four bytes share their header."""
    start = 0
    while start < len(content):
        kind, length = struct.unpack_from(f"{order}II", content, start)
        begin = start + 8
        if kind >> 16:
            kind, length, begin = kind & 0xFFFF, kind >> 16, start + 4
        data = content[begin : begin + length]
        if len(data) < length or (begin == start + 4 and length > 4):
            message = f"an element of {length} bytes has {len(data)}"
            raise ValueError(message)
        yield kind, data
        # Elements start at multiples of eight bytes, except after compressed ones.
        end = begin + length
        start = end if kind == _COMPRESSED else start + -(-(end - start) // 8) * 8
