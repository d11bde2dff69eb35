"""What of an array of HDF5 or zarr is stored, and that it is all in its own file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from upto.core import InputError
from upto.core.errors import shortened
from upto.load.declared import (
    FREE_BYTES,
    LARGEST_CHUNK,
    MOST_PER_BYTE,
    bytes_below,
    check_chunks,
    check_declared,
)
from upto.load.heaps import check_blosc, check_heaps

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
        stored = _stored_bytes(path, array, enough=declared // MOST_PER_BYTE + 1)
        check_declared(where, declared, stored)
    if hasattr(array, "id"):
        if array.dtype.kind == "O" and dict(array.dtype.metadata or {}).get("vlen") in (str, bytes):
            check_heaps(path, where, array)
    elif array.chunks is not None and _is_blosc(array):
        # Filters and text of variable length make chunks of another length.
        is_plain = not array.filters and array.dtype.kind in "fiub"
        largest = math.prod(array.chunks) * itemsize if is_plain else LARGEST_CHUNK
        check_blosc(Path(path, array.path), where, largest)


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


def _stored_bytes(path: Path, array: Any, enough: int) -> int:
    if hasattr(array, "id"):
        return int(array.id.get_storage_size())
    return bytes_below(Path(path, array.path), enough)
