"""Resize images by cubic interpolation, antialiased when shrinking."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BEND = -0.5
"""Keys' parameter: reproduces parabolas; also used by Pillow, TensorFlow and JAX."""

_BLOCK_VALUES = 1 << 24


def resize_images(images: NDArray[Any], n_pixels: int) -> NDArray[np.float32]:
    """Return images of the given height and width, neither rounded nor clipped.

    Parameters
    ----------
    images
        Array of shape (n, height, width, channels).
    n_pixels
        New height and width.

    Returns
    -------
    ndarray of shape (n, n_pixels, n_pixels, channels)
        When shrinking, the kernel is stretched over all pixels that one new pixel covers, so that
        none is skipped; at the border its weights are normalised to sum to one.

    Examples
    --------
    >>> resize_images(np.full((1, 8, 8, 1), 7), 4).ravel()[:3].tolist()
    [7.0, 7.0, 7.0]
    """
    n_images, height, width, n_channels = images.shape
    down, across = _weights(height, n_pixels), _weights(width, n_pixels)
    resized = np.empty((n_images, n_pixels, n_pixels, n_channels), dtype=np.float32)
    step = max(1, _BLOCK_VALUES // max(1, height * width * n_channels))
    for start in range(0, n_images, step):
        block = images[start : start + step].astype(np.float32)
        rows = down @ block.reshape(len(block), height, -1)
        rows = rows.reshape(len(block) * n_pixels, width, n_channels)
        resized[start : start + step] = (across @ rows).reshape(
            len(block), n_pixels, n_pixels, n_channels
        )
    return resized


@lru_cache(maxsize=16)
def _weights(n_old: int, n_new: int) -> NDArray[np.float32]:
    """Return the interpolation matrix along one axis."""
    scale = n_old / n_new
    centres = (np.arange(n_new) + 0.5) * scale
    distances = (np.arange(n_old) + 0.5 - centres[:, None]) / max(scale, 1.0)
    weights = _cubic(np.abs(distances))
    normalised: NDArray[np.float32] = (weights / weights.sum(axis=1, keepdims=True)).astype("f4")
    return normalised


def _cubic(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    near = ((_BEND + 2) * distance - (_BEND + 3)) * distance**2 + 1
    far = _BEND * (((distance - 5) * distance + 8) * distance - 4)
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))
