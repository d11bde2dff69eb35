"""The state of a training in a file: what it needs to go on as if nothing had happened."""

from __future__ import annotations

import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError, read_tensors, write_tensors

if TYPE_CHECKING:
    from numpy.typing import NDArray

INTERVAL = 120.0
"""Seconds between two writes."""
_EPOCH = "epoch"


class TrainingCheckpoint:
    """Writes the state of a training now and then, and gives it back.

    Parameters
    ----------
    path
        The file; None keeps nothing.
    words
        What is trained: another training does not continue this one.
    """

    def __init__(self, path: str | Path | None, words: dict[str, str]) -> None:
        self.path = None if path is None else Path(path)
        self.words = words
        self.written = time.monotonic()

    def exists(self) -> bool:
        """Tell whether there is something to go on from."""
        return self.path is not None and self.path.exists()

    def is_due(self) -> bool:
        """Tell whether the state shall be written now."""
        return self.path is not None and time.monotonic() - self.written >= INTERVAL

    def write(self, arrays: dict[str, NDArray[Any]], epoch: int) -> None:
        """Write the state after an epoch, whole or not at all."""
        if self.path is not None:
            write_tensors(self.path, arrays, {**self.words, _EPOCH: str(epoch)})
        self.written = time.monotonic()

    def read(self) -> tuple[dict[str, NDArray[Any]], int]:
        """Return the state and the number of epochs behind it."""
        if self.path is None:
            message = "no checkpoint was named: pass one to resume from."
            raise InputError(message)
        arrays, words = read_tensors(self.path)
        epoch = words.pop(_EPOCH, "")
        for name, wanted in self.words.items():
            if words.get(name) != wanted:
                message = (
                    f"{self.path} keeps another training ({name} {words.get(name, 'unknown')}, "
                    f"here {wanted}): remove it, or start without resume."
                )
                raise InputError(message)
        if not epoch.isdecimal():
            message = f"{self.path} does not say its epoch: remove it, or start without resume."
            raise InputError(message)
        return arrays, int(epoch)


def fingerprint(*arrays: NDArray[Any]) -> str:
    """Return a short word that changes with the data."""
    check = 0
    for array in arrays:
        check = zlib.crc32(repr(array.shape).encode(), check)
        check = zlib.crc32(np.ascontiguousarray(array).data.cast("B"), check)
    return f"{check:08x}"
