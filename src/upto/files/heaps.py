"""Text of HDF5 and chunks of zarr, whose lengths the libraries take at their word.

HDF5 keeps text of variable length in heaps, and with each string the length to allocate for it;
blosc keeps with each chunk how many bytes to read of it. Neither library compares that with what
is there: one fills gigabytes with nothing, the other reads what lies behind in memory.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.files.damage import damaged

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

_DESCRIPTOR = np.dtype([("length", "<u4"), ("address", "<u8"), ("index", "<u4")])
_HEAP = b"GCOL"
_BLOSC_HEAD = 16
_DEFLATE, _SHUFFLE, _FLETCHER = 1, 2, 3
_UNWRITTEN = "no write intent"


def check_heaps(path: Path, where: str, dataset: Any) -> None:
    """Refuse text of HDF5 that says it is longer than its file.

    Parameters
    ----------
    path
        The file.
    where
        The file, and the dataset in it.
    dataset
        An open dataset of text of variable length.
    """
    if dataset.file.id.get_create_plist().get_sizes() != (8, 8):
        # Addresses are written in another width, which is rare: the library is trusted.
        return
    # Addresses are counted from behind what others may have written before the file.
    base = int(dataset.file.userblock_size)
    size = path.stat().st_size - base
    descriptors = _descriptors(path, dataset)
    longest = int(descriptors["length"].max(initial=0))
    used = descriptors[descriptors["length"] > 0]
    total = int(used["length"].sum(dtype=np.uint64))
    if total > size or (used["address"] + used["length"] > size).any():
        why = f"text of {longest} and in all {total} bytes in a file of {size}"
        raise InputError(damaged(where, why))
    with path.open("rb") as file:
        for address in np.unique(used["address"]):
            file.seek(base + int(address))
            if file.read(4) != _HEAP:
                raise InputError(damaged(where, f"no text is at byte {address}"))


def check_blosc(files: Iterable[Path], where: str, chunk_bytes: int) -> None:
    """Refuse chunks whose heads promise other lengths than they have.

    Parameters
    ----------
    files
        The chunks, each compressed by blosc.
    where
        The zarr folder, and the array in it.
    chunk_bytes
        Bytes of a chunk when it is decompressed.
    """
    for path in files:
        with path.open("rb") as file:
            head = file.read(_BLOSC_HEAD)
        unpacked, packed = (int.from_bytes(head[start : start + 4], "little") for start in (4, 12))
        held = path.stat().st_size
        if len(head) < _BLOSC_HEAD or packed != held or unpacked > chunk_bytes:
            why = f"chunk {path.name} has {held} bytes that say they are {packed} of {unpacked}"
            raise InputError(damaged(where, why))


def _descriptors(path: Path, dataset: Any) -> NDArray[Any]:
    """Return what is stored in place of each text: its length and where it is."""
    if not dataset.size:
        return np.empty(0, dtype=_DESCRIPTOR)
    if dataset.chunks is None:
        start = dataset.id.get_offset()
        if start is None:
            return np.empty(0, dtype=_DESCRIPTOR)
        with path.open("rb") as file:
            file.seek(start)
            content = file.read(dataset.size * _DESCRIPTOR.itemsize)
        return _parsed(content)
    plist = dataset.id.get_create_plist()
    filters = [plist.get_filter(number)[0] for number in range(plist.get_nfilters())]
    if not set(filters) <= {_DEFLATE, _SHUFFLE, _FLETCHER}:
        # Other filters are decoded by the library only.
        return np.empty(0, dtype=_DESCRIPTOR)
    found = [_chunk(dataset, chunk, filters) for chunk in stored_chunks(dataset)]
    return np.concatenate([np.empty(0, dtype=_DESCRIPTOR), *found])


def stored_chunks(dataset: Any) -> list[Any]:
    """Return where the chunks of a dataset of HDF5 are that were written."""
    found: list[Any] = []
    if hasattr(dataset.id, "chunk_iter"):
        dataset.id.chunk_iter(found.append)
        return found
    return [dataset.id.get_chunk_info(number) for number in range(dataset.id.get_num_chunks())]


def read_vector(dataset: Any) -> NDArray[Any]:
    """Read a vector of HDF5, also text of which not all was written.

    The library cannot read a chunk of text that is not there: it would write the text that stands
    for it first.
    """
    try:
        return np.asarray(dataset[:])
    except OSError as error:
        if _UNWRITTEN not in str(error) or len(dataset.shape) != 1:
            raise
    values = np.full(dataset.shape, dataset.fillvalue, dtype=object)
    if dataset.chunks is not None:
        for chunk in stored_chunks(dataset):
            part = slice(chunk.chunk_offset[0], chunk.chunk_offset[0] + dataset.chunks[0])
            values[part] = dataset[part]
    return values


def _chunk(dataset: Any, chunk: Any, filters: list[int]) -> NDArray[Any]:
    if chunk.filter_mask:
        return np.empty(0, dtype=_DESCRIPTOR)
    _, content = dataset.id.read_direct_chunk(chunk.chunk_offset)
    longest = int(np.prod(dataset.chunks)) * _DESCRIPTOR.itemsize
    for number in reversed(filters):
        if number == _FLETCHER:
            content = content[:-4]
        elif number == _DEFLATE:
            # A checksum may be behind it.
            content = zlib.decompressobj().decompress(content, longest + 4)
        else:
            whole = len(content) // _DESCRIPTOR.itemsize * _DESCRIPTOR.itemsize
            shuffled = np.frombuffer(content[:whole], dtype=np.uint8)
            content = shuffled.reshape(_DESCRIPTOR.itemsize, -1).T.tobytes() + content[whole:]
    return _parsed(content[:longest])


def _parsed(content: bytes) -> NDArray[Any]:
    whole = len(content) // _DESCRIPTOR.itemsize * _DESCRIPTOR.itemsize
    return np.frombuffer(content[:whole], dtype=_DESCRIPTOR)
