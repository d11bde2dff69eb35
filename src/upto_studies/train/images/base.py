"""What stands between encoder and decoder, as the training sees it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from torch import nn


class Bottled(NamedTuple):
    """What a bottleneck makes of a batch.

    Parameters
    ----------
    inputs
        What the decoder takes: images × inputs.
    penalty
        What is added to the mean over pixels of the reconstruction loss.
    terms
        What the penalty is made of, for the log, without gradients; the names never change.
    """

    inputs: Any
    penalty: Any
    terms: dict[str, Any]


class Bottleneck(nn.Module, ABC):
    """What makes a model what it is: the latents between encoder and decoder, and their price.

    Every step runs the same operations on the device, without a look at their values, so that a
    step can be recorded and replayed; whatever the networks round to, here all is float32 at least.

    Parameters
    ----------
    n_latents
        How many latents are scored.
    n_hidden
        How many values of the encoder they are made of.
    n_inputs
        How many values the decoder takes.
    """

    is_discrete = False
    """Whether the scored latents are indices."""

    def __init__(self, *, n_latents: int, n_hidden: int, n_inputs: int) -> None:
        super().__init__()
        self.n_latents = n_latents
        self.n_hidden = n_hidden
        self.n_inputs = n_inputs

    def forward(self, hidden: Any, *, share: Any, generator: Any) -> Bottled:
        """Return what the decoder takes in training, and the penalty.

        Parameters
        ----------
        hidden
            What the encoder gives: images × hidden values.
        share
            The share of the training that is done, a tensor without dimensions.
        generator
            Where all noise comes from.
        """
        with torch.autocast(hidden.device.type, enabled=False):
            return self.bottled(_exact(hidden), share, generator)

    def latents(self, hidden: Any) -> Any:
        """Return what is scored, without noise: images × latents."""
        with torch.autocast(hidden.device.type, enabled=False):
            return self.scored(_exact(hidden))

    @abstractmethod
    def bottled(self, hidden: Any, share: Any, generator: Any) -> Bottled:
        """Do the work of `forward` on values that are exact enough."""

    def scored(self, hidden: Any) -> Any:
        """Do the work of `latents` on values that are exact enough."""
        return hidden

    def inputs(self, latents: Any) -> Any:
        """Return what the decoder takes for scored latents."""
        return latents

    def own_parameters(self) -> list[Any]:
        """Return the parameters of the latents: neither decay nor clipped gradients are theirs."""
        return []

    def discriminator_parameters(self) -> list[Any]:
        """Return the parameters of a discriminator, which has an optimiser of its own."""
        return []


def _exact(hidden: Any) -> Any:
    return hidden.to(torch.promote_types(hidden.dtype, torch.float32))
