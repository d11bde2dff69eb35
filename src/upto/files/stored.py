"""Check that HDF5 and zarr arrays are actually stored, and in their own file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from upto.core import InputError
from upto.core.errors import shortened
from upto.files.chunk_files import chunk_files
from upto.files.declared import FREE_BYTES, LARGEST_CHUNK, MOST_PER_BYTE, check_chunks
from upto.files.heaps import check_blosc, check_heaps

_FREE_ROWS = 2**30
_FREE_VECTOR = 2**28
_MOST_UNWRITTEN = 1000
_MOST_CHUNKS = 1_000_000
_REMEDY = "copy the arrays into one file, as with h5repack or h5py"


def check_stored(path: Path, key: str, array: Any) -> None:
    """Refuse an array that cannot be read in blocks, or of which almost nothing is stored.

    HDF5 and zarr arrays may declare any size: unwritten chunks read as the fill value.

    Parameters
    ----------
    path, key
        The file and the array in it.
    array
        The open HDF5 dataset or zarr array.
    """
    where = f"{path}::{shortened(key)}"
    if getattr(array, "is_virtual", False) or getattr(array, "external", None):
        message = f"{where} has its numbers in other files, which upto does not follow: {_REMEDY}."
        raise InputError(message)
    itemsize = max(int(array.dtype.itemsize), 1)
    check_chunks(where, array.shape, array.chunks, itemsize)
    declared = math.prod(int(size) for size in array.shape) * itemsize
    if declared > FREE_BYTES:
        _check_written(path, where, array, declared)
    if hasattr(array, "id"):
        if array.dtype.kind == "O" and dict(array.dtype.metadata or {}).get("vlen") in (str, bytes):
            check_heaps(path, where, array)
    elif array.chunks is not None and _is_blosc(array):
        # Filters and variable-length text change the length of chunks.
        is_plain = not array.filters and len(array.compressors) == 1 and array.dtype.kind in "fiub"
        largest = math.prod(array.chunks) * itemsize if is_plain else LARGEST_CHUNK
        files = chunk_files(Path(path, array.path), _counts(array.shape, array.chunks))
        check_blosc(files, where, largest)


def _is_blosc(array: Any) -> bool:
    """Return whether chunk files are compressed by blosc in the last step."""
    if getattr(array, "shards", None) is not None:
        return False
    return bool(array.compressors) and "blosc" in type(array.compressors[-1]).__name__.lower()


def refuse_other_files(path: Path, root: Any) -> None:
    """Refuse an HDF5 file that links to other files, whose names cannot be trusted."""
    import h5py

    # The library swallows exceptions, so the link found is returned instead.
    found: Any = root.visititems_links(
        lambda name, link: (name, link.filename) if isinstance(link, h5py.ExternalLink) else None
    )
    if found is not None:
        message = (
            f"{path}::{shortened(found[0])} links to other files ({shortened(found[1])}), which "
            f"upto does not follow: {_REMEDY}."
        )
        raise InputError(message)


def _check_written(path: Path, where: str, array: Any, declared: int) -> None:
    """Refuse an array whose unwritten part far exceeds its written part.

    Written chunks count in full, however well they compress. Much may be missing, because zarr
    does not write chunks of zeros.
    """
    unit = getattr(array, "shards", None) or array.chunks
    n_chunks = 1 if unit is None else math.prod(_counts(array.shape, unit))
    if hasattr(array, "id"):
        n_stored, stored = _stored_in_hdf5(path, array)
    else:
        n_stored, stored = _stored_in_zarr(path, array, unit, n_chunks)
    free = _FREE_ROWS if len(array.shape) > 1 else _FREE_VECTOR
    if array.dtype.kind not in "fiub":
        # Decoded text takes many times the space of its stored descriptor.
        free = FREE_BYTES
    is_much = declared - stored > free or n_chunks - n_stored > _MOST_CHUNKS
    if is_much and declared > _MOST_UNWRITTEN * stored:
        message = (
            f"{where} declares {declared} bytes of values but stores {stored}: the others were "
            "never written, or its header is damaged. Copy or save it again."
        )
        raise InputError(message)


def _stored_in_hdf5(path: Path, array: Any) -> tuple[int, int]:
    """Return the number of stored chunks and the bytes of the array in them."""
    held = min(int(array.id.get_storage_size()), path.stat().st_size)
    if array.chunks is None:
        return 1, held
    n_stored = int(array.id.get_num_chunks())
    most = held * (MOST_PER_BYTE if array.id.get_create_plist().get_nfilters() else 1)
    return n_stored, min(n_stored * math.prod(array.chunks) * int(array.dtype.itemsize), most)


def _stored_in_zarr(path: Path, array: Any, unit: Any, n_chunks: int) -> tuple[int, int]:
    """Return the number of stored chunks and the bytes of the array in them."""
    chunk_bytes = math.prod(unit) * max(int(array.dtype.itemsize), 1)
    n_stored = stored = 0
    for file in chunk_files(Path(path, array.path), _counts(array.shape, unit)):
        n_stored += 1
        stored += min(chunk_bytes, file.stat().st_size * MOST_PER_BYTE)
        if stored > n_chunks * chunk_bytes // _MOST_UNWRITTEN:
            # Enough chunks exist: stop looking.
            break
    return n_stored, stored


def _counts(shape: Any, unit: Any) -> list[int]:
    return [-(-int(size) // int(step)) for size, step in zip(shape, unit, strict=True)]
