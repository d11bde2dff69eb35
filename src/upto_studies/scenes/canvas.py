"""Rendering back ends: NumPy, or torch on a device, with the same formulas."""

from __future__ import annotations

import operator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import array_api_compat
import numpy as np

from upto.core import InputError
from upto.engines import TorchEngine
from upto.engines.device import float32_products
from upto.engines.device_rows import load_torch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

_NUMPY_BYTES, _TORCH_BYTES, _DEVICE_BYTES = 2**18, 2**21, 2**25
"""Bytes of one array of a block, a dozen of which a formula needs at once: NumPy's fit into the
cache, torch's are shared by threads, and a device needs large blocks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Canvas:
    """An array library and its device.

    Parameters
    ----------
    device
        None for NumPy, else the torch device.
    """

    device: Any = None

    @property
    def is_numpy(self) -> bool:
        """Whether images are NumPy arrays."""
        return self.device is None

    def empty(self, n_images: int, *shape: int) -> Any:
        """Return black images."""
        if self.is_numpy:
            return np.zeros((n_images, *shape), dtype=np.uint8)
        torch = load_torch()
        return torch.zeros((n_images, *shape), dtype=torch.uint8, device=self.device)

    def place(self, array: NDArray[Any]) -> Any:
        """Return a NumPy array on the device of the images."""
        if self.is_numpy:
            return array
        return load_torch().from_numpy(np.ascontiguousarray(array)).to(self.device)

    def exact_products(self) -> AbstractContextManager[None]:
        """Compute float32 products in full precision, whatever the torch settings."""
        return nullcontext() if self.is_numpy else float32_products(allow_tf32=False)

    def spans(self, start: int, stop: int, n_bytes: int) -> Iterator[tuple[int, int]]:
        """Cut a range into parts that fit one block, at `n_bytes` per item."""
        most = _NUMPY_BYTES
        if not self.is_numpy:
            most = _TORCH_BYTES if self.device.type == "cpu" else _DEVICE_BYTES
        length = max(1, most // n_bytes)
        for first in range(start, stop, length):
            yield first, min(first + length, stop)


def canvas_on(device: Any) -> Canvas:
    """Return the canvas of NumPy for None, else that of a torch device such as ``"cuda"``."""
    if device is None:
        return Canvas()
    # The engine refuses a missing device with a clear message.
    return Canvas(device=load_torch().device(TorchEngine(device=device).device))


def checked_pixels(n_pixels: Any) -> int:
    """Check the side of an image in pixels.

    Raises
    ------
    InputError
        If it is not a positive integer.
    """
    try:
        found = operator.index(n_pixels)
    except TypeError:
        found = 0
    if found < 1:
        message = f"{n_pixels} pixels are not an image: give a whole number, at least one."
        raise InputError(message)
    return found


def namespace(array: Any) -> Any:
    """Return the array API namespace of an array."""
    return array_api_compat.array_namespace(array)


def to_bytes(image: Any) -> Any:
    """Return intensities in [0, 1] as bytes."""
    xp = namespace(image)
    return xp.astype(xp.minimum(image * 255 + 0.5, 255), xp.uint8)
