"""How autoencoders of images are trained: the protocol of Hsu et al. 2023 unless told otherwise."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any

from upto.core import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageTraining:
    """How autoencoders of images are trained.

    Parameters
    ----------
    steps
        Steps of each member; the published runs have 200,000.
    batch_images
        Images of a step.
    learning_rate
        Of Adam, for all but the discriminator of FactorVAE, which has its own.
    clip
        The largest entry of a weight's gradient, infinite for none; biases and codebooks are not
        clipped.
    width
        Channels of the largest maps; see `ImageEncoder`.
    bfloat16
        Whether convolutions and dense layers multiply in bfloat16; weights, norms, losses and what
        is scored stay in float32.
    compiled
        Whether torch compiles the networks: worth a minute before runs of several on a GPU.
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
                "take 1 step, 2 images and 1 channel at least."
            )
            raise InputError(message)
        # Gradients that are not clipped are clipped to infinity.
        if not (0 < self.learning_rate < math.inf and self.clip > 0):
            message = (
                f"a learning rate of {self.learning_rate:g} and gradients clipped to "
                f"{self.clip:g} are given: both must be positive, and the first finite."
            )
            raise InputError(message)


def whole_number(name: str, value: Any) -> int:
    """Return a number that counts something.

    Raises
    ------
    InputError
        If it is not whole.
    """
    try:
        return operator.index(value)
    except TypeError:
        message = f"{name} of {value!r} cannot be counted: give a whole number."
        raise InputError(message) from None
