"""Values of pairs of runs, of random pairings and of half-samples, by one family of measures.

Runs are read once, several at a time as memory allows. Pairings and half-samples in blocks share
what is fitted to the rows they have in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from upto.core import InputError
from upto.core.array_types import Float, Index
from upto.measures.families import Family, Fits
from upto.measures.kinds import Measure, MomentMeasure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from upto.measures.resample import Pairings

    Over = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]
    """The signature of `map`."""

Pair = tuple[int, int]
Directions = tuple[bool, ...]

VIEW_BYTES = 2**30
"""Memory for the views of all runs; beyond it, views are recomputed."""
_CHUNK = 8
"""Pairings that a thread scores at a time."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Scored:
    """One measure of one pair of runs.

    `null` contains the values of random pairings, without the true one: the same pairings in the
    same order for every pair and measure of a call, so that maxima over them can be taken. If
    `complete`, there are no other pairings. `halves` contains the values of half-samples and is
    empty if half the rows are too few.
    """

    first: int
    second: int
    measure: Measure
    value: float
    halves: Float
    null: Float
    complete: bool
    held_out: bool


class Draws(NamedTuple):
    """Random pairings, and half-samples in blocks that share their fitted rows."""

    pairings: Pairings
    halves: list[list[Index]]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PairScores:
    """Scores of pairs of runs by any family of measures.

    `arranged` moves the held-out rows to the end; `fitted` are the draws of fitted
    measures, of which several share a fit.
    """

    rows: Sequence[Float]
    arranged: Index
    parts: Index
    draws: Draws
    fitted: Draws
    jobs: dict[Pair, Directions]

    def by(self, family: Family, over: Over, advance: Callable[[int], None]) -> Iterator[Scored]:
        """Yield the scores of all measures of a family."""
        used = {run for job in self.jobs for run in job}
        rows = {run: family.prepared(self.rows[run][self.arranged], self.n_fit) for run in used}
        pairings, half_samples = self.fitted if family.is_fitted else self.draws
        for jobs, sources in self._tiles(family, rows, over):
            values, null = self._whole(family, jobs, sources, pairings.orders, over, advance)
            halves = self._halved(family, jobs, sources, half_samples, over, advance)
            for place, job in enumerate(jobs):
                for direction, flipped in enumerate(self.jobs[job]):
                    first, second = job[::-1] if flipped else job
                    for number, measure in enumerate(family.measures):
                        is_fitted = isinstance(measure, MomentMeasure) and measure.is_fitted
                        yield Scored(
                            first=first,
                            second=second,
                            measure=measure,
                            value=float(values[place][direction, number]),
                            halves=halves[place][direction, number],
                            null=null[place][direction, number],
                            complete=pairings.complete,
                            held_out=is_fitted and bool(self.parts.any()),
                        )

    @property
    def n_fit(self) -> int:
        """Number of fitted rows."""
        return int((self.parts == 0).sum())

    def _whole(
        self,
        family: Family,
        jobs: list[Pair],
        sources: dict[int, Any],
        orders: Index,
        over: Over,
        advance: Callable[[int], None],
    ) -> tuple[list[Float], list[Float]]:
        seen = over(lambda source: family.view(source, self.n_fit), sources.values())
        views = dict(zip(sources, seen, strict=True))
        # Threads that share a view may compute the same cached value twice, which is harmless.
        values = list(over(partial(self._scores, family, views), jobs))
        advance(len(jobs))
        null = [np.empty((*each.shape, len(orders))) for each in values]
        for second in dict.fromkeys(job[1] for job in jobs):
            own = {job: null[place] for place, job in enumerate(jobs) if job[1] == second}
            pair_at_random = partial(self._pair_at_random, family, views, own, orders)
            for done in over(pair_at_random, self._chunks(orders)):
                advance(done)
        return values, null

    def _scores(self, family: Family, views: dict[int, Any], job: Pair) -> Float:
        return family.scores(views[job[0]], views[job[1]], self.jobs[job])

    def _chunks(self, orders: Index) -> list[range]:
        """Divide the pairings into chunks; those that share their fitted rows stay together."""
        is_new = self._is_new_fit(orders)
        edges = [*np.flatnonzero(is_new), len(is_new)]
        size = max(1, _CHUNK * (len(edges) - 1) // max(len(is_new), 1))
        edges = [*edges[:-1:size], edges[-1]]
        return [range(start, end) for start, end in pairwise(edges)]

    def _is_new_fit(self, draws: Index) -> NDArray[np.bool_]:
        """Return which draws differ from the one before in their fitted rows."""
        is_new = np.ones(len(draws), dtype=np.bool_)
        if self.parts.any():
            is_new[1:] = (np.diff(draws[:, : self.n_fit], axis=0) != 0).any(axis=1)
        return is_new

    def _pair_at_random(
        self,
        family: Family,
        views: dict[int, Any],
        null: dict[Pair, Float],
        orders: Index,
        chunk: range,
    ) -> int:
        """Fill some columns of the nulls of pairs with one second run; return the score count."""
        orders = orders[chunk.start : chunk.stop]
        second = next(iter(null))[1]
        fits: dict[Pair, Fits] = {}
        for number, order, is_new in zip(chunk, orders, self._is_new_fit(orders), strict=True):
            turned = family.turned(views[second], order)
            if is_new:
                fits = {job: Fits(reordered=True) for job in null}
            for job, found in null.items():
                found[:, :, number] = family.scores(
                    views[job[0]], turned, self.jobs[job], fits[job]
                )
        return len(orders) * len(null)

    def _halved(
        self,
        family: Family,
        jobs: list[Pair],
        sources: dict[int, Any],
        halves: list[list[Index]],
        over: Over,
        advance: Callable[[int], None],
    ) -> list[Float]:
        found: list[list[Float]] = [[] for _ in jobs]
        try:
            for scores in over(partial(self._of_halves, family, jobs, sources), halves):
                for each, own in zip(found, scores, strict=True):
                    each.append(own)
                advance(len(jobs) * scores[0].shape[-1])
        except InputError:
            # Half the rows are too few for this measure.
            found = [[] for _ in jobs]
        count = len(family.measures)
        return [
            np.concatenate(each, axis=-1) if each else np.empty((len(self.jobs[job]), count, 0))
            for job, each in zip(jobs, found, strict=True)
        ]

    def _of_halves(
        self, family: Family, jobs: list[Pair], sources: dict[int, Any], halves: list[Index]
    ) -> list[Float]:
        """Score half-samples that share their fitted rows."""
        views: dict[int, Any] = {}
        fits = [Fits() for _ in jobs]
        found = []
        for half in halves:
            n_fit = int((self.parts[half] == 0).sum())
            views = {
                run: family.view(source, n_fit, half, views.get(run))
                for run, source in sources.items()
            }
            found.append(
                [
                    family.scores(views[job[0]], views[job[1]], self.jobs[job], own)
                    for job, own in zip(jobs, fits, strict=True)
                ]
            )
        return [np.stack(each, axis=-1) for each in zip(*found, strict=True)]

    def _tiles(
        self, family: Family, rows: dict[int, Float], over: Over
    ) -> Iterator[tuple[list[Pair], dict[int, Any]]]:
        """Yield jobs with what views of their runs need, as many at a time as fit in memory."""
        size = max(family.view_bytes(*own.shape) for own in rows.values())
        side = max(2, VIEW_BYTES // (2 * size))
        tiles: dict[Pair, list[Pair]] = {}
        for first, second in self.jobs:
            tiles.setdefault((first // side, second // side), []).append((first, second))
        sources: dict[int, Any] = {}
        for jobs in tiles.values():
            needed = dict.fromkeys(run for job in jobs for run in job)
            sources = {run: sources[run] for run in needed if run in sources}
            missing = [run for run in needed if run not in sources]
            seen = over(lambda run: family.source(rows[run]), missing)
            sources |= dict(zip(missing, seen, strict=True))
            yield jobs, sources
