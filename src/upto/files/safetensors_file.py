"""Read safetensors files by block."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core.tensors import CODES, read_header
from upto.files.containers import (
    ArrayContainer,
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

    from upto.core import Rows
    from upto.files.request import Columns, Contents, Request

_TYPES = CODES | {"BF16": "<f4", "C64": "<c8"}


def read_safetensors(request: Request) -> Contents:
    """Map one tensor of a safetensors file; bfloat16 is read as float32."""
    return read_container(request, _Tensors(request.path))


def safetensors_arrays(path: Path) -> ArrayContainer:
    """Return the tensors of a safetensors file, read one by one on demand."""
    return _Tensors(path)


def safetensors_labels(request: Request) -> tuple[str, NDArray[Any]]:
    """Read a one-dimensional tensor of a safetensors file."""
    return container_labels(request, _Tensors(request.path))


def safetensors_columns(request: Request) -> Columns:
    """Read the vectors of a safetensors file, or the columns of one tensor."""
    return container_columns(request, _Tensors(request.path))


class _Tensors(ArrayContainer):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        with damage_reported(path), path.open("rb") as file:
            tensors, _ = read_header(path, file)
        self._tensors = dict(sorted(tensors.items()))
        for name, tensor in self._tensors.items():
            shape, code = tuple(tensor.shape), tensor.dtype
            if code in _TYPES:
                self.add(name, Entry.of(shape, _TYPES[code]))
            else:
                problem = f"holds {code} values: convert it to float16, bfloat16 or float32 first."
                self.arrays[name] = Entry(shape, code, problem)

    def rows(self, key: str) -> Rows:
        return self._stored(key)

    def values(self, name: str) -> NDArray[Any]:
        return self._stored(name, shape=(self._tensors[name].shape[0], 1))[:].ravel()

    def whole(self, name: str) -> NDArray[Any]:
        shape = tuple(self._tensors[name].shape)
        if 0 in shape:
            return np.empty(shape)
        return self._stored(name, shape=(math.prod(shape), 1))[:].reshape(shape)

    def _stored(self, name: str, shape: tuple[int, ...] | None = None) -> StoredRows:
        tensor = self._tensors[name]
        shape = tuple(tensor.shape) if shape is None else shape
        return StoredRows(
            self.path,
            tensor.data_offsets[0],
            shape,
            np.dtype(_TYPES[tensor.dtype]),
            bfloat16=tensor.dtype == "BF16",
        )
