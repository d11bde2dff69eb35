"""Bottlenecks with normal latents: β-VAE, annealed β-VAE, β-TCVAE and FactorVAE."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import torch

from upto_studies.train.images.base import Bottled, Bottleneck
from upto_studies.train.images.discriminator import (
    Discriminator,
    discrimination_loss,
    estimated_correlation,
    permuted_codes,
)
from upto_studies.train.images.divergences import (
    Normals,
    decomposed_kl,
    kl_divergence,
    normals_of,
    sampled,
)


class Gaussian(Bottleneck):
    """Normal latents: the decoder receives samples; the means are scored.

    Parameters
    ----------
    n_latents
        Number of latents.
    n_values
        Values per image, by which the divergence is divided, like the reconstruction loss.
    strength
        Weight of the penalty that defines the model.
    """

    def __init__(self, *, n_latents: int, n_values: int, strength: float) -> None:
        super().__init__(n_latents=n_latents, n_hidden=2 * n_latents, n_inputs=n_latents)
        self.n_values = n_values
        self.strength = strength

    def bottled(self, hidden: Any, share: Any, generator: Any) -> Bottled:
        """Return samples and the penalty of their distributions."""
        normals = normals_of(hidden)
        samples = sampled(normals, generator)
        penalty, terms = self.price(samples, normals, share, generator)
        return Bottled(samples, penalty, {name: term.detach() for name, term in terms.items()})

    @abstractmethod
    def price(
        self, samples: Any, normals: Normals, share: Any, generator: Any
    ) -> tuple[Any, dict[str, Any]]:
        """Return the penalty and its terms."""

    def scored(self, hidden: Any) -> Any:
        """Return the means."""
        return hidden[:, : self.n_latents]


class BetaVae(Gaussian):
    """The divergence from the standard normal times β, its strength (Higgins et al. 2017)."""

    def price(
        self, samples: Any, normals: Normals, share: Any, generator: Any
    ) -> tuple[Any, dict[str, Any]]:
        """Return the penalty and its terms."""
        kl = kl_divergence(normals)
        return self.strength / self.n_values * kl, {"kl": kl}


class AnnealedVae(Gaussian):
    """Divergence controlled at a capacity that grows from 0 (Burgess et al. 2018).

    Parameters
    ----------
    n_latents, n_values
        See `Gaussian`.
    strength
        γ, the penalty per nat of deviation.
    capacity, annealed_share
        Final capacity in nats, and the fraction of the training after which it is reached.
    """

    def __init__(
        self,
        *,
        n_latents: int,
        n_values: int,
        strength: float,
        capacity: float,
        annealed_share: float,
    ) -> None:
        super().__init__(n_latents=n_latents, n_values=n_values, strength=strength)
        self.capacity = capacity
        self.annealed_share = annealed_share

    def price(
        self, samples: Any, normals: Normals, share: Any, generator: Any
    ) -> tuple[Any, dict[str, Any]]:
        """Return the penalty and its terms."""
        kl = kl_divergence(normals)
        capacity = self.capacity * (share / self.annealed_share).clamp(max=1.0)
        penalty = self.strength / self.n_values * (kl - capacity).abs()
        return penalty, {"kl": kl, "capacity": capacity}


class BetaTcvae(Gaussian):
    """Larger weight on the total correlation of the latents (Chen et al. 2018).

    Parameters
    ----------
    n_latents, n_values
        See `Gaussian`.
    strength
        Weight of the total correlation.
    n_images
        Number of images of the data set.
    """

    def __init__(self, *, n_latents: int, n_values: int, strength: float, n_images: int) -> None:
        super().__init__(n_latents=n_latents, n_values=n_values, strength=strength)
        self.n_images = n_images

    def price(
        self, samples: Any, normals: Normals, share: Any, generator: Any
    ) -> tuple[Any, dict[str, Any]]:
        """Return the penalty and its terms."""
        parts = decomposed_kl(samples, normals, self.n_images)
        total = (
            parts.mutual_information
            + self.strength * parts.total_correlation
            + parts.dimension_wise_kl
        )
        return total / self.n_values, parts._asdict()


class FactorVae(Gaussian):
    """A discriminator estimates the total correlation (Kim and Mnih 2018).

    Its own loss is part of the penalty, so that one backward pass serves both: the total
    correlation treats the discriminator's parameters as constants, the discriminator's loss the
    codes. It distinguishes codes of the first half of a batch from permuted codes of the second.

    Parameters
    ----------
    n_latents, n_values
        See `Gaussian`.
    strength
        γ, weight of the total correlation.
    discriminator
        Discriminator between codes and permuted codes; by default that of Kim and Mnih.
    """

    def __init__(
        self,
        *,
        n_latents: int,
        n_values: int,
        strength: float,
        discriminator: Discriminator | None = None,
    ) -> None:
        super().__init__(n_latents=n_latents, n_values=n_values, strength=strength)
        self.discriminator = Discriminator(n_latents) if discriminator is None else discriminator

    def price(
        self, samples: Any, normals: Normals, share: Any, generator: Any
    ) -> tuple[Any, dict[str, Any]]:
        """Return the penalty and its terms."""
        kl = kl_divergence(normals)
        correlation = estimated_correlation(self.discriminator(samples, is_fixed=True))
        half = len(samples) // 2
        codes = samples.detach()
        told = torch.cat([codes[:half], permuted_codes(codes[half:], generator)])
        logits = self.discriminator(told)
        discrimination = discrimination_loss(logits[:half], logits[half:])
        penalty = (kl + self.strength * correlation) / self.n_values + discrimination
        return penalty, {
            "kl": kl,
            "total_correlation": correlation,
            "discrimination": discrimination,
        }

    def discriminator_parameters(self) -> list[Any]:
        """Return the parameters of the discriminator."""
        return list(self.discriminator.parameters())
