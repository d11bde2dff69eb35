"""Decoders that tests share."""

from itertools import pairwise

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
nn = torch.nn


def orthogonal_decoder(leak, widths=(16, 64, 256, 784), seed=0):
    """Orthogonal layers, wider and wider, with leaky rectifiers between them."""
    torch.manual_seed(seed)
    layers = []
    for before, after in pairwise(widths):
        layer = nn.Linear(before, after, bias=False)
        nn.init.orthogonal_(layer.weight)
        layers += [layer, nn.LeakyReLU(leak)]
    return nn.Sequential(*layers[:-1]).eval()


def smooth_decoder(n_latents=5, n_outputs=12, hidden=20, seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Linear(n_latents, hidden), nn.Tanh(), nn.Linear(hidden, n_outputs)
    ).eval()
