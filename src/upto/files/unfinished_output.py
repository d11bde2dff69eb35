"""Folder of an output that is not finished, from which the same call continues."""

from __future__ import annotations

import json
import os
import shutil
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from upto.core import UptoError
from upto.core.files import real_path, replacing, write_text_atomically
from upto.core.locks import locked
from upto.files.growable import growing
from upto.files.write import failures_reported
from upto.signals import clean_up, hold_signals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import TracebackType
    from typing import IO, Self

    from numpy.typing import NDArray

    from upto.files.output_formats import OutputFormat
    from upto.files.plan import Plan

INTERVAL = 10.0
"""Seconds between two states on disk; work shorter than this leaves nothing behind."""

_STATE, _LOCK, _RESERVE = "state.json", "lock", "reserve"
_RESERVED_BYTES = 2**16
"""Room for the last state on a disk that became full."""
_FORMAT = 1
_CONTINUES = "and make the same call again, which continues there, or write to another disk"


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What is on disk.

    Parameters
    ----------
    format
        Version of this record.
    facts
        What the output is of.
    n_rows, n_source
        Rows of the output that are on disk, and rows of the run that were mapped for them.
    bad
        Positions of bad rows among the latter.
    pieces
        What the output consists of, if it is in pieces.
    """

    format: int
    facts: dict[str, str]
    n_rows: int
    n_source: int
    bad: list[int]
    pieces: list[Any]


class UnfinishedOutput:
    """An output until it is finished; a context that keeps it for another call.

    Parameters
    ----------
    plan, entry
        What to write and its final destination, and the format, which can grow.
    facts
        Function that returns what the output is of; called once a state is written or read.
    resume
        Whether to continue what is there; otherwise it is deleted.
    check
        Function that is called with what was written, before it gets its name.

    Raises
    ------
    InputError
        If another process is writing there, or the output cannot be written.
    """

    def __init__(
        self,
        plan: Plan,
        entry: OutputFormat,
        facts: Callable[[], dict[str, str]],
        *,
        resume: bool,
        check: Callable[[Path], object] | None = None,
    ) -> None:
        self._plan, self._entry = plan, entry
        self._target = real_path(plan.path)
        self.folder = self._target.with_name(f"{self._target.name}.unfinished")
        self._find_facts = facts
        self._facts: dict[str, str] | None = None
        self._resume, self._check = resume, check
        self._grown = growing(entry, self.folder / self._target.name, plan)
        self.first = 0
        self.bad: list[int] = []
        """Positions of bad rows, which whoever maps the rows appends to."""
        self._lock: IO[bytes] | None = None
        self._saver: ThreadPoolExecutor | None = None
        self._saving: Future[None] | None = None
        self._is_on_disk = False
        self._synchronised = 0
        self._saved_at = time.monotonic()

    def __enter__(self) -> Self:
        self._saver = ThreadPoolExecutor(1, thread_name_prefix="upto-save")
        with self._reported():
            self.folder.mkdir(exist_ok=True)
            try:
                busy = (
                    f"another process is writing {self._plan.path}: wait, or choose another name."
                )
                self._lock = locked(self.folder / _LOCK, busy)
                self._continue()
            except BaseException:
                self._grown.close()
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
            self._release()
            return
        # A state may be on its way to the disk.
        with suppress(Exception):
            self._is_saved(wait=True)
        with suppress(Exception):
            self._grown.close()
        is_full = "the disk was full" in str(error)
        if (self._is_on_disk or is_full) and self._grown.settled[0]:
            # Without room for another state, the one before it stays.
            with suppress(Exception):
                (self.folder / _RESERVE).unlink(missing_ok=True)
                clean_up(lambda: self._save(self._state()))
        if not self._is_on_disk:
            self.discard()
        elif not isinstance(error, UptoError):
            error.add_note(
                f"{self._grown.settled[0]} rows are kept in {self.folder}: the same call "
                "continues, and resume=False starts anew."
            )
        self._release()

    @property
    def n_rows(self) -> int:
        """Number of rows that the output has or had."""
        return self._grown.n_rows

    def put(self, rows: NDArray[Any], positions: NDArray[np.intp]) -> None:
        """Append rows, which are those at some positions of the run."""
        with self._reported():
            self._grown.put(np.ascontiguousarray(rows, dtype=self._plan.dtype), positions)
            if time.monotonic() - self._saved_at >= INTERVAL and self._is_saved():
                self._begin_saving()

    def publish(self) -> None:
        """Complete the output and give it its name."""
        with self._reported():
            self._is_saved(wait=True)
            self._grown.finish(self.bad if self._grown.n_rows < self._plan.shape[0] else ())
        if self._check is not None:
            self._check(self._grown.path)
        with self._reported():
            # It takes a while, and signals are held below.
            self._synchronise()
            with (
                hold_signals(),
                replacing(self._plan.path, folder=self._entry.is_folder) as temporary,
            ):
                self._grown.path.rename(temporary)
        self.discard()

    def discard(self) -> None:
        """Delete what was written."""
        self._is_on_disk = False
        self._release()
        clean_up(lambda: shutil.rmtree(self.folder, ignore_errors=True))

    def _continue(self) -> None:
        (self.folder / _RESERVE).write_bytes(bytes(_RESERVED_BYTES))
        found = _read_state(self.folder / _STATE) if self._resume else None
        if found is not None and found.format == _FORMAT and found.facts == self._all_facts():
            self._grown.settled = found.n_rows, found.n_source
            self._grown.pieces = list(found.pieces)
            self._grown.restore()
            self.first, self.bad = found.n_source, list(found.bad)
            self._is_on_disk = True
            return
        for each in self.folder.iterdir():
            if each.is_dir():
                shutil.rmtree(each)
            elif each.name not in (_LOCK, _RESERVE):
                each.unlink()
        self._grown.begin()

    def _all_facts(self) -> dict[str, str]:
        if self._facts is None:
            self._facts = self._find_facts()
        return self._facts

    def _is_saved(self, *, wait: bool = False) -> bool:
        """Return whether no state is being written; raise the error of one that could not be."""
        if self._saving is not None and (wait or self._saving.done()):
            saving, self._saving = self._saving, None
            saving.result()
        return self._saving is None

    def _begin_saving(self) -> None:
        # Beside the passes, which do not wait for the disk.
        if self._saver is not None:
            self._saving = self._saver.submit(self._save, self._state())
        self._saved_at = time.monotonic()

    def _state(self) -> State:
        n_rows, n_source = self._grown.settled
        return State(
            format=_FORMAT,
            facts=self._all_facts(),
            n_rows=n_rows,
            n_source=n_source,
            bad=[row for row in self.bad if row < n_source],
            pieces=list(self._grown.pieces),
        )

    def _save(self, state: State) -> None:
        # Power may fail at any time: the rows reach the disk before the state that counts them.
        self._synchronise()
        write_text_atomically(self.folder / _STATE, json.dumps(msgspec.to_builtins(state)))
        self._is_on_disk = True

    def _synchronise(self) -> None:
        """Flush to disk what was written since the last time."""
        began = time.time_ns()
        path = self._grown.path
        for each in path.rglob("*") if path.is_dir() else [path]:
            with suppress(FileNotFoundError):
                if each.is_file() and each.stat().st_mtime_ns >= self._synchronised:
                    with each.open("rb+") as file:
                        os.fsync(file.fileno())
        # The clock of files is coarser than ours.
        self._synchronised = began - 10**9

    @contextmanager
    def _reported(self) -> Iterator[None]:
        def written() -> tuple[int, int]:
            return self._grown.n_rows, self._plan.shape[0]

        def kept() -> str:
            # A format that is kept in pieces may not have finished the first one.
            return _CONTINUES if self._grown.settled[0] else ""

        with failures_reported(self._plan.path, written, kept):
            yield

    def _release(self) -> None:
        if self._saver is not None:
            self._saver.shutdown()
            self._saver = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def file_facts(path: Path) -> str:
    """Return the size and time of change of a file, or of all files in a folder."""
    size = sum(each.st_size for each in _states(path))
    return f"{path.absolute()}, {size} bytes, {changed(path)}"


def changed(path: Path) -> int:
    """Return the time of change of a file, or the last one in a folder, in nanoseconds."""
    return max((each.st_mtime_ns for each in _states(path)), default=0)


def _states(path: Path) -> list[os.stat_result]:
    files = [each for each in path.rglob("*") if each.is_file()] if path.is_dir() else [path]
    return [each.stat() for each in files]


def _read_state(path: Path) -> State | None:
    """Return the state in a file, or None if there is none that can be used."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=State)
    except (OSError, msgspec.DecodeError, RecursionError, UnicodeError):
        return None
