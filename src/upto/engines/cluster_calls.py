"""Communicate with a dask cluster: send, wait, and retry after a loss."""

from __future__ import annotations

import time
import weakref
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from upto.core import UptoError
from upto.engines.schedulers import await_workers, distributed, n_threads, no_workers
from upto.engines.workers import map_chunk, merge, reduce_chunk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from numpy.typing import NDArray

    from upto.engines.base import Arrays
    from upto.engines.workers import Job

T = TypeVar("T")
Span = tuple[int, int]

_GROUP = 8
"""Number of chunks whose results are merged by one task."""
RETRIES = 2
_ATTEMPTS = 4
_GLANCE, PATIENCE = 1.0, 30.0
"""Seconds between checks of the cluster, and without workers before giving up."""


class Source(Protocol):
    """Rows on a cluster that a pass can use."""

    def ensure(self) -> None:
        """Send what is missing on the cluster."""
        ...

    def pieces(self, spans: Sequence[Span]) -> tuple[list[Any], list[Span]]:
        """Return, for each span, the object on the cluster that contains it and its place."""
        ...


class _LostError(Exception):
    """Data were lost with a worker before a pass could use them."""


def send(client: Any, data: list[Any], *, broadcast: bool = False) -> list[Any]:
    """Send each object to one worker, or to all of them, and return the futures."""
    try:
        futures: list[Any] = client.scatter(data, hash=False, broadcast=broadcast)
    except OSError as error:
        # The target worker, or all workers, just disappeared.
        raise _LostError(str(error)) from error
    return futures


def is_missing(future: Any) -> bool:
    """Return whether an object was never sent or is no longer on the cluster."""
    return future is None or future.status in ("cancelled", "lost", "error")


_kept: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()


def keeping(rows: Any, n_bytes: int) -> None:
    """Record that workers keep rows, for as long as these are referenced."""
    _kept[rows] = n_bytes


def has_room(client: Any, n_bytes: int) -> bool:
    """Return whether these rows and those already kept fit half of the workers' memory."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [worker["memory_limit"] or float("inf") for worker in workers]
    return bool(n_bytes + sum(_kept.values()) <= sum(limits) / 2)


def persevere(client: Any, sources: Sequence[Source], work: Callable[[], T]) -> T:
    """Run work on the cluster; if data are lost with a worker, send them again and retry."""
    why: Exception | None = None
    for attempt in range(_ATTEMPTS):
        time.sleep(0.2 * attempt)
        await_workers(client, PATIENCE)
        try:
            for source in sources:
                source.ensure()
            return work()
        except distributed().KilledWorker as error:
            message = (
                f"{error.allowed_failures + 1} workers died in the same task of a pass, the last "
                f"one at {error.last_worker.address}: give workers more memory, or pass a smaller "
                "block_rows, and check their logs."
            )
            raise UptoError(message) from error
        except (_LostError, distributed().CancelledError) as error:
            why = error
    message = (
        f"the cluster lost the data of a pass {_ATTEMPTS} times: check the logs of its workers, "
        "and give them more memory or pass a smaller block_rows."
    )
    raise UptoError(message) from why


class Pass:
    """The tasks of one pass, cancelled on an error or interrupt."""

    def __init__(self, client: Any, job: Job, sources: Sequence[Source]) -> None:
        self._client, self._sources = client, sources
        self._in_flight = max(2 * n_threads(client), 2 * _GROUP)
        (self._job,) = send(client, [job], broadcast=True)
        self._futures: weakref.WeakSet[Any] = weakref.WeakSet()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            with suppress(Exception):
                self._client.cancel(list(self._futures))

    def reduced(self, spans: Sequence[Span]) -> Arrays:
        """Return the combined statistics of all spans."""
        level: list[Any] = []
        for group in _groups(spans):
            level.append(self._merged(self._leaves(reduce_chunk, group)))
            waited = len(level) - 1 - self._in_flight // _GROUP
            if waited >= 0:
                self._wait(level[waited])
        while len(level) > 1:
            level = [self._merged(group) for group in _groups(level)]
        arrays: Arrays = self._result(level[0])
        return arrays

    def mapped(self, spans: Sequence[Span]) -> Iterator[NDArray[Any]]:
        """Yield the transformed rows of all spans, in order."""
        waiting: deque[Any] = deque()
        for group in _groups(spans):
            waiting.extend(self._leaves(map_chunk, group))
            while len(waiting) > self._in_flight:
                yield self._result(waiting.popleft())
        while waiting:
            yield self._result(waiting.popleft())

    def _leaves(self, function: Callable[..., Any], spans: Sequence[Span]) -> list[Any]:
        columns: list[list[Any]] = []
        for source in self._sources:
            columns += source.pieces(spans)
        leaves: list[Any] = self._client.map(
            function, *columns, job=self._job, pure=False, retries=RETRIES
        )
        self._futures.update(leaves)
        return leaves

    def _merged(self, parts: Sequence[Any]) -> Any:
        if len(parts) == 1:
            return parts[0]
        merged = self._client.submit(merge, list(parts), self._job, pure=False, retries=RETRIES)
        self._futures.add(merged)
        return merged

    def _result(self, future: Any) -> Any:
        self._wait(future)
        return future.result()

    def _wait(self, future: Any) -> None:
        alone_since: float | None = None
        while True:
            try:
                # Unlike `result`, it does not raise the task's own error, even a timeout.
                future.exception(timeout=_GLANCE)
            except TimeoutError:
                pass
            else:
                return
            now = time.monotonic()
            if n_threads(self._client):
                alone_since = None
            elif alone_since is None:
                alone_since = now
            elif now - alone_since > PATIENCE:
                raise no_workers(self._client, PATIENCE)


def _groups(items: Sequence[T]) -> list[Sequence[T]]:
    return [items[start : start + _GROUP] for start in range(0, len(items), _GROUP)]
