"""KL divergence of normal latents from the standard normal, and its decomposition."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch.nn import functional

_LOWEST = -20.0
"""Argument below which the logarithm of softplus equals its argument to rounding."""


class Normals(NamedTuple):
    """Independent normal distributions of latents: images × latents each."""

    means: Any
    scales: Any
    log_scales: Any


def normals_of(hidden: Any) -> Normals:
    """Return the distributions of encoder outputs: means, then scales before softplus.

    The logarithm of a scale stays finite where the scale itself underflows.
    """
    means, raw = hidden.chunk(2, dim=1)
    ordinary = raw.clamp_min(_LOWEST)
    log_scales = functional.softplus(ordinary).log() + (raw - ordinary)
    return Normals(means, functional.softplus(raw), log_scales)


def sampled(normals: Normals, generator: Any) -> Any:
    """Return one sample of each distribution."""
    means = normals.means
    noise = torch.randn(means.shape, generator=generator, dtype=means.dtype, device=means.device)
    return means + normals.scales * noise


def kl_divergence(normals: Normals) -> Any:
    """Return the divergence from the standard normal in nats, averaged over images."""
    means, scales, log_scales = normals
    return (0.5 * (means.square() + scales.square() - 1) - log_scales).sum(dim=1).mean()


class Decomposed(NamedTuple):
    """Three parts of the divergence from the standard normal, each averaged over images."""

    mutual_information: Any
    total_correlation: Any
    dimension_wise_kl: Any


def decomposed_kl(samples: Any, normals: Normals, n_images: int) -> Decomposed:
    """Decompose the divergence of a batch by minibatch-weighted sampling (Chen et al. 2018).

    The parts sum to the divergence of the samples for any number of images, which only moves a
    constant from one part to another.

    Parameters
    ----------
    samples
        One sample of each distribution.
    normals
        The distributions of a batch.
    n_images
        Number of images of the whole data set.
    """
    log_weight = math.log(len(samples) * n_images)
    each = _log_density(samples[:, None], Normals(*(part[None] for part in normals)))
    joint = each.sum(dim=2).logsumexp(dim=1) - log_weight
    product = (each.logsumexp(dim=1) - log_weight).sum(dim=1)
    conditional = _log_density(samples, normals).sum(dim=1)
    zeros = torch.zeros_like(samples)
    prior = _log_density(samples, Normals(zeros, zeros + 1, zeros)).sum(dim=1)
    return Decomposed(
        (conditional - joint).mean(), (joint - product).mean(), (product - prior).mean()
    )


def _log_density(samples: Any, normals: Normals) -> Any:
    means, scales, log_scales = normals
    return -0.5 * (math.log(2 * math.pi) + ((samples - means) / scales).square()) - log_scales
