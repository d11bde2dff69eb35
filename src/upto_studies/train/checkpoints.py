"""Checkpoints from which a training resumes exactly."""

from __future__ import annotations

import os
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError, read_tensors, write_tensors
from upto.core.errors import shortened
from upto.engines.device_rows import host_array

INTERVAL = 120.0
"""Seconds between writes."""

_MOST_DIGITS = 18


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class KeptState:
    """Content of a checkpoint: arrays by name, and the number of epochs or steps done."""

    path: Path
    arrays: dict[str, NDArray[Any]]
    done: int

    def take(self, name: str, shape: tuple[int | None, ...], kind: Any) -> NDArray[Any]:
        """Return a copy of one array; an axis of None may have any length."""
        array = self.arrays.get(name)
        if array is None:
            self.refuse(f"{name} is missing")
        fits = array.ndim == len(shape) and all(
            wanted in (None, length) for wanted, length in zip(shape, array.shape, strict=True)
        )
        if not fits or array.dtype != np.dtype(kind):
            found = " × ".join(map(str, array.shape))
            wanted = " × ".join("?" if each is None else str(each) for each in shape)
            self.refuse(f"{name} is {found} of {array.dtype}, not {wanted} of {kind}")
        return array.copy()

    def refuse(self, reason: str) -> NoReturn:
        """Raise an error for a damaged file."""
        message = f"{self.path} is damaged ({reason}): remove it, or start without resume."
        raise InputError(message)


class TrainingCheckpoint:
    """Periodic checkpoint of a training.

    Parameters
    ----------
    path
        The file; None writes nothing.
    words
        Description of the training, which must match on resuming.
    unit
        Unit of progress.

    Raises
    ------
    InputError
        If the file cannot be written; checked at the start of the training.
    """

    def __init__(self, path: str | Path | None, words: dict[str, str], unit: str = "epoch") -> None:
        self.path = None if path is None else Path(path)
        self.words, self.unit = words, unit
        if self.path is not None:
            _refuse_unwritable(self.path)
        self.written = time.monotonic()

    def exists(self) -> bool:
        """Return whether there is a state to resume from."""
        return self.path is not None and self.path.exists()

    def is_due(self) -> bool:
        """Return whether the state is due to be written."""
        return self.path is not None and time.monotonic() - self.written >= INTERVAL

    def write(self, arrays: dict[str, Any], done: int) -> None:
        """Write the state after some epochs or steps, atomically."""
        if self.path is not None:
            held = {name: host_array(values) for name, values in arrays.items()}
            write_tensors(self.path, held, {**self.words, self.unit: str(done)})
        self.written = time.monotonic()

    def read(self) -> KeptState:
        """Return the state."""
        if self.path is None:
            message = "there is no checkpoint to resume from: pass one."
            raise InputError(message)
        arrays, words = read_tensors(self.path)
        done = words.pop(self.unit, "")
        for name, wanted in self.words.items():
            if words.get(name) != wanted:
                found = shortened(words.get(name, "unknown"))
                message = (
                    f"{self.path} belongs to another training ({name} {found}, "
                    f"here {wanted}): remove it, or start without resume."
                )
                raise InputError(message)
        if not done.isdecimal() or len(done) > _MOST_DIGITS:
            message = (
                f"{self.path} does not contain its {self.unit}: remove it, or start without resume."
            )
            raise InputError(message)
        return KeptState(path=self.path, arrays=arrays, done=int(done))


def _refuse_unwritable(path: Path) -> None:
    folder = path.absolute().parent
    if not folder.is_dir():
        message = (
            f"{folder} is not a folder, so no checkpoint can be written there: create it first."
        )
        raise InputError(message)
    if path.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        message = f"no checkpoint can be written to {path}: choose a file in a writable folder."
        raise InputError(message)


def fingerprint(*arrays: NDArray[Any]) -> str:
    """Return a short hash of the data."""
    check = 0
    for array in arrays:
        check = zlib.crc32(repr(array.shape).encode(), check)
        check = zlib.crc32(np.ascontiguousarray(array).data.cast("B"), check)
    return f"{check:08x}"
