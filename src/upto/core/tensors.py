"""Named arrays and a few words in one safetensors file: no code in it, nothing to unpickle."""

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
from upto.core.read import read_whole

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
"""NumPy's names of the types that both have."""
_NAMES = {np.dtype(code): name for name, code in CODES.items()}
# Types of other sizes are not read, so how long they are is for others to check.
_SIZES = {name: np.dtype(code).itemsize for name, code in CODES.items()} | {"BF16": 2, "C64": 8}
_LONGEST_HEADER = 100_000_000  # bytes; what the safetensors library refuses too
_METADATA = "__metadata__"

_Size = Annotated[int, msgspec.Meta(ge=0)]


class StoredTensor(msgspec.Struct):
    """The type and the shape of an array, and the bytes of the file from which to which it is."""

    dtype: str
    shape: list[_Size]
    data_offsets: tuple[_Size, _Size]


def tensors_header(
    arrays: Mapping[str, tuple[Any, tuple[int, ...]]], metadata: Mapping[str, str]
) -> bytes:
    """Return what stands in a safetensors file before the data of its arrays.

    Parameters
    ----------
    arrays
        The type and the shape of each array, in the order of their data.
    metadata
        Words to keep beside them.
    """
    header: dict[str, Any] = {_METADATA: dict(metadata)} if metadata else {}
    end = 0
    for name, (dtype, shape) in arrays.items():
        kind = np.dtype(dtype).newbyteorder("<")
        if name == _METADATA or kind not in _NAMES:
            message = f"{name!r} of type {np.dtype(dtype)} cannot be kept in a safetensors file."
            raise InputError(message)
        start, end = end, end + math.prod(shape) * kind.itemsize
        header[name] = {"dtype": _NAMES[kind], "shape": shape, "data_offsets": (start, end)}
    text = msgspec.json.encode(header)
    # Data that begin at a multiple of eight bytes can be mapped as they are.
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


def write_tensors(
    path: str | Path, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]
) -> None:
    """Write named arrays and words to a safetensors file, whole or not at all.

    Parameters
    ----------
    path
        Where the file shall be; its folder must exist.
    arrays
        Real numbers of any shape, by name.
    metadata
        Words to keep beside them.

    Raises
    ------
    InputError
        If an array is of a type the format does not have, or the file cannot be written.
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
    """Read the arrays and the words of a safetensors file.

    Raises
    ------
    InputError
        If the file cannot be read, is damaged, or holds types NumPy does not have.
    """
    path = Path(path)
    content = read_whole(path, None)
    tensors, words = read_header(path, io.BytesIO(content))
    for name, tensor in tensors.items():
        if tensor.dtype not in CODES:
            message = (
                f"{path} holds {shortened(tensor.dtype)} values in {shortened(name)!r}: convert "
                "them to float32 first."
            )
            raise InputError(message)
    try:
        return {
            name: _array(tensor, memoryview(content)) for name, tensor in tensors.items()
        }, words
    except ValueError as error:
        # An empty array may still have a shape that no array can have.
        raise InputError(_damaged(path, error)) from None


def read_header(path: Path, file: IO[bytes]) -> tuple[dict[str, StoredTensor], dict[str, str]]:
    """Read which arrays a safetensors file holds, where they are, and its words.

    Parameters
    ----------
    path
        What the file is called where it is wrong.
    file
        The file, opened.

    Raises
    ------
    InputError
        If the arrays are not all there is after the header, one after the other.
    """
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, _LONGEST_HEADER):
        raise InputError(_damaged(path, f"it has {size} bytes and too few for its header"))
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
        why = f"its header promises {end} bytes and {size - begin} follow"
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
            f"bytes from {begin} on, but bytes {start} to {stop} are given"
        )
        raise InputError(_damaged(path, why))


def _array(tensor: StoredTensor, content: memoryview) -> NDArray[Any]:
    start, stop = tensor.data_offsets
    stored = np.frombuffer(content[start:stop], dtype=CODES[tensor.dtype])
    return stored.astype(stored.dtype.newbyteorder("=")).reshape(tensor.shape)


def _damaged(path: Path, why: object) -> str:
    return one_sentence(f"{path} is damaged or truncated ({reason(why)}): copy or save it again.")
