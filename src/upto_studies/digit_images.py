"""Images of digits as rows of pixels, for training and held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from upto.datasets.resize import resize_images

if TYPE_CHECKING:
    from upto.datasets import ImageSet


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DigitImages:
    """Images as rows of pixels from 0 to 1 with their digits, and held-out ones."""

    name: str
    rows: NDArray[np.float32]
    labels: NDArray[np.int64]
    held_rows: NDArray[np.float32]
    held_labels: NDArray[np.int64]


def take_digits(
    images: ImageSet,
    training: NDArray[np.intp],
    held_out: NDArray[np.intp],
    *,
    side: int | None = None,
) -> DigitImages:
    """Read chosen images, resized to a number of pixels on each side if given."""
    labels = images.factors[:, 0].astype(np.int64)
    return DigitImages(
        name=images.name,
        rows=_pixels(images, training, side),
        labels=labels[training],
        held_rows=_pixels(images, held_out, side),
        held_labels=labels[held_out],
    )


def _pixels(images: ImageSet, chosen: NDArray[np.intp], side: int | None) -> NDArray[np.float32]:
    shown = images.read_floats(chosen)
    if side is not None and side != shown.shape[1]:
        shown = np.clip(resize_images(shown, side), 0.0, 1.0)
    return shown.reshape(len(chosen), -1)
