"""Score pairs of runs by any measures, with permutation nulls and half-samples.

Each run is read once per family of measures: moment measures with the same preparation share every
product of rows, and a relation measure relates the rows of a run once. A random pairing only
reorders the result.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Finding, InputError, choose_progress
from upto.core.array_types import Float, Index
from upto.engines import blas_threads_for
from upto.measures.families import Family, families_of
from upto.measures.kernel_path import fewer_coordinates, leaner_measures
from upto.measures.kinds import Measure, MomentMeasure
from upto.measures.resample import MIN_HALF, Pairings, draw_halves, draw_pairings, draw_shifts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from upto.core import Progress

    Over = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]
    """The signature of `map`."""

Pair = tuple[int, int]
Directions = tuple[bool, ...]

VIEW_BYTES = 2**30
"""Memory for the views of all runs; beyond it, views are recomputed."""
_CHUNK = 8
"""Pairings that a thread scores at a time."""
_THREADED_SIZE = 2**12
"""Size of a run, in numbers, above which threads are started."""


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


def score_pairs(
    rows: Sequence[Float],
    pairs: Sequence[Pair],
    measures: Sequence[Measure],
    *,
    parts: NDArray[Any] | None = None,
    strata: NDArray[Any] | None = None,
    gap: int | None = None,
    permutations: int = 199,
    half_samples: int = 50,
    seed: int = 0,
    progress: Progress | bool | None = None,
) -> list[Scored]:
    """Score pairs of runs by measures, with random pairings and half-samples.

    Draws follow the positions of rows, and the run of a pair that comes later in `rows` is
    permuted: for results that do not depend on the order of rows and runs, sort them first.

    Parameters
    ----------
    rows
        Finite rows of every run, in float64; row i of each describes the same sample.
    pairs
        Positions in `rows` of the runs to score, first and second.
    measures
        Measures to compute.
    parts
        1 for each held-out row, otherwise 0: fitted measures are fitted on rows of part 0 and
        scored on rows of part 1; other measures use all rows. By default, or without any 1, all
        values are in sample.
    strata
        Class of each row: rows are re-paired only within their class.
    gap
        For ordered rows, the number of rows after which they no longer depend on each other: runs
        are then shifted by at least this number, and half-samples consist of contiguous blocks. By
        default, rows are re-paired at random.
    permutations
        Number of random pairings in each null; all pairings if there are no more.
    half_samples
        Number of half-samples for each interval.
    seed
        Seed of the random number generator.
    progress
        True for bars, or a line every minute in a log; False for nothing. By default, bars in a
        notebook or at a prompt after two seconds. An object with ``task(label, total)`` is called.

    Returns
    -------
    list of Scored
        Every measure of every pair, in the order given.

    Raises
    ------
    InputError
        If the runs differ in their number of rows, or a measure needs more rows.
    """
    parts = np.zeros(len(rows[0]), np.intp) if parts is None else np.asarray(parts, np.intp)
    _check(rows, parts, strata)
    arranged = np.argsort(parts, kind="stable")
    parts = parts[arranged]
    cells = parts
    if strata is not None:
        cells = parts + 2 * np.unique(np.asarray(strata), return_inverse=True)[1][arranged]
    is_enough = len(parts) >= 2 * MIN_HALF * (gap or 1)
    pairings = draw_pairings(cells, permutations, seed)
    if gap is not None and strata is None:
        pairings = draw_shifts(parts, gap, permutations, seed)
    scoring = _Scoring(
        rows=[fewer_coordinates(own, measures) for own in rows],
        arranged=arranged,
        parts=parts,
        pairings=pairings,
        halves=draw_halves(parts, half_samples if is_enough else 0, seed, stretch=gap or 1),
        jobs=_jobs(pairs),
    )
    families = families_of(leaner_measures(measures, rows))
    steps = len(scoring.jobs) * (1 + len(scoring.pairings.orders) + len(scoring.halves))
    found: dict[tuple[int, int, str], Scored] = {}
    with (
        choose_progress(progress).task("score pairs", steps * len(families)) as advance,
        blas_threads_for(0),
        _over_threads(max(each.size for each in rows)) as over,
    ):
        for family in families:
            for each in scoring.scored(family, over, advance):
                found[each.first, each.second, each.measure.name] = each
    return [
        replace(found[first, second, each.name], measure=each)
        for first, second in pairs
        for each in measures
    ]


def score_usable(
    score: Callable[[Sequence[Measure], int, int], list[Scored]],
    measures: Sequence[Measure],
    permutations: int,
    half_samples: int,
) -> tuple[list[Scored], list[Finding]]:
    """Score measures by family, and report those that need more rows; raise if none is left.

    ``score(measures, permutations, half_samples)`` scores a subset of them.
    """
    found: list[Scored] = []
    refused: dict[str, str] = {}

    def usable(some: Sequence[Measure]) -> Iterator[Measure]:
        for measure in some:
            try:
                score([measure], 1, 0)
            except InputError as error:
                refused[measure.name] = str(error)
            else:
                yield measure

    for family in families_of(measures):
        try:
            found += score(family.measures, permutations, half_samples)
        except InputError:
            left = list(usable(family.measures))
            found += score(left, permutations, half_samples) if left else []
    if not found:
        raise InputError(next(iter(refused.values())))
    return found, [Finding(code="UP026", message=f"{name}: {why}") for name, why in refused.items()]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Scoring:
    """State shared by all families; `arranged` moves the held-out rows to the end."""

    rows: Sequence[Float]
    arranged: Index
    parts: Index
    pairings: Pairings
    halves: list[Index]
    jobs: dict[Pair, Directions]

    def scored(
        self, family: Family, over: Over, advance: Callable[[int], None]
    ) -> Iterator[Scored]:
        used = {run for job in self.jobs for run in job}
        rows = {run: family.prepared(self.rows[run]) for run in used}
        values, null = self._whole(family, rows, over, advance)
        halves = self._halved(family, rows, over, advance)
        for job, directions in self.jobs.items():
            for place, flipped in enumerate(directions):
                first, second = job[::-1] if flipped else job
                for number, measure in enumerate(family.measures):
                    is_fitted = isinstance(measure, MomentMeasure) and measure.is_fitted
                    yield Scored(
                        first=first,
                        second=second,
                        measure=measure,
                        value=float(values[job][place, number]),
                        halves=halves[job][place, number],
                        null=null[job][place, number],
                        complete=self.pairings.complete,
                        held_out=is_fitted and bool(self.parts.any()),
                    )

    def _whole(
        self, family: Family, rows: dict[int, Float], over: Over, advance: Callable[[int], None]
    ) -> tuple[dict[Pair, Float], dict[Pair, Float]]:
        values: dict[Pair, Float] = {}
        null: dict[Pair, Float] = {}
        n_orders = len(self.pairings.orders)
        for jobs, views in self._tiles(family, rows, np.arange(len(self.parts)), over):
            # Threads that share a view may compute the same cached value twice, which is harmless.
            scores = over(partial(self._scores, family, views), jobs)
            for job, found in zip(jobs, scores, strict=True):
                values[job] = found
                null[job] = np.empty((*values[job].shape, n_orders))
                advance(1)
            for second in dict.fromkeys(job[1] for job in jobs):
                own = [job for job in jobs if job[1] == second]
                pair_at_random = partial(self._pair_at_random, family, views, own, null)
                for done in over(pair_at_random, range(0, n_orders, _CHUNK)):
                    advance(done)
        return values, null

    def _pair_at_random(
        self,
        family: Family,
        views: dict[int, Any],
        jobs: list[Pair],
        null: dict[Pair, Float],
        start: int,
    ) -> int:
        """Fill some columns of the nulls of pairs with one second run; return the score count."""
        orders = self.pairings.orders[start : start + _CHUNK]
        for number, order in enumerate(orders, start):
            turned = family.turned(views[jobs[0][1]], order)
            for job in jobs:
                null[job][:, :, number] = family.scores(views[job[0]], turned, self.jobs[job])
        return len(orders) * len(jobs)

    def _halved(
        self, family: Family, rows: dict[int, Float], over: Over, advance: Callable[[int], None]
    ) -> dict[Pair, Float]:
        found: dict[Pair, list[Float]] = {job: [] for job in self.jobs}
        try:
            for half in self.halves:
                for jobs, views in self._tiles(family, rows, half, over):
                    scores = over(partial(self._scores, family, views), jobs)
                    for job, each in zip(jobs, scores, strict=True):
                        found[job].append(each)
                advance(len(self.jobs))
        except InputError:
            # Half the rows are too few for this measure.
            found = {job: [] for job in self.jobs}
        count = len(family.measures)
        return {
            job: np.stack(each, axis=-1) if each else np.empty((len(self.jobs[job]), count, 0))
            for job, each in found.items()
        }

    def _scores(self, family: Family, views: dict[int, Any], job: Pair) -> Float:
        return family.scores(views[job[0]], views[job[1]], self.jobs[job])

    def _tiles(
        self, family: Family, rows: dict[int, Float], chosen: Index, over: Over
    ) -> Iterator[tuple[list[Pair], dict[int, Any]]]:
        """Yield jobs with the views of their runs, as many at a time as fit in memory."""
        index, n_fit = self.arranged[chosen], int((self.parts[chosen] == 0).sum())
        size = max(family.view_bytes(len(index), own.shape[1]) for own in rows.values())
        side = max(2, VIEW_BYTES // (2 * size))
        tiles: dict[Pair, list[Pair]] = {}
        for first, second in self.jobs:
            tiles.setdefault((first // side, second // side), []).append((first, second))
        views: dict[int, Any] = {}
        for jobs in tiles.values():
            needed = dict.fromkeys(run for job in jobs for run in job)
            views = {run: views[run] for run in needed if run in views}
            missing = [run for run in needed if run not in views]
            seen = over(lambda run: family.view(rows[run][index], n_fit), missing)
            views |= dict(zip(missing, seen, strict=True))
            yield jobs, views


@contextmanager
def _over_threads(size: int) -> Iterator[Over]:
    """Yield a `map` over all cores, or the built-in one if starting threads would take longer."""
    if size < _THREADED_SIZE:
        yield map
        return
    with ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="upto") as pool:
        yield pool.map


def _jobs(pairs: Iterable[Pair]) -> dict[Pair, Directions]:
    """Join both directions of a pair, with the later run second."""
    wanted: dict[Pair, set[bool]] = {}
    for first, second in pairs:
        job = (min(first, second), max(first, second))
        wanted.setdefault(job, set()).add(first > second)
    return {job: tuple(sorted(wanted[job])) for job in sorted(wanted)}


def _check(rows: Sequence[Float], parts: Index, strata: NDArray[Any] | None) -> None:
    counts = {len(each) for each in (*rows, parts, *([] if strata is None else [strata]))}
    if len(counts) > 1:
        listed = ", ".join(str(count) for count in sorted(counts))
        message = f"runs, parts and strata have {listed} rows: they must describe the same samples."
        raise InputError(message)
