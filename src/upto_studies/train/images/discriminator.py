"""Discriminator between codes and permuted codes, by which FactorVAE measures dependence."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import nn
from torch.nn import functional

N_LAYERS = 6
WIDTH = 1000
LEAK = 0.2


class Discriminator(nn.Module):
    """Classifier of codes (first logit) against codes permuted latent by latent (second).

    Parameters
    ----------
    n_latents
        Number of latents.
    width, n_layers
        Width and number of hidden layers; by default those of Kim and Mnih 2018.
    """

    def __init__(self, n_latents: int, *, width: int = WIDTH, n_layers: int = N_LAYERS) -> None:
        super().__init__()
        widths = (n_latents, *(width,) * n_layers, 2)
        self.layers = nn.ModuleList(nn.Linear(n_in, n_out) for n_in, n_out in pairwise(widths))

    def forward(self, codes: Any, *, is_fixed: bool = False) -> Any:
        """Return the two logits of each code.

        Parameters
        ----------
        codes
            Images × latents.
        is_fixed
            Whether gradients reach only the codes, not the parameters.
        """
        *hidden, last = self.layers
        for layer in hidden:
            codes = functional.leaky_relu(_applied(layer, codes, is_fixed=is_fixed), LEAK)
        return _applied(last, codes, is_fixed=is_fixed)


def _applied(layer: Any, values: Any, *, is_fixed: bool) -> Any:
    weight, bias = layer.weight, layer.bias
    if is_fixed:
        weight, bias = weight.detach(), bias.detach()
    return functional.linear(values, weight, bias)


def estimated_correlation(logits: Any) -> Any:
    """Return the discriminator's estimate of total correlation: the mean log density ratio."""
    return (logits[:, 0] - logits[:, 1]).mean()


def discrimination_loss(logits: Any, permuted: Any) -> Any:
    """Return the mean cross-entropy of codes against permuted codes, weighted equally."""
    right = functional.logsigmoid(logits[:, 0] - logits[:, 1]).mean()
    permuted_right = functional.logsigmoid(permuted[:, 1] - permuted[:, 0]).mean()
    return -0.5 * (right + permuted_right)


def permuted_codes(codes: Any, generator: Any) -> Any:
    """Return codes with each latent permuted independently over images."""
    keys = torch.rand(codes.shape, generator=generator, device=codes.device)
    return codes.gather(0, keys.argsort(dim=0))
