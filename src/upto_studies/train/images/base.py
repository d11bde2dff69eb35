"""Interface of bottlenecks between encoder and decoder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from torch import nn


class Bottled(NamedTuple):
    """Output of a bottleneck for a batch.

    Parameters
    ----------
    inputs
        Inputs of the decoder: images × inputs.
    penalty
        Penalty added to the reconstruction loss per pixel.
    terms
        Terms of the penalty for the log, without gradients; the names never change.
    """

    inputs: Any
    penalty: Any
    terms: dict[str, Any]


class Bottleneck(nn.Module, ABC):
    """Latents between encoder and decoder, and their penalty; they define a model.

    Every step runs the same operations on the device, regardless of values, so that it can be
    captured as a CUDA graph; whatever the precision of the networks, this part uses at least
    float32.

    Parameters
    ----------
    n_latents
        Number of latents to score.
    n_hidden
        Number of encoder outputs.
    n_inputs
        Number of decoder inputs.
    """

    is_discrete = False
    """Whether the latents are indices."""

    def __init__(self, *, n_latents: int, n_hidden: int, n_inputs: int) -> None:
        super().__init__()
        self.n_latents = n_latents
        self.n_hidden = n_hidden
        self.n_inputs = n_inputs

    def forward(self, hidden: Any, *, share: Any, generator: Any) -> Bottled:
        """Return the decoder inputs in training, and the penalty.

        Parameters
        ----------
        hidden
            Encoder outputs: images × hidden values.
        share
            Fraction of the training that is done, a scalar tensor.
        generator
            Random number generator of all noise.
        """
        with torch.autocast(hidden.device.type, enabled=False):
            return self.bottled(_exact(hidden), share, generator)

    def latents(self, hidden: Any) -> Any:
        """Return the latents to score, without noise: images × latents."""
        with torch.autocast(hidden.device.type, enabled=False):
            return self.scored(_exact(hidden))

    @abstractmethod
    def bottled(self, hidden: Any, share: Any, generator: Any) -> Bottled:
        """Implement `forward` on values of sufficient precision."""

    def scored(self, hidden: Any) -> Any:
        """Implement `latents` on values of sufficient precision."""
        return hidden

    def inputs(self, latents: Any) -> Any:
        """Return the decoder inputs for given latents."""
        return latents

    def own_parameters(self) -> list[Any]:
        """Return the bottleneck parameters, which have neither decay nor clipped gradients."""
        return []

    def discriminator_parameters(self) -> list[Any]:
        """Return the parameters of a discriminator, which has its own optimiser."""
        return []


def _exact(hidden: Any) -> Any:
    return hidden.to(torch.promote_types(hidden.dtype, torch.float32))
