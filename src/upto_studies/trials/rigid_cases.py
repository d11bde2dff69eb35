"""Cases for Theorem 1: stitched decoders of known constants, and hill-climbed near-isometries."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import pdist

from upto.alignment import fit_map, smallest_worst_error
from upto.core import Group, Promise
from upto.engines import choose_engine, cross_moments
from upto.simulate import draw_mixing
from upto.theory.changed_distances import isometry_constant
from upto.theory.rigid import (
    rigid_mean_promise,
    rigid_mean_promise_from_defect,
    rigid_promise,
    rigid_promise_from_defect,
)
from upto_studies.trials.case import Case

if TYPE_CHECKING:
    from upto.core.array_types import Float

# Maps of a ball onto itself have convex supports on both sides; the others are bi-Lipschitz on the
# whole space, which is also convex.
ROUND = ("radial", "twist", "spiral", "inversion")
EVERYWHERE = ("linear", "leaky", "wave", "radial", "spiral")
_NEEDS_TWO = {"twist", "spiral", "wave"}


def stitched_cases(
    rng: np.random.Generator, count: int, dimensions: list[int], *, steps: int = 8
) -> list[Case]:
    """Stitch pairs of decoders, and measure the best rigid motion between their latent rows.

    Each pair gives four cases: worst and root mean square error, bounded by the constants of the
    decoders and by the measured defect. Hill climbing moves the rows for some steps to increase the
    error relative to the bound.

    Parameters
    ----------
    rng
        Random number generator.
    count
        Number of pairs.
    dimensions
        Dimensions to alternate between.
    steps
        Steps of hill climbing.
    """
    cases = []
    for number in range(count):
        n = dimensions[number % len(dimensions)]
        family = ROUND if rng.random() < 0.5 else EVERYWHERE
        possible = [kind for kind in family if n > 1 or kind not in _NEEDS_TWO]
        kinds = [str(kind) for kind in rng.choice(possible, size=2)]
        excess = [float(each) for each in np.exp(rng.uniform(np.log(1e-4), np.log(3.0), size=2))]
        first, second = (
            draw_mixing(kind, n, lipschitz=each, seed=int(rng.integers(2**31)))
            for kind, each in zip(kinds, excess, strict=True)
        )
        rows = _rows(rng, n)
        images = second.inverse(first(rows))
        best = _spread(rows, images)
        for step in range(steps):
            moved = _into_ball(rows + 0.3 * 0.7**step * rng.normal(size=rows.shape) / np.sqrt(n))
            moved_images = second.inverse(first(moved))
            found = _spread(moved, moved_images)
            if found > best:
                best, rows, images = found, moved, moved_images
        cases += _measured(rows, images, "+".join(kinds), excess)
    return cases


def near_isometry_cases(
    rng: np.random.Generator, count: int, dimensions: list[int], *, steps: int = 150
) -> list[Case]:
    """Deform small sets of points and climb towards large errors relative to their defect.

    Points start on a line or in a flat and are lifted off it, which changes distances only in
    second order: the reason for the square root in Theorem 1. Others are folded or perturbed.

    Parameters
    ----------
    rng
        Random number generator.
    count
        Number of sets; each gives a case for the worst error, one for the root mean square, and one
        for a false control: the worst error with rate e instead of its square root.
    dimensions
        Dimensions to alternate between.
    steps
        Steps of hill climbing.
    """
    cases = []
    for position, n in enumerate(dimensions):
        share = count // len(dimensions) + (position < count % len(dimensions))
        if share == 0:
            continue
        kinds, points, images = _near_isometries(rng, share, n)
        best = _shares(points, images)
        scale = np.linalg.norm(points - images, axis=2).max(axis=1)[:, None, None]
        for step in range(steps):
            size = scale * 0.97**step
            moved = points + size * rng.normal(size=points.shape) * (rng.random() < 0.5)
            moved_images = images + size * rng.normal(size=images.shape)
            found = _shares(moved, moved_images)
            better = found > best
            points[better], images[better] = moved[better], moved_images[better]
            best[better] = found[better]
        for kind, rows, mapped in zip(kinds, points, images, strict=True):
            cases += _measured(rows, mapped, kind)
    return cases


def squared_errors(points: Float, images: Float) -> Float:
    """Return the squared error of every point after the best rigid motion, for a stack of sets."""
    x = points - points.mean(axis=1, keepdims=True)
    y = images - images.mean(axis=1, keepdims=True)
    left, _, right = np.linalg.svd(x.swapaxes(1, 2) @ y)
    errors: Float = np.square(y - x @ (left @ right)).sum(axis=2)
    return errors


def _spread(rows: Float, images: Float) -> float:
    """Return the worst error of the best fit over the diameter, proportional to its ratio."""
    return math.sqrt(squared_errors(rows[None], images[None]).max()) / float(pdist(rows).max())


def _measured(
    rows: Float, images: Float, kind: str, excess: list[float] | None = None
) -> list[Case]:
    """Fit the best rigid motion, and compare its errors with their bounds."""
    n = rows.shape[1]
    before, after = pdist(rows), pdist(images)
    width = float(before.max())
    # Distances, and so their changes, are known up to rounding.
    defect = max(float(np.abs(after - before).max()), 1e-12 * width)
    engine = choose_engine(None)
    weights = np.full(len(rows), 1.0 / len(rows))
    start = fit_map(Group.RIGID, cross_moments(engine, rows, images, weights, full=False))
    mean = float(np.sqrt(np.square(images - start.predict(rows)).sum(axis=1).mean()))
    worst = smallest_worst_error(
        Group.RIGID, rows, images, start, max_iterations=20, engine=engine
    ).worst
    bounds = {
        "near-isometry": rigid_promise_from_defect(defect, n_dimensions=n, diameter=width),
        "near-isometry-rms": rigid_mean_promise_from_defect(defect, n_dimensions=n, diameter=width),
    }
    if excess is None:
        bounds["control"] = _linear_rate(bounds["near-isometry"])
    else:
        first, second = excess
        bounds["theorem-1"] = rigid_promise(
            first, second_lipschitz=second, n_dimensions=n, diameter=width
        )
        bounds["theorem-1-rms"] = rigid_mean_promise(
            first, second_lipschitz=second, n_dimensions=n, diameter=width
        )
    return [
        Case(
            statement=statement,
            kind=kind,
            n_dimensions=n,
            measured=mean if statement.endswith("rms") else worst,
            bound=float(promise),
        )
        for statement, promise in bounds.items()
    ]


def _linear_rate(promise: Promise) -> Promise:
    """Return a false bound: points near a line can be moved off it at no first-order cost."""
    return replace(promise, value=float(promise) * math.sqrt(promise.constant("e")))


def _rows(rng: np.random.Generator, n: int) -> Float:
    """Draw few or many rows in the unit ball: uniform, on its surface, on a line or clustered."""
    kind = rng.choice(["ball", "sphere", "line", "few", "clumps"])
    size = n + 2 if kind == "few" else 40
    rows = rng.normal(size=(size, n))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    if kind in ("ball", "few"):
        rows *= rng.random(size=(size, 1)) ** (1.0 / n)
    elif kind == "line":
        rows = rng.uniform(-1.0, 1.0, size=(size, 1)) * rows[:1]
    elif kind == "clumps":
        rows = 0.9 * rows[rng.integers(3, size=size)] + 0.02 * rng.normal(size=(size, n))
    return _into_ball(rows)


def _into_ball(rows: Float) -> Float:
    inside: Float = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
    return inside


def _near_isometries(
    rng: np.random.Generator, count: int, n: int
) -> tuple[list[str], Float, Float]:
    """Draw sets of n + 2 points and their images."""
    size = n + 2
    points, images = np.empty((count, size, n)), np.empty((count, size, n))
    kinds = []
    for number in range(count):
        kind = ("lifted", "folded", "shaken")[number % 3]
        amount = float(np.exp(rng.uniform(np.log(1e-3), np.log(1.0))))
        flat = int(rng.integers(1, n)) if n > 1 and kind != "shaken" else n
        rows = np.zeros((size, n))
        rows[:, :flat] = rng.uniform(-1.0, 1.0, size=(size, flat))
        if kind == "lifted":
            mapped = rows.copy()
            mapped[:, flat:] += amount * rng.uniform(-1.0, 1.0, size=(size, n - flat))
        else:
            rows[:, flat:] += amount * rng.uniform(-1.0, 1.0, size=(size, n - flat))
            mapped = rows.copy()
            # Folding all points, or none, would be an isometry.
            over = rng.permutation(size) < rng.integers(1, size)
            mapped[over, flat:] *= -1.0
        if flat == n:
            # In one dimension points cannot be lifted.
            kind = "shaken"
            mapped = rows + amount * rng.uniform(-1.0, 1.0, size=rows.shape)
        points[number], images[number] = rows, mapped
        kinds.append(kind)
    return kinds, points, images


def _shares(points: Float, images: Float) -> Float:
    """Return the worst error as a share of its bound, for a stack of sets."""
    before, after = (
        np.linalg.norm(each[:, :, None] - each[:, None], axis=3) for each in (points, images)
    )
    width = before.max(axis=(1, 2))
    defect = np.abs(after - before).max(axis=(1, 2))
    bound = isometry_constant(points.shape[2], 0.0) * np.sqrt(defect * (width + defect / 2.0))
    worst = np.sqrt(squared_errors(points, images).max(axis=1))
    # Sets that are isometric up to rounding are uninformative.
    telling = defect > 1e-9 * width
    shares: Float = np.where(telling, worst / np.where(telling, bound, 1.0), 0.0)
    return shares
