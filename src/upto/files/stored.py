"""What of an array of HDF5 or zarr is stored, and that it is all in its own file."""

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
    """Refuse an array that cannot be read in parts, or of which next to nothing is stored.

    Arrays of HDF5 and zarr may have any size on paper: chunks that were never written are read as
    one value.

    Parameters
    ----------
    path, key
        The file and the array in it.
    array
        The open dataset of HDF5 or array of zarr.
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
        # Filters and text of variable length make chunks of another length.
        is_plain = not array.filters and len(array.compressors) == 1 and array.dtype.kind in "fiub"
        largest = math.prod(array.chunks) * itemsize if is_plain else LARGEST_CHUNK
        files = chunk_files(Path(path, array.path), _counts(array.shape, array.chunks))
        check_blosc(files, where, largest)


def _is_blosc(array: Any) -> bool:
    """Tell whether the last step by which files of chunks were compressed is blosc."""
    if getattr(array, "shards", None) is not None:
        return False
    return bool(array.compressors) and "blosc" in type(array.compressors[-1]).__name__.lower()


def refuse_other_files(path: Path, root: Any) -> None:
    """Refuse an HDF5 file that leads to other files, whose names anybody may have written there."""
    import h5py

    # An exception does not find its way out of the library, so what is found is handed out.
    found: Any = root.visititems_links(
        lambda name, link: (name, link.filename) if isinstance(link, h5py.ExternalLink) else None
    )
    if found is not None:
        message = (
            f"{path}::{shortened(found[0])} leads to other files ({shortened(found[1])}), which "
            f"upto does not follow: {_REMEDY}."
        )
        raise InputError(message)


def _check_written(path: Path, where: str, array: Any, declared: int) -> None:
    """Refuse an array of which far more was never written than was.

    Chunks that are there count in full, however well they compress. What is missing may be much,
    because zarr does not write chunks of nothing but zeros.
    """
    unit = getattr(array, "shards", None) or array.chunks
    n_chunks = 1 if unit is None else math.prod(_counts(array.shape, unit))
    if hasattr(array, "id"):
        n_stored, stored = _stored_in_hdf5(path, array)
    else:
        n_stored, stored = _stored_in_zarr(path, array, unit, n_chunks)
    free = _FREE_ROWS if len(array.shape) > 1 else _FREE_VECTOR
    if array.dtype.kind not in "fiub":
        # A text takes many times the room of what is stored in its place.
        free = FREE_BYTES
    is_much = declared - stored > free or n_chunks - n_stored > _MOST_CHUNKS
    if is_much and declared > _MOST_UNWRITTEN * stored:
        message = (
            f"{where} declares {declared} bytes of values but stores {stored}: the others were "
            "never written, or its header is damaged. Copy or save it again."
        )
        raise InputError(message)


def _stored_in_hdf5(path: Path, array: Any) -> tuple[int, int]:
    """Return how many chunks are stored, and how many bytes of the array they are."""
    held = min(int(array.id.get_storage_size()), path.stat().st_size)
    if array.chunks is None:
        return 1, held
    n_stored = int(array.id.get_num_chunks())
    most = held * (MOST_PER_BYTE if array.id.get_create_plist().get_nfilters() else 1)
    return n_stored, min(n_stored * math.prod(array.chunks) * int(array.dtype.itemsize), most)


def _stored_in_zarr(path: Path, array: Any, unit: Any, n_chunks: int) -> tuple[int, int]:
    """Return how many chunks are stored, and how many bytes of the array they are."""
    chunk_bytes = math.prod(unit) * max(int(array.dtype.itemsize), 1)
    n_stored = stored = 0
    for file in chunk_files(Path(path, array.path), _counts(array.shape, unit)):
        n_stored += 1
        stored += min(chunk_bytes, file.stat().st_size * MOST_PER_BYTE)
        if stored > n_chunks * chunk_bytes // _MOST_UNWRITTEN:
            # Enough are there, so no more files are looked at.
            break
    return n_stored, stored


def _counts(shape: Any, unit: Any) -> list[int]:
    return [-(-int(size) // int(step)) for size, step in zip(shape, unit, strict=True)]
