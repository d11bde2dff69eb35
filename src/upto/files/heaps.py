"""Check the declared lengths of HDF5 text and zarr chunks, which the libraries trust.

HDF5 stores variable-length text in heaps, with the length to allocate for each string; blosc
stores the number of bytes to read with each chunk. Neither library compares these with the file:
one would allocate gigabytes, the other read beyond its buffer.
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
    """Refuse HDF5 text whose declared length exceeds its file.

    Parameters
    ----------
    path
        The file.
    where
        The file and the dataset in it.
    dataset
        An open dataset of variable-length text.
    """
    if dataset.file.id.get_create_plist().get_sizes() != (8, 8):
        # Addresses of another width are rare: the library is trusted.
        return
    # Addresses count from the end of the user block.
    base = int(dataset.file.userblock_size)
    size = path.stat().st_size - base
    descriptors = _descriptors(path, dataset)
    longest = int(descriptors["length"].max(initial=0))
    used = descriptors[descriptors["length"] > 0]
    total = int(used["length"].sum(dtype=np.uint64))
    if total > size or (used["address"] + used["length"] > size).any():
        why = f"text of up to {longest} and in total {total} bytes in a file of {size}"
        raise InputError(damaged(where, why))
    with path.open("rb") as file:
        for address in np.unique(used["address"]):
            file.seek(base + int(address))
            if file.read(4) != _HEAP:
                raise InputError(damaged(where, f"there is no text at byte {address}"))


def check_blosc(files: Iterable[Path], where: str, chunk_bytes: int) -> None:
    """Refuse chunks whose headers declare wrong lengths.

    Parameters
    ----------
    files
        Chunk files, each compressed by blosc.
    where
        The zarr folder and the array in it.
    chunk_bytes
        Bytes of a decompressed chunk.
    """
    for path in files:
        with path.open("rb") as file:
            head = file.read(_BLOSC_HEAD)
        unpacked, packed = (int.from_bytes(head[start : start + 4], "little") for start in (4, 12))
        held = path.stat().st_size
        if len(head) < _BLOSC_HEAD or packed != held or unpacked > chunk_bytes:
            why = f"chunk {path.name} has {held} bytes but declares {packed} of {unpacked}"
            raise InputError(damaged(where, why))


def _descriptors(path: Path, dataset: Any) -> NDArray[Any]:
    """Return the length and address stored for each text."""
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
    """Return the positions of the written chunks of an HDF5 dataset."""
    found: list[Any] = []
    if hasattr(dataset.id, "chunk_iter"):
        dataset.id.chunk_iter(found.append)
        return found
    return [dataset.id.get_chunk_info(number) for number in range(dataset.id.get_num_chunks())]


def read_vector(dataset: Any) -> NDArray[Any]:
    """Read a vector of HDF5, including text with unwritten chunks.

    The library cannot read an unwritten chunk of text: it would first write the fill value.
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
            # A checksum may follow.
            content = zlib.decompressobj().decompress(content, longest + 4)
        else:
            whole = len(content) // _DESCRIPTOR.itemsize * _DESCRIPTOR.itemsize
            shuffled = np.frombuffer(content[:whole], dtype=np.uint8)
            content = shuffled.reshape(_DESCRIPTOR.itemsize, -1).T.tobytes() + content[whole:]
    return _parsed(content[:longest])


def _parsed(content: bytes) -> NDArray[Any]:
    whole = len(content) // _DESCRIPTOR.itemsize * _DESCRIPTOR.itemsize
    return np.frombuffer(content[:whole], dtype=_DESCRIPTOR)
