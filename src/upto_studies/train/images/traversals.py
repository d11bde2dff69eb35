"""Latent traversals: images as one coordinate varies and the others are fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from upto.core import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class Invertible(Protocol):
    """An invertible transform of latents, such as `upto.ICA`."""

    def transform(self, rows: Any) -> Any:
        """Return the components of rows."""
        ...

    def inverse_transform(self, rows: Any) -> Any:
        """Return the rows of components."""
        ...


class Drawing(Protocol):
    """A decoder of latents, such as `ImageAutoencoder`."""

    def decode(self, latents: Any) -> NDArray[np.float32]:
        """Return the images of latents."""
        ...


def traversals(
    member: Drawing,
    latents: Any,
    *,
    row: int = 0,
    transform: Invertible | None = None,
    n_steps: int = 8,
    tails: float = 0.02,
    coordinates: Sequence[int] | None = None,
) -> NDArray[np.float32]:
    """Decode one image while each coordinate in turn varies over its range.

    With a transform, the coordinates are its components: the decoder is composed with its inverse,
    which shows ICA components as images.

    Parameters
    ----------
    member
        Decoder of latents.
    latents
        Rows of latents that define the range of each coordinate.
    row
        Row to start from.
    transform
        Transform fitted to the latents, such as `upto.ICA`.
    n_steps
        Images per coordinate, from its lowest to its highest value.
    tails
        Fraction of rows beyond each end of the range.
    coordinates
        Coordinates to vary; all by default.

    Returns
    -------
    ndarray of shape (coordinates, steps, side, side, channels)
        Values from 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> class Pixels:
    ...     def decode(self, latents):
    ...         return np.asarray(latents, dtype=np.float32).reshape(-1, 1, 2, 1)
    >>> latents = np.linspace([0.0, 1.0], [1.0, 1.0], 5)
    >>> traversals(Pixels(), latents, n_steps=3, tails=0.0)[0, :, 0, :, 0].tolist()
    [[0.0, 1.0], [0.5, 1.0], [1.0, 1.0]]
    """
    given = np.asarray(latents)
    if given.ndim != 2 or not -len(given) <= row < len(given):
        shape = " × ".join(map(str, given.shape))
        message = f"row {row} of latents of shape {shape} does not exist: choose one of the rows."
        raise InputError(message)
    if n_steps < 2 or not 0 <= tails < 0.5:
        message = (
            f"{n_steps} steps without {tails:g} of the rows at each end define no range: choose at "
            "least 2 steps, and less than half of the rows."
        )
        raise InputError(message)
    rows = given if transform is None else np.asarray(transform.transform(given))
    chosen = list(range(rows.shape[1])) if coordinates is None else list(coordinates)
    if not chosen or not all(0 <= each < rows.shape[1] for each in chosen):
        message = f"coordinates {chosen} do not all exist: choose from 0 to {rows.shape[1] - 1}."
        raise InputError(message)
    low, high = np.quantile(rows, [tails, 1 - tails], axis=0)
    # Codes are integers, and stay integers.
    whole = rows.dtype.kind in "iu"
    moved = np.repeat(rows[row][None], len(chosen) * n_steps, axis=0)
    for number, coordinate in enumerate(chosen):
        path = np.linspace(low[coordinate], high[coordinate], n_steps)
        moved[number * n_steps : (number + 1) * n_steps, coordinate] = (
            np.rint(path) if whole else path
        )
    back = moved if transform is None else transform.inverse_transform(moved)
    drawn = member.decode(back)
    return drawn.reshape(len(chosen), n_steps, *drawn.shape[1:])


def tiled(drawn: NDArray[np.float32], *, gap: int = 2) -> NDArray[np.uint8]:
    """Arrange traversals as one 8-bit image: one row per coordinate, with white gaps.

    Examples
    --------
    >>> import numpy as np
    >>> tiled(np.zeros((2, 3, 8, 8, 1), np.float32)).shape
    (18, 28, 1)
    """
    n_rows, n_columns, side, _, n_channels = drawn.shape
    step = side + gap
    shape = (n_rows * step - gap, n_columns * step - gap, n_channels)
    page = np.full(shape, 255, dtype=np.uint8)
    for i in range(n_rows):
        for j in range(n_columns):
            place = (slice(i * step, i * step + side), slice(j * step, j * step + side))
            page[place] = np.rint(255 * np.clip(drawn[i, j], 0, 1)).astype(np.uint8)
    return page
