"""safetensors files, read by block."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import MissingExtraError, Rows
from upto.files.containers import (
    Container,
    Entry,
    container_columns,
    container_labels,
    read_container,
)
from upto.files.damage import damage_reported
from upto.files.rows import StoredRows

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from upto.files.request import Columns, Contents, Request

_TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<f4",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "u1",
    "BOOL": "?",
    "C64": "<c8",
}


def read_safetensors(request: Request) -> Contents:
    """Map one tensor of a safetensors file; bfloat16 is read as float32."""
    return read_container(request, _Tensors(request.path))


def safetensors_labels(request: Request) -> tuple[str, NDArray[Any]]:
    """Read a one-dimensional tensor of a safetensors file."""
    return container_labels(request, _Tensors(request.path))


def safetensors_columns(request: Request) -> Columns:
    """Read the vectors of a safetensors file, or the columns of one tensor."""
    return container_columns(request, _Tensors(request.path))


class _Tensors(Container):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self._tensors = _checked_header(path)
        for name, tensor in self._tensors.items():
            shape, code = tuple(tensor["shape"]), tensor["dtype"]
            if code in _TYPES:
                self.add(name, Entry.of(shape, _TYPES[code]))
            else:
                problem = f"holds {code} values: convert it to float16, bfloat16 or float32 first."
                self.arrays[name] = Entry(shape, code, problem)

    def rows(self, key: str) -> Rows:
        return self._stored(key)

    def values(self, name: str) -> NDArray[Any]:
        return self._stored(name, columns=1)[:].ravel()

    def _stored(self, name: str, columns: int | None = None) -> StoredRows:
        tensor = self._tensors[name]
        shape = tuple(tensor["shape"]) if columns is None else (tensor["shape"][0], columns)
        return StoredRows(
            self.path,
            tensor["start"],
            shape,
            np.dtype(_TYPES[tensor["dtype"]]),
            bfloat16=tensor["dtype"] == "BF16",
        )


def _checked_header(path: Path) -> dict[str, dict[str, Any]]:
    try:
        from safetensors import safe_open
    except ImportError:
        what = f"reading {path.name}"
        raise MissingExtraError(what, package="safetensors", extra="safetensors") from None
    with damage_reported(path):
        # The library checks every offset against the file; NumPy can then map what it points to.
        with safe_open(path, framework="numpy"):
            pass
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            header: dict[str, dict[str, Any]] = json.loads(file.read(length))
    header.pop("__metadata__", None)
    for tensor in header.values():
        tensor["start"] = 8 + length + tensor["data_offsets"][0]
    return dict(sorted(header.items()))
