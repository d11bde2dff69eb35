"""Progress reporting: what a function reports to, and the choice of it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from upto.core.errors import InputError, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager


PARTS = 10_000
"""Total of a task whose steps are parts of its time, and not things that can be counted."""


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


_PATIENCE = 2.0
"""Seconds of work after which a person at a prompt is shown a bar that they did not ask for."""


def choose_progress(progress: Progress | bool | None) -> Progress:  # noqa: FBT001 - an argument's value
    """Return what to report progress to.

    Parameters
    ----------
    progress
        True: bars in Jupyter and on a terminal, and a line every minute elsewhere. False: nothing.
        None: bars after two seconds in Jupyter and at an interactive prompt, and nothing elsewhere.
        A `Progress` is returned unchanged.

    Raises
    ------
    InputError
        If it is none of these.
    """
    from upto.core.progress_bar import LineProgress, find_bars, is_interactive

    if progress is None:
        bars = find_bars(after=_PATIENCE) if is_interactive() else None
        return bars or SilentProgress()
    if progress is True:
        return find_bars() or LineProgress()
    if progress is False:
        return SilentProgress()
    if isinstance(progress, type) or not callable(getattr(progress, "task", None)):
        message = (
            f"progress is {shortened(repr(progress))}, but it must be True, False, None or an "
            "object with a method task(label, total)."
        )
        raise InputError(message)
    return progress
