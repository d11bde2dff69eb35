"""Cases for bi-Lipschitz constants: Appendices A.4 to A.6 and certified networks.

A constant Λ is at least one, so its excess Λ - 1 is compared.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.alignment import fit_map, smallest_worst_error
from upto.core import Group
from upto.engines import choose_engine, cross_moments
from upto.simulate import Mixing, linear_mixing, radial_warp
from upto.theory.isometry import lipschitz_from_isometry
from upto.theory.leaky_networks import certify_network
from upto.theory.sprite_surface import Scaling, conformal_factor, sprite_promise
from upto.theory.structural import statistical_from_structural
from upto_studies.scenes import draw_sprites, flat_coordinates, image_distances, smoothing_constant
from upto_studies.trials.case import Case
from upto_studies.trials.white import linear_maps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core.array_types import Float

_SMOOTHING = 0.002
_IMAGE_ACCURACY = 1e-3
"""Relative accuracy of an excess: chords are shorter than arcs, and differences are rounded."""


def isometry_cases(rng: np.random.Generator, count: int, dimensions: list[int]) -> list[Case]:
    """Stretch pairs of points by maps with singular values between 1 - δ and 1 + δ: Appendix A.4.

    Parameters
    ----------
    rng
        Random number generator.
    count
        Number of maps.
    dimensions
        Dimensions to alternate between.
    """
    cases = []
    for number in range(count):
        d = dimensions[number % len(dimensions)]
        deviation = float(rng.uniform(0.001, 0.95))
        is_linear = number % 2 == 0
        mixing: Mixing
        if is_linear:
            values = rng.uniform(1.0 - deviation, 1.0 + deviation, size=d)
            values[rng.integers(d)] = 1.0 - deviation if rng.random() < 0.5 else 1.0 + deviation
            mixing = linear_mixing(values.tolist(), seed=int(rng.integers(2**31)))
            ends = np.linalg.svd(mixing.jacobian(np.zeros((1, d)))[0].T)[0].T
            points = rng.normal(size=(d, d))
        else:
            # Along a ray the stretch of this warp ranges from 1 - δ to 1 + δ and attains both.
            mixing = radial_warp(d, lipschitz=deviation / (1.0 - deviation))
            ends = rng.normal(size=(40, d))
            ends /= np.linalg.norm(ends, axis=1, keepdims=True)
            points = rng.uniform(0.0, 1.0, size=(40, 1)) * ends
        step = 0.01
        stretch = np.linalg.norm(mixing(points + step * ends) - mixing(points), axis=1) / step
        cases.append(
            Case(
                statement="appendix-a4",
                kind="linear" if is_linear else "radial",
                n_dimensions=d,
                measured=_excess(stretch),
                bound=float(lipschitz_from_isometry(deviation)) - 1.0,
            )
        )
    return cases


def shared_structure_cases(
    rng: np.random.Generator, count: int, dimensions: list[int]
) -> list[Case]:
    """Place pairs of runs near one structure, and search for a map between them: Appendix A.5.

    The search uses only the two runs, not the maps and errors that generated them. The measured
    value is a proven lower bound on the error of any map.

    Parameters
    ----------
    rng, count, dimensions
        See `isometry_cases`.
    """
    cases = []
    engine = choose_engine(None)
    for number in range(count):
        d = dimensions[number % len(dimensions)]
        # Too few parameters per row for a fit to absorb the errors.
        size = 40 * (d + 1)
        sources = rng.uniform(-1.0, 1.0, size=(size, d))
        is_rigid = number % 2 == 0
        group = Group.RIGID if is_rigid else Group.AFFINE
        maps, _ = linear_maps(rng, 2, d)
        if is_rigid:
            maps, _ = np.linalg.qr(maps)
        # Each map takes its run to the sources, up to an error of fixed length.
        error = float(np.exp(rng.uniform(np.log(1e-3), np.log(1.0))))
        first, second = rng.normal(size=(2, size, d))
        if rng.random() < 0.5:
            second = -first
        shifts = [
            error * each / np.linalg.norm(each, axis=1, keepdims=True) for each in (first, second)
        ]
        inverse = np.linalg.inv(maps[0])
        runs = [(sources + shifts[0]) @ inverse, (sources + shifts[1]) @ np.linalg.inv(maps[1])]
        weights = np.full(size, 1.0 / size)
        start = fit_map(group, cross_moments(engine, runs[1], runs[0], weights, full=False))
        found = smallest_worst_error(
            group, runs[1], runs[0], start, max_iterations=20, engine=engine
        )
        promise = statistical_from_structural(
            error, largest_norm=float(np.linalg.norm(inverse, 2)), up_to=group
        )
        cases.append(
            Case(
                statement="appendix-a5",
                kind="rigid" if is_rigid else "linear",
                n_dimensions=d,
                measured=found.bound,
                bound=float(promise),
            )
        )
    return cases


def network_cases(rng: np.random.Generator, count: int, dimensions: list[int]) -> list[Case]:
    """Measure how networks stretch at many points, and certify them from their weights.

    Biases push whole layers to one side of the kink, where the bound is attained.

    Parameters
    ----------
    rng, count, dimensions
        See `isometry_cases`.
    """
    cases = []
    for number in range(count):
        d = dimensions[number % len(dimensions)]
        n_layers = int(rng.integers(1, 5))
        widths = d + np.cumsum([0, *rng.integers(0, 4, size=n_layers)])
        kind = ("orthonormal", "near-orthonormal", "random")[int(rng.integers(3))]
        weights = [
            _weight(rng, int(after), int(before), kind) for before, after in pairwise(widths)
        ]
        leaks = np.exp(rng.uniform(np.log(0.02), 0.0, size=n_layers - 1))
        biases = [rng.normal(size=len(weight)) + 30.0 * rng.integers(-1, 2) for weight in weights]
        jacobians = np.broadcast_to(np.eye(d), (24, d, d))
        points = rng.normal(size=(24, d))
        for layer, weight in enumerate(weights):
            points, jacobians = points @ weight.T + biases[layer], weight @ jacobians
            if layer < len(leaks):
                slopes = np.where(points > 0.0, 1.0, leaks[layer])
                points, jacobians = slopes * points, slopes[:, :, None] * jacobians
        values = np.linalg.svd(jacobians, compute_uv=False)
        promise = certify_network(weights, leaks.tolist())
        scaled = float(np.sqrt(values.max() / values.min()))
        for statement, measured, bound in (
            ("network", _excess(values), float(promise) - 1.0),
            ("network-scaled", scaled - 1.0, promise.constant("Λ scaled") - 1.0),
        ):
            cases.append(
                Case(statement=statement, kind=kind, n_dimensions=d, measured=measured, bound=bound)
            )
    return cases


def sprite_cases(rng: np.random.Generator, count: int) -> list[Case]:
    """Measure distances of images of nearly equal squares: Appendix A.6.

    The bound applies to the limit of vanishing smoothing, and squared distances approach it
    linearly in the smoothing, so two smoothings give the limit.

    Parameters
    ----------
    rng
        Random number generator.
    count
        Number of ranges of half sides.
    """
    cases = []
    for _ in range(count):
        low = float(rng.uniform(0.02, 0.4))
        high = float(rng.uniform(1.1 * low, 0.45))
        sprites = draw_sprites(20, smallest=low, largest=high, seed=int(rng.integers(2**31)))
        # Squares of the extreme sizes attain the constant.
        sprites[:4, 1], sprites[4:8, 1] = low, high
        angles = rng.uniform(0.0, 2.0 * np.pi, size=len(sprites))
        stretch = _image_stretch(sprites, np.column_stack([np.cos(angles), np.sin(angles)]))
        middle = np.sqrt(conformal_factor(low) * conformal_factor(high))
        scalings: tuple[tuple[str, float, Scaling], ...] = (
            ("appendix-a6", middle, "centred"),
            ("appendix-a6-bare", 1.0, "none"),
        )
        for statement, scale, scaling in scalings:
            promise = sprite_promise(low, high, scaling=scaling)
            cases.append(
                Case(
                    statement=statement,
                    kind="squares",
                    n_dimensions=2,
                    measured=_excess(stretch / scale),
                    bound=float(promise) - 1.0,
                    accuracy=_IMAGE_ACCURACY,
                )
            )
    return cases


def _image_stretch(sprites: Float, directions: Float) -> Float:
    """Return the distances of images of squares for a small step in (p, √2·r)."""
    squares = []
    for sigma in (_SMOOTHING, _SMOOTHING / 2.0):
        step = sigma / 100.0
        shift = step / 2.0 * directions / flat_coordinates(np.ones((1, 2)))
        apart = np.array(
            [
                image_distances(before[None], after[None], sigma=sigma)[0, 0]
                for before, after in zip(sprites - shift, sprites + shift, strict=True)
            ]
        )
        squares.append(np.square(apart / step) / smoothing_constant(sigma))
    limit: Float = np.sqrt(2.0 * squares[1] - squares[0])
    return limit


def _weight(rng: np.random.Generator, rows: int, columns: int, kind: str) -> Float:
    if kind == "random":
        weight: Float = rng.normal(size=(rows, columns)) / np.sqrt(rows)
        return weight
    frame, _ = np.linalg.qr(rng.normal(size=(rows, columns)))
    if kind == "near-orthonormal":
        frame = frame * np.exp(rng.uniform(-0.2, 0.2, size=columns))
    return np.asarray(frame)


def _excess(stretch: NDArray[np.floating[Any]]) -> float:
    return float(max(stretch.max(), 1.0 / stretch.min())) - 1.0
