"""Cases for bi-Lipschitz constants: Appendices A.4 to A.6 and certified networks.

A constant Λ is one at best, so its excess Λ - 1 is compared.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from upto.core import Group
from upto.simulate import Mixing, linear_mixing, radial_warp
from upto.simulate.sprites import draw_sprites, flat_coordinates, geodesic_distances
from upto.theory.isometry import lipschitz_from_isometry
from upto.theory.networks import certify_network
from upto.theory.sprites import Scaling, conformal_factor, sprite_promise
from upto.theory.structure import statistical_from_structural
from upto.theory.trials.case import Case
from upto.theory.trials.white import linear_maps

Float = NDArray[np.float64]


def isometry_cases(rng: np.random.Generator, count: int, dimensions: list[int]) -> list[Case]:
    """Stretch pairs of points by maps with singular values between 1 - δ and 1 + δ: Appendix A.4.

    Parameters
    ----------
    rng
        Generator of everything random.
    count
        How many maps.
    dimensions
        Dimensions to take in turn.
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
            # Along a ray the stretch of this warp is between 1 - δ and 1 + δ, and reaches both.
            mixing = radial_warp(d, lipschitz=deviation / (1.0 - deviation))
            ends = rng.normal(size=(40, d))
            ends /= np.linalg.norm(ends, axis=1, keepdims=True)
            points = rng.uniform(0.0, 1.0, size=(40, 1)) * ends
        step = 0.01
        stretch = np.linalg.norm(mixing(points + step * ends) - mixing(points), axis=1) / step
        promise = lipschitz_from_isometry(deviation)
        for statement, bound in (
            ("appendix-a4", float(promise)),
            ("appendix-a4-paper", promise.constant("Λ of the paper")),
        ):
            cases.append(
                Case(
                    statement=statement,
                    kind="linear" if is_linear else "radial",
                    n_dimensions=d,
                    measured=_excess(stretch),
                    bound=bound - 1.0,
                )
            )
    return cases


def shared_structure_cases(
    rng: np.random.Generator, count: int, dimensions: list[int]
) -> list[Case]:
    """Put pairs of runs near one structure, on opposite sides: Appendix A.5.

    Parameters
    ----------
    rng, count, dimensions
        As for `isometry_cases`.
    """
    cases = []
    for number in range(count):
        d = dimensions[number % len(dimensions)]
        sources = rng.uniform(-1.0, 1.0, size=(30, d))
        is_rigid = number % 2 == 0
        maps, _ = linear_maps(rng, 2, d)
        if is_rigid:
            maps, _ = np.linalg.qr(maps)
        # Each run is what its map takes to the sources, but for an error of one length.
        error = float(np.exp(rng.uniform(np.log(1e-3), np.log(1.0))))
        first, second = rng.normal(size=(2, 30, d))
        if rng.random() < 0.5:
            second = -first
        shifts = [
            error * each / np.linalg.norm(each, axis=1, keepdims=True) for each in (first, second)
        ]
        inverse = np.linalg.inv(maps[0])
        runs = [(sources + shifts[0]) @ inverse, (sources + shifts[1]) @ np.linalg.inv(maps[1])]
        distance = np.linalg.norm(runs[0] - runs[1] @ maps[1] @ inverse, axis=1).max()
        promise = statistical_from_structural(
            error,
            largest_norm=float(np.linalg.norm(inverse, 2)),
            up_to=Group.RIGID if is_rigid else Group.AFFINE,
        )
        cases.append(
            Case(
                statement="appendix-a5",
                kind="rigid" if is_rigid else "linear",
                n_dimensions=d,
                measured=float(distance),
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
        As for `isometry_cases`.
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
    """Compare distances between images of squares, along their surface, with latent ones: A.6.

    Parameters
    ----------
    rng
        Generator of everything random.
    count
        How many ranges of half sides.
    """
    cases = []
    for _ in range(count):
        low = float(rng.uniform(0.02, 0.4))
        high = float(rng.uniform(1.1 * low, 0.45))
        sprites = draw_sprites(20, smallest=low, largest=high, seed=int(rng.integers(2**31)))
        # Squares of the extreme sizes attain the constant.
        sprites[:4, 1], sprites[4:8, 1] = low, high
        flat = flat_coordinates(sprites)
        latent = np.linalg.norm(flat[:, None] - flat[None], axis=2)
        pairs = np.triu_indices(len(sprites), 1)
        far = latent[pairs] > 1e-3
        along = geodesic_distances(sprites, smallest=low)[pairs][far] / latent[pairs][far]
        middle = np.sqrt(conformal_factor(low) * conformal_factor(high))
        scalings: tuple[tuple[str, float, Scaling], ...] = (
            ("appendix-a6", middle, "centred"),
            ("appendix-a6-smallest", conformal_factor(low), "smallest"),
            ("appendix-a6-bare", 1.0, "none"),
        )
        for statement, scale, scaling in scalings:
            promise = sprite_promise(low, high, scaling=scaling)
            cases.append(
                Case(
                    statement=statement,
                    kind="squares",
                    n_dimensions=2,
                    measured=_excess(along / scale),
                    bound=float(promise) - 1.0,
                )
            )
    return cases


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
