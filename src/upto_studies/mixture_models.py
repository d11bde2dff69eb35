"""Simulated deep mixture models as vectors of parameters: a ReLU decoder and a Gaussian mixture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from upto.core.array_types import Float
from upto.theory import PiecewiseNetwork

if TYPE_CHECKING:
    from collections.abc import Iterator

Prior = tuple[Float, Float, Float]

MIXTURE = ("mixture weight", "mean", "deviation")
"""Kinds of parameters of the mixture; all others are of the decoder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Sizes of a model: one hidden layer of ReLUs, components with independent coordinates."""

    n_latents: int
    n_hidden: int
    n_outputs: int
    n_components: int

    @property
    def blocks(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the parameters by kind, in the order of the vector."""
        return {
            "weight of layer 1": (self.n_hidden, self.n_latents),
            "bias of layer 1": (self.n_hidden,),
            "weight of layer 2": (self.n_outputs, self.n_hidden),
            "bias of layer 2": (self.n_outputs,),
            "mixture weight": (self.n_components - 1,),
            "mean": (self.n_components, self.n_latents),
            "deviation": (self.n_components, self.n_latents),
        }

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kind of each parameter."""
        sizes = {kind: int(np.prod(shape)) for kind, shape in self.blocks.items()}
        return tuple(kind for kind, size in sizes.items() for _ in range(size))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MixtureModel:
    """A model by its parameters.

    Weights of the mixture are logarithms of their ratios to the last one, and deviations are
    logarithms, so every vector is a model.
    """

    shape: Shape
    parameters: Float

    @property
    def parts(self) -> tuple[PiecewiseNetwork, Prior]:
        """The decoder and the mixture: weights, means and variances."""
        found, start = [], 0
        for shape in self.shape.blocks.values():
            size = int(np.prod(shape))
            found.append(self.parameters[start : start + size].reshape(shape))
            start += size
        first, offset, second, shift, ratios, means, deviations = found
        network = PiecewiseNetwork(weights=(first, second), biases=(offset, shift))
        logs = np.append(ratios, 0.0)
        weights = np.exp(logs - logs.max())
        return network, (weights / weights.sum(), means, np.exp(2.0 * deviations))

    @property
    def network(self) -> PiecewiseNetwork:
        """The decoder."""
        return self.parts[0]

    @property
    def prior(self) -> Prior:
        """Weights, means and variances of the mixture."""
        return self.parts[1]

    def along(self, number: int, values: Float) -> Iterator[MixtureModel]:
        """Yield the model with other values of one parameter."""
        for value in values:
            changed = self.parameters.copy()
            changed[number] = value
            yield replace(self, parameters=changed)

    def with_prior(self, prior: Prior) -> MixtureModel:
        """Return the decoder with another mixture, of any number of components."""
        weights, means, variances = prior
        n_decoder = sum(kind not in MIXTURE for kind in self.shape.kinds)
        return MixtureModel(
            shape=replace(self.shape, n_components=len(weights)),
            parameters=np.concatenate(
                [
                    self.parameters[:n_decoder],
                    np.log(weights[:-1] / weights[-1]),
                    means.ravel(),
                    0.5 * np.log(variances).ravel(),
                ]
            ),
        )


def draw_mixture_model(rng: np.random.Generator, shape: Shape) -> MixtureModel:
    """Draw standard normal weights and biases, and a mixture of distinct components.

    Means are at random distances from 1 to 2 along the first coordinate and normal along others,
    deviations are from 0.3 to 1, and no weight of the mixture is below a tenth.
    """
    blocks = shape.blocks
    decoder = [rng.normal(size=blocks[kind]).ravel() for kind in blocks if kind not in MIXTURE]
    count = shape.n_components
    means = rng.normal(size=(count, shape.n_latents))
    means[:, 0] = np.cumsum(rng.uniform(1.0, 2.0, size=count))
    means[:, 0] -= means[:, 0].mean()
    weights = 0.1 + (1.0 - 0.1 * count) * rng.dirichlet(np.full(count, 3.0))
    deviations = rng.uniform(0.3, 1.0, size=(count, shape.n_latents))
    empty = MixtureModel(shape=shape, parameters=np.concatenate(decoder))
    return empty.with_prior((weights, means, deviations**2))


def with_twins(model: MixtureModel) -> MixtureModel:
    """Return a model of the same law with one component too many: the heaviest one is two."""
    weights, means, variances = model.prior
    heaviest = int(weights.argmax())
    chosen = np.append(np.arange(len(weights)), heaviest)
    shares = weights[chosen]
    shares[[heaviest, -1]] /= 2.0
    return model.with_prior((shares, means[chosen], variances[chosen]))


def with_one_fewer(model: MixtureModel) -> MixtureModel:
    """Return a model with one component too few: the two nearest are one, of their moments."""
    weights, means, variances = model.prior
    apart = ((means[:, None] - means) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    pair = list(np.unravel_index(apart.argmin(), apart.shape))
    others = [number for number in range(len(weights)) if number not in pair]
    shares = weights[pair] / weights[pair].sum()
    centre = shares @ means[pair]
    spread = shares @ (variances[pair] + (means[pair] - centre) ** 2)
    return model.with_prior(
        (
            np.append(weights[others], weights[pair].sum()),
            np.vstack([means[others], centre]),
            np.vstack([variances[others], spread]),
        )
    )
