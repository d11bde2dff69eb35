"""Smooth maps of a space onto itself with a prescribed, exact bi-Lipschitz constant.

A shear I + k·u·vᵀ with orthonormal u and v has the singular values s and 1/s with s - 1/s = k. So
twists and waves, which are rotated shears at every point, preserve volume and have exact constants.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from upto.core import InputError, random_stream
from upto.core.array_types import Float
from upto.simulate.mixings import Mixing, orthonormal_rows

_NEWTON_STEPS = 60


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RadialWarp(Mixing):
    """Map that moves points along their rays: x becomes x·(1 + a·sin(ω|x|)/(ω|x|)).

    Along the ray the stretch is 1 + a·cos(ω|x|), across it 1 + a·sin(ω|x|)/(ω|x|).
    """

    amplitude: float
    frequency: float

    def _map(self, points: Float) -> Float:
        return points * (1 + self.amplitude * self._across(norms(points)))

    def _inverse(self, images: Float) -> Float:
        sizes = norms(images)
        reach = self.amplitude / self.frequency
        low, high = np.maximum(sizes - reach, 0.0), sizes + reach
        radii = sizes.copy()
        for _ in range(_NEWTON_STEPS):
            excess = radii + reach * np.sin(self.frequency * radii) - sizes
            low, high = np.where(excess < 0, radii, low), np.where(excess > 0, radii, high)
            slope = 1 + self.amplitude * np.cos(self.frequency * radii)
            stepped = radii - excess / slope
            inside = (stepped >= low) & (stepped <= high)
            stepped = np.where(inside, stepped, (low + high) / 2)
            if np.all(np.abs(stepped - radii) <= 1e-16 * (1 + sizes)):
                break
            radii = stepped
        return np.asarray(images / (1 + self.amplitude * self._across(radii)))

    def _jacobian(self, points: Float) -> Float:
        radii, directions = polar(points)
        across = 1 + self.amplitude * self._across(radii)
        along = 1 + self.amplitude * np.cos(self.frequency * radii)
        rays = directions[:, :, None] * directions[:, None, :]
        return np.asarray(
            across[:, :, None] * np.eye(self.n_in) + (along - across)[:, :, None] * rays
        )

    def _across(self, radii: Float) -> Float:
        return np.asarray(np.sinc(self.frequency * radii / math.pi))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BallInversion(Mixing):
    """Inversion in a sphere orthogonal to that of the ball: conformal, and its own inverse.

    It maps the ball onto itself; the stretch, the same in all directions, is (1 - t²)/|t·x/R - e|².
    """

    direction: Float
    nearness: float
    size: float

    def _map(self, points: Float) -> Float:
        points = points / self.size
        along = points @ self.direction[:, None]
        lengths = np.square(points).sum(axis=1, keepdims=True)
        t = self.nearness
        moved = (t * (lengths + 1) - 2 * along) * self.direction + (1 - t**2) * points
        return np.asarray(self.size * moved / (1 - 2 * t * along + t**2 * lengths))

    def _inverse(self, images: Float) -> Float:
        return self._map(images)

    def _jacobian(self, points: Float) -> Float:
        away = self.nearness * points / self.size - self.direction
        squared = np.square(away).sum(axis=1)[:, None, None]
        mirror = np.eye(self.n_in) - 2 * away[:, :, None] * away[:, None, :] / squared
        return np.asarray((1 - self.nearness**2) / squared * mirror)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShearWave(Mixing):
    """Map that shifts points along u by a·sin(ω·v·x), with u and v orthonormal."""

    slide: Float
    front: Float
    amplitude: float
    frequency: float

    def _map(self, points: Float) -> Float:
        return points + self._slides(points)

    def _inverse(self, images: Float) -> Float:
        return images - self._slides(images)

    def _jacobian(self, points: Float) -> Float:
        slopes = self.amplitude * self.frequency * np.cos(self.frequency * points @ self.front)
        return np.asarray(
            np.eye(self.n_in) + slopes[:, None, None] * np.outer(self.slide, self.front)
        )

    def _slides(self, points: Float) -> Float:
        waves = self.amplitude * np.sin(self.frequency * points @ self.front)
        return np.asarray(waves[:, None] * self.slide)


def radial_warp(n: int, *, lipschitz: float, radius: float = 1.0) -> RadialWarp:
    r"""Return a radial warp; its constant is attained at half of `radius` and valid everywhere.

    Parameters
    ----------
    n
        Number of coordinates.
    lipschitz
        L, at least 0.
    radius
        Radius R on which the wave has one period.

    Returns
    -------
    Mixing
        The map.

    See Also
    --------
    draw_mixing : The same by name, in a random orientation.
    ball_inversion : Another map of the ball onto itself.

    Notes
    -----
    With Λ = 1 + L,

    .. math::

        x' = x \left( 1 + a \, \frac{\sin(\omega |x|)}{\omega |x|} \right), \qquad
        a = 1 - \frac{1}{\Lambda}, \quad \omega = \frac{2 \pi}{R}

    stretches by 1 + a cos(ω\|x\|) along the ray, which is least, 1/Λ, at \|x\| = R/2.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.simulate import radial_warp
    >>> warp = radial_warp(2, lipschitz=0.25, radius=2.0)
    >>> float(np.linalg.svd(warp.jacobian([[1.0, 0.0]]), compute_uv=False).min().round(12))
    0.8
    """
    check_warp(n, lipschitz, radius, least=1)
    return RadialWarp(
        n_in=n,
        n_out=n,
        lipschitz=lipschitz,
        attained=True,
        keeps_balls=True,
        amplitude=lipschitz / (1 + lipschitz),
        frequency=2 * math.pi / radius,
    )


def ball_inversion(n: int, *, lipschitz: float, radius: float = 1.0, seed: int) -> BallInversion:
    r"""Return a conformal map of the ball onto itself; its constant is attained at two poles.

    Parameters
    ----------
    n
        Number of coordinates.
    lipschitz
        L, at least 0.
    radius
        Radius R of the ball.
    seed
        Seed of the axis through the two poles.

    Returns
    -------
    Mixing
        The map, which is its own inverse.

    See Also
    --------
    draw_mixing : The same by name.
    radial_warp : Another map of the ball onto itself, not conformal.
    upto.theory.conformal_factor : Another conformal map, of images.

    Notes
    -----
    With the axis e and t = L/(2 + L), the stretch is the same in all directions:

    .. math::

        \frac{1 - t^2}{| t x / R - e |^2}

    It is Λ at x = R e and 1/Λ at x = -R e.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.simulate import ball_inversion
    >>> mixing = ball_inversion(3, lipschitz=0.5, seed=0)
    >>> points = np.eye(3)
    >>> np.linalg.norm(mixing(points), axis=1).round(12).tolist()
    [1.0, 1.0, 1.0]
    """
    check_warp(n, lipschitz, radius, least=1)
    direction = orthonormal_rows(random_stream(seed, "mixing", "inversion"), 1, n)[0]
    return BallInversion(
        n_in=n,
        n_out=n,
        lipschitz=lipschitz,
        attained=True,
        radius=radius,
        keeps_balls=True,
        direction=direction,
        nearness=lipschitz / (2 + lipschitz),
        size=radius,
    )


def shear_wave(n: int, *, lipschitz: float, radius: float = 1.0, seed: int) -> ShearWave:
    r"""Return a shear wave; its constant is attained at zero and valid everywhere.

    Parameters
    ----------
    n
        Number of coordinates, at least 2.
    lipschitz
        L, at least 0.
    radius
        Half the wavelength.
    seed
        Seed of the two directions.

    Returns
    -------
    Mixing
        The map.

    See Also
    --------
    draw_mixing : The same by name.
    twist : Another map that keeps volumes.

    Notes
    -----
    With orthonormal u and v, and Λ = 1 + L,

    .. math::

        x' = x + a \sin(\omega \, v \cdot x) \, u, \qquad
        \omega = \frac{\pi}{R}, \quad a \, \omega = \Lambda - 1 / \Lambda

    whose singular values at zero are Λ and 1/Λ.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.simulate import shear_wave
    >>> mixing = shear_wave(2, lipschitz=0.5, seed=0)
    >>> values = np.linalg.svd(mixing.jacobian([[0.0, 0.0]]), compute_uv=False)
    >>> values.round(6).tolist()
    [[1.5, 0.666667]]
    """
    check_warp(n, lipschitz, radius, least=2)
    slide, front = orthonormal_rows(random_stream(seed, "mixing", "wave"), 2, n)
    frequency = math.pi / radius
    return ShearWave(
        n_in=n,
        n_out=n,
        lipschitz=lipschitz,
        attained=True,
        slide=slide,
        front=front,
        amplitude=shear_size(lipschitz) / frequency,
        frequency=frequency,
    )


def shear_size(lipschitz: float) -> float:
    """Return the size of the shear whose singular values are 1 + L and 1/(1 + L)."""
    return (1 + lipschitz) - 1 / (1 + lipschitz)


def norms(points: Float) -> Float:
    """Return the length of each row, as a column."""
    return np.asarray(np.linalg.norm(points, axis=1, keepdims=True))


def polar(points: Float) -> tuple[Float, Float]:
    """Return the length of each row and its direction; zero for the zero row."""
    radii = norms(points)
    return radii, points / np.where(radii > 0, radii, 1.0)


def check_warp(n: int, lipschitz: float, radius: float, *, least: int) -> None:
    """Refuse dimensions, constants and radii of which no map exists."""
    if n < least:
        message = f"{n} dimensions are too few for this map: it needs {least} or more."
        raise InputError(message)
    if not (math.isfinite(lipschitz) and lipschitz >= 0):
        message = f"L = {lipschitz:g} is not a valid constant: give 0, an isometry, or more."
        raise InputError(message)
    if not (math.isfinite(radius) and radius > 0):
        message = f"a radius of {radius:g} is not positive: give a positive one."
        raise InputError(message)
