"""Re-rendered dSprites: binary images of squares, ellipses and hearts.

The data set (Matthey et al. 2017) is published as images only. Its grid of factors is documented;
the outlines were measured here on 100 of its images without labels. A pixel is 1 if its centre is
within the outline, 39 steps of orientation make a full turn (level 39 equals level 0), and centres
run from a quarter to three quarters of the frame. The constants of the outlines minimise the number
of differing pixels. The heart is the curve

    u = w·sin³t,  v = lift + rise·(13 cos t − 5 cos 2t − 2 cos 3t − cos 4t)

with v upwards. ``python -m checks.dsprites_render`` repeats the fit and compares with the images.
The images do not determine the directions of orientation, x and y: here they are clockwise, from
the left and from the top.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import FactorGrid, InputError
from upto.simulate.mixings import checked
from upto_studies.scenes.canvas import canvas_on, checked_pixels, namespace

if TYPE_CHECKING:
    from upto.core.array_types import Float

SHAPES = ("square", "ellipse", "heart")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlines:
    """Outlines at scale 1, in pixels of a frame of 64.

    Parameters
    ----------
    half_side
        Half the side of the square.
    long, short
        Semi-axes of the ellipse; at orientation 0 the long one is horizontal.
    half_width, rise, lift
        Constants of the heart's curve; at orientation 0 its tip is at the bottom.
    """

    half_side: float = 9.596
    long: float = 12.76
    short: float = 7.21
    half_width: float = 9.59
    rise: float = 0.6625
    lift: float = 1.44

    @property
    def reach(self) -> float:
        """Upper bound of the distance of outlines from the centre."""
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
    factors: Any,
    *,
    n_pixels: int = 64,
    outlines: Outlines = DSPRITES_OUTLINES,
    device: Any = None,
) -> Any:
    """Render dSprites images, for factors on or off the grid.

    Parameters
    ----------
    factors
        Rows (shape, scale, orientation, x, y): the shape is 0, 1 or 2 for square, ellipse and
        heart, the scale above 0 and at most 1, the orientation in radians, x and y in [0, 1].
    n_pixels
        Pixels along a side.
    outlines
        Outlines of the shapes.
    device
        None for NumPy; ``"cpu"``, ``"cuda"`` etc. render with torch, also in double precision, and
        the images stay there.

    Returns
    -------
    ndarray or tensor of bytes, of shape (factors, n_pixels, n_pixels)
        Rows of an image run downwards; pixels are 0 or 1.

    Examples
    --------
    >>> images = render_dsprites([[0, 0.5, 0.0, 0.5, 0.5], [2, 1.0, 0.0, 0.0, 1.0]])
    >>> images.shape, images.dtype, images.sum(axis=(1, 2)).tolist()
    ((2, 64, 64), dtype('uint8'), [100, 222])
    """
    rows, n_pixels = _factors(factors), checked_pixels(n_pixels)
    canvas = canvas_on(device)
    images = canvas.empty(len(rows), n_pixels, n_pixels)
    # Shapes are few pixels wide, so only a window around each is rendered.
    reach = outlines.reach / 64 * n_pixels
    width = min(n_pixels, math.ceil(2 * reach) + 1)
    order = np.argsort(rows[:, 0], kind="stable")
    kinds, scale, angle, *centre = rows[order].T
    left, top = ((0.25 + 0.5 * along) * n_pixels for along in centre)
    corners = (
        np.clip(np.floor(along - reach), 0, n_pixels - width).astype(np.int64)
        for along in (left, top)
    )
    # Sines and cosines are always NumPy's, so that pixels on the outline agree.
    numbers = (left, top, scale * n_pixels / 64, np.cos(angle), np.sin(angle))
    placed = [canvas.place(each[:, None, None]) for each in (order, *corners, *numbers)]
    steps = canvas.place(np.arange(width))
    ends = np.searchsorted(kinds, range(len(SHAPES) + 1)).tolist()
    for kind, (start, stop) in enumerate(itertools.pairwise(ends)):
        for first, last in canvas.spans(start, stop, 8 * width**2):
            own, column, line, *pose = (each[first:last] for each in placed)
            columns, lines = column + steps, line + steps[:, None]
            left, top, size, cosine, sine = pose
            right, down = (columns + 0.5 - left) / size, (lines + 0.5 - top) / size
            covered = _within(
                kind, cosine * right + sine * down, sine * right - cosine * down, outlines
            )
            images[own, lines, columns] = namespace(covered).astype(covered, images.dtype)
    return images


def _within(kind: int, u: Any, v: Any, outlines: Outlines) -> Any:
    """Return which points are within the upright outline; u runs to the right, v upwards."""
    xp = namespace(u)
    if kind == 0:
        return xp.maximum(xp.abs(u), xp.abs(v)) <= outlines.half_side
    if kind == 1:
        return (u / outlines.long) ** 2 + (v / outlines.short) ** 2 <= 1
    # At one u the curve is crossed at t and π − t. With c = cos t ≥ 0 these are the two heights
    # lift + rise·(4 − 2c² − 8c⁴ ± c·(19 − 8c²)).
    squared = 1 - _cube_root(xp.abs(u / outlines.half_width)) ** 2
    c2 = xp.maximum(squared, 0.0)
    middle = outlines.lift + outlines.rise * (4 - c2 * (2 + 8 * c2))
    half = outlines.rise * xp.sqrt(c2) * (19 - 8 * c2)
    return (squared >= 0) & (xp.abs(v - middle) <= half)


def _cube_root(array: Any) -> Any:
    # Only NumPy has a cube root; the power differs from it in the last digit.
    return np.cbrt(array) if isinstance(array, np.ndarray) else array ** (1 / 3)


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
