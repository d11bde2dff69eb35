"""Image sets with known factors."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from upto.core import FactorGrid, InputError
from upto.datasets.resize import resize_images

Int = NDArray[np.int64]
Pixels = NDArray[np.uint8]


class Pictures(Protocol):
    """Images that can be read by index, all at once or on demand."""

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Number of images, height, width and channels."""
        ...

    def read(self, rows: Int) -> Pixels:
        """Read the images at these indices, in this order."""
        ...


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ImageSet:
    """Images, their generating factors, and a mask of test images.

    Parameters
    ----------
    name
        Name of the set.
    pictures
        Source of the images, used by `read` and `read_floats`.
    factors
        Array of shape (n_images, n_factors).
    factor_names
        One name per column.
    grid
        Grid that indexes the images, if every combination of levels occurs exactly once.
    held
        Mask of the images that the publisher set aside for testing, if any.
    brightest
        Value of a fully lit pixel.

    See Also
    --------
    upto.read_image_set : Returns it.
    upto.core.FactorGrid : Its grid.
    """

    name: str
    pictures: Pictures = field(repr=False)
    factors: NDArray[np.float64] = field(repr=False)
    factor_names: tuple[str, ...]
    grid: FactorGrid | None = field(default=None, repr=False)
    held: NDArray[np.bool_] | None = field(default=None, repr=False)
    brightest: int = 255

    def __post_init__(self) -> None:
        n_images = len(self)
        if self.factors.shape != (n_images, len(self.factor_names)):
            message = (
                f"factors of shape {self.factors.shape} do not match {n_images} images and "
                f"{len(self.factor_names)} factor names."
            )
            raise InputError(message)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Number of images, height, width and channels."""
        return self.pictures.shape

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def training_rows(self) -> Int:
        """Indices of the training images."""
        return np.arange(len(self)) if self.held is None else np.flatnonzero(~self.held)

    @property
    def held_rows(self) -> Int:
        """Indices of the images set aside for testing."""
        return np.arange(0) if self.held is None else np.flatnonzero(self.held)

    def read(self, rows: Any = None, *, n_pixels: int | None = None) -> Pixels:
        """Read images as integers from 0 to `brightest`.

        Parameters
        ----------
        rows
            Indices of images in any order, a slice or a mask; by default all.
        n_pixels
            Resize to this height and width by cubic interpolation, antialiased when shrinking,
            rounded and clipped.

        Returns
        -------
        ndarray of shape (rows, height, width, channels)

        Raises
        ------
        InputError
            If rows do not exist, a file is damaged, or images with few shades would be resized to
            integers, which loses most of their content.
        """
        chosen, size = self._numbers(rows), self._new_size(n_pixels)
        if size is None:
            return self.pictures.read(chosen)
        if self.brightest < 255:
            message = (
                f"images of {self.brightest + 1} shades cannot be resized to integers: "
                "use read_floats."
            )
            raise InputError(message)
        return self._resized(chosen, size, np.uint8)

    def read_floats(self, rows: Any = None, *, n_pixels: int | None = None) -> NDArray[np.float32]:
        """Read images as floats from 0 to 1; resized ones are clipped but not rounded.

        Parameters
        ----------
        rows
            Indices of images in any order, a slice or a mask; by default all.
        n_pixels
            Resize to this height and width, as in `read`.

        Returns
        -------
        ndarray of shape (rows, height, width, channels)
        """
        chosen, size = self._numbers(rows), self._new_size(n_pixels)
        if size is None:
            return self.pictures.read(chosen).astype(np.float32) / np.float32(self.brightest)
        return self._resized(chosen, size, np.float32)

    def _new_size(self, n_pixels: Any) -> int | None:
        if n_pixels is None:
            return None
        if not isinstance(n_pixels, Integral) or int(n_pixels) < 1:
            message = (
                f"images cannot be resized to {n_pixels} pixels: give an integer of at least one."
            )
            raise InputError(message)
        size = int(n_pixels)
        return None if self.shape[1:3] == (size, size) else size

    def _numbers(self, rows: Any) -> Int:
        everything = np.arange(len(self), dtype=np.int64)
        if rows is None:
            return everything
        chosen = rows if isinstance(rows, slice) else np.asarray(rows)
        if isinstance(chosen, np.ndarray) and chosen.size == 0:
            return everything[:0]
        try:
            found = everything[chosen]
        except IndexError as error:
            message = (
                f"there are no such images ({error}): select them by integers from 0 to "
                f"{len(self) - 1}, a slice or a mask."
            )
            raise InputError(message) from None
        if found.ndim != 1:
            message = f"rows of shape {found.shape} do not select images: give one axis."
            raise InputError(message)
        return found

    def _resized(self, rows: Int, n_pixels: int, kind: type[Any]) -> NDArray[Any]:
        _, height, width, n_channels = self.shape
        resized = np.empty((len(rows), n_pixels, n_pixels, n_channels), dtype=kind)
        step = max(1, (1 << 26) // (height * width * n_channels))
        for start in range(0, len(rows), step):
            large = self.pictures.read(rows[start : start + step])
            small = np.clip(resize_images(large, n_pixels), 0, self.brightest)
            if kind is np.float32:
                small /= np.float32(self.brightest)
            else:
                small = np.rint(small)
            resized[start : start + step] = small
        return resized
