"""Show progress as bars on a terminal or as lines in a log."""

from __future__ import annotations

import time
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

from upto.cli.exits import say
from upto.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class LineProgress:
    """Print a plain line to stderr at intervals, for files and logs."""

    def __init__(self, *, first: float = 10.0, every: float = 30.0) -> None:
        self._every = every
        self._next = time.monotonic() + first

    @contextmanager
    def task(self, label: str, total: int) -> Iterator[Callable[[int], None]]:
        """Report the progress of a task, also during long steps."""
        started, done, is_over = time.monotonic(), [0], Event()

        def tell() -> None:
            while not is_over.wait(max(0.0, self._next - time.monotonic())):
                now = time.monotonic()
                if now >= self._next:
                    self._next = now + self._every
                    minutes, seconds = divmod(int(now - started), 60)
                    say(f"upto: {label}, {sum(done)} of {total} after {minutes}:{seconds:02d}")

        teller = Thread(target=tell, daemon=True)
        teller.start()
        try:
            yield done.append
        finally:
            is_over.set()
            teller.join()


class RichProgress:
    """Show transient bars on stderr, with counts and times."""

    @contextmanager
    def task(self, label: str, total: int) -> Iterator[Callable[[int], None]]:
        """Show one task."""
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        from upto.cli.output import console_for

        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console_for(stderr=True),
            transient=True,
        )
        with bar:
            task = bar.add_task(printable(label), total=total)
            yield lambda steps: bar.advance(task, steps)
