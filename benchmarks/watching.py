"""An engine that logs its passes: rows, operations and seconds."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np

_OPERATIONS = {"contrast_sums": 4.0, "_of_kept": 4.0, "_signed_squares": 2.0, "_row_moments": 1.0}
"""Operations of a pass for each row, coordinate and column of its map; scatter is symmetric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One call of an engine; `operations` are those of its products, None for placing."""

    what: str
    n_rows: int
    n_bytes: int
    operations: float
    dtype: str
    seconds: float


class WatchedEngine:
    """Another engine, with a log."""

    def __init__(self, engine, log=None):
        self.engine = engine
        self.log = [] if log is None else log

    def __getattr__(self, name):
        # What an engine has beside the passes, such as algebra on its device.
        if name == "engine":
            raise AttributeError(name)
        return getattr(self.engine, name)

    @contextmanager
    def beside_others(self, n_items):
        """Yield the engine for one of several items, with the same log."""
        with self.engine.beside_others(n_items) as own:
            yield WatchedEngine(own, self.log)

    def roughly(self):
        """Return the engine with rough products, with the same log."""
        rough = getattr(self.engine, "roughly", None)
        return self if rough is None else WatchedEngine(rough(), self.log)

    @property
    def name(self):
        """Name of the engine."""
        return self.engine.name

    def place(self, rows):
        """Place rows for the passes."""
        return self._noted("place", self.engine.place, rows)

    def reduce_blocks(self, statistic, *rows, params=(), combine=None, dtype="float64"):
        """Combine the statistics of all blocks."""
        reduce = partial(self.engine.reduce_blocks, statistic, combine=combine)
        return self._noted(_name(statistic), reduce, *rows, params=params, dtype=dtype)

    def map_blocks(self, function, *rows, params=(), out=None, dtype="float64"):
        """Transform blocks of rows."""
        apply = partial(self.engine.map_blocks, function, out=out)
        return self._noted(_name(function), apply, *rows, params=params, dtype=dtype)

    def _noted(self, what, call, *rows, **options):
        started = time.perf_counter()
        result = call(*rows, **options)
        seconds = time.perf_counter() - started
        n_rows, width = rows[0].shape
        maps = [each for each in options.get("params", ()) if np.ndim(each) == 2]
        columns = maps[-1].shape[1] if maps else width
        self.log.append(
            Pass(
                what=what,
                n_rows=n_rows,
                n_bytes=n_rows * width * np.dtype(rows[0].dtype).itemsize,
                operations=_OPERATIONS.get(what, 0.0) * n_rows * width * columns,
                dtype=options.get("dtype", ""),
                seconds=seconds,
            )
        )
        return result

    def n_passes(self, n_rows):
        """Return the number of passes over all rows; partial passes count as fractions."""
        return sum(each.n_rows for each in self.log if each.what != "place") / n_rows

    def seconds_in(self, *names):
        """Return the total seconds of calls with given names."""
        return sum(each.seconds for each in self.log if each.what in names)

    def floor(self, rate, bandwidth):
        """Return the seconds of the passes' products or of reading, the longer of the two."""
        return sum(
            max(each.operations / rate, each.n_bytes / bandwidth)
            for each in self.log
            if each.what != "place"
        )


def _name(function):
    while isinstance(function, partial):
        function = function.func
    return function.__name__
