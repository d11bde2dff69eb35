"""What of a run's components is identifiable, judged on rows that were held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from upto.assess.split import Split, take_rows
from upto.core import Estimate
from upto.unmix import (
    Unmixing,
    bootstrapped,
    find_components,
    nongaussianity,
    pair_curvature,
    smallest_curvature,
    stability_of,
)
from upto.unmix.gaussianity import CLEAR
from upto.unmix.hessian import Curvature, affordable_rows
from upto.unmix.whitening import find_whitening

if TYPE_CHECKING:
    from upto.core import Progress
    from upto.engines import Moments
    from upto.engines.base import Engine
    from upto.unmix.fitting import Fitted, Settings

Float = NDArray[np.float64]

JUDGED_ROWS, MIN_JUDGED_ROWS = 20_000, 400
"""Held-out rows components are judged on: at most, and at least."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Identified:
    """What is known of each component; where it was not judged, None or NaN, and `unjudged` why."""

    nongaussianity: list[Estimate | None] | None
    z: Float | None
    unjudged: str | None
    subspaces: tuple[tuple[int, ...], ...]
    curvature: Curvature | None
    stability: Float | None

    @property
    def turning(self) -> frozenset[int]:
        """Components that belong to some subspace."""
        return frozenset(i for subspace in self.subspaces for i in subspace)


def identify(
    engine: Engine,
    rows: Any,
    fitted: Fitted,
    settings: Settings,
    *,
    split: Split,
    part: Moments,
    bootstraps: int,
    progress: Progress,
) -> Identified:
    """Judge components on held-out rows, after fitting them again without these.

    `part` are the moments of the rows that were not held out.
    """
    unmixing, contrast = fitted.unmixing, settings.contrast
    estimates, z, subspaces = None, None, _subspaces_of(unmixing)
    unjudged = None
    if settings.whiten in ("rotation", "none"):
        unjudged = f"whiten is {settings.whiten!r}, and only whitened components can be judged"
    elif split.n_held_out < MIN_JUDGED_ROWS:
        unjudged = f"{split.n_held_out} rows are held out and {MIN_JUDGED_ROWS} are needed"
    elif (n_left := len(split.parts) - split.n_held_out) < max(MIN_JUDGED_ROWS, 2 * len(part.mean)):
        unjudged = f"{n_left} rows are left to fit without the held-out ones, which are too few"
    with progress.task("judge components", 3) as advance:
        if unjudged is None:
            again = _fitted_again(engine, rows, unmixing, settings, split, part)
            order = _match(unmixing, again)
            held = take_rows(engine, rows, split.first_rows(JUDGED_ROWS, 1))
            found = nongaussianity(engine, held, again, contrast)
            values = found.estimates()
            estimates = [None if i is None else values[i] for i in order]
            z = np.array([np.nan if i is None else found.z[i] for i in order])
            back = {theirs: ours for ours, theirs in enumerate(order)}
            curvatures = pair_curvature(engine, held, again, contrast)
            groups = curvatures.subspaces(found.z < CLEAR)
            subspaces = tuple(sorted(tuple(sorted(back[i] for i in group)) for group in groups))
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
    return Identified(
        nongaussianity=estimates,
        z=z,
        unjudged=unjudged,
        subspaces=subspaces,
        curvature=curvature,
        stability=_stability(unmixing, fitted.restarted, resampled),
    )


def _fitted_again(
    engine: Engine, rows: Any, unmixing: Unmixing, settings: Settings, split: Split, part: Moments
) -> Unmixing:
    k = len(unmixing.components)
    spanned = len(
        find_whitening(part, n_components=k, rank_tolerance=settings.rank_tolerance).matrix
    )
    return find_components(
        engine,
        rows,
        part=part,
        keep=split.parts == 0,
        n_components=k,
        contrast=settings.contrast,
        solver=settings.solver,
        start=unmixing.components if spanned == k else None,
        tolerance=max(settings.tolerance, 1e-5),
        max_iterations=50,
        rank_tolerance=settings.rank_tolerance,
    )


def _stability(unmixing: Unmixing, *repetitions: list[Float]) -> Float | None:
    """Return the lower index: starts may agree on what another sample does not have."""
    found = [stability_of(unmixing, each).index for each in repetitions if each]
    return np.min(found, axis=0) if found else None


def _subspaces_of(unmixing: Unmixing) -> tuple[tuple[int, ...], ...]:
    """Return what the search itself saw turning."""
    turning = tuple(int(i) for i in np.flatnonzero(unmixing.frozen))
    return (turning,) if len(turning) > 1 else ()


def _match(unmixing: Unmixing, again: Unmixing) -> list[int | None]:
    """Return which component of `again` each one is; None for what its rows do not span."""
    correlation = np.abs(again.components @ unmixing.mixing)
    theirs, ours = scipy.optimize.linear_sum_assignment(correlation, maximize=True)
    found = dict(zip(ours.tolist(), theirs.tolist(), strict=True))
    return [found.get(i) for i in range(len(unmixing.components))]
