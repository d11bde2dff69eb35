"""Show progress as bars on a terminal or in a notebook, or as lines in a log."""

from __future__ import annotations

import html
import math
import os
import sys
import time
from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress
from contextvars import copy_context
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from upto.core.progress import PARTS
from upto.printable import printable
from upto.question import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from upto.core.progress import Progress


def find_bars(*, after: float = 0.0) -> Progress | None:
    """Return bars in a notebook or on a terminal, from so many seconds on; None elsewhere."""
    if in_notebook():
        return NotebookProgress(first=after)
    # A dumb terminal cannot erase a bar.
    if sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        return RichProgress(first=after)
    return None


def is_interactive() -> bool:
    """Whether someone types at a prompt or runs cells of a notebook."""
    return hasattr(sys, "ps1") or _shell() is not None


def in_notebook() -> bool:
    """Whether a Jupyter kernel runs this process."""
    return getattr(_shell(), "kernel", None) is not None


def _shell() -> Any:
    find = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return None if find is None else find()


class _Task:
    """One open task."""

    def __init__(self, label: str, total: int) -> None:
        self.label, self.total = printable(label), total
        self.done = 0
        self._started, self._lock = time.monotonic(), Lock()
        self._last = self._started

    def advance(self, steps: int) -> None:
        """Count steps, from any thread."""
        with self._lock:
            self.done += steps
            self._last = time.monotonic()

    @property
    def count(self) -> str:
        """Steps done, or the share of the time; a total of 0 is unknown."""
        if self.total == PARTS:
            return f"{self.done / PARTS:.0%}"
        return f"{self.done} of {self.total}" if self.total else str(self.done)

    @property
    def elapsed(self) -> str:
        """Time since the task was opened."""
        return _clock(time.monotonic() - self._started)

    @property
    def seconds_left(self) -> float | None:
        """Seconds left if steps continue at the pace of those done; None before the first."""
        with self._lock:
            done, last = self.done, self._last
        if not 0 < done < self.total:
            return None
        then = (last - self._started) / done * (self.total - done)
        # It runs down with the clock at first; a step that takes longer than all that was left is
        # not the end.
        return then * math.exp(-(time.monotonic() - last) / max(then, 1e-9))

    @property
    def left(self) -> str:
        """Time left, if it can be told."""
        seconds = self.seconds_left
        return "" if seconds is None else f"{_clock(seconds)} left"

    def __str__(self) -> str:
        return ", ".join(
            filter(None, (self.label, f"{self.count} after {self.elapsed}", self.left))
        )


class _Watch(ABC):
    """Progress that a thread shows at intervals, also during long steps."""

    def __init__(self, *, first: float, every: float) -> None:
        self._every = every
        self._next = time.monotonic() + first
        self._open: list[_Task] = []
        self._lock = Lock()
        self._over, self._teller = Event(), Thread()

    @contextmanager
    def task(self, label: str, total: int) -> Iterator[Callable[[int], None]]:
        """Show a task, below those that are open."""
        task = _Task(label, total)
        with self._lock:
            self._open.append(task)
            if len(self._open) == 1:
                self._start()
        try:
            yield task.advance
        finally:
            with self._lock:
                self._open.remove(task)
                if not self._open:
                    self._over.set()
                    self._teller.join()
                    self._try(self.clear)

    def _start(self) -> None:
        # Jupyter finds the cell of an output by the context.
        self._over = Event()
        arguments = (self._tell, self._over)
        self._teller = Thread(target=copy_context().run, args=arguments, daemon=True)
        self._teller.start()

    def _tell(self, over: Event) -> None:
        while not over.wait(max(0.0, self._next - time.monotonic())):
            self._next = time.monotonic() + self._every
            if tasks := tuple(self._open):
                self._try(self.show, tasks)

    def _try(self, act: Callable[..., None], *arguments: Any) -> None:
        # Work goes on when nobody can read how far it is.
        with suppress(OSError, ValueError):
            act(*arguments)

    @abstractmethod
    def show(self, tasks: tuple[_Task, ...]) -> None:
        """Show the open tasks, outermost first."""

    def clear(self) -> None:  # noqa: B027 - lines stay
        """Remove what is shown."""


def _write_line(line: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


class LineProgress(_Watch):
    """Write a plain line at intervals, for files and logs."""

    def __init__(
        self, *, say: Callable[[str], None] = _write_line, first: float = 10.0, every: float = 60.0
    ) -> None:
        super().__init__(first=first, every=every)
        self._say = say

    def show(self, tasks: tuple[_Task, ...]) -> None:
        """Write one line."""
        self._say(f"upto: {'; '.join(map(str, tasks))}")


class RichProgress(_Watch):
    """Show transient bars on stderr, with counts and times."""

    def __init__(self, *, first: float = 0.0, every: float = 0.1) -> None:
        super().__init__(first=first, every=every)
        self._live: Any = None

    def show(self, tasks: tuple[_Task, ...]) -> None:
        """Draw one bar per task."""
        from rich.console import Console
        from rich.live import Live
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        bars = Table.grid(padding=(0, 1))
        for task in tasks:
            bar = ProgressBar(total=task.total or None, completed=task.done, width=40)
            texts = (task.count, task.elapsed, task.left)
            bars.add_row(Text(task.label), bar, *map(Text, texts))
        if self._live is None:
            self._live = Live(
                console=Console(stderr=True),
                transient=True,
                auto_refresh=False,
                # Printed lines go above the bars, unless they go to a file.
                redirect_stdout=sys.stdout.isatty(),
            )
            self._live.start()
        self._live.update(bars, refresh=True)

    def clear(self) -> None:
        """Erase the bars."""
        live, self._live = self._live, None
        if live is not None:
            live.stop()


class NotebookProgress(_Watch):
    """Show bars in one output of a Jupyter cell, without widgets."""

    def __init__(self, *, first: float = 0.0, every: float = 0.5) -> None:
        super().__init__(first=first, every=every)
        self._name: str | None = None

    def show(self, tasks: tuple[_Task, ...]) -> None:
        """Draw one bar per task."""
        bars = "".join(f"<div>{_bar(task)}</div>" for task in tasks)
        self._display(bars, "\n".join(map(str, tasks)))

    def clear(self) -> None:
        """Empty the output."""
        if self._name is not None:
            self._display("", "")

    def _display(self, page: str, text: str) -> None:
        display = resolve("IPython.display:display")
        is_new = self._name is None
        self._name = self._name or uuid4().hex
        data = {"text/html": page, "text/plain": text}
        display(data, raw=True, display_id=self._name, update=not is_new)


def _bar(task: _Task) -> str:
    # Without a value, a browser shows that the end is unknown.
    value = f' value="{task.done}" max="{task.total}"' if task.total else ""
    texts = filter(None, (task.count, task.elapsed, task.left))
    return f"{html.escape(task.label)} <progress{value}></progress> {' · '.join(texts)}"


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
