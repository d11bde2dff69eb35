"""Bottleneck of each model, and the two that leave the encoder outputs unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.nn import functional

from upto.core import InputError
from upto_studies.train.images.base import Bottled, Bottleneck
from upto_studies.train.images.gaussians import AnnealedVae, BetaTcvae, BetaVae, FactorVae
from upto_studies.train.images.quantisers import LatentQuantised, VectorQuantised

if TYPE_CHECKING:
    from upto_studies.train.images.models import ImageModel

__all__ = ["Bottled", "Bottleneck", "make_bottleneck"]


class Plain(Bottleneck):
    """Latents equal to the encoder outputs, without a penalty.

    Parameters
    ----------
    n_latents
        Number of latents.
    """

    def __init__(self, *, n_latents: int) -> None:
        super().__init__(n_latents=n_latents, n_hidden=n_latents, n_inputs=n_latents)

    def bottled(self, hidden: Any, share: Any, generator: Any) -> Bottled:
        """Return the values unchanged."""
        return Bottled(hidden, hidden.new_zeros(()), {})


class Biological(Plain):
    """Latents with a penalty on negative and large values (BioAE: Whittington et al. 2023).

    Parameters
    ----------
    n_latents
        Number of latents.
    activity
        Weight of the mean square; the mean negative part has weight 1.
    """

    def __init__(self, *, n_latents: int, activity: float) -> None:
        super().__init__(n_latents=n_latents)
        self.activity = activity

    def bottled(self, hidden: Any, share: Any, generator: Any) -> Bottled:
        """Return the values unchanged, and their penalty."""
        negative = functional.relu(-hidden).mean()
        activity = hidden.square().mean()
        terms = {"negative": negative.detach(), "activity": activity.detach()}
        return Bottled(hidden, negative + self.activity * activity, terms)


def make_bottleneck(model: ImageModel, *, n_values: int, n_images: int) -> Bottleneck:
    """Return the bottleneck of a model, on the CPU.

    Its initial parameters come from torch's global generator.

    Parameters
    ----------
    model
        The model.
    n_values
        Values per image: pixels times channels.
    n_images
        Number of images of the data set.

    Raises
    ------
    InputError
        If there are no images, or images have no values.
    """
    if n_values < 1 or n_images < 1:
        message = f"{n_images} images of {n_values} values: there must be at least 1 of each."
        raise InputError(message)
    n_latents, strength = model.n_latents, model.strength or 0.0
    match model.kind:
        case "ae":
            return Plain(n_latents=n_latents)
        case "bio-ae":
            return Biological(n_latents=n_latents, activity=strength)
        case "beta-vae":
            return BetaVae(n_latents=n_latents, n_values=n_values, strength=strength)
        case "annealed-vae":
            return AnnealedVae(
                n_latents=n_latents,
                n_values=n_values,
                strength=strength,
                capacity=model.capacity,
                annealed_share=model.annealed_share,
            )
        case "beta-tcvae":
            return BetaTcvae(
                n_latents=n_latents, n_values=n_values, strength=strength, n_images=n_images
            )
        case "factor-vae":
            return FactorVae(n_latents=n_latents, n_values=n_values, strength=strength)
        case "vq-vae":
            return VectorQuantised(n_latents=n_latents, n_codes=model.n_codes, commitment=strength)
        case "qlae":
            return LatentQuantised(n_latents=n_latents, n_codes=model.n_codes, strength=strength)
