"""Carry the rows of a run through a map into a file: read, map, write, in one pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.alignment.row_lengths import LengthMap
from upto.core import Embeddings, InputError, SelectedRows
from upto.files.rows import rows_from
from upto.transforms.bad_rows import (
    BadRows,
    flaws,
    refuse_bad_rows,
    refuse_overflow,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.engines.base import Arrays, Engine, Statistic
    from upto.transforms.kinds import Map

    Put = Callable[[NDArray[Any], NDArray[np.intp]], None]
    """Function of the next rows to write and their positions in the run."""

_CHUNK_BYTES = 2**25
"""Bytes of a double-precision block on a cluster, of which some twenty are in flight, and of torch
on the CPU, whose threads wait for each other after every operation."""


@dataclass(slots=True, kw_only=True, eq=False)
class Sink:
    """Takes mapped blocks in row order, finds the bad rows in them, and passes on the others.

    Parameters
    ----------
    run
        The run, for messages.
    policy
        What is done with bad rows.
    dtype
        Type of the mapped rows.
    put
        Function that writes rows; None to only find bad rows.
    first
        Row of the run that the pass begins with.
    advance
        Function that is called with the number of rows of each block.
    bad
        Positions of the bad rows found so far.
    directed
        Whether rows of length zero are bad too, as for maps onto rows of one length.
    """

    run: Embeddings
    policy: BadRows
    dtype: str
    put: Put | None = None
    first: int = 0
    advance: Callable[[int], object] | None = None
    bad: list[int] = field(default_factory=list)
    directed: bool = False

    def __setitem__(self, key: slice, block: NDArray[Any]) -> None:
        start = self.first + key.start
        positions = np.arange(start, start + len(block))
        is_bad = np.isnan(block[:, 0])
        if is_bad.any():
            found = positions[is_bad].tolist()
            refuse_overflow(self.run, found, self.dtype)
            self.bad += found
            if self.policy == "drop":
                block, positions = block[~is_bad], positions[~is_bad]
        # The others are still counted.
        if self.put is not None and not (self.bad and self.policy == "refuse"):
            self.put(block, positions)
        if self.advance is not None:
            self.advance(len(is_bad))


def marked_block(
    xp: Any, x: Any, *params: Any, function: Statistic, dtype: str, directed: bool
) -> Arrays:
    """Return mapped rows in the type of the output, all NaN if one of their numbers is not finite.

    A map may use only some of the coordinates, so NaN in a row need not reach its image. If rows
    are `directed`, a row of zeros is bad too: it has no direction, but its image would have one.
    """
    with np.errstate(all="ignore"):
        kind = getattr(xp, dtype)
        found = xp.astype(function(xp, x, *params)[0], kind)
        # Zero for finite numbers and NaN for others: no array of the size of a block is made, whose
        # memory would have to be found anew each time.
        squares = xp.linalg.vecdot(x, x)
        flaw = squares * 0.0 + xp.sum(found, axis=1, dtype=xp.float64) * 0.0
        if directed:
            flaw = xp.where(squares == 0.0, squares * 0.0 + xp.nan, flaw)
        found += xp.astype(flaw, kind)[:, None]
        return (found,)


def carry_rows(engine: Engine, mapping: Map, sink: Sink) -> None:
    """Map the rows of a run from the first that the sink wants, and give them to it.

    Raises
    ------
    InputError
        If rows are bad and to be refused.
    """
    rows = rows_from(sink.run.rows, sink.first)
    if rows.shape[0]:
        function, params = mapping.block_function()
        sink.directed = isinstance(mapping, LengthMap)
        marked = partial(marked_block, function=function, dtype=sink.dtype, directed=sink.directed)
        engine = _in_chunks(engine, max(rows.shape[1], len(mapping.target_mean)))
        engine.map_blocks(marked, rows, params=params, out=sink)
    if sink.bad and sink.policy == "refuse":
        refuse_bad_rows(sink.run, sink.bad, directed=sink.directed)
    if sink.policy == "drop" and len(sink.bad) == sink.run.n_samples:
        message = (
            f"{sink.run.name} has no row but those {flaws(directed=sink.directed)}: nothing is "
            f"left of {sink.run.n_samples} rows to write."
        )
        raise InputError(message)


def without_rows(run: Embeddings, bad: list[int]) -> Embeddings:
    """Return a run without some of its rows."""
    if not bad:
        return run
    keep = np.ones(run.n_samples, dtype=bool)
    keep[bad] = False
    return replace(
        run,
        rows=SelectedRows(run.rows, np.flatnonzero(keep)),
        ids=None if run.ids is None else run.ids[keep],
        columns={name: values[keep] for name, values in run.columns.items()},
    )


def _in_chunks(engine: Engine, width: int) -> Engine:
    """Return an engine whose blocks are worth their overhead, and small in memory."""
    is_chosen = getattr(engine, "block_rows", 0) is not None
    if is_chosen or engine.name == "threads" or getattr(engine, "is_elsewhere", False):
        return engine
    return replace(engine, block_rows=max(_CHUNK_BYTES // (8 * width), 1))  # type: ignore[type-var]
