"""A planted mixture of normal latents, seen through an injective piecewise affine decoder."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from upto.core import random_stream
from upto.core.array_types import Float

_NARROW, _WIDE = 0.3, 1.0
"""Range of the standard deviations of a latent within a component."""
_UNIT_ROWS = 20_000
"""Rows that set the units of the inputs."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Drawn:
    """Rows with the latents and components they come from."""

    rows: NDArray[np.float32]
    latents: Float
    labels: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PlantedMixture:
    """The truth: a mixture with diagonal covariances, and a chain of leaky layers.

    Every layer has orthonormal columns and a leak, so the decoder is injective. Standard deviations
    differ between components in every latent, so latents are identified up to permutation, scales
    and shifts (P2 of Kivva et al. 2022).

    Parameters
    ----------
    means, deviations
        Of each component: components × latents.
    weights, biases
        Of each layer of the decoder.
    leak
        Slope of the rectifiers below zero.
    centre, scale
        Mean of the inputs and one common scale, which give them variance one on average.
    noise
        Standard deviation of the noise of the inputs.
    """

    means: Float
    deviations: Float
    weights: tuple[Float, ...]
    biases: tuple[Float, ...]
    leak: float
    centre: Float
    scale: float
    noise: float

    def draw(self, count: int, *, seed: int, purpose: str) -> Drawn:
        """Draw rows; components are equally probable."""
        stream = random_stream(seed, "planted rows", purpose)
        labels = stream.integers(len(self.means), size=count)
        shape = (count, self.means.shape[1])
        latents = self.means[labels] + self.deviations[labels] * stream.standard_normal(shape)
        rows = self.decode(latents)
        rows = rows + self.noise * stream.standard_normal(rows.shape)
        return Drawn(rows=rows.astype(np.float32), latents=latents, labels=labels)

    def decode(self, latents: Float) -> Float:
        """Return the inputs of latents, without noise."""
        return (_chained(latents, self.weights, self.biases, self.leak) - self.centre) / self.scale


def draw_planted(
    *,
    n_latents: int,
    n_components: int,
    n_inputs: int,
    n_layers: int,
    separation: float,
    leak: float,
    noise: float,
    seed: int,
) -> PlantedMixture:
    """Draw a mixture and a decoder.

    Parameters
    ----------
    n_latents, n_components, n_inputs
        Numbers of latents, of components and of coordinates of a row.
    n_layers
        Layers of the decoder.
    separation
        Standard deviation of the means of components.
    leak
        Slope of the rectifiers below zero; positive, so that the decoder is injective.
    noise
        Standard deviation of the noise of the inputs, whose variance is one.
    seed
        Seed of the draw.
    """
    stream = random_stream(seed, "planted mixture")
    shape = (n_components, n_latents)
    means = separation * stream.standard_normal(shape)
    deviations = np.exp(stream.uniform(np.log(_NARROW), np.log(_WIDE), shape))
    widths = (n_latents, *[n_inputs] * n_layers)
    weights = tuple(np.linalg.qr(stream.standard_normal((b, a)))[0].T for a, b in pairwise(widths))
    biases = tuple(stream.standard_normal((each.shape[1],)) for each in weights)
    chosen = stream.integers(n_components, size=_UNIT_ROWS)
    drawn = means[chosen] + deviations[chosen] * stream.standard_normal((_UNIT_ROWS, n_latents))
    made = _chained(drawn, weights, biases, leak)
    return PlantedMixture(
        means=means,
        deviations=deviations,
        weights=weights,
        biases=biases,
        leak=leak,
        centre=made.mean(axis=0),
        scale=float(np.sqrt(made.var(axis=0).mean())),
        noise=noise,
    )


def _chained(
    rows: Float, weights: tuple[Float, ...], biases: tuple[Float, ...], leak: float
) -> Float:
    for number, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        rows = rows @ weight + bias
        if number < len(weights) - 1:
            rows = np.where(rows > 0, rows, leak * rows)
    return rows
