"""The dask engine: passes on the workers of a cluster, which read the files themselves."""

from __future__ import annotations

import math
import os
from collections import deque
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from upto.core import GatheringRows, InputError
from upto.engines.blocks import check_block_rows, common_length, no_rows
from upto.engines.cluster_calls import (
    RETRIES,
    Pass,
    has_room,
    is_missing,
    keeping,
    persevere,
    send,
)
from upto.engines.passes import select_rows
from upto.engines.schedulers import Wanted, check_workers, describe, distributed
from upto.engines.threads import ThreadsEngine
from upto.engines.workers import Job, load_chunk, portable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from upto.engines.base import Arrays, Combine, Statistic
    from upto.engines.cluster_calls import Span

MOST_WORKERS = 256
"""More processes on one machine would be a slip of the finger."""
_CHUNKS = 24
_SMALLEST_CHUNK, _LARGEST_CHUNK = 2**22, 2**27
"""Bytes of a float64 chunk: large enough to be worth a task, small enough for a small worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaskEngine:
    """Passes on the workers of a `dask.distributed` cluster.

    Parameters
    ----------
    client
        Client to use; by default the current one of this process, or one of the scheduler in dask's
        configuration (``DASK_SCHEDULER_ADDRESS``).
    address
        Scheduler to connect to instead, e.g. ``tcp://host:8786``, or its scheduler file
        (``.json``).
    workers
        Number of worker processes to start on this machine instead. They end with ``with``, with
        `close`, or with this process.
    block_rows
        Rows per chunk, the unit read, kept and computed by one task; by default 4 to 128 MB.
    persist
        Whether `place` keeps rows in the workers' memory. By default it does while all kept rows
        take at most half of it; other rows are read again in every pass.

    See Also
    --------
    upto.ThreadsEngine : The threads of this machine.
    upto.TorchEngine : A GPU.
    upto.engines.Engine : The protocol they follow.

    Notes
    -----
    Workers read files themselves, under the same path. Arrays in memory are sent in chunks; an
    array of one chunk is processed locally. The order of summation depends only on the shape, so
    neither the number of workers nor the loss of one changes a result.

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> rows = np.random.default_rng(0).normal(size=(500, 3))
    >>> with upto.DaskEngine(workers=1) as engine:
    ...     result = upto.inspect(rows, ica=False, engine=engine)
    >>> result.provenance.engine.split()[0]
    'dask'
    """

    client: Any = None
    address: str | os.PathLike[str] | None = None
    workers: int | None = None
    block_rows: int | None = None
    persist: bool | None = None
    name: str = "dask"

    def __post_init__(self) -> None:
        check_block_rows(self.block_rows)
        if sum(each is not None for each in (self.client, self.address, self.workers)) > 1:
            message = "client, address and workers each name a cluster: give one of them."
            raise InputError(message)
        if self.workers is not None and self.workers not in range(1, MOST_WORKERS + 1):
            message = f"workers is {self.workers!r}: give a number from 1 to {MOST_WORKERS}."
            raise InputError(message)
        distributed()

    def connect(self) -> Self:
        """Find the scheduler, wait for a worker, and check that workers have the same versions."""
        client = self._wanted.connect() if self.client is None else self.client
        if client.asynchronous:
            message = "the dask engine waits for results: pass a synchronous client."
            raise InputError(message)
        check_workers(client)
        return self

    def close(self) -> None:
        """Disconnect, and end the workers started on this machine; a given client stays open."""
        self._wanted.close()

    def __enter__(self) -> Self:
        return self.connect()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def where(self) -> str:
        """The scheduler found, with its workers, threads and memory."""
        client = self._wanted.current() if self.client is None else self.client
        if client is None or client.status != "running":
            return "not connected"
        return describe(client)

    def __repr__(self) -> str:
        return f"DaskEngine({self.where})"

    def place(self, rows: Any) -> Any:
        """Let the workers read rows, or send the rows to them, and keep them if they fit."""
        if isinstance(rows, ClusterRows) or self._stays([rows]):
            return rows
        client = self._client()
        n_bytes = math.prod(rows.shape) * int(np.dtype(rows.dtype).itemsize)
        keep = has_room(client, n_bytes) if self.persist is None else self.persist
        placed = ClusterRows(self, client, rows, keep=keep)
        persevere(client, [placed], lambda: None)
        if keep:
            keeping(placed, n_bytes)
        return placed

    def reduce_blocks(
        self,
        statistic: Statistic,
        *rows: Any,
        params: Sequence[Any] = (),
        combine: Combine | None = None,
        dtype: str = "float64",
    ) -> tuple[NDArray[Any], ...]:
        """Combine the statistics of all chunks in row order, by default by addition."""
        if common_length(rows) == 0:
            raise no_rows()
        job = Job(function=statistic, params=tuple(params), combine=combine, dtype=dtype)
        if self._stays(rows):
            return replace(job, engine=ThreadsEngine()).reduce(rows)
        client, sources, spans = self._prepared(rows)

        def whole() -> Arrays:
            with Pass(client, job, sources) as sent:
                return sent.reduced(spans)

        found = persevere(client, sources, whole)
        # Arrays received over a network may be read-only.
        return tuple(np.require(np.asarray(array), requirements="W") for array in found)

    def map_blocks(
        self,
        function: Statistic,
        *rows: Any,
        params: Sequence[Any] = (),
        out: Any = None,
        dtype: str = "float64",
    ) -> Any:
        """Transform chunks of rows and concatenate the results."""
        if common_length(rows) == 0:
            raise no_rows()
        job = Job(function=function, params=tuple(params), dtype=dtype)
        if self._stays(rows):
            return replace(job, engine=ThreadsEngine()).map(rows, out)
        client, sources, spans = self._prepared(rows)
        left, joined = deque(spans), []

        def rest() -> None:
            with Pass(client, job, sources) as sent:
                for part in sent.mapped(list(left)):
                    if out is None:
                        joined.append(part)
                    else:
                        out[slice(*left[0])] = part
                    left.popleft()

        persevere(client, sources, rest)
        return np.concatenate(joined) if out is None else out

    def bounds(self, shape: Sequence[int]) -> list[int]:
        """Return the starts of chunks and the end of the last, which depend only on the shape."""
        n_samples, row = int(shape[0]), 8 * max([1, *shape[1:]])
        length = self.block_rows
        if length is None:
            size = min(max(n_samples * row // _CHUNKS, _SMALLEST_CHUNK), _LARGEST_CHUNK)
            # Powers of two, so that chunks of runs of different width nest.
            length = 1 << max((size // row).bit_length() - 1, 0)
        return [*range(0, n_samples, length), n_samples]

    def _client(self) -> Any:
        client = self._wanted.current() if self.client is None else self.client
        return self.connect()._client() if client is None else client

    @property
    def _wanted(self) -> Wanted:
        address = None if self.address is None else os.fspath(self.address)
        return Wanted(address=address, workers=self.workers)

    def _stays(self, rows: Sequence[Any]) -> bool:
        """Return whether rows are arrays in this process that fit one task."""
        matrices = [source for source in rows if len(source.shape) == 2]
        return bool(matrices) and all(
            isinstance(source, np.ndarray)
            and len(self.bounds(source.shape)) == 2
            and portable(source) is None
            for source in matrices
        )

    def _prepared(self, rows: Sequence[Any]) -> tuple[Any, list[ClusterRows], list[Span]]:
        client = self._client()
        sources = [
            source
            if isinstance(source, ClusterRows)
            else ClusterRows(self, client, source, keep=False)
            for source in rows
        ]
        matrices = [source for source in sources if len(source.shape) == 2]
        # Chunks of runs of different width end at different rows; no span crosses an end.
        ends = sorted(set().union(*(source.bounds for source in matrices or sources)))
        return client, sources, list(pairwise(ends))


class ClusterRows:
    """Rows that the workers read or keep, chunk by chunk; slices are read in this process.

    Parameters
    ----------
    engine, client
        Engine and client that run the passes.
    source
        The original rows.
    keep
        Whether chunks stay in the workers' memory.
    """

    def __init__(self, engine: DaskEngine, client: Any, source: Any, *, keep: bool) -> None:
        self.source = source
        self.shape = tuple(int(size) for size in source.shape)
        self.dtype = np.dtype(source.dtype)
        self.bounds = engine.bounds(self.shape)
        self._engine, self._client = engine, client
        self._reader = portable(source) if len(self.shape) == 2 else None
        self._sent_reader: Any = None
        self._chunks: list[Any] = [None] * (len(self.bounds) - 1 if keep else 0)

    def ensure(self) -> None:
        """Send what is not yet on the cluster or was lost with a worker."""
        if self._reader is not None and is_missing(self._sent_reader):
            (self._sent_reader,) = send(self._client, [self._reader], broadcast=True)
        missing = [number for number, chunk in enumerate(self._chunks) if is_missing(chunk)]
        if not missing:
            return
        spans = [(self.bounds[number], self.bounds[number + 1]) for number in missing]
        if self._reader is None:
            chunks = self._sent(spans)
        else:
            readers = [self._sent_reader] * len(spans)
            chunks = self._client.map(load_chunk, readers, spans, pure=False, retries=RETRIES)
        for number, chunk in zip(missing, chunks, strict=True):
            self._chunks[number] = chunk

    def pieces(self, spans: Sequence[Span]) -> tuple[list[Any], list[Span]]:
        """Return, for each span, the object on the cluster that contains it and its place."""
        if self._chunks:
            found = np.searchsorted(self.bounds, [start for start, _ in spans], side="right") - 1
            cuts = [
                (start - self.bounds[number], stop - self.bounds[number])
                for number, (start, stop) in zip(found, spans, strict=True)
            ]
            return [self._chunks[number] for number in found], cuts
        if self._reader is not None:
            return [self._sent_reader] * len(spans), list(spans)
        return list(self._sent(spans)), [(0, stop - start) for start, stop in spans]

    def _sent(self, spans: Sequence[Span]) -> Iterator[Any]:
        parts = (np.ascontiguousarray(self.source[start:stop]) for start, stop in spans)
        if len(self.shape) == 1:
            yield from send(self._client, list(parts))
            return
        # One at a time, or copies of all parts would be in flight at once.
        for part in parts:
            yield from send(self._client, [part])

    def __getitem__(self, key: slice) -> NDArray[Any]:
        return np.asarray(self.source[key])

    def gather(self, index: NDArray[np.intp]) -> NDArray[Any]:
        """Return the rows at some positions, by a pass if only slices can be read."""
        if isinstance(self.source, np.ndarray):
            return np.asarray(self.source[index])
        if isinstance(self.source, GatheringRows):
            return np.asarray(self.source.gather(index))
        positions, back = np.unique(index, return_inverse=True)
        keep = np.zeros(self.shape[0], dtype=bool)
        keep[positions] = True
        return select_rows(self._engine, self, keep).astype(self.dtype)[back]

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process gets a reader instead of the data where possible.
        return _unpacked, (self.source if self._reader is None else self._reader,)

    def __repr__(self) -> str:
        size = " × ".join(map(str, self.shape))
        return f"ClusterRows({size} {self.dtype}, {len(self.bounds) - 1} chunks)"


def _unpacked(rows: Any) -> Any:
    return rows
