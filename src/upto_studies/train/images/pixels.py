"""Checks of the shape and type of input images."""

from __future__ import annotations

from typing import Any

import numpy as np

from upto.core import InputError
from upto.engines.device_rows import load_torch

_LEAST_LIGHT = 2
"""Smallest maximum of 8-bit images; below it, they were not scaled to 255."""


def checked_images(images: Any) -> Any:
    """Return images as bytes of shape count × side × side × channels; tensors stay tensors.

    Raises
    ------
    InputError
        If they have another shape or type, or there are none.
    """
    torch = load_torch()
    try:
        given = images if torch.is_tensor(images) else np.asarray(images)
    except ValueError:
        message = f"{len(images)} images have different shapes: resize them to one."
        raise InputError(message) from None
    if given.ndim != 4 or given.shape[1] != given.shape[2] or given.shape[3] < 1:
        shape = " × ".join(map(str, given.shape)) or "1"
        message = f"the images are {shape}, not count × side × side × channels."
        raise InputError(message)
    if given.dtype not in (np.uint8, torch.uint8):
        message = (
            f"the images have type {given.dtype}: give bytes from 0 to 255, e.g. "
            "np.rint(255 * images).astype(np.uint8) for numbers from 0 to 1."
        )
        raise InputError(message)
    if len(given) == 0:
        message = "there are 0 images: give at least 1."
        raise InputError(message)
    return given


def refuse_unlit(images: Any) -> None:
    """Raise an error if all bytes are 0 or 1: white is 255, so the images would be black.

    Raises
    ------
    InputError
        If no byte is above 1.
    """
    if int(images.max()) < _LEAST_LIGHT:
        message = (
            f"the brightest byte of {len(images)} images is {int(images.max())}, but white is "
            "255: multiply pixels of 0 and 1 by 255."
        )
        raise InputError(message)
