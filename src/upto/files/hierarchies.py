"""Read HDF5 files and zarr folders, plain or written by AnnData."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import MissingExtraError, Rows
from upto.files.annotated import AnnotatedContainer, decoded, is_annotated, refuse_pickle
from upto.files.chunk_files import check_files_below
from upto.files.containers import (
    Container,
    Entry,
    container_columns,
    container_labels,
    read_container,
)
from upto.files.damage import damage_reported, quietly
from upto.files.rows import BlockRows, ThreadHandles
from upto.files.stored import check_stored, refuse_other_files

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from upto.files.request import Columns, Contents, Request


def read_hierarchy(request: Request) -> Contents:
    """Read an HDF5, `.h5ad` or zarr file; its arrays stay on disk."""
    with damage_reported(request.path), quietly():
        return read_container(request, _container(request.path))


def hierarchy_labels(request: Request) -> tuple[str, NDArray[Any]]:
    """Read a vector of an HDF5 or zarr file, or a column of AnnData's `obs`."""
    with damage_reported(request.path), quietly():
        return container_labels(request, _container(request.path))


def hierarchy_columns(request: Request) -> Columns:
    """Read the vectors of an HDF5 or zarr file, AnnData's `obs`, or the columns of one array."""
    with damage_reported(request.path), quietly():
        return container_columns(request, _container(request.path))


class ArrayRows(BlockRows):
    """A two-dimensional HDF5 dataset or zarr array, opened in each thread that reads it."""

    def __init__(self, path: Path, key: str, shape: tuple[int, ...], dtype: Any) -> None:
        super().__init__(path, shape, np.dtype(dtype))
        self.key = key
        self._chunks = ThreadHandles(partial(_open_chunks, self.path, key))

    def _read(self, start: int, stop: int) -> NDArray[Any]:
        rows: NDArray[Any] = self._chunks().read(start, stop)
        return rows


_KEPT_BYTES = 2**26


class _Chunks:
    """A chunked array that reads each chunk once when rows are read in order.

    The libraries decompress a whole chunk for any of its rows, and a block is often part of one.
    """

    def __init__(self, array: Any) -> None:
        self._array = array
        self._length = int((array.chunks or (1,))[0])
        self._start, self._kept = 0, np.empty((0, array.shape[1]), dtype=array.dtype)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        first = start - start % self._length
        last = -(-stop // self._length) * self._length
        row_bytes = self._array.dtype.itemsize * self._array.shape[1]
        if stop - start >= self._length or (last - first) * row_bytes > _KEPT_BYTES:
            return np.asarray(self._array[start:stop])
        if start < self._start or stop > self._start + len(self._kept):
            self._start, self._kept = first, np.asarray(self._array[first:last])
        return self._kept[start - self._start : stop - self._start]


class Hierarchy(Container):
    """The arrays of an open HDF5 file or zarr folder."""

    def __init__(self, path: Path, root: Any) -> None:
        super().__init__()
        self.path, self.root = path, root
        for name, array in _arrays(root):
            self.add(name, Entry.of(array.shape, _plain_dtype(array.dtype)))

    def rows(self, key: str) -> Rows:
        """Return the block reader of an array."""
        return _rows(self.path, self.root, key)

    def values(self, name: str) -> NDArray[Any]:
        """Read a vector."""
        return decoded(_member(self.root, name), self.path, name)


def _container(path: Path) -> Container:
    if path.is_dir():
        check_files_below(path)
    root = _open(path)
    if not path.is_dir():
        refuse_other_files(path, root)
    if _is_h5ad(path) or is_annotated(path, root):
        return AnnotatedContainer(path, root, partial(_rows, path, root))
    return Hierarchy(path, root)


def _rows(path: Path, root: Any, key: str) -> ArrayRows:
    array = _member(root, key)
    check_stored(path, key, array)
    return ArrayRows(path, key, array.shape, array.dtype)


def _is_h5ad(path: Path) -> bool:
    return path.suffix.lower() == ".h5ad"


def _open(path: Path) -> Any:
    if path.is_dir():
        return _open_zarr(path)
    try:
        import h5py
    except ImportError:
        what, extra = f"reading {path.name}", "anndata" if _is_h5ad(path) else "hdf5"
        raise MissingExtraError(what, package="h5py", extra=extra) from None
    return h5py.File(path, "r")


def _open_zarr(path: Path) -> Any:
    try:
        import zarr
    except ImportError:
        what = f"reading {path.name}"
        raise MissingExtraError(what, package="zarr", extra="zarr") from None
    return zarr.open(path, mode="r")


def _open_chunks(path: Path, key: str) -> _Chunks:
    return _Chunks(_member(_open(path), key))


def _member(root: Any, key: str) -> Any:
    array = root if hasattr(root, "shape") else root[key]
    refuse_pickle(array)
    return array


def _arrays(root: Any) -> list[tuple[str, Any]]:
    if hasattr(root, "shape"):
        return [("array", root)]
    found: list[tuple[str, Any]] = []
    if hasattr(root, "visititems"):
        root.visititems(
            lambda name, item: found.append((name, item)) if hasattr(item, "shape") else None
        )
    else:
        members = root.members(max_depth=None)
        found = [(name, item) for name, item in members if hasattr(item, "shape")]
    return sorted(found, key=lambda pair: pair[0])


def _plain_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    # NumPy represents variable-length text of HDF5 and zarr as objects or as its own type.
    is_text = dtype.kind == "T" or (dtype.kind == "O" and bool(dtype.metadata))
    return np.dtype(str) if is_text else dtype
