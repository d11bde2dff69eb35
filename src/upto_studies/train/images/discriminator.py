"""The network that tells codes from permuted codes, which is how FactorVAE sees dependence."""

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
    """Tells codes (the first logit) from codes permuted latent by latent (the second).

    Parameters
    ----------
    n_latents
        Values of a code.
    width, n_layers
        Of the hidden layers; those of Kim and Mnih 2018 unless told.
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
            Whether gradients reach the codes only, and not the parameters.
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
    """Return the total correlation that a discriminator sees: the mean log ratio of densities."""
    return (logits[:, 0] - logits[:, 1]).mean()


def discrimination_loss(logits: Any, permuted: Any) -> Any:
    """Return the mean cross-entropy of telling codes from permuted ones, both kinds equally."""
    right = functional.logsigmoid(logits[:, 0] - logits[:, 1]).mean()
    permuted_right = functional.logsigmoid(permuted[:, 1] - permuted[:, 0]).mean()
    return -0.5 * (right + permuted_right)


def permuted_codes(codes: Any, generator: Any) -> Any:
    """Return codes whose latents were permuted over images, each by itself."""
    keys = torch.rand(codes.shape, generator=generator, device=codes.device)
    return codes.gather(0, keys.argsort(dim=0))
