"""Autoencoders of images, in the architecture and protocol of Hsu et al. 2023."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from upto_studies.train.images.models import ImageModel, published_model
from upto_studies.train.images.settings import ImageTraining
from upto_studies.train.images.training import ImageTrainer, train_images
from upto_studies.train.images.traversals import tiled, traversals

if TYPE_CHECKING:
    from upto_studies.train.images.autoencoders import ImageAutoencoder

__all__ = [
    "ImageAutoencoder",
    "ImageModel",
    "ImageTrainer",
    "ImageTraining",
    "published_model",
    "tiled",
    "train_images",
    "traversals",
]


def __getattr__(name: str) -> Any:
    # It is a torch module, and describing models does not need torch.
    if name == "ImageAutoencoder":
        from upto.engines.device_rows import load_torch

        load_torch()
        from upto_studies.train.images.autoencoders import ImageAutoencoder

        return ImageAutoencoder
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
