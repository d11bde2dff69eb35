"""Pairs of patches of images, one from the top half and one from the bottom half."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError, random_stream
from upto.engines.device_rows import load_torch
from upto_studies.train.arguments import checked_device
from upto_studies.train.checkpoints import fingerprint
from upto_studies.train.labelled_rows import batches_of
from upto_studies.train.orders import Orders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_MIDDLE, _SPREAD = 127.5, 64.0
"""Pixels are centred and scaled by these, to a variance of about one."""


class PatchPairs:
    """A top and a bottom patch of every image of a batch, at random places.

    Parameters
    ----------
    images
        Bytes, images × height × width × channels.
    n_pixels
        Height and width of a patch.
    seeds
        One per member.
    subsets
        Training images of every member, equally many; all by default.
    batch_rows
        Images of a step; images that fill no batch are left out of an epoch.
    device
        Where patches are cut.
    """

    def __init__(
        self,
        images: NDArray[np.uint8],
        *,
        n_pixels: int,
        seeds: Sequence[int],
        batch_rows: int,
        device: str,
        subsets: Sequence[NDArray[np.int64]] | None = None,
    ) -> None:
        torch = load_torch()
        check_patch(images.shape, n_pixels)
        self.device = checked_device(device)
        self.images = torch.as_tensor(images, device=self.device)
        self.shape, self.n_pixels, self.seeds = images.shape, n_pixels, tuple(seeds)
        self.batch_rows = batch_rows
        self.orders = Orders(self.seeds, len(images), subsets, self.device)
        self.n_batches = batches_of(int(self.orders.sizes.min()), batch_rows)
        self.data = fingerprint(images, *(subsets or ()))
        self.epoch = -1
        self.order: Any = None
        self.places: Any = None

    def words(self) -> dict[str, str]:
        """Describe the data."""
        return {
            "images": self.data,
            "pixels of a patch": str(self.n_pixels),
            "images of a step": str(self.batch_rows),
        }

    def batch(self, step: int) -> tuple[Any, Any]:
        """Return the top and bottom patches of a step, members × images × pixels."""
        epoch, number = divmod(step, self.n_batches)
        if epoch != self.epoch:
            self.epoch, self.order = epoch, self.orders.epoch(epoch)
            count = self.n_batches * self.batch_rows
            drawn = [
                draw_places(self.shape, self.n_pixels, count, seed=seed, purpose=f"epoch {epoch}")
                for seed in self.seeds
            ]
            self.places = load_torch().as_tensor(np.stack(drawn), device=self.device)
        some = slice(number * self.batch_rows, (number + 1) * self.batch_rows)
        return cut_patches(self.images, self.order[:, some], self.places[:, some], self.n_pixels)


def draw_places(
    shape: tuple[int, ...], n_pixels: int, count: int, *, seed: int, purpose: str
) -> NDArray[np.int64]:
    """Draw the first row and column of a patch in the top and in the bottom half.

    Returns
    -------
    numpy.ndarray
        ``count`` × 4: row and column of the top patch, then of the bottom patch.
    """
    height, width = shape[1:3]
    half = height // 2
    rows, columns = half - n_pixels + 1, width - n_pixels + 1
    stream = random_stream(seed, "patches", purpose)
    places = stream.integers(0, (rows, columns, rows, columns), size=(count, 4))
    places += np.array([0, 0, height - half, 0])
    return places


def cut_patches(images: Any, picked: Any, places: Any, n_pixels: int) -> tuple[Any, Any]:
    """Cut both patches of the picked images, as rows of scaled pixels.

    Parameters
    ----------
    images
        Tensor of bytes, images × height × width × channels.
    picked
        Indices of images, of any shape.
    places
        As from `draw_places`, with that shape first.
    n_pixels
        Height and width of a patch.
    """
    torch = load_torch()
    reach = torch.arange(n_pixels, device=images.device)
    found = []
    for first in (0, 2):
        rows = (places[..., first, None] + reach)[..., :, None]
        columns = (places[..., first + 1, None] + reach)[..., None, :]
        patches = images[picked[..., None, None], rows, columns]
        scaled = (patches.to(torch.float32) - _MIDDLE) / _SPREAD
        found.append(scaled.flatten(-3))
    return found[0], found[1]


def held_out_patches(
    images: NDArray[np.uint8], n_pixels: int, *, seed: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return one top and one bottom patch of every image, at fixed random places."""
    torch = load_torch()
    check_patch(images.shape, n_pixels)
    drawn = draw_places(images.shape, n_pixels, len(images), seed=seed, purpose="held out")
    tops, bottoms = cut_patches(
        torch.as_tensor(images), torch.arange(len(images)), torch.as_tensor(drawn), n_pixels
    )
    return tops.numpy(), bottoms.numpy()


def check_patch(shape: tuple[int, ...], n_pixels: int) -> None:
    """Raise an error if patches do not fit half an image."""
    if len(shape) != 4 or n_pixels > min(shape[1] // 2, shape[2]):
        sizes = " × ".join(map(str, shape))
        message = (
            f"patches of {n_pixels} × {n_pixels} pixels do not fit the halves of images of shape "
            f"{sizes}: make them smaller."
        )
        raise InputError(message)
