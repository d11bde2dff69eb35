"""Four public VAEs of dSprites (Dubois et al., disentangling-vae), as pretrained baselines.

Their weights are read from plain arrays. They were trained on the real dSprites and are evaluated
on ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto_studies.scenes import render_dsprites

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

PRETRAINED = {
    "VAE": "VAE",
    "β-VAE": "betaH",
    "β-TCVAE": "btcvae",
    "FactorVAE": "factor",
}
"""Prefixes of the file names."""
_BLOCK_IMAGES = 1000


def pretrained_files(data: Path | None) -> dict[str, Path]:
    """Return the files found in the data folder or its subfolder ``weights``."""
    if data is None:
        return {}
    places = (data, data / "weights")
    found = {
        title: next(
            (p for place in places if (p := place / f"{name}_dsprites_fp16.npz").exists()), None
        )
        for title, name in PRETRAINED.items()
    }
    return {title: path for title, path in found.items() if path is not None}


def pretrained_latents(path: Path, factors: Any) -> NDArray[np.float64]:
    """Return the encoder means of rendered dSprites.

    Parameters
    ----------
    path
        ``.npz`` file with the arrays of a torch state dict.
    factors
        Factor values of dSprites, one row per image.
    """
    import torch
    from torch.nn import functional

    weights = _read_weights(path)
    found = []
    with torch.no_grad():
        for start in range(0, len(factors), _BLOCK_IMAGES):
            images = render_dsprites(factors[start : start + _BLOCK_IMAGES])
            rows = torch.tensor(images[:, None].astype(np.float32))
            for name in ("conv1", "conv2", "conv3", "conv_64"):
                rows = functional.conv2d(rows, *weights[name], stride=2, padding=1).relu()
            rows = rows.flatten(1)
            for name in ("lin1", "lin2"):
                rows = functional.linear(rows, *weights[name]).relu()
            # Means and log-variances alternate.
            found.append(functional.linear(rows, *weights["mu_logvar_gen"])[:, ::2].numpy())
    return np.concatenate(found).astype(np.float64)


def _read_weights(path: Path) -> Mapping[str, tuple[Any, Any]]:
    import torch

    names = ("conv1", "conv2", "conv3", "conv_64", "lin1", "lin2", "mu_logvar_gen")
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {
                name: tuple(
                    torch.tensor(stored[f"encoder.{name}.{part}"].astype(np.float32))
                    for part in ("weight", "bias")
                )
                for name in names
            }
    except (OSError, KeyError, ValueError):
        message = (
            f"{path} does not contain the encoder of a disentangling-vae VAE, with array names "
            "like encoder.conv1.weight: remove the file to continue without it."
        )
        raise InputError(message) from None
