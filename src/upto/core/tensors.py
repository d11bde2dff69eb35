"""Read and write safetensors files: named arrays and metadata, with nothing to unpickle."""

from __future__ import annotations

import io
import math
import struct
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np

from upto.core.errors import InputError, one_sentence, reason, shortened
from upto.core.files import write_atomically
from upto.core.read_file import read_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

CODES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
    "BOOL": "|b1",
}
"""NumPy codes of the types that safetensors and NumPy share."""
_NAMES = {np.dtype(code): name for name, code in CODES.items()}
# Other types are not read, so their lengths are not checked here.
_SIZES = {name: np.dtype(code).itemsize for name, code in CODES.items()} | {"BF16": 2, "C64": 8}
_LONGEST_HEADER = 100_000_000  # bytes; the limit of the safetensors library
_METADATA = "__metadata__"

_Size = Annotated[int, msgspec.Meta(ge=0)]


class StoredTensor(msgspec.Struct):
    """Type, shape and byte range of an array in the file."""

    dtype: str
    shape: list[_Size]
    data_offsets: tuple[_Size, _Size]


def tensors_header(
    arrays: Mapping[str, tuple[Any, tuple[int, ...]]], metadata: Mapping[str, str]
) -> bytes:
    """Return the header of a safetensors file, which precedes the data.

    Parameters
    ----------
    arrays
        Type and shape of each array, in the order of their data.
    metadata
        Strings to store with the arrays.
    """
    header: dict[str, Any] = {_METADATA: dict(metadata)} if metadata else {}
    end = 0
    for name, (dtype, shape) in arrays.items():
        kind = np.dtype(dtype).newbyteorder("<")
        if name == _METADATA or kind not in _NAMES:
            message = f"{name!r} of type {np.dtype(dtype)} cannot be stored in a safetensors file."
            raise InputError(message)
        start, end = end, end + math.prod(shape) * kind.itemsize
        header[name] = {"dtype": _NAMES[kind], "shape": shape, "data_offsets": (start, end)}
    text = msgspec.json.encode(header)
    # Data that begin at a multiple of eight bytes can be memory-mapped.
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


def write_tensors(
    path: str | Path, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]
) -> None:
    """Write named arrays and metadata to a safetensors file atomically.

    Parameters
    ----------
    path
        Destination; its folder must exist.
    arrays
        Real arrays of any shape, by name.
    metadata
        Strings to store with the arrays.

    Raises
    ------
    InputError
        If the format does not support the type of an array, or the file cannot be written.
    """
    # The widest types first, so that every array begins at a multiple of its item's size.
    ordered = dict(sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0])))
    header = tensors_header(
        {name: (array.dtype, array.shape) for name, array in ordered.items()}, metadata
    )
    try:
        with write_atomically(path, binary=True) as file:
            file.write(header)
            for array in ordered.values():
                little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
                file.write(little.tobytes())
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror or error}."
        raise InputError(message) from None


def read_tensors(path: str | Path) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Read the arrays and the metadata of a safetensors file.

    Raises
    ------
    InputError
        If the file cannot be read, is damaged, or contains types that NumPy lacks.
    """
    path = Path(path)
    content = read_whole(path, None)
    tensors, words = read_header(path, io.BytesIO(content))
    for name, tensor in tensors.items():
        if tensor.dtype not in CODES:
            message = (
                f"{path} contains {shortened(tensor.dtype)} values in {shortened(name)!r}: convert "
                "them to float32 first."
            )
            raise InputError(message)
    try:
        return {
            name: _array(tensor, memoryview(content)) for name, tensor in tensors.items()
        }, words
    except ValueError as error:
        # An empty array may still have an impossible shape.
        raise InputError(_damaged(path, error)) from None


def read_header(path: Path, file: IO[bytes]) -> tuple[dict[str, StoredTensor], dict[str, str]]:
    """Read the header of a safetensors file: its arrays with their positions, and its metadata.

    Parameters
    ----------
    path
        Name of the file in error messages.
    file
        The open file.

    Raises
    ------
    InputError
        If the arrays do not fill the file after the header without gaps or overlaps.
    """
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, _LONGEST_HEADER):
        raise InputError(_damaged(path, f"its {size} bytes are too few for its header"))
    try:
        entries = msgspec.json.decode(file.read(length), type=dict[str, msgspec.Raw])
        words = msgspec.json.decode(entries.pop(_METADATA, b"{}"), type=dict[str, str])
        tensors = {
            name: msgspec.json.decode(entry, type=StoredTensor) for name, entry in entries.items()
        }
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise InputError(_damaged(path, error)) from None
    begin, end = 8 + length, 0
    for name, tensor in sorted(tensors.items(), key=lambda item: item[1].data_offsets):
        _check(path, name, tensor, end)
        start, end = tensor.data_offsets
        tensor.data_offsets = (begin + start, begin + end)
    if begin + end != size:
        why = f"its header announces {end} bytes, but {size - begin} follow"
        raise InputError(_damaged(path, why))
    return tensors, words


def _check(path: Path, name: str, tensor: StoredTensor, begin: int) -> None:
    start, stop = tensor.data_offsets
    if tensor.dtype in _SIZES:
        n_bytes = math.prod(tensor.shape) * _SIZES[tensor.dtype]
    else:
        n_bytes = max(stop - start, 0)
    # The format has neither gaps nor overlaps, so that a file cannot hide or repeat data.
    if start != begin or stop - start != n_bytes:
        shape = " × ".join(map(str, tensor.shape))
        why = (
            f"{shortened(name)!r} is {shape or 'scalar'} {shortened(tensor.dtype)}, {n_bytes} "
            f"bytes from {begin} on, but its header gives bytes {start} to {stop}"
        )
        raise InputError(_damaged(path, why))


def _array(tensor: StoredTensor, content: memoryview) -> NDArray[Any]:
    start, stop = tensor.data_offsets
    stored = np.frombuffer(content[start:stop], dtype=CODES[tensor.dtype])
    return stored.astype(stored.dtype.newbyteorder("=")).reshape(tensor.shape)


def _damaged(path: Path, why: object) -> str:
    return one_sentence(f"{path} is damaged or truncated ({reason(why)}): copy or save it again.")
