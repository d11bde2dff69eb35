"""Bottlenecks with quantised latents: VQ-VAE and QLAE."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from upto.core import InputError
from upto_studies.train.images.base import Bottled, Bottleneck

CODE_SIZE = 64
"""Width of an embedding of VQ-VAE."""


class Quantised(Bottleneck):
    """Quantised latents: encoder outputs are replaced by the nearest code; indices are scored.

    The decoder's gradient passes straight through to the encoder; the learned values are trained by
    their own loss, without which they would never change.

    Parameters
    ----------
    n_latents
        Number of latents.
    size
        Width of a latent.
    n_codes
        Number of learned values per latent.
    quantisation, commitment
        Weights of the mean squared distance for the learned values and for the encoder.
    """

    is_discrete = True

    def __init__(
        self, *, n_latents: int, size: int, n_codes: int, quantisation: float, commitment: float
    ) -> None:
        super().__init__(n_latents=n_latents, n_hidden=n_latents * size, n_inputs=n_latents * size)
        self.n_codes = n_codes
        self.quantisation = quantisation
        self.commitment = commitment

    def bottled(self, hidden: Any, share: Any, generator: Any) -> Bottled:
        """Return the nearest learned values, and the penalty on their distance."""
        learned = self.looked_up(self.scored(hidden))
        quantisation = (hidden.detach() - learned).square().mean()
        commitment = (hidden - learned.detach()).square().mean()
        penalty = self.quantisation * quantisation + self.commitment * commitment
        # In this order the values equal the learned ones bit for bit.
        inputs = learned.detach() + (hidden - hidden.detach())
        terms = {"quantisation": quantisation.detach(), "commitment": commitment.detach()}
        return Bottled(inputs, penalty, terms)

    def inputs(self, latents: Any) -> Any:
        """Return the learned values of indices.

        Raises
        ------
        InputError
            If they are not indices of codes.
        """
        if latents.is_floating_point():
            message = "codes are indices: pass integers, not fractions."
            raise InputError(message)
        if latents.numel():
            lowest, highest = (int(each) for each in latents.aminmax())
            if lowest < 0 or highest >= self.n_codes:
                message = (
                    f"codes range from {lowest} to {highest}, but a latent has {self.n_codes}: "
                    f"choose from 0 to {self.n_codes - 1}."
                )
                raise InputError(message)
        return self.looked_up(latents)

    @abstractmethod
    def looked_up(self, indices: Any) -> Any:
        """Return the learned values of indices: images × inputs, with gradients."""


class VectorQuantised(Quantised):
    """Latents sharing one codebook (van den Oord et al. 2017, as in Hsu et al. 2023).

    Parameters
    ----------
    n_latents
        Number of latents.
    n_codes
        Number of embeddings.
    commitment
        Weight of the loss of the encoder; the loss of the embeddings has weight 1.
    code_size
        Width of an embedding.
    """

    def __init__(
        self, *, n_latents: int, n_codes: int, commitment: float, code_size: int = CODE_SIZE
    ) -> None:
        super().__init__(
            n_latents=n_latents,
            size=code_size,
            n_codes=n_codes,
            quantisation=1.0,
            commitment=commitment,
        )
        limit = math.sqrt(3 / code_size)
        self.embeddings = nn.Parameter(torch.empty(n_codes, code_size).uniform_(-limit, limit))

    def scored(self, hidden: Any) -> Any:
        """Return the index of the nearest embedding of each latent."""
        embeddings = self.embeddings.detach()
        values = hidden.detach().unflatten(1, (self.n_latents, -1))
        # The squared norm of the values is constant over embeddings.
        return (embeddings.square().sum(dim=1) - 2 * values @ embeddings.T).argmin(dim=2)

    def looked_up(self, indices: Any) -> Any:
        """Return the concatenated embeddings of indices."""
        return functional.embedding(indices, self.embeddings).flatten(1)

    def own_parameters(self) -> list[Any]:
        """Return the embeddings."""
        return [self.embeddings]


class LatentQuantised(Quantised):
    """Latents with a few learned values each (Hsu et al. 2023).

    Parameters
    ----------
    n_latents
        Number of latents.
    n_codes
        Number of values per latent, initially from -1/2 to 1/2 in equal steps.
    strength
        Weight of both losses.
    """

    def __init__(self, *, n_latents: int, n_codes: int, strength: float) -> None:
        super().__init__(
            n_latents=n_latents,
            size=1,
            n_codes=n_codes,
            quantisation=strength,
            commitment=strength,
        )
        self.codebook = nn.Parameter(torch.linspace(-0.5, 0.5, n_codes).repeat(n_latents, 1))

    def scored(self, hidden: Any) -> Any:
        """Return the index of the nearest value of each latent."""
        return (hidden.detach()[:, :, None] - self.codebook.detach()).abs().argmin(dim=2)

    def looked_up(self, indices: Any) -> Any:
        """Return the values of indices.

        They are selected by a matrix product, whose gradient is summed in a fixed order.
        """
        positions = torch.arange(self.n_codes, device=indices.device)
        chosen = (indices[:, :, None] == positions).to(self.codebook.dtype)
        return (chosen * self.codebook).sum(dim=2)

    def own_parameters(self) -> list[Any]:
        """Return the values."""
        return [self.codebook]
