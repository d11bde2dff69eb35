"""Named arrays and a few words in one safetensors file: no code in it, nothing to unpickle."""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np

from upto.core.errors import InputError, one_sentence, reason, shortened
from upto.core.files import write_atomically
from upto.core.read import read_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_CODES = {
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
_NAMES = {np.dtype(code): name for name, code in _CODES.items()}
_LONGEST_HEADER = 100_000_000  # bytes; what the safetensors library refuses too
_METADATA = "__metadata__"

_Size = Annotated[int, msgspec.Meta(ge=0)]


class _Tensor(msgspec.Struct):
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
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > min(len(content) - 8, _LONGEST_HEADER):
        raise InputError(_damaged(path, f"it has {len(content)} bytes and too few for its header"))
    header, data = content[8 : 8 + length], memoryview(content)[8 + length :]
    try:
        entries = msgspec.json.decode(header, type=dict[str, msgspec.Raw])
        words = msgspec.json.decode(entries.pop(_METADATA, b"{}"), type=dict[str, str])
        tensors = {
            name: msgspec.json.decode(entry, type=_Tensor) for name, entry in entries.items()
        }
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise InputError(_damaged(path, error)) from None
    end = 0
    for name, tensor in sorted(tensors.items(), key=lambda item: item[1].data_offsets):
        _check(path, name, tensor, end)
        end = tensor.data_offsets[1]
    if end != len(data):
        raise InputError(_damaged(path, f"its header promises {end} bytes and {len(data)} follow"))
    try:
        return {name: _array(tensor, data) for name, tensor in tensors.items()}, words
    except ValueError as error:
        # An empty array may still have a shape that no array can have.
        raise InputError(_damaged(path, error)) from None


def _check(path: Path, name: str, tensor: _Tensor, begin: int) -> None:
    if tensor.dtype not in _CODES:
        message = (
            f"{path} holds {shortened(tensor.dtype)} values in {shortened(name)!r}: convert them "
            "to float32 first."
        )
        raise InputError(message)
    start, stop = tensor.data_offsets
    n_bytes = math.prod(tensor.shape) * np.dtype(_CODES[tensor.dtype]).itemsize
    # The format has neither gaps nor overlaps, so that a file cannot hide or repeat data.
    if start != begin or stop - start != n_bytes:
        shape = " × ".join(map(str, tensor.shape))
        why = (
            f"{shortened(name)!r} is {shape or 'scalar'} {tensor.dtype}, {n_bytes} bytes from "
            f"{begin} on, but bytes {start} to {stop} are given"
        )
        raise InputError(_damaged(path, why))


def _array(tensor: _Tensor, data: memoryview) -> NDArray[Any]:
    start, stop = tensor.data_offsets
    stored = np.frombuffer(data[start:stop], dtype=_CODES[tensor.dtype])
    return stored.astype(stored.dtype.newbyteorder("=")).reshape(tensor.shape)


def _damaged(path: Path, why: object) -> str:
    return one_sentence(f"{path} is damaged or truncated ({reason(why)}): copy or save it again.")
