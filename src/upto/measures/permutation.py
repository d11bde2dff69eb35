"""Score pairs of runs by any measures, with permutation nulls and half-samples.

Each run is read once per family of measures: moment measures with the same preparation share every
product of rows, and a relation measure relates the rows of a run once. A random pairing only
reorders the result.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Finding, InputError, choose_progress
from upto.engines import blas_threads_for
from upto.measures.families import families_of
from upto.measures.kernel_path import leaner_measures
from upto.measures.pair_scores import Directions, Draws, Pair, PairScores, Scored
from upto.measures.resample import (
    MIN_HALF,
    draw_halves,
    draw_pairings,
    draw_shifts,
    share_fits,
    share_halves,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from upto.core import Progress
    from upto.core.array_types import Float, Index
    from upto.measures.kinds import Measure
    from upto.measures.pair_scores import Over

_HALVES_PER_FIT = 3
"""Most half-samples that share a fit."""
_THREADED_SIZE = 2**12
"""Size of a run, in numbers, above which threads are started."""


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
    shared: int = 1,
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
    shared
        Number of successive pairings that share the pairing of the fitted rows and differ in the
        held-out rows only, for fitted measures: fits are the larger part of the work. If more than
        one, three half-samples share the half of the fitted rows.
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
    n_fit = int((parts == 0).sum())
    if n_fit == len(parts):
        shared = 1
    halves = draw_halves(parts, half_samples if is_enough else 0, seed, stretch=gap or 1)
    scoring = PairScores(
        rows=rows,
        arranged=arranged,
        parts=parts,
        draws=Draws(pairings, [[half] for half in halves]),
        fitted=Draws(
            share_fits(pairings, n_fit, shared, seed),
            share_halves(halves, n_fit, min(shared, _HALVES_PER_FIT)),
        ),
        jobs=_jobs(pairs),
    )
    apart = shared > 1
    wide = any(own.shape[1] > n_fit for own in rows)
    families = families_of(leaner_measures(measures, rows, apart=apart), apart=apart, wide=wide)
    steps = len(scoring.jobs) * (1 + len(pairings.orders) + len(halves))
    found: dict[tuple[int, int, str], Scored] = {}
    with (
        choose_progress(progress).task("score pairs", steps * len(families)) as advance,
        blas_threads_for(0),
        _over_threads(max(each.size for each in rows)) as over,
    ):
        for family in families:
            for each in scoring.by(family, over, advance):
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
