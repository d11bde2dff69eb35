"""Likelihood of a population along one parameter at a time, and its minimisers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize_scalar

from upto.core.array_types import Float
from upto.theory import PiecewiseNetwork, mixture_likelihoods
from upto_studies.mixture_models import Prior

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto_studies.mixture_models import MixtureModel

Parts = tuple[PiecewiseNetwork, Prior]
"""A decoder and a mixture: weights, means and variances."""

_FAR = 6.5
_NOISES = 7.0
_LEAST = 1e-11
"""Share of the highest density below which points of the grid are left out."""
_PROBES = 201
_TIED = 1e-12
"""Difference of divergences, in nats, that rounding can cause."""
_LEVEL = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Population:
    """The law of x on a grid.

    Parameters
    ----------
    rows
        Points of the grid.
    masses
        Their probabilities, which sum to one.
    logs
        Logarithms of the true density there.
    total
        Sum over the grid before it was made one: how exact the grid is.
    noise, n_nodes
        Standard deviation of the noise, and quadrature points for two latents.
    """

    rows: Float
    masses: Float
    logs: Float
    total: float
    noise: float
    n_nodes: int

    def divergences(self, models: Sequence[Parts]) -> Float:
        """Return the Kullback-Leibler divergence of each model from the truth, in nats.

        It is the negative log-likelihood of the population, minus its entropy.
        """
        found = logs_by_nodes(models, self.rows, noise=self.noise, n_nodes=self.n_nodes)
        divergences: Float = (self.logs - found) @ self.masses
        return divergences


def logs_by_nodes(models: Sequence[Parts], rows: Float, *, noise: float, n_nodes: int) -> Float:
    """Return log densities by a fixed number of nodes, whose errors are where rows have no mass."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "densities (may be|of .*) wrong", UserWarning)
        return mixture_likelihoods(models, rows, noise=noise, n_nodes=n_nodes)


def population_of(model: Parts, *, noise: float, step: float, n_nodes: int = 1) -> Population:
    """Return the law of x of a model on a grid whose points are `step` noises apart."""
    low, high = _image_box(*model)
    gap = step * noise
    axes = [
        np.arange(one - _NOISES * noise, two + _NOISES * noise + gap, gap)
        for one, two in zip(low, high, strict=True)
    ]
    rows = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    logs = logs_by_nodes([model], rows, noise=noise, n_nodes=n_nodes)[0]
    kept = logs > logs.max() + np.log(_LEAST)
    masses = np.exp(logs[kept]) * gap ** len(axes)
    return Population(
        rows=rows[kept],
        masses=masses / masses.sum(),
        logs=logs[kept],
        total=float(masses.sum()),
        noise=noise,
        n_nodes=n_nodes,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """Divergence along one parameter, all others fixed.

    Parameters
    ----------
    kind
        Kind of the parameter.
    truth
        Its true value.
    height
        Divergence there.
    values, divergences
        The curve.
    minimiser, lowest
        Where the divergence is lowest, refined between the values, and how low.
    """

    kind: str
    truth: float
    height: float
    values: Float
    divergences: Float
    minimiser: float
    lowest: float

    @classmethod
    def from_numbers(cls, kind: str, numbers: Float) -> Curve:
        """Return the curve whose `numbers` these are."""
        truth, height, minimiser, lowest = numbers[:4].tolist()
        values, divergences = np.split(numbers[4:], 2)
        return cls(
            kind=kind,
            truth=truth,
            height=height,
            values=values,
            divergences=divergences,
            minimiser=minimiser,
            lowest=lowest,
        )

    @property
    def numbers(self) -> Float:
        """All numbers of the curve in a row, as kept in checkpoints."""
        single = [self.truth, self.height, self.minimiser, self.lowest]
        return np.concatenate([single, self.values, self.divergences])

    @property
    def distance(self) -> float:
        """Distance of the minimiser from the truth."""
        return abs(self.minimiser - self.truth)

    @property
    def is_lowest_at_truth(self) -> bool:
        """Whether no value has a lower divergence than the truth, up to rounding."""
        return self.height <= self.lowest + _TIED

    @property
    def flat_share(self) -> float:
        """Share of the values whose divergence is the lowest to nine digits."""
        return float((self.divergences <= self.lowest + _LEVEL).mean())

    @property
    def other_minima(self) -> Float:
        """Divergences of local minima on the grid, other than the lowest, above the lowest."""
        inner = self.divergences[1:-1]
        # Of a flat stretch, rounding would make many.
        deep = inner + _LEVEL
        is_local = (deep < self.divergences[:-2]) & (deep < self.divergences[2:])
        places = 1 + np.flatnonzero(is_local)
        step = self.values[1] - self.values[0]
        away = np.abs(self.values[places] - self.minimiser) > 1.5 * step
        found: Float = self.divergences[places][away] - self.lowest
        return found


def curve_along(
    population: Population, model: MixtureModel, number: int, offsets: Float, tolerance: float
) -> Curve:
    """Draw the divergence along one parameter and refine its lowest value.

    Parameters
    ----------
    population
        The truth.
    model
        The model whose parameter is varied.
    number
        Index of the parameter.
    offsets
        Differences from its value in `model` at which the curve is drawn, in order.
    tolerance
        How exactly the minimiser is found.
    """
    truth = float(model.parameters[number])
    values = truth + offsets
    height, *drawn = population.divergences(
        [model.parts, *(each.parts for each in model.along(number, values))]
    ).tolist()
    divergences = np.array(drawn)
    best = int(divergences.argmin())
    low, high = values[max(0, best - 1)], values[min(len(values) - 1, best + 1)]
    refined = minimize_scalar(
        lambda value: population.divergences(
            [each.parts for each in model.along(number, np.array([value]))]
        )[0],
        bounds=(low, high),
        method="bounded",
        options={"xatol": tolerance},
    )
    places = (float(values[best]), float(refined.x))
    heights = (float(divergences[best]), float(refined.fun))
    lower = int(heights[1] <= heights[0])
    return Curve(
        kind=model.shape.kinds[number],
        truth=truth,
        height=height,
        values=values,
        divergences=divergences,
        minimiser=places[lower],
        lowest=heights[lower],
    )


def _image_box(network: PiecewiseNetwork, prior: Prior) -> tuple[Float, Float]:
    """Return bounds of f at latents up to six and a half deviations from the means."""
    _, means, variances = prior
    width = means.shape[1]
    count = _PROBES if width == 1 else int(np.sqrt(_PROBES)) * 2 + 1
    probes = np.linspace(-_FAR, _FAR, count)
    grid = np.stack(np.meshgrid(*[probes] * width, indexing="ij"), axis=-1).reshape(-1, width)
    latents = means[:, None] + np.sqrt(variances)[:, None] * grid
    images = network(latents.reshape(-1, width))
    return images.min(axis=0), images.max(axis=0)
