"""What a header declares, against what is there: before anything is allocated or looped over."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

from upto.core import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

FREE_BYTES = 2**26
"""Up to here nothing declared does harm."""

MOST_PER_BYTE = 1_000_000
"""Bytes of an array that one stored byte may stand for.

Numbers that vary compress twice or so; a chunk of one value by 1,000 to 100,000, which is what zstd
makes of one. An array beyond it cannot be what its header says.
"""

LARGEST_CHUNK = 2**31
"""Bytes of a chunk, which is decoded as a whole; also the limit of the codecs of zarr."""

LARGEST_DEFLATE = 1032
"""Bytes that one byte of deflate can become, at most."""


def check_declared(where: object, declared: int, stored: int, what: str = "values") -> None:
    """Refuse an array that is far larger than what is stored of it.

    Parameters
    ----------
    where
        The file, and the array in it.
    declared, stored
        Bytes the header promises, and those that are there.
    what
        What they are bytes of.
    """
    if declared > FREE_BYTES and declared > MOST_PER_BYTE * stored:
        message = (
            f"{where} declares {declared} bytes of {what} but stores {stored}, which "
            "cannot be as many: its header is damaged. Copy or save it again."
        )
        raise InputError(message)


def check_promised(where: object, shape: Sequence[int], dtype: Any, held: int) -> None:
    """Refuse an array of which fewer bytes are there than its header promises."""
    n_bytes = math.prod(shape) * dtype.itemsize
    if held < n_bytes:
        size = " × ".join(map(str, shape)) or "scalar"
        message = (
            f"{where} is truncated: its header promises {size} {dtype} values, "
            f"{n_bytes} bytes, but {max(held, 0)} follow. Copy or save it again."
        )
        raise InputError(message)


def check_inflated(where: object, packed: int, unpacked: int) -> None:
    """Refuse a deflated piece of a file that says it is longer than it can be."""
    if unpacked > FREE_BYTES and unpacked > LARGEST_DEFLATE * packed:
        message = (
            f"{where} says it has {unpacked} bytes, which its {packed} compressed bytes cannot "
            "become: it is damaged. Copy or save it again."
        )
        raise InputError(message)


def check_memory(where: object, n_bytes: int, remedy: str) -> None:
    """Refuse what is read as a whole and is larger than the memory of the machine."""
    if n_bytes > memory_size():
        message = (
            f"{where} has {n_bytes} bytes and is read as a whole, but this machine has "
            f"{memory_size()} bytes of memory: {remedy}."
        )
        raise InputError(message)


def memory_size() -> int:
    """Return the bytes of memory this machine has."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 2**40


def check_chunks(where: object, shape: Sequence[int], chunks: Any, itemsize: int) -> None:
    """Refuse chunks that cannot be the parts of an array."""
    if chunks is None:
        return
    sizes = [int(size) for size in chunks]
    if len(sizes) != len(shape) or any(size < 1 for size in sizes):
        message = (
            f"{where} has the shape {tuple(shape)} in chunks of {tuple(sizes)}, which cannot be: "
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
