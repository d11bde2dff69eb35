"""Progress reporting through an object that is passed in; silent by default."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager


class Progress(Protocol):
    """Receiver of the progress of long tasks."""

    def task(self, label: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
        """Open a task of `total` steps and yield the function that advances it."""
        ...


class SilentProgress:
    """Progress that reports nothing."""

    @contextmanager
    def task(self, label: str, total: int) -> Iterator[Callable[[int], None]]:
        """Ignore every step."""
        yield lambda _steps: None
