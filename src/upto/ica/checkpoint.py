"""Checkpoint files, from which an interrupted ICA search can resume."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from upto.core import InputError, read_tensors, write_tensors
from upto.core.errors import reason, shortened
from upto.core.files import check_target

if TYPE_CHECKING:
    from upto.core import TraceStep
    from upto.core.array_types import Float


INTERVAL = 10.0
"""Seconds between two writes."""
_SEARCH = "search"


class Checkpoint:
    """Checkpoint file with the components of a running search.

    Parameters
    ----------
    path
        The file; None disables checkpoints.
    search
        Description of the search; only a search with the same description can resume.

    Raises
    ------
    InputError
        If the file exists and is not a checkpoint, or cannot be written.
    """

    def __init__(self, path: str | Path | None, search: str = "") -> None:
        self.path = None if path is None else Path(path)
        self.search = search
        self.latest: Float | None = None
        self.written = time.monotonic()
        if self.path is not None:
            check_target(self.path)
            if self.path.exists():
                # The file is deleted in the end, so it must not be anything else.
                self._read(self.path)

    def read(self) -> Float:
        """Return the components of an interrupted search."""
        if self.path is None or not self.path.exists():
            message = f"there is no {self.path} to resume from: start without resume."
            raise InputError(message)
        components, words = self._read(self.path)
        if words.get(_SEARCH) != self.search:
            found = shortened(words.get(_SEARCH, "unknown"))
            message = (
                f"{self.path} is a checkpoint of another search ({found}; this one is "
                f"{self.search}): start without resume."
            )
            raise InputError(message)
        return components.astype(np.float64)

    @staticmethod
    def _read(path: Path) -> tuple[Float, dict[str, str]]:
        found, why = None, ""
        try:
            arrays, words = read_tensors(path)
            found = arrays.get("components")
        except InputError as error:
            why = f" ({reason(error)})"
        if found is None or found.ndim != 2 or _SEARCH not in words or not np.isfinite(found).all():
            message = f"{path} is not a checkpoint of a search{why} and would be deleted: move it."
            raise InputError(message)
        return found, words

    def see(self, _step: TraceStep, components: Float) -> None:
        """Record the components of a step, and write them every `INTERVAL` seconds."""
        self.latest = components
        if time.monotonic() - self.written > INTERVAL:
            self.write()

    def write(self) -> None:
        """Write the latest components."""
        self.written = time.monotonic()
        if self.path is not None and self.latest is not None:
            # A failed write does not stop the search: a checkpoint only matters on an interrupt.
            with suppress(InputError, OSError):
                write_tensors(self.path, {"components": self.latest}, {_SEARCH: self.search})

    def remove(self) -> None:
        """Delete the file once the search is done."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
