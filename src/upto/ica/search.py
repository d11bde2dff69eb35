"""The search for components: solvers, precision and the decision to stop."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from upto.core import InputError, TraceStep
from upto.ica.fastica import FastICA
from upto.ica.picard import PicardO
from upto.ica.solver import Point, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from upto.core.arrays import Float

    Listener = Callable[[TraceStep, Float], None]

Solver = Literal["auto", "fastica", "picard"]
SOLVERS = ("auto", "fastica", "picard")

NEAR = 0.02
"""Turn of a step below which single precision, or a part of the rows, has shown the way."""
PATIENCE, LONGER_PATIENCE = 12, 50
"""Iterations without progress: of a solver that may circle, and of one that descends."""
LARGE = 1e7
"""Multiplications of one product above which a search starts in single precision."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Search:
    """Where a search ended."""

    problem: Problem
    point: Point
    converged: bool
    interrupted: bool
    steps: tuple[TraceStep, ...]
    n_passes: int


def search(
    problem: Problem,
    start: Float,
    *,
    solver: Solver = "auto",
    tolerance: float = 1e-6,
    turn: float | None = None,
    max_iterations: int = 500,
    single: bool = False,
    coarse: bool = False,
    listener: Listener | None = None,
) -> Search:
    """Turn a start into components.

    The search ends when no entry of the relative gradient is above `tolerance`; or, where `turn` is
    given, when the cosine between a component and itself a step before is nearer to one than that,
    scikit-learn's rule. Where it makes no
    progress, components that are not clearly non-Gaussian are no longer turned into each other,
    since no rotation between them is better than another, and ``auto`` changes from FastICA's steps
    to Picard-O's. With `single`, passes run in single precision until steps are small and then in
    double; with `coarse`, the search ends there.
    """
    if solver not in SOLVERS:
        message = f"there is no solver {solver!r}: choose one of {', '.join(SOLVERS)}."
        raise InputError(message)
    started = time.perf_counter()
    stepper: FastICA | PicardO = PicardO() if solver == "picard" else FastICA()
    dtype = "float32" if single else "float64"
    (point,) = problem.evaluate([start], dtype, values=solver == "picard")
    passes, iteration, turned, kept = 1, 0, 0.0, np.inf
    watch = _Watch(descends=solver == "picard")
    steps: list[TraceStep] = []

    def settled() -> bool:
        if turn is None:
            return point.gradient <= tolerance
        return dtype == "float64" and bool(kept < turn)

    def ended(*, converged: bool, interrupted: bool = False) -> Search:
        return Search(
            problem=problem,
            point=point,
            converged=converged,
            interrupted=interrupted,
            steps=tuple(steps),
            n_passes=passes,
        )

    try:
        while True:
            step = TraceStep(
                iteration=iteration,
                solver=stepper.name,
                dtype=dtype,
                contrast=point.contrast,
                gradient=point.gradient,
                turned=turned,
                passes=passes,
                seconds=time.perf_counter() - started,
            )
            steps.append(step)
            if listener is not None:
                listener(step, point.rotation)
            watch.see(point)
            # Far from any component all gradients are small, so a small step is asked for too.
            near = iteration > 0 and turned < NEAR
            done = settled() or ((coarse or dtype == "float32") and near)
            if watch.is_stalled and not done and not problem.literal:
                stiller = problem.freeze(point.unclear)
                is_stiller = stiller.n_frozen > problem.n_frozen
                problem, point = stiller, replace(point, frozen=stiller.frozen)
                if solver == "auto" and isinstance(stepper, FastICA):
                    stepper = PicardO()
                elif not is_stiller:
                    if dtype == "float64":
                        # Nothing is left to try: what remains is rounding, or circling.
                        return ended(converged=False)
                    done = True
                watch = _Watch(descends=isinstance(stepper, PicardO))
            if done and dtype == "float32" and not coarse:
                dtype = "float64"
                (point,) = problem.evaluate([point.rotation], dtype, values=False)
                passes += 1
                kept = np.inf
                done = settled()
            stiller = problem.freeze(point.unclear)
            if done and not coarse and problem.is_telling and stiller is not problem:
                # The optimum among these depends on the start; what the others settle at must not.
                problem = stiller
                point, stepper = replace(point, frozen=problem.frozen), type(stepper)()
                watch = _Watch(descends=isinstance(stepper, PicardO))
                kept = np.inf
                done = settled()
            if done or iteration >= max_iterations:
                return ended(converged=done)
            before = point.rotation
            tried = stepper.advance(problem, point, dtype)
            passes += len(tried)
            iteration += 1
            point = tried[-1]
            if problem.frozen is not None and np.any(point.unclear & ~problem.frozen):
                # A component that becomes Gaussian changes its sign at will: it is held too.
                problem = problem.freeze(point.unclear)
                point, stepper = replace(point, frozen=problem.frozen), type(stepper)()
            moved = point.rotation @ before.T
            turned = float(np.abs(moved - np.eye(len(before))).max())
            kept = float(np.abs(np.abs(np.diag(moved)) - 1.0).max())
    except KeyboardInterrupt:
        return ended(converged=False, interrupted=True)


class _Watch:
    """Remembers the best gradient and contrast, and how long ago they were reached.

    A solver that always descends gets somewhere by many small gains too; one that may circle must
    gain enough in a single step.
    """

    __slots__ = ("descends", "gradient", "reached", "since")

    def __init__(self, *, descends: bool) -> None:
        self.descends = descends
        self.gradient, self.reached = np.inf, -np.inf
        self.since = 0

    def see(self, point: Point) -> None:
        self.since += 1
        if point.gradient < 0.7 * self.gradient:
            self.since, self.gradient = 0, point.gradient
        if point.contrast > 1.003 * self.reached:
            self.since, self.reached = 0, point.contrast
        elif not self.descends:
            self.reached = max(self.reached, point.contrast)

    @property
    def is_stalled(self) -> bool:
        return self.since >= (LONGER_PATIENCE if self.descends else PATIENCE)
