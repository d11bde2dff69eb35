"""Training settings of image autoencoders; the defaults follow Hsu et al. 2023."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any

from upto.core import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageTraining:
    """Training settings of image autoencoders.

    Parameters
    ----------
    steps
        Steps per member; the published runs have 200,000.
    batch_images
        Images per step.
    learning_rate
        Learning rate of Adam, except for the discriminator of FactorVAE, which has its own.
    clip
        Maximum absolute entry of weight gradients, infinite for no clipping; biases and codebooks
        are not clipped.
    width
        Channels of the largest maps; see `ImageEncoder`.
    bfloat16
        Whether convolutions and dense layers multiply in bfloat16; weights, norms, losses and
        scored latents stay in float32.
    compiled
        Whether torch compiles the networks, which takes a minute and pays off on long GPU runs.
    """

    steps: int
    batch_images: int = 128
    learning_rate: float = 1e-3
    clip: float = 1.0
    width: int = 32
    bfloat16: bool = False
    compiled: bool = False

    def __post_init__(self) -> None:
        for name in ("steps", "batch_images", "width"):
            object.__setattr__(self, name, whole_number(name, getattr(self, name)))
        if min(self.steps, self.width) < 1 or self.batch_images < 2:
            message = (
                f"{self.steps} steps of {self.batch_images} images with {self.width} channels: "
                "choose at least 1 step, 2 images and 1 channel."
            )
            raise InputError(message)
        # No clipping is clipping to infinity.
        if not (0 < self.learning_rate < math.inf and self.clip > 0):
            message = (
                f"the learning rate is {self.learning_rate:g} and gradients are clipped to "
                f"{self.clip:g}: both must be positive, and the first finite."
            )
            raise InputError(message)


def whole_number(name: str, value: Any) -> int:
    """Return an integer count.

    Raises
    ------
    InputError
        If it is not an integer.
    """
    try:
        return operator.index(value)
    except TypeError:
        message = f"{name} is {value!r}: give an integer."
        raise InputError(message) from None
