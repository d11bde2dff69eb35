"""Training settings of networks of images."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from upto.core import InputError

Kind = Literal["resnet18", "mae"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionTraining:
    """Training settings of networks of images.

    Parameters
    ----------
    kind
        ``resnet18``, a classifier with the stem for small images (He et al. 2016), trained by SGD
        with momentum; or ``mae``, a masked autoencoder (He et al. 2022), trained by AdamW. Both
        have a learning rate that rises linearly, then falls as a cosine.
    epochs
        Passes over the images.
    batch_images
        Images per step and member.
    learning_rate
        Highest learning rate.
    weight_decay
        Weight decay of matrices and kernels.
    warm_share
        Share of the steps during which the learning rate rises.
    width
        ``resnet18``: channels of the first stage; the features have eight times as many.
        ``mae``: width of the encoder; the decoder has half of it.
    depth, decoder_depth
        ``mae``: blocks of the encoder and of the decoder.
    n_heads
        ``mae``: attention heads.
    patch
        ``mae``: side of a patch in pixels.
    masked
        ``mae``: share of the patches that the encoder does not see.
    shift
        Largest shift of an image in pixels; images are also mirrored at random.
    bfloat16
        Whether matrix products and convolutions on a GPU are in bfloat16.
    """

    kind: Kind
    epochs: int
    batch_images: int = 256
    learning_rate: float = 0.1
    weight_decay: float = 5e-4
    warm_share: float = 0.1
    width: int = 64
    depth: int = 6
    decoder_depth: int = 2
    n_heads: int = 4
    patch: int = 4
    masked: float = 0.75
    shift: int = 4
    bfloat16: bool = True

    def __post_init__(self) -> None:
        counts = ("epochs", "batch_images", "width", "depth", "decoder_depth", "n_heads", "patch")
        for name in counts:
            if getattr(self, name) < 1:
                message = f"{name} is {getattr(self, name)}: choose at least 1."
                raise InputError(message)
        if not (0 < self.learning_rate < math.inf and 0 <= self.weight_decay < math.inf):
            message = (
                f"the learning rate is {self.learning_rate:g} and the weight decay "
                f"{self.weight_decay:g}: the first must be positive, neither negative or infinite."
            )
            raise InputError(message)
        if not (0 <= self.warm_share < 1 and 0 < self.masked < 1 and self.shift >= 0):
            message = (
                f"warm_share {self.warm_share:g}, masked {self.masked:g} and shift {self.shift}: "
                "the first two are shares below 1, and no shift is negative."
            )
            raise InputError(message)
        if self.kind == "mae" and self.width % (2 * self.n_heads):
            message = (
                f"a width of {self.width} and its half cannot be divided among {self.n_heads} "
                f"heads: choose a multiple of {2 * self.n_heads}."
            )
            raise InputError(message)

    def rate_at(self, step: int, n_steps: int) -> float:
        """Return the learning rate of a step."""
        warm = max(1, round(self.warm_share * n_steps))
        if step < warm:
            return self.learning_rate * (step + 1) / warm
        share = (step - warm) / max(1, n_steps - warm)
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * share))
