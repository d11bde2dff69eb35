"""The search for components: choice of solver, precision and stopping rule."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from upto.core import InputError, TraceStep
from upto.engines.algebra import product
from upto.ica.approach import approach
from upto.ica.fastica import FastICA
from upto.ica.picard import PicardO
from upto.ica.solver import Point, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from upto.core.array_types import Float

    Listener = Callable[[TraceStep, Float], None]

T = TypeVar("T")

Solver = Literal["auto", "fastica", "picard"]
SOLVERS = ("auto", "fastica", "picard")

NEAR = 0.02
"""Rotation per step below which single precision, or a sample of rows, is exhausted."""
PATIENCE, LONGER_PATIENCE = 12, 50
"""Iterations without progress allowed to a solver that may cycle, and to one that descends."""
SINGLE_TOLERANCE = 3e-5
"""Gradient that single precision resolves with a margin: sums over blocks are in double."""
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
    lazy: bool = False,
    coarse: bool = False,
    listener: Listener | None = None,
) -> Search:
    """Search for components from a starting rotation.

    The search ends when every entry of the relative gradient is at most `tolerance` or, with
    `turn`, when the cosine between each component and its previous step is within `turn` of one,
    scikit-learn's rule. If it stalls, components that are not clearly non-Gaussian are no longer
    rotated into each other, since no rotation among them is better than another, and ``auto``
    switches from FastICA to Picard-O. With `single`, passes run in single precision until steps are
    small and then in double, unless the tolerance needs no more than single. With `lazy`, the first
    steps evaluate only the components that still turn; with `coarse`, the search ends when steps
    are small.
    """
    if solver not in SOLVERS:
        message = f"there is no solver {solver!r}: choose one of {', '.join(SOLVERS)}."
        raise InputError(message)
    started = time.perf_counter()
    stepper: FastICA | PicardO = PicardO() if solver == "picard" else FastICA()
    dtype = "float32" if single else "float64"
    enough = single and turn is None and tolerance >= SINGLE_TOLERANCE
    passes, iteration, turned, kept = 0.0, 0, 0.0, np.inf
    watch = _Watch(descends=solver == "picard")
    steps: list[TraceStep] = []
    point: Point | None = None

    def tell(point: Point) -> None:
        step = TraceStep(
            iteration=iteration,
            solver=stepper.name,
            dtype=dtype,
            contrast=point.contrast,
            gradient=point.gradient,
            turned=turned,
            passes=math.ceil(passes),
            seconds=time.perf_counter() - started,
        )
        steps.append(step)
        if listener is not None:
            listener(step, point.rotation)

    def settled(point: Point) -> bool:
        if turn is None:
            return point.gradient <= tolerance
        return dtype == "float64" and bool(kept < turn)

    def ended(point: Point, *, converged: bool, interrupted: bool = False) -> Search:
        return Search(
            problem=problem,
            point=point,
            converged=converged,
            interrupted=interrupted,
            steps=tuple(steps),
            n_passes=math.ceil(passes),
        )

    try:
        rotation = start
        for point, share in approach(problem, start, dtype) if lazy else ():
            passes += share
            turned = float(np.abs(point.rotation - rotation).max())
            rotation = point.rotation
            tell(point)
            iteration += 1
            if iteration >= max_iterations:
                break
        (point,) = problem.evaluate([rotation], dtype, values=solver == "picard")
        passes += 1
        while True:
            tell(point)
            watch.see(point)
            # Far from any component gradients are small too, so steps must also be small.
            near = iteration > 0 and turned < NEAR
            done = settled(point) or ((coarse or (dtype == "float32" and not enough)) and near)
            if watch.is_stalled and not done and not problem.literal:
                stiller = problem.freeze(point.unclear)
                is_stiller = stiller.n_frozen > problem.n_frozen
                problem, point = stiller, replace(point, frozen=stiller.frozen)
                if solver == "auto" and isinstance(stepper, FastICA):
                    stepper = PicardO()
                elif not is_stiller:
                    if dtype == "float64":
                        # Nothing is left to try: the rest is rounding or cycling.
                        return ended(point, converged=False)
                    done = True
                watch = _Watch(descends=isinstance(stepper, PicardO))
            if done and dtype == "float32" and not coarse and not (enough and settled(point)):
                dtype = "float64"
                (point,) = problem.evaluate([point.rotation], dtype, values=False)
                passes += 1
                kept = np.inf
                done = settled(point)
            stiller = problem.freeze(point.unclear)
            if done and not coarse and problem.is_telling and stiller is not problem:
                # The optimum among these depends on the start; that of the others must not.
                problem = stiller
                point, stepper = replace(point, frozen=problem.frozen), type(stepper)()
                watch = _Watch(descends=isinstance(stepper, PicardO))
                kept = np.inf
                done = settled(point)
            if done or iteration >= max_iterations:
                return ended(point, converged=done)
            before = point.rotation
            tried = stepper.advance(problem, point, dtype)
            passes += len(tried)
            iteration += 1
            point = tried[-1]
            if problem.frozen is not None and np.any(point.unclear & ~problem.frozen):
                # The sign of a component that becomes Gaussian is arbitrary, so it is frozen too.
                problem = problem.freeze(point.unclear)
                point, stepper = replace(point, frozen=problem.frozen), type(stepper)()
            turned = _turn(point.rotation, before)
            along = np.einsum("ij,ij->i", point.rotation, before)
            kept = float(np.abs(np.abs(along) - 1.0).max())
    except KeyboardInterrupt:
        if point is None:
            raise
        return ended(point, converged=False, interrupted=True)


def despite_interrupt(work: Callable[[], T], *, interrupted: bool) -> tuple[T, bool]:
    """Do what components need after a search, and return also whether they are interrupted.

    The first interrupt must not cost the components; another ends the work.
    """
    if not interrupted:
        try:
            return work(), False
        except KeyboardInterrupt:
            pass
    return work(), True


def _turn(rotation: Float, before: Float) -> float:
    """Return the largest angle, in effect, by which a component turned towards another."""
    moved = product(rotation, before.T)
    np.fill_diagonal(moved, np.diag(moved) - 1.0)
    return float(np.abs(moved).max())


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
