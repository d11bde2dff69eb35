"""Folder of a recording that is not finished, from which the same call continues."""

from __future__ import annotations

import json
import os
import shutil
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from upto.activations.recorded import GrowingArray, RecordedLayers
from upto.core import InputError, UptoError
from upto.core.files import real_path, replacing, write_text_atomically
from upto.core.locks import locked
from upto.signals import clean_up, hold_signals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path
    from types import TracebackType
    from typing import IO, Self

INTERVAL = 10.0
"""Seconds between two states on disk; a recording shorter than this leaves nothing behind."""

_STATE, _LOCK, _BATCHES = "state.json", "lock", "batches.npy"
_FORMAT = 1


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What is on disk.

    Parameters
    ----------
    format
        Version of this record.
    facts
        What the recording is of, each fact under the name that a message gives it.
    n_batches, n_rows
        Number of batches recorded, and of their rows.
    widths
        Number of coordinates of each layer, in the order of the forward pass.
    left_out
        Reasons why other layers were skipped.
    """

    format: int
    facts: dict[str, str]
    n_batches: int
    n_rows: int
    widths: dict[str, int]
    left_out: dict[str, str]


class Unfinished:
    """Files of a recording until it is finished; a context that keeps them for another call.

    Parameters
    ----------
    target
        Folder of the finished recording.
    facts
        Function that returns what the recording is of; called once the state is written or read.
    dtype
        dtype of the files.
    resume
        Whether to continue what is there; otherwise it is deleted.
    keep
        Whether another call can continue.

    Raises
    ------
    InputError
        If another process is recording there, or what is there is of something else.
    """

    def __init__(
        self,
        target: Path,
        facts: Callable[[], dict[str, str]],
        dtype: np.dtype[Any],
        *,
        resume: bool,
        keep: bool,
    ) -> None:
        self._target = target
        final = real_path(target)
        self.folder = final.with_name(f".{final.name}.unfinished")
        self._find_facts = facts
        self._facts: dict[str, str] | None = None
        self._resume, self._keep = resume, keep
        self.layers = RecordedLayers(self.folder, dtype)
        self.left_out: Mapping[str, str] = {}
        self.found: State | None = None
        self._known = np.empty(0, dtype=np.uint64)
        self._done = (0, 0)
        self._lock: IO[bytes] | None = None
        self._is_on_disk = False
        self._written = time.monotonic()

    def __enter__(self) -> Self:
        self.folder.mkdir(exist_ok=True)
        try:
            busy = (
                f"another process is recording into {self._target}: wait, or choose another folder."
            )
            self._lock = locked(self.folder / _LOCK, busy)
            self._continue()
        except BaseException:
            self._release()
            raise
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if error is None:
            return
        if self._is_on_disk:
            # A full disk, say: the state before this one stays.
            with suppress(OSError, InputError):
                clean_up(self._write)
            if not isinstance(error, UptoError):
                error.add_note(
                    f"{self._done[1]} rows are kept in {self.folder}: the same call continues, and "
                    "resume=False starts anew."
                )
        self._release()
        if not self._is_on_disk:
            clean_up(lambda: shutil.rmtree(self.folder, ignore_errors=True))

    def is_recorded(self, number: int, fingerprint: int) -> bool:
        """Return whether a batch was recorded before.

        Raises
        ------
        InputError
            If another batch was.
        """
        if number >= len(self._known):
            return False
        if int(self._known[number]) != fingerprint:
            raise InputError(self._differs(f"batch {number}"))
        return True

    def check_end(self, n_batches: int) -> None:
        """Refuse fewer batches than were recorded before."""
        if n_batches < len(self._known):
            raise InputError(self._differs(f"number of batches, {len(self._known)},"))

    def count(self, fingerprint: int, n_rows: int) -> None:
        """Count a batch as recorded, and write the state every few seconds."""
        self._batches.append(np.array([[fingerprint]], dtype=np.uint64))
        # At once, or an interrupt could come between the two.
        self._done = (self._done[0] + 1, self._done[1] + n_rows)
        if self._keep and time.monotonic() - self._written >= INTERVAL:
            self._write()

    def publish(self, files: Iterable[str]) -> None:
        """Make the folder, with these files only, the finished recording."""
        kept = set(files)
        # It takes a while, and signals are held below.
        for name in kept:
            with (self.folder / name).open("rb+") as file:
                os.fsync(file.fileno())
        with hold_signals(), replacing(self._target, folder=True) as temporary:
            self._release()
            for each in self.folder.iterdir():
                if each.name not in kept:
                    each.unlink()
            self.folder.rename(temporary)

    def _continue(self) -> None:
        found = _read_state(self.folder / _STATE) if self._resume else None
        if found is None:
            for each in self.folder.iterdir():
                if each.name != _LOCK:
                    each.unlink()
            self._batches = GrowingArray(self.folder / _BATCHES, 1, np.dtype(np.uint64))
            return
        self.found, self._is_on_disk = found, True
        self._done = (found.n_batches, found.n_rows)
        facts = self._all_facts() | {"version of upto": str(_FORMAT)}
        before = found.facts | {"version of upto": str(found.format)}
        different = next((name for name in facts if facts[name] != before.get(name)), None)
        if different is not None:
            raise InputError(self._differs(different))
        self.layers.restore(found.widths, found.n_rows)
        self.left_out = found.left_out
        path = self.folder / _BATCHES
        self._batches = GrowingArray(path, 1, np.dtype(np.uint64), n_rows=found.n_batches)
        self._known = self._batches.read()[:, 0]

    def _all_facts(self) -> dict[str, str]:
        if self._facts is None:
            self._facts = self._find_facts()
        return self._facts

    def _write(self) -> None:
        n_batches, n_rows = self._done
        state = State(
            format=_FORMAT,
            facts=self._all_facts(),
            n_batches=n_batches,
            n_rows=n_rows,
            widths=self.layers.widths,
            left_out=dict(self.left_out),
        )
        # Power may fail at any time: the numbers reach the disk before the state that counts them.
        self.layers.flush()
        self._batches.flush()
        write_text_atomically(self.folder / _STATE, json.dumps(msgspec.to_builtins(state)))
        self._is_on_disk = True
        self._written = time.monotonic()

    def _differs(self, what: str) -> str:
        return (
            f"{self._target} has an interrupted recording of {self._done[1]} rows, and its {what} "
            "differs from what was given: pass what it was started with, or resume=False to start "
            "anew."
        )

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _read_state(path: Path) -> State | None:
    """Return the state in a file, or None if there is none that can be used."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=State)
    except (OSError, msgspec.DecodeError, RecursionError, UnicodeError):
        return None
