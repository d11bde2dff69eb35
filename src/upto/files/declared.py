"""Check sizes declared in headers against the file, before anything is allocated."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

from upto.core import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

FREE_BYTES = 2**26
"""Declared sizes up to this are harmless."""

MOST_PER_BYTE = 1_000_000
"""Largest plausible compression ratio.

Varying numbers compress by about 2; a constant chunk by 1,000 to 100,000 (zstd). Beyond this
limit, the header must be wrong.
"""

LARGEST_CHUNK = 2**31
"""Most bytes of a chunk, which is decoded as a whole; also the limit of zarr's codecs."""

LARGEST_DEFLATE = 1032
"""Largest compression ratio of deflate."""


def check_declared(where: object, declared: int, stored: int, what: str = "values") -> None:
    """Refuse an array whose declared size far exceeds its stored size.

    Parameters
    ----------
    where
        The file and the array in it.
    declared, stored
        Bytes declared in the header and bytes in the file.
    what
        What the bytes encode, for the message.
    """
    if declared > FREE_BYTES and declared > MOST_PER_BYTE * stored:
        message = (
            f"{where} declares {declared} bytes of {what} but stores only {stored}: its header "
            "is damaged. Copy or save it again."
        )
        raise InputError(message)


def check_promised(where: object, shape: Sequence[int], dtype: Any, held: int) -> None:
    """Refuse an array with fewer bytes than its header announces."""
    n_bytes = math.prod(shape) * dtype.itemsize
    if held < n_bytes:
        size = " × ".join(map(str, shape)) or "scalar"
        message = (
            f"{where} is truncated: its header announces {size} {dtype} values, "
            f"{n_bytes} bytes, but {max(held, 0)} follow. Copy or save it again."
        )
        raise InputError(message)


def check_inflated(where: object, packed: int, unpacked: int) -> None:
    """Refuse a deflated piece of a file with an impossible declared length."""
    if unpacked > FREE_BYTES and unpacked > LARGEST_DEFLATE * packed:
        message = (
            f"{where} declares {unpacked} bytes, which its {packed} compressed bytes cannot "
            "contain: it is damaged. Copy or save it again."
        )
        raise InputError(message)


def check_memory(where: object, n_bytes: int, remedy: str) -> None:
    """Refuse data that are read as a whole and exceed the memory of the machine."""
    if n_bytes > memory_size():
        message = (
            f"{where} has {n_bytes} bytes and is read as a whole, but this machine has "
            f"{memory_size()} bytes of memory: {remedy}."
        )
        raise InputError(message)


def memory_size() -> int:
    """Return the memory of this machine in bytes, or the limit of this process if that is lower."""
    try:
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        size = 2**40
    try:
        import resource
    except ImportError:  # Windows has no limits of this kind.
        return size
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return size if limit == resource.RLIM_INFINITY else min(size, limit)


def check_chunks(where: object, shape: Sequence[int], chunks: Any, itemsize: int) -> None:
    """Refuse chunk sizes that are impossible or too large."""
    if chunks is None:
        return
    sizes = [int(size) for size in chunks]
    if len(sizes) != len(shape) or any(size < 1 for size in sizes):
        message = (
            f"{where} has shape {tuple(shape)} in chunks of {tuple(sizes)}, which is impossible: "
            "its header is damaged. Copy or save it again."
        )
        raise InputError(message)
    n_bytes = math.prod(sizes) * itemsize
    if n_bytes > LARGEST_CHUNK:
        message = (
            f"{where} has chunks of {' × '.join(map(str, sizes))} values, {n_bytes} bytes, which "
            f"are read as a whole: save it in chunks of at most {LARGEST_CHUNK} bytes."
        )
        raise InputError(message)
