"""Identifiability of a run's components, tested on two disjoint parts of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.core import Estimate, Identifiability, random_stream
from upto.core.array_types import Float
from upto.evidence.serial import MIN_WORTH
from upto.evidence.split import Split, take_rows
from upto.ica import (
    Unmixing,
    bootstrapped,
    nongaussianity,
    pair_curvature,
    smallest_curvature,
    stability_of,
)
from upto.ica.gaussianity import (
    NonGaussianity,
    connected,
    laplace_nongaussianity,
    pooled_curvature,
    pooled_nongaussianity,
)
from upto.ica.hessian import Curvature, affordable_rows
from upto.ica.recurrence import FOUND, Recurrence, affordable_part, find_in_part, recurrence

if TYPE_CHECKING:
    from upto.core import Progress
    from upto.engines.base import Engine
    from upto.ica.fit import Fitted, Settings


JUDGED_ROWS, MIN_PART_ROWS = 20_000, 200
"""Largest number of rows of each part that components are tested on, and the smallest."""
MIN_ROWS_EACH = 2
"""Smallest number of rows per component in a part."""
SURE = 3.5
"""Standard errors from a Gaussian that a component needs, besides being recovered.

More than elsewhere: a component of both parts is far from Gaussian in both, if only by accident.
"""
NEGLIGIBLE = 0.2
"""Fraction of a Laplace distribution's non-Gaussianity below which a component is Gaussian."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Judged:
    """Test of each component on two parts of the rows.

    `parts` are the components fitted to each part; `may_turn` marks those that are not
    distinguished from Gaussian or belong to a round pair, if there are two or more.
    """

    parts: tuple[Unmixing, Unmixing]
    nongaussianity: NonGaussianity
    again: Recurrence
    may_turn: NDArray[np.bool_]
    states: tuple[Identifiability, ...]
    subspaces: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Identified:
    """Identifiability of the components of a run.

    `judged` is None if they were not tested, for the reason in `unjudged`. `missed` marks the
    starts, as in `converged`, that do not recover some component that cannot rotate.
    """

    judged: Judged | None
    unjudged: str | None
    subspaces: tuple[tuple[int, ...], ...]
    curvature: Curvature | None
    stability: Float | None
    missed: NDArray[np.bool_]
    converged: NDArray[np.bool_]

    @property
    def z(self) -> Float | None:
        """Distance of each component from a Gaussian in standard errors; NaN if unknown."""
        return None if self.judged is None else self.judged.nongaussianity.z

    def estimate(self, number: int) -> Estimate | None:
        """Return the non-Gaussianity of a component with its interval."""
        if self.judged is None or np.isnan(self.judged.nongaussianity.difference[number]):
            return None
        return self.judged.nongaussianity.estimates()[number]


def identify(
    engine: Engine,
    rows: Any,
    fitted: Fitted,
    settings: Settings,
    *,
    split: Split,
    time: float,
    bootstraps: int,
    progress: Progress,
) -> Identified:
    """Test components against those fitted to each part of the split.

    `time` is the autocorrelation time, 1 for independent rows.
    """
    unmixing, contrast = fitted.unmixing, settings.contrast
    subspaces, judged = _subspaces_of(unmixing), None
    unjudged = _why_not(unmixing, settings, split, time)
    with progress.task("test components", 3) as advance:
        if unjudged is None:
            limit = affordable_part(len(unmixing.components), int(rows.shape[1]))
            chosen = (distinct_rows(split, part)[:limit] for part in (0, 1))
            first, second = (take_rows(engine, rows, index) for index in chosen)
            judged = judge(engine, first, second, unmixing, settings, time=time)
            subspaces = judged.subspaces
        advance(1)
        sample = take_rows(
            engine, rows, split.first_rows(affordable_rows(len(unmixing.components)))
        )
        curvature = None
        if settings.whiten in ("unit-variance", "active"):
            curvature = smallest_curvature(engine, sample, unmixing, contrast, subspaces)
        advance(1)
        resampled = bootstrapped(
            engine,
            sample[:JUDGED_ROWS],
            unmixing,
            contrast,
            bootstraps=bootstraps,
            whiten=settings.whiten,
            seed=settings.seed,
            tolerance=max(settings.tolerance, 1e-5),
        )
        advance(1)
    stability, missed = _stability(unmixing, fitted.restarted, resampled, subspaces)
    return Identified(
        judged=judged,
        unjudged=unjudged,
        subspaces=subspaces,
        curvature=curvature,
        stability=stability,
        missed=missed,
        converged=fitted.converged,
    )


def judge(
    engine: Engine,
    first: Float,
    second: Float,
    unmixing: Unmixing,
    settings: Settings,
    *,
    time: float = 1.0,
) -> Judged:
    """Fit components to each part of the rows, and test them on the other part.

    A component is identifiable if both parts recover it, it is not Gaussian and not in a round
    pair; a few directions recur by chance, so recovery is not enough. If all the others are
    identifiable, the last may be Gaussian. Components that are not identifiable are known to rotate
    if they are practically Gaussian or in a round pair. `time` is the autocorrelation time.
    """
    k, contrast = len(unmixing.components), settings.contrast
    seeds = random_stream(settings.seed, "parts").integers(2**31 - 1, size=2)
    ours, theirs = (
        find_in_part(
            engine,
            part,
            n_components=k,
            contrast=contrast,
            solver=settings.solver,
            rank_tolerance=settings.rank_tolerance,
            seed=int(seed),
        )
        for part, seed in zip((first, second), seeds, strict=True)
    )
    again = recurrence(unmixing, ours, theirs)
    on_ours, on_theirs = first[:JUDGED_ROWS], second[:JUDGED_ROWS]
    counts, wider = (len(on_theirs), len(on_ours)), float(np.sqrt(time))
    found = pooled_nongaussianity(
        nongaussianity(engine, on_theirs, ours, contrast).arranged(again.first),
        nongaussianity(engine, on_ours, theirs, contrast).arranged(again.second),
        counts,
    ).widened(wider)
    curvatures = pooled_curvature(
        pair_curvature(engine, on_theirs, ours, contrast).arranged(again.first),
        pair_curvature(engine, on_ours, theirs, contrast).arranged(again.second),
        counts,
    ).widened(wider)
    round_pairs = curvatures.round_pairs
    # NaN counts as doubtful, and a single direction cannot rotate.
    doubtful = ~(found.z >= SURE) | round_pairs.any(axis=0)
    lost = doubtful | ~again.found
    identifiable = again.found & (~lost | (np.count_nonzero(lost) == 1))
    gaussian = found.below(NEGLIGIBLE * laplace_nongaussianity(contrast))
    linked = np.outer(gaussian, gaussian) | round_pairs
    linked &= ~np.logical_or.outer(identifiable, identifiable)
    np.fill_diagonal(linked, val=False)
    subspaces = connected(linked)
    turning = {i for group in subspaces for i in group}
    return Judged(
        parts=(ours, theirs),
        nongaussianity=found,
        again=again,
        may_turn=doubtful & (np.count_nonzero(doubtful) > 1),
        states=tuple(
            "identifiable" if identifiable[i] else "turning" if i in turning else "not shown"
            for i in range(k)
        ),
        subspaces=subspaces,
    )


def distinct_rows(split: Split, part: int) -> NDArray[np.intp]:
    """Return the positions of the rows of a part in key order, without copies."""
    index = split.first_rows(len(split.order), part)
    return index[~split.repeats[index]]


def _why_not(unmixing: Unmixing, settings: Settings, split: Split, time: float) -> str | None:
    """Return why components cannot be tested, or None."""
    if settings.whiten in ("rotation", "none"):
        return f"whiten is {settings.whiten!r}, and only whitened components can be tested"
    n_samples, n_held_out = len(split.parts), split.n_held_out
    if n_held_out == 0:
        return "no rows are held out"
    wanted = max(MIN_PART_ROWS, MIN_ROWS_EACH * len(unmixing.components))
    fewest = min(len(distinct_rows(split, part)) for part in (0, 1))
    if fewest < wanted:
        distinct = int(np.count_nonzero(~split.repeats))
        needed = int(np.ceil(wanted / (min(n_held_out, n_samples - n_held_out) / n_samples)))
        kind = "distinct rows" if distinct < n_samples else "rows"
        return f"at least {needed} {kind} are needed, and there are {distinct}"
    if (worth := n_samples / time) < MIN_WORTH:
        return (
            f"{n_samples} rows that depend on their neighbours are worth about {worth:.0f}, and "
            f"{MIN_WORTH} are needed"
        )
    return None


def _stability(
    unmixing: Unmixing,
    restarted: list[Float],
    resampled: list[Float],
    subspaces: tuple[tuple[int, ...], ...],
) -> tuple[Float | None, NDArray[np.bool_]]:
    """Return the lower index: starts may agree on components that another sample lacks.

    Also return which starts miss a component that cannot rotate.
    """
    found = [stability_of(unmixing, each) for each in (restarted, resampled) if each]
    missed = np.zeros(len(restarted), dtype=np.bool_)
    alone = np.ones(len(unmixing.components), dtype=np.bool_)
    alone[[i for group in subspaces for i in group]] = False
    if restarted:
        missed = np.any(found[0].similarity[:, alone] < FOUND, axis=1)
    index = np.min([each.index for each in found], axis=0) if found else None
    return index, missed


def _subspaces_of(unmixing: Unmixing) -> tuple[tuple[int, ...], ...]:
    """Return the components frozen by the search, as one subspace."""
    turning = tuple(int(i) for i in np.flatnonzero(unmixing.frozen))
    return (turning,) if len(turning) > 1 else ()
