"""The search for components: choice of solver, precision and stopping rule."""

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

    from upto.core.array_types import Float

    Listener = Callable[[TraceStep, Float], None]

Solver = Literal["auto", "fastica", "picard"]
SOLVERS = ("auto", "fastica", "picard")

NEAR = 0.02
"""Rotation per step below which single precision, or a sample of rows, is exhausted."""
PATIENCE, LONGER_PATIENCE = 12, 50
"""Iterations without progress allowed to a solver that may cycle, and to one that descends."""
LARGE = 1e7
"""Multiplications per matrix product above which a search starts in single precision."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Search:
    """Final state of a search."""

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
    """Search for components from a starting rotation.

    The search ends when every entry of the relative gradient is at most `tolerance` or, with
    `turn`, when the cosine between each component and its previous step is within `turn` of one,
    scikit-learn's rule. If it stalls, components that are not clearly non-Gaussian are no longer
    rotated into each other, since no rotation among them is better than another, and ``auto``
    switches from FastICA to Picard-O. With `single`, passes run in single precision until steps are
    small and then in double; with `coarse`, the search ends there.
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
            # Far from any component gradients are small too, so steps must also be small.
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
                        # Nothing is left to try: the rest is rounding or cycling.
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
                # The optimum among these depends on the start; that of the others must not.
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
                # The sign of a component that becomes Gaussian is arbitrary, so it is frozen too.
                problem = problem.freeze(point.unclear)
                point, stepper = replace(point, frozen=problem.frozen), type(stepper)()
            moved = point.rotation @ before.T
            turned = float(np.abs(moved - np.eye(len(before))).max())
            kept = float(np.abs(np.abs(np.diag(moved)) - 1.0).max())
    except KeyboardInterrupt:
        return ended(converged=False, interrupted=True)


class _Watch:
    """The best gradient and contrast so far, and the number of iterations since.

    For a solver that always descends many small gains count; one that may cycle must gain enough in
    a single step.
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
