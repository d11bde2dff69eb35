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
from upto.load.damage import damaged

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

_DESCRIPTOR = np.dtype([("length", "<u4"), ("address", "<u8"), ("index", "<u4")])
_HEAP = b"GCOL"
_BLOSC_HEAD = 16


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
    size = path.stat().st_size
    descriptors = _descriptors(path, dataset)
    longest = int(descriptors["length"].max(initial=0))
    used = descriptors[descriptors["length"] > 0]
    total = int(used["length"].sum(dtype=np.uint64))
    if total > size or (used["address"] + used["length"] > size).any():
        why = f"text of {longest} and in all {total} bytes in a file of {size}"
        raise InputError(damaged(where, why))
    with path.open("rb") as file:
        for address in np.unique(used["address"]):
            file.seek(int(address))
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
    chunks = [dataset.id.get_chunk_info(number) for number in range(dataset.id.get_num_chunks())]
    return np.concatenate(
        [np.empty(0, dtype=_DESCRIPTOR), *(_chunk(dataset, chunk) for chunk in chunks)]
    )


def _chunk(dataset: Any, chunk: Any) -> NDArray[Any]:
    if dataset.compression not in (None, "gzip") or chunk.filter_mask:
        # Other filters are decoded by the library only.
        return np.empty(0, dtype=_DESCRIPTOR)
    _, content = dataset.id.read_direct_chunk(chunk.chunk_offset)
    if dataset.fletcher32:
        content = content[:-4]
    longest = int(np.prod(dataset.chunks)) * _DESCRIPTOR.itemsize
    if dataset.compression == "gzip":
        content = zlib.decompressobj().decompress(content, longest)
    if dataset.shuffle:
        shuffled = np.frombuffer(content, dtype=np.uint8)
        content = shuffled.reshape(_DESCRIPTOR.itemsize, -1).T.tobytes()
    return _parsed(content[:longest])


def _parsed(content: bytes) -> NDArray[Any]:
    whole = len(content) // _DESCRIPTOR.itemsize * _DESCRIPTOR.itemsize
    return np.frombuffer(content[:whole], dtype=_DESCRIPTOR)
