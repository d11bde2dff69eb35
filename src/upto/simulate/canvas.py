"""Where images are rendered: in NumPy's memory, or by torch on a device, from the same formulas."""

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
"""Bytes of one array of a block, of which a formula holds a dozen at once: NumPy's stay in the
cache, torch's are shared by threads, and a device wants much work at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Canvas:
    """A library of arrays and the device its arrays are on.

    Parameters
    ----------
    device
        None for NumPy, else the torch device.
    """

    device: Any = None

    @property
    def is_numpy(self) -> bool:
        """Whether images are NumPy's."""
        return self.device is None

    def empty(self, n_images: int, *shape: int) -> Any:
        """Return black images."""
        if self.is_numpy:
            return np.zeros((n_images, *shape), dtype=np.uint8)
        torch = load_torch()
        return torch.zeros((n_images, *shape), dtype=torch.uint8, device=self.device)

    def place(self, array: NDArray[Any]) -> Any:
        """Return a NumPy array where the images are."""
        if self.is_numpy:
            return array
        return load_torch().from_numpy(np.ascontiguousarray(array)).to(self.device)

    def exact_products(self) -> AbstractContextManager[None]:
        """Keep products of float32 in that precision, whatever torch was told."""
        return nullcontext() if self.is_numpy else float32_products(allow_tf32=False)

    def spans(self, start: int, stop: int, n_bytes: int) -> Iterator[tuple[int, int]]:
        """Cut a range into parts whose items, of some bytes each, make one block."""
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
    # An engine refuses a device that is not here, in words.
    return Canvas(device=load_torch().device(TorchEngine(device=device).device))


def checked_pixels(n_pixels: Any) -> int:
    """Return the side of an image, a whole number of pixels.

    Raises
    ------
    InputError
        If it is not.
    """
    try:
        found = operator.index(n_pixels)
    except TypeError:
        found = 0
    if found < 1:
        message = f"{n_pixels} pixels make no image: ask for a whole number, at least one."
        raise InputError(message)
    return found


def namespace(array: Any) -> Any:
    """Return the functions of an array's library, by the names of the array API."""
    return array_api_compat.array_namespace(array)


def to_bytes(image: Any) -> Any:
    """Return shares of full light as bytes."""
    xp = namespace(image)
    return xp.astype(xp.minimum(image * 255 + 0.5, 255), xp.uint8)
