"""Stability of components over random starts and resampled rows (Icasso)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.optimize

from upto.core import SelectedRows, TraceStep, random_stream
from upto.core.array_types import Float
from upto.engines import row_moments
from upto.ica.components import Whiten, pose, starting_rotation, whitening_for
from upto.ica.fastica import fixed_point
from upto.ica.search import NEAR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.engines.base import Engine
    from upto.ica.components import Unmixing
    from upto.ica.contrasts import Contrast
    from upto.ica.search import Listener
    from upto.ica.solver import Point, Problem
    from upto.ica.whiten import Whitening


COLUMNS = 256
"""Components evaluated in one pass; more would not fit into the cache with the rows."""
ITERATIONS = 200


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Stability:
    """Stability of each component over repetitions.

    `index` is Icasso's Iq, the mean similarity of a component to its matches minus that to all
    others: 1 for a component that is always recovered. `similarity` is the absolute correlation of
    every component with its match in every repetition.
    """

    index: Float
    similarity: Float


def restart_many(
    problem: Problem,
    rotations: list[Float],
    *,
    tolerance: float,
    max_iterations: int = ITERATIONS,
    single: bool = False,
    listener: Listener | None = None,
) -> tuple[list[Float], Float, NDArray[np.bool_]]:
    """Search from several starts at once: one pass evaluates many rotations.

    With `single`, passes run in single precision until steps are small. The listener is called
    with the least Gaussian rotation after every pass. Returns the rotations, their contrasts and
    whether they converged.
    """
    started, passes = time.perf_counter(), 0

    def tell(points: list[Point], dtype: str) -> None:
        nonlocal passes
        passes += 1
        if listener is not None:
            best = max(points, key=lambda point: point.contrast)
            step = TraceStep(
                iteration=passes,
                solver="restarts",
                dtype=dtype,
                contrast=best.contrast,
                gradient=best.gradient,
                turned=0.0,
                passes=passes,
                seconds=time.perf_counter() - started,
            )
            listener(step, best.rotation)

    rotations = list(rotations)
    contrast = np.zeros(len(rotations))
    converged = np.zeros(len(rotations), dtype=bool)
    batch = max(1, COLUMNS // len(rotations[0]))
    for start in range(0, len(rotations), batch):
        numbers = range(start, min(start + batch, len(rotations)))
        if single:
            active = list(numbers)
            for _ in range(max_iterations):
                points = problem.evaluate([rotations[i] for i in active], "float32", values=False)
                tell(points, "float32")
                steps = [fixed_point(point) for point in points]
                turns = [_turn(step, rotations[i]) for i, step in zip(active, steps, strict=True)]
                for i, step in zip(active, steps, strict=True):
                    rotations[i] = step
                active = [i for i, turn in zip(active, turns, strict=True) if turn >= NEAR]
                if not active:
                    break
        active = list(numbers)
        for iteration in range(max_iterations + 1):
            points = problem.evaluate([rotations[i] for i in active], values=False)
            tell(points, "float64")
            for i, point in zip(active, points, strict=True):
                contrast[i], converged[i] = point.contrast, point.gradient <= tolerance
                if not converged[i] and iteration < max_iterations:
                    rotations[i] = fixed_point(point)
            active = [i for i in active if not converged[i]]
            if not active:
                break
    return rotations, contrast, converged


def _turn(step: Float, before: Float) -> float:
    return float(np.abs(step @ before.T - np.eye(len(before))).max())


def random_starts(whitening: Whitening, count: int, seed: int) -> list[Float]:
    """Draw random rotations to start from."""
    seeds = random_stream(seed, "restarts").integers(2**31 - 1, size=count)
    return [starting_rotation(whitening, None, int(each)) for each in seeds]


def bootstrapped(
    engine: Engine,
    rows: Any,
    unmixing: Unmixing,
    contrast: Contrast,
    *,
    bootstraps: int,
    whiten: Whiten = "unit-variance",
    seed: int,
    tolerance: float,
) -> list[Float]:
    """Refit the components to bootstrapped rows, each whitened, starting from the components."""
    rng = random_stream(seed, "bootstraps")
    n_samples = int(rows.shape[0])
    found = []
    for _ in range(bootstraps):
        sample = SelectedRows(rows, rng.integers(n_samples, size=n_samples))
        white = whiten in ("unit-variance", "active")
        whitening = whitening_for(
            engine,
            sample,
            row_moments(engine, sample),
            whiten="unit-variance" if white else whiten,
            n_components=len(unmixing.components) if white else None,
        )
        if len(whitening.matrix) < len(unmixing.components):
            # Too few distinct rows were drawn for as many components.
            continue
        problem = pose(engine, sample, whitening, contrast)
        start = [starting_rotation(whitening, unmixing.components, seed)]
        rotations, _, _ = restart_many(problem, start, tolerance=tolerance)
        found.append(rotations[0] @ whitening.matrix)
    return found


def stability_of(unmixing: Unmixing, found: list[Float]) -> Stability:
    """Match every repetition by signed permutation, and compare within and between matches."""
    reference = unmixing.components
    k = len(reference)
    # Correlations on the rows the reference is white on, so no pass is needed.
    matched = np.empty((len(found), k, reference.shape[1]))
    similarity = np.empty((len(found), k))
    for number, components in enumerate(found):
        correlation = np.abs(correlated(reference, components, unmixing.mixing))
        ours, theirs = scipy.optimize.linear_sum_assignment(correlation, maximize=True)
        matched[number, ours] = components[theirs]
        similarity[number, ours] = correlation[ours, theirs]
    everything = np.concatenate([reference[None], matched]).transpose(1, 0, 2)
    size = everything.shape[1]
    flat = everything.reshape(k * size, -1)
    between = np.abs(correlated(flat, flat, unmixing.mixing)).reshape(k, size, k, size)
    index = np.empty(k)
    for i in range(k):
        inside = between[i, :, i, :]
        own = (inside.sum() - np.trace(inside)) / max(size * (size - 1), 1)
        others = (between[i].sum() - inside.sum()) / max(size * (k - 1) * size, 1)
        index[i] = own - others
    return Stability(index=index, similarity=similarity)


def correlated(first: Float, second: Float, mixing: Float) -> Float:
    """Correlate components over rows whose covariance is ``mixing @ mixing.T``."""
    a, b = first @ mixing, second @ mixing
    a /= np.maximum(np.linalg.norm(a, axis=1, keepdims=True), 1e-300)
    b /= np.maximum(np.linalg.norm(b, axis=1, keepdims=True), 1e-300)
    correlation: Float = a @ b.T
    return correlation
