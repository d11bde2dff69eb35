"""Images as they are given: bytes of the right shape, refused in words where they are not."""

from __future__ import annotations

from typing import Any

import numpy as np

from upto.core import InputError
from upto.engines.device_rows import load_torch

_LEAST_LIGHT = 2
"""Images without such a byte are shares of light, or zeros and ones, that were not scaled."""


def checked_images(images: Any) -> Any:
    """Return images as bytes in order of count, side, side and channels; a tensor stays one.

    Raises
    ------
    InputError
        If they are of another shape or type, or there is none.
    """
    torch = load_torch()
    try:
        given = images if torch.is_tensor(images) else np.asarray(images)
    except ValueError:
        message = f"{len(images)} images are not all of one shape: give them one."
        raise InputError(message) from None
    if given.ndim != 4 or given.shape[1] != given.shape[2] or given.shape[3] < 1:
        shape = " × ".join(map(str, given.shape)) or "1"
        message = f"the images are {shape}, not count × side × side × channels."
        raise InputError(message)
    if given.dtype not in (np.uint8, torch.uint8):
        message = (
            f"the images are of type {given.dtype}: give them as bytes from 0 to 255, as "
            "np.rint(255 * images).astype(np.uint8) makes them of numbers from 0 to 1."
        )
        raise InputError(message)
    if len(given) == 0:
        message = "there are 0 images: give 1 at least."
        raise InputError(message)
    return given


def refuse_unlit(images: Any) -> None:
    """Refuse bytes that are all 0 or 1: full light is 255, so a model would see black.

    Raises
    ------
    InputError
        If there is no brighter one.
    """
    if int(images.max()) < _LEAST_LIGHT:
        message = (
            f"the brightest byte of {len(images)} images is {int(images.max())}, where full light "
            "is 255: multiply pixels of 0 and 1 by 255."
        )
        raise InputError(message)
