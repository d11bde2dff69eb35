"""Images of a white square that moves and grows, with inner products in closed form.

A sprite is a row (p, r): the centre of the square is (p, 0) and r is half its side, in the frame
[-1, 1]². An image is a function on the plane, 1 on the square and 0 elsewhere, smoothed by a
Gaussian of standard deviation `sigma`; sigma 0 means no smoothing.

An image is a product of two smoothed intervals, and the inner product of two of those is a second
difference of K(u) = u·Φ(u/τ) + τ·φ(u/τ), where τ = √2·sigma; at τ = 0 that is the positive part.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import erf, ndtr

from upto.core import InputError, random_stream
from upto.simulate.mixings import checked
from upto_studies.scenes.canvas import checked_pixels

if TYPE_CHECKING:
    from upto.core.array_types import Float

_ROOT_2 = math.sqrt(2.0)


def draw_sprites(
    n_sprites: int, *, smallest: float, largest: float, reach: float | None = None, seed: int
) -> Float:
    """Draw sprites with uniform positions and half sides.

    Parameters
    ----------
    n_sprites
        Number of sprites.
    smallest, largest
        Range of the half sides; equal for squares that only move.
    reach
        Largest |p|; by default the largest that keeps the largest square in the frame.
    seed
        Seed of the random number generator.

    Examples
    --------
    >>> draw_sprites(5, smallest=0.2, largest=0.4, seed=0).shape
    (5, 2)
    """
    reach = 1 - largest if reach is None else reach
    if not 0 < smallest <= largest < 1 or not 0 <= reach <= 1 - largest:
        message = (
            f"squares of half sides {smallest:g} to {largest:g} that reach {reach:g} from the "
            "centre leave the frame [-1, 1] or are empty: use smaller ones, above 0."
        )
        raise InputError(message)
    drawn = random_stream(seed, "sprites").uniform(-1, 1, size=(n_sprites, 2))
    return np.column_stack(
        [reach * drawn[:, 0], (smallest + largest + (largest - smallest) * drawn[:, 1]) / 2]
    )


def flat_coordinates(sprites: Any) -> Float:
    """Return (p, √2·r), in which the surface of images is conformal to the plane."""
    return _sprites(sprites) * [1.0, _ROOT_2]


def arc_coordinates(sprites: Any, *, half_side: float) -> Float:
    """Return (2√r₀·p, (4√2/3)·r^1.5): arc lengths in image space of moving at r₀, and of growing.

    As an encoder of the images, these stretch p by √(r₀/r) and leave r unstretched.
    """
    sprites = _sprites(sprites)
    return np.column_stack(
        [2 * math.sqrt(half_side) * sprites[:, 0], 4 * _ROOT_2 / 3 * sprites[:, 1] ** 1.5]
    )


def render_sprites(sprites: Any, *, n_pixels: int, sigma: float = 0.0) -> Float:
    """Render images on a square grid over the frame, as exact means over pixels.

    Parameters
    ----------
    sprites
        Rows (p, r).
    n_pixels
        Pixels along a side.
    sigma
        Standard deviation of the smoothing.

    Returns
    -------
    ndarray of shape (sprites, n_pixels, n_pixels)
        Rows of an image run along t, columns along s, the direction of p.

    Examples
    --------
    >>> render_sprites([[0.25, 0.5]], n_pixels=4)[0, 1].tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    sprites, sigma, n_pixels = _sprites(sprites), _sigma(sigma), checked_pixels(n_pixels)
    edges = np.linspace(-1, 1, n_pixels + 1)
    low, high, step = edges[:-1], edges[1:], 2 / n_pixels
    p, r = sprites[:, :1], sprites[:, 1:]
    across = _overlap(p - r, p + r, low, high, sigma) / step
    down = _overlap(-r, r, low, high, sigma) / step
    return np.asarray(down[:, :, None] * across[:, None, :])


def smoothing_constant(sigma: float) -> float:
    """Return 1/(2√π·sigma), the rate at which squared tangents grow as smoothing vanishes."""
    return 1 / (2 * math.sqrt(math.pi) * _sigma(sigma, positive=True))


def image_distances(first: Any, second: Any = None, *, sigma: float) -> Float:
    """Return the L2 distances between images, as functions on the plane.

    Without smoothing, it is the square root of the area in which two squares differ.

    Parameters
    ----------
    first, second
        Rows (p, r); the second default to the first.
    sigma
        Standard deviation of the smoothing.

    Examples
    --------
    >>> image_distances([[0.0, 0.25], [0.02, 0.25]], sigma=0.0)[0].round(12).tolist()
    [0.0, 0.141421356237]
    """
    first = _sprites(first)
    second = first if second is None else _sprites(second)
    tau = _ROOT_2 * _sigma(sigma)
    squared = _norms(first, tau)[:, None] + _norms(second, tau) - 2 * _inner(first, second, tau)
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))


def image_metric(half_sides: Any, *, sigma: float) -> Float:
    """Return the inner products of the tangents ∂p and ∂r, divided by the smoothing constant.

    Parameters
    ----------
    half_sides
        Half sides r, one per metric; metrics do not depend on p.
    sigma
        The smoothing, above 0. As it vanishes, the metrics approach diag(4r, 8r).

    Returns
    -------
    ndarray of shape (half sides, 2, 2)

    Examples
    --------
    >>> image_metric([0.25], sigma=1e-9).round(6).tolist()
    [[[1.0, 0.0], [0.0, 2.0]]]
    """
    r = np.atleast_1d(np.asarray(half_sides, dtype=np.float64))
    constant = smoothing_constant(sigma)
    inner = _overlap(-r, r, -r, r, _ROOT_2 * sigma)
    # Tangents are differences or sums of Gaussians at two edges, 2r apart.
    apart = np.exp(-((r / sigma) ** 2))
    metrics = np.zeros((len(r), 2, 2))
    metrics[:, 0, 0] = 2 * (1 - apart) * inner
    metrics[:, 1, 1] = 4 * (1 + apart) * inner + 2 * erf(r / sigma) ** 2 / constant
    return metrics


def image_stretches(half_sides: Any, *, sigma: float) -> Float:
    """Return the stretches of p and √2·r, the flat coordinates, in images: both 2√r in the limit.

    They are the singular values of the derivative over the square root of the smoothing constant.
    """
    metrics = image_metric(half_sides, sigma=sigma)
    return np.asarray(np.sqrt(np.column_stack([metrics[:, 0, 0], metrics[:, 1, 1] / 2])))


def pixel_metric(sprites: Any, *, n_pixels: int, sigma: float) -> Float:
    """Return the inner products of `image_metric` from pixel images, by central differences.

    Pixels of width h add h²/12 to the variance of the smoothing; images should fit in the frame.
    """
    sprites, constant = _sprites(sprites), smoothing_constant(sigma)
    step, area = sigma / 100, (2 / n_pixels) ** 2
    tangents = [
        (
            render_sprites(sprites + shift, n_pixels=n_pixels, sigma=sigma)
            - render_sprites(sprites - shift, n_pixels=n_pixels, sigma=sigma)
        )
        / (2 * step)
        for shift in step * np.eye(2)
    ]
    stacked = np.stack(tangents, axis=1).reshape(len(sprites), 2, -1)
    return np.asarray(stacked @ stacked.swapaxes(1, 2) * area / constant)


def geodesic_distances(first: Any, second: Any = None, *, smallest: float = 0.0) -> Float:
    """Return distances along the surface of images in the limit of no smoothing.

    The metric 4r(dp² + 2dr²) is, up to a factor, that of a projectile that starts from rest at
    r = 0: shortest paths are parabolas, and their lengths differences of powers 3/2 (Lambert's
    theorem). Where a parabola would pass below the smallest half side, the path follows it instead.

    Parameters
    ----------
    first, second
        Rows (p, r); the second default to the first.
    smallest
        Smallest half side along paths.

    Examples
    --------
    >>> geodesic_distances([[0.0, 0.25]], [[0.0, 0.0625]]).round(6).tolist()
    [[0.206239]]
    """
    first = flat_coordinates(first)
    second = first if second is None else flat_coordinates(second)
    floor = _ROOT_2 * smallest
    lowest = min(float(first[:, 1].min()), float(second[:, 1].min()))
    if not 0 <= floor <= lowest * (1 + 1e-12):
        message = (
            f"a half side of {lowest / _ROOT_2:g} is below the smallest, {smallest:g}: lower it."
        )
        raise InputError(message)
    across = np.abs(first[:, None, 0] - second[None, :, 0])
    start, end = np.broadcast_arrays(first[:, None, 1], second[None, :, 1])
    direct, lowest_point = _thrown(across, start, end)
    by_the_floor = _along_floor(across, start, end, floor)
    allowed = np.where(lowest_point >= floor * (1 - 1e-12), direct, np.inf)
    return np.asarray(2**0.25 * np.minimum(allowed, by_the_floor))


def _thrown(across: Float, start: Float, end: Float) -> tuple[Float, Float]:
    """Return ∫√(2y)ds along the parabola with directrix y = 0, and its lowest point between ends.

    The length is infinite if no such parabola joins the points.
    """
    apart = np.hypot(across, start - end)
    far, near = start + end + apart, start + end - apart
    exists = near >= 0
    far, near = np.sqrt(far), np.sqrt(np.where(exists, near, 0.0))
    length = np.where(exists, (far**3 - near**3) / 3, np.inf)
    slope = np.divide(end - start, apart, out=np.zeros_like(apart), where=apart > 0)
    turns = (far * (1 - slope) > near * (1 + slope)) & (far * (1 + slope) > near * (1 - slope))
    vertex = (1 - slope**2) * (far + near) ** 2 / 8
    return length, np.where(turns & (apart > 0), vertex, np.minimum(start, end))


def _along_floor(across: Float, start: Float, end: Float, floor: float) -> Float:
    """Return the length of the path down to y = floor, along it and up, if there is room."""
    falls = 2 * np.sqrt(floor * np.maximum(start - floor, 0.0))
    rises = 2 * np.sqrt(floor * np.maximum(end - floor, 0.0))
    level = across - falls - rises
    bottom = np.full_like(start, floor)
    down, _ = _thrown(falls, start, bottom)
    up, _ = _thrown(rises, end, bottom)
    return np.where(level >= 0, down + up + math.sqrt(2 * floor) * level, np.inf)


def _inner(first: Float, second: Float, tau: float) -> Float:
    p, r = first[:, :1], first[:, 1:]
    q, s = second[:, 0], second[:, 1]
    return _overlap(p - r, p + r, q - s, q + s, tau) * _overlap(-r, r, -s, s, tau)


def _norms(sprites: Float, tau: float) -> Float:
    r = sprites[:, 1]
    return _overlap(-r, r, -r, r, tau) ** 2


def _overlap(low: Float, high: Float, other_low: Float, other_high: Float, tau: float) -> Float:
    """Return the inner product of two intervals smoothed by Gaussians whose variances sum to τ²."""
    return np.asarray(
        _ramp(high - other_low, tau)
        - _ramp(high - other_high, tau)
        - _ramp(low - other_low, tau)
        + _ramp(low - other_high, tau)
    )


def _ramp(u: Float, tau: float) -> Float:
    if tau == 0:
        return np.maximum(u, 0.0)
    z = u / tau
    return np.asarray(u * ndtr(z) + tau / math.sqrt(2 * math.pi) * np.exp(-(z**2) / 2))


def _sprites(rows: Any) -> Float:
    sprites = checked(rows, 2)
    if len(sprites) == 0 or sprites[:, 1].min() <= 0:
        message = "a sprite is a row (p, r) with a half side r above 0: give one or more such rows."
        raise InputError(message)
    return sprites


def _sigma(sigma: float, *, positive: bool = False) -> float:
    if not math.isfinite(sigma) or sigma < 0 or (positive and sigma == 0):
        least = "above" if positive else "at or above"
        message = f"a smoothing of {sigma:g} cannot be used: give one {least} 0."
        raise InputError(message)
    return sigma
