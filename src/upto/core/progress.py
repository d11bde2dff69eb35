"""Progress as an object that is passed in: silent unless someone watches."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager


class Progress(Protocol):
    """What long work reports to."""

    def task(self, label: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
        """Open a task of `total` steps and yield the function that advances it."""
        ...


class SilentProgress:
    """The progress nobody watches."""

    @contextmanager
    def task(self, label: str, total: int) -> Iterator[Callable[[int], None]]:
        """Ignore every step."""
        yield lambda _steps: None
