"""Autoencoders whose code has facets, each with a mixture of its own (MFCVAE).

The networks are ladders (Falck et al. 2021): the encoder gives off one facet after each layer, the
deepest last, and the decoder merges them in reverse.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError, random_stream
from upto.engines.device_rows import load_torch
from upto_studies.train.mixtures.components import VARIANCE_FLOOR, log_densities

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto_studies.train.networks import Parameters

FIRST_VARIANCE = 0.01
"""Variance of every coordinate of a component before the training."""

_RUNG_SHARE = 0.1
"""Factor of a facet where it is merged into what comes from the deeper ones."""
_SHARPNESS = 10.0
"""Sharpness of the softplus that keeps variances positive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetModel:
    """Shapes of a ladder; facets are in the order of their depth, the shallowest first.

    Parameters
    ----------
    n_inputs
        Number of inputs, probabilities from 0 to 1.
    dimensions
        Number of coordinates of each facet.
    n_clusters
        Number of components of each facet's mixture.
    encoder
        Width of each layer of the encoder; a facet follows each.
    rungs
        Width of the layer that each facet enters the decoder by.
    decoder
        Width of each layer of the decoder: of the one after a facet is merged.
    """

    n_inputs: int
    dimensions: tuple[int, ...] = (5, 5)
    n_clusters: tuple[int, ...] = (25, 25)
    encoder: tuple[int, ...] = (500, 2000)
    rungs: tuple[int, ...] = (500, 2000)
    decoder: tuple[int, ...] = (500, 500)

    def __post_init__(self) -> None:
        sizes = (self.dimensions, self.n_clusters, self.encoder, self.rungs, self.decoder)
        if len(set(map(len, sizes))) > 1 or not self.dimensions:
            message = (
                f"{', '.join(str(len(each)) for each in sizes)} values of dimensions, n_clusters, "
                "encoder, rungs and decoder: give one of each per facet."
            )
            raise InputError(message)
        if min(map(min, sizes)) < 1 or self.n_inputs < 1:
            message = "some widths or numbers of clusters are below 1: give positive ones."
            raise InputError(message)
        if self.rungs[:-1] != self.decoder[1:]:
            message = (
                f"rungs {list(self.rungs[:-1])} are added to decoder layers "
                f"{list(self.decoder[1:])}: give them the same widths."
            )
            raise InputError(message)

    @property
    def n_facets(self) -> int:
        """Number of facets."""
        return len(self.dimensions)

    @property
    def width(self) -> int:
        """Number of coordinates of all facets."""
        return sum(self.dimensions)

    def layers(self) -> dict[str, tuple[int, int]]:
        """Return the numbers of inputs and outputs of every layer, by name."""
        found = {}
        below = (self.n_inputs, *self.encoder)
        for facet, dimension in enumerate(self.dimensions):
            found[f"encoder.{facet}"] = (below[facet], self.encoder[facet])
            found[f"posterior.{facet}"] = (self.encoder[facet], 2 * dimension)
            found[f"rung.{facet}"] = (dimension, self.rungs[facet])
            found[f"decoder.{facet}"] = (self.rungs[facet], self.decoder[facet])
        return found | {"output": (self.decoder[0], self.n_inputs)}

    def initial(self, seeds: Sequence[int]) -> Parameters:
        """Draw the initial parameters of one member per seed, on the CPU.

        Weights and biases are uniform up to one over the root of the number of inputs, the default
        of torch. Means of components are zero until `facet_training` fits them.
        """
        torch = load_torch()
        parameters: Parameters = {}
        for name, (n_in, n_out) in self.layers().items():
            bound = 1.0 / math.sqrt(n_in)
            drawn = np.stack(
                [
                    random_stream(seed, "weights", name).uniform(-bound, bound, (n_in + 1, n_out))
                    for seed in seeds
                ]
            ).astype(np.float32)
            parameters[f"{name}.weight"] = torch.from_numpy(drawn[:, :-1].copy())
            parameters[f"{name}.bias"] = torch.from_numpy(drawn[:, -1:].copy())
        raw = math.log(math.expm1(_SHARPNESS * FIRST_VARIANCE)) / _SHARPNESS
        for facet, (count, width) in enumerate(zip(self.n_clusters, self.dimensions, strict=True)):
            shape = (len(seeds), count, width)
            parameters[f"prior.{facet}.logits"] = torch.zeros(shape[:2])
            parameters[f"prior.{facet}.means"] = torch.zeros(shape)
            parameters[f"prior.{facet}.raw"] = torch.full(shape, raw)
        return parameters

    def encode(self, parameters: Parameters, leaks: Any, rows: Any) -> list[tuple[Any, Any]]:
        """Return the mean and the log variance of each facet's posterior.

        Parameters
        ----------
        parameters
            Of all members.
        leaks
            Slope below zero of each member's rectifiers.
        rows
            Members × rows × inputs.
        """
        found = []
        for facet in range(self.n_facets):
            rows = _rectified(_affine(parameters, f"encoder.{facet}", rows), leaks)
            both = _affine(parameters, f"posterior.{facet}", rows)
            found.append(tuple(both.chunk(2, dim=-1)))
        return found

    def decode(
        self, parameters: Parameters, leaks: Any, codes: Sequence[Any], shares: Sequence[float]
    ) -> Any:
        """Return the logits of the inputs.

        Parameters
        ----------
        parameters, leaks
            As in `encode`.
        codes
            Members × rows × coordinates of each facet.
        shares
            How far each facet is faded in, from 0 to 1; the deepest always is.
        """
        rows = None
        for facet in reversed(range(self.n_facets)):
            rung = _rectified(_affine(parameters, f"rung.{facet}", codes[facet]), leaks)
            merged = rung if rows is None else rows + _RUNG_SHARE * shares[facet] * rung
            rows = _rectified(_affine(parameters, f"decoder.{facet}", merged), leaks)
        return _affine(parameters, "output", rows)

    def prior(self, parameters: Parameters, facet: int) -> tuple[Any, Any, Any]:
        """Return log weights, means and log variances of the components of a facet."""
        torch = load_torch()
        raw = parameters[f"prior.{facet}.raw"]
        variances = torch.nn.functional.softplus(raw, beta=_SHARPNESS) + VARIANCE_FLOOR
        weights = parameters[f"prior.{facet}.logits"].log_softmax(-1)
        return weights, parameters[f"prior.{facet}.means"], variances.log()

    def terms(
        self, parameters: Parameters, leaks: Any, rows: Any, noise: Any, shares: Sequence[float]
    ) -> tuple[Any, Any]:
        """Return the terms of the negative evidence bound for one draw of every code.

        Since q(c | x) is p(c | z) at the drawn z, the two divergences of a facet, of codes given
        clusters and of clusters, are together log q(z | x) - log p(z) with the clusters summed out.

        Parameters
        ----------
        parameters, leaks, rows, shares
            As in `encode` and `decode`.
        noise
            Standard normal draws, members × rows × coordinates of all facets.

        Returns
        -------
        tuple
            Reconstruction errors in nats, and divergences of the facets (before facets × members),
            means over rows.
        """
        torch = load_torch()
        codes, divergences = [], []
        for facet, (mean, log_variance) in enumerate(self.encode(parameters, leaks, rows)):
            start = sum(self.dimensions[:facet])
            drawn = noise[..., start : start + self.dimensions[facet]]
            code = mean + drawn * torch.exp(0.5 * log_variance)
            weights, means, log_variances = self.prior(parameters, facet)
            joint = log_densities(code, means, log_variances) + weights[:, None]
            own = -0.5 * (drawn.square() + log_variance + math.log(2.0 * math.pi)).sum(-1)
            divergences.append((own - joint.logsumexp(-1)).mean(1))
            codes.append(code)
        logits = self.decode(parameters, leaks, codes, shares)
        errors = torch.nn.functional.binary_cross_entropy_with_logits(
            logits, rows.expand_as(logits), reduction="none"
        )
        return errors.sum(-1).mean(1), torch.stack(divergences)


def _affine(parameters: Parameters, name: str, rows: Any) -> Any:
    torch = load_torch()
    return torch.baddbmm(parameters[f"{name}.bias"], rows, parameters[f"{name}.weight"])


def _rectified(rows: Any, leaks: Any) -> Any:
    # Members take the place of channels, each with its own slope.
    return load_torch().nn.functional.prelu(rows[None], leaks)[0]
