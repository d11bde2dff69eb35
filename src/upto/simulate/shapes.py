"""The dSprites images rendered again: hard 0/1 pictures of squares, ellipses and hearts.

The data set (Matthey et al. 2017) is published as images only. Its grid of factors is documented;
how the shapes are drawn was measured here, on 100 of its images that carry no labels. A pixel is 1
where its centre lies within the outline, 39 steps of orientation make a full turn (level 39 is
level 0 again), and centres run from a quarter to three quarters of the frame. The constants of the
outlines were fitted by counting the pixels that differ. The heart is the curve

    u = w·sin³t,  v = lift + rise·(13 cos t − 5 cos 2t − 2 cos 3t − cos 4t)

with v upwards. ``python -m checks.dsprites_render`` repeats the fit and compares with the images.
Images do not tell in which direction orientation, x and y are counted: here clockwise, from the
left and from the top.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError
from upto.simulate.grids import FactorGrid
from upto.simulate.mixings import checked

Float = NDArray[np.float64]

SHAPES = ("square", "ellipse", "heart")
_BATCH = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlines:
    """Outlines at scale 1, in pixels of a frame of 64.

    Parameters
    ----------
    half_side
        Half the side of the square.
    long, short
        The semi-axes of the ellipse; at orientation 0 the long one is horizontal.
    half_width, rise, lift
        The constants of the heart's curve; at orientation 0 its tip is below.
    """

    half_side: float = 9.596
    long: float = 12.76
    short: float = 7.21
    half_width: float = 9.59
    rise: float = 0.6625
    lift: float = 1.44

    @property
    def reach(self) -> float:
        """A distance from the centre that no outline exceeds."""
        tall = max(17 * self.rise - self.lift, 12 * self.rise + self.lift)
        heart = math.hypot(self.half_width, tall)
        return max(self.half_side * math.sqrt(2.0), self.long, self.short, heart)


DSPRITES_OUTLINES = Outlines()


def dsprites_grid() -> FactorGrid:
    """Return the factors of dSprites: shape, scale, orientation, x and y, 737 280 points.

    Examples
    --------
    >>> dsprites_grid().sizes
    (3, 6, 40, 32, 32)
    """
    along = tuple(np.linspace(0, 1, 32).tolist())
    return FactorGrid(
        names=("shape", "scale", "orientation", "x", "y"),
        values=(
            (0.0, 1.0, 2.0),
            tuple(np.linspace(0.5, 1, 6).tolist()),
            tuple(np.linspace(0, 2 * math.pi, 40).tolist()),
            along,
            along,
        ),
    )


def render_dsprites(
    factors: Any, *, n_pixels: int = 64, outlines: Outlines = DSPRITES_OUTLINES
) -> NDArray[np.uint8]:
    """Return re-rendered dSprites, of gridded or any other factors.

    Parameters
    ----------
    factors
        Rows (shape, scale, orientation, x, y): the shape is 0, 1 or 2 for square, ellipse and
        heart, the scale above 0 and at most 1, the orientation in radians, x and y in [0, 1].
    n_pixels
        Pixels along a side.
    outlines
        How the shapes are drawn.

    Returns
    -------
    ndarray of shape (factors, n_pixels, n_pixels)
        Rows of an image run downwards, its pixels are 0 or 1.

    Examples
    --------
    >>> images = render_dsprites([[0, 0.5, 0.0, 0.5, 0.5], [2, 1.0, 0.0, 0.0, 1.0]])
    >>> images.shape, images.dtype, images.sum(axis=(1, 2)).tolist()
    ((2, 64, 64), dtype('uint8'), [100, 222])
    """
    rows = _factors(factors)
    if n_pixels < 1:
        message = f"{n_pixels} pixels make no image: ask for at least one."
        raise InputError(message)
    images = np.zeros((len(rows), n_pixels, n_pixels), dtype=np.uint8)
    # Shapes are few pixels wide, so only a window around each is looked at.
    reach = outlines.reach / 64 * n_pixels
    width = min(n_pixels, math.ceil(2 * reach) + 1)
    for kind in range(len(SHAPES)):
        own = np.flatnonzero(rows[:, 0] == kind)
        for start in range(0, len(own), _BATCH):
            batch = own[start : start + _BATCH]
            scale, angle, x, y = rows[batch, 1:].T
            left, top = ((0.25 + 0.5 * along) * n_pixels for along in (x, y))
            first_column, first_row = (
                np.clip(np.floor(centre - reach), 0, n_pixels - width).astype(np.intp)
                for centre in (left, top)
            )
            columns = first_column[:, None, None] + np.arange(width)
            lines = first_row[:, None, None] + np.arange(width)[:, None]
            size = (scale * n_pixels / 64)[:, None, None]
            right = (columns + 0.5 - left[:, None, None]) / size
            down = (lines + 0.5 - top[:, None, None]) / size
            cosine, sine = np.cos(angle)[:, None, None], np.sin(angle)[:, None, None]
            covered = _within(
                kind, cosine * right + sine * down, sine * right - cosine * down, outlines
            )
            images[batch[:, None, None], lines, columns] = covered
    return images


def _within(kind: int, u: Float, v: Float, outlines: Outlines) -> NDArray[np.bool_]:
    """Tell which points lie within the upright outline; u runs to the right, v upwards."""
    if kind == 0:
        return np.asarray(np.maximum(np.abs(u), np.abs(v)) <= outlines.half_side)
    if kind == 1:
        return np.asarray((u / outlines.long) ** 2 + (v / outlines.short) ** 2 <= 1)
    # At one u the curve is crossed at t and π − t. With c = cos t ≥ 0 these are the two heights
    # lift + rise·(4 − 2c² − 8c⁴ ± c·(19 − 8c²)).
    squared = 1 - np.cbrt(u / outlines.half_width) ** 2
    c2 = np.maximum(squared, 0.0)
    middle = outlines.lift + outlines.rise * (4 - c2 * (2 + 8 * c2))
    half = outlines.rise * np.sqrt(c2) * (19 - 8 * c2)
    return np.asarray((squared >= 0) & (np.abs(v - middle) <= half))


def _factors(factors: Any) -> Float:
    rows = checked(factors, 5)
    strange = ~np.isin(rows[:, 0], range(len(SHAPES)))
    if strange.any():
        message = (
            f"{int(strange.sum())} of {len(rows)} rows have a shape other than 0, 1 and 2: "
            f"these stand for {', '.join(SHAPES)}."
        )
        raise InputError(message)
    outside = (rows[:, 1] <= 0) | (rows[:, 1] > 1) | (rows[:, 3:] < 0).any(axis=1)
    outside |= (rows[:, 3:] > 1).any(axis=1)
    if outside.any():
        message = (
            f"{int(outside.sum())} of {len(rows)} rows leave the frame or are empty: "
            "take scales above 0 and at most 1, and x and y from 0 to 1."
        )
        raise InputError(message)
    return rows
