"""Models of one law of x, searched for from many starts: scalar latents and bent decoders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize

from upto.core.array_types import Float
from upto.measures import Mixture, affine_l2_distance
from upto.theory import PiecewiseNetwork
from upto_studies.population_curves import Parts, Population, population_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from upto_studies.mixture_models import Prior

KINDS = ("injective", "flat", "zigzag", "fold")
"""Bends of a scalar decoder: F4, F3, F2 and none of them hold."""

STARTS = ("drawn", "mirrored", "disturbed")
"""Kinds of starts, by turns."""

_DIFFERENCE = 1e-6
_DISTURBANCE = 0.1
_DENSITY_STARTS = 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bent:
    """A model of a scalar latent: a decoder of three pieces and a mixture of two components.

    Parameters are three slopes, the left bend, the logarithm of the distance of the right one, the
    height at the left bend, the logarithm of the ratio of weights, two means and the logarithms of
    two deviations.
    """

    parameters: Float

    @property
    def parts(self) -> Parts:
        """The decoder and the mixture."""
        slopes, (left, gap, height), (ratio, *means), deviations = np.split(
            self.parameters, [3, 6, 9]
        )
        right = left + np.exp(gap)
        changes = np.diff(slopes)
        # The identity is t = max(t, 0) - max(-t, 0).
        network = PiecewiseNetwork(
            weights=(
                np.array([[1.0], [-1.0], [1.0], [1.0]]),
                np.array([[slopes[0], -slopes[0], *changes]]),
            ),
            biases=(
                np.array([-left, left, -left, -right]),
                np.array([height]),
            ),
        )
        share = 1.0 / (1.0 + np.exp(-ratio))
        prior = (
            np.array([share, 1.0 - share]),
            np.array(means)[:, None],
            np.exp(2.0 * deviations)[:, None],
        )
        return network, prior


def draw_bent(rng: np.random.Generator, kind: str) -> Bent:
    """Draw a model whose decoder bends, is flat, turns twice or folds between its components."""
    slopes = np.exp(rng.uniform(-0.5, 0.5, size=3))
    if kind == "flat":
        slopes[1] = 0.0
    elif kind == "zigzag":
        slopes[1] *= -0.7
    elif kind == "fold":
        slopes = np.array([-slopes[0], slopes[0], slopes[0]])
    means = np.array([-1.0, 1.0]) * rng.uniform(0.8, 2.0, size=2)
    return Bent(
        parameters=np.concatenate(
            [
                slopes,
                [rng.uniform(-0.5, 0.0), np.log(rng.uniform(0.5, 1.0)), 0.0],
                [rng.uniform(-0.8, 0.8), *means],
                np.log(rng.uniform(0.3, 0.9, size=2)),
            ]
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Search:
    """Fits to the law of one model from many starts.

    Parameters
    ----------
    truth
        The model.
    divergences
        Divergence of each fit from it, in nats.
    distances
        Distance of the priors up to an affine map, as by `affine_l2_distance`.
    """

    truth: Bent
    divergences: Float
    distances: Float

    def farthest(self, limit: float) -> float | None:
        """Return the largest distance of a fit with a divergence up to a limit; None if none is."""
        near = self.divergences <= limit
        return float(self.distances[near].max()) if near.any() else None


def search_fits(
    rng: np.random.Generator,
    truth: Bent,
    *,
    noise: float,
    n_starts: int,
    n_steps: int,
) -> Search:
    """Minimise the divergence over all parameters from random starts.

    Of three starts one is drawn, one is the truth with every number disturbed, and one is that with
    a component mirrored at the left bend, which is near a rival if there is one.

    Parameters
    ----------
    rng
        Random number generator.
    truth
        The model whose law is fitted.
    noise
        Standard deviation of the noise.
    n_starts, n_steps
        Number of starts, and of steps of BFGS from each.
    """
    population = population_of(truth.parts, noise=noise, step=0.9)
    divergences, distances = np.empty(n_starts), np.empty(n_starts)
    for number in range(n_starts):
        found = minimize(
            _with_gradient(population),
            _start(rng, truth, STARTS[number % len(STARTS)]),
            jac=True,
            method="L-BFGS-B",
            bounds=_bounds(),
            options={"maxiter": n_steps, "ftol": 1e-14, "gtol": 1e-9},
        )
        divergences[number] = found.fun
        distances[number] = prior_distance_up_to_affine(
            truth.parts[1], Bent(parameters=found.x).parts[1]
        )
    return Search(truth=truth, divergences=divergences, distances=distances)


def prior_distance_up_to_affine(first: Prior, second: Prior) -> float:
    """Return the L2 distance of the densities of two scalar mixtures up to an affine map."""
    mixtures = [
        Mixture(weights=weights, means=means, covariances=variances[:, :, None])
        for weights, means, variances in (first, second)
    ]
    return affine_l2_distance(*mixtures, n_starts=_DENSITY_STARTS)


def _start(rng: np.random.Generator, truth: Bent, kind: str) -> Float:
    if kind == "drawn":
        drawn = draw_bent(rng, "injective").parameters
        drawn[:3] *= rng.choice([-1.0, 1.0], size=3)
        return drawn
    start = truth.parameters.copy()
    if kind == "mirrored":
        chosen = 7 + int(rng.integers(2))
        start[chosen] = 2.0 * start[3] - start[chosen]
    disturbed: Float = start + _DISTURBANCE * rng.normal(size=len(start))
    return disturbed


def _bounds() -> list[tuple[float, float]]:
    """Return limits that keep the numbers finite and leave every law of interest inside."""
    limits = [5.0] * 3 + [5.0, 3.0, 10.0] + [4.0, 8.0, 8.0] + [3.0] * 2
    return [(-each, each) for each in limits]


def _with_gradient(population: Population) -> Callable[[Float], tuple[float, Float]]:
    def evaluated(place: Float) -> tuple[float, Float]:
        steps = _DIFFERENCE * np.eye(len(place))
        places = np.vstack([place, place + steps, place - steps])
        found = population.divergences([Bent(parameters=each).parts for each in places])
        ahead, behind = np.split(found[1:], 2)
        gradient: Float = (ahead - behind) / (2.0 * _DIFFERENCE)
        return float(found[0]), gradient

    return evaluated
