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
        return points * (1 + self.amplitude * self._across(_norms(points)))

    def _inverse(self, images: Float) -> Float:
        sizes = _norms(images)
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
        radii, directions = _polar(points)
        across = 1 + self.amplitude * self._across(radii)
        along = 1 + self.amplitude * np.cos(self.frequency * radii)
        rays = directions[:, :, None] * directions[:, None, :]
        return np.asarray(
            across[:, :, None] * np.eye(self.n_in) + (along - across)[:, :, None] * rays
        )

    def _across(self, radii: Float) -> Float:
        return np.asarray(np.sinc(self.frequency * radii / math.pi))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Twist(Mixing):
    """Map that rotates every sphere about zero by an angle that depends on its radius.

    The angle is k·|x|²/(2R²), or k·log|x| for a spiral: the time-one map of a divergence-free flow,
    since every sphere keeps its volume.
    """

    generator: Float
    shear: float
    is_spiral: bool

    def _map(self, points: Float) -> Float:
        return self._turned(points, self._angles(_norms(points)))

    def _inverse(self, images: Float) -> Float:
        return self._turned(images, -self._angles(_norms(images)))

    def _jacobian(self, points: Float) -> Float:
        radii, directions = _polar(points)
        angles, shears = self._angles(radii), self._shears(radii)
        # The derivative of x ↦ exp(angle·G)·x is exp(angle·G)·(I + shear·G·x̂·x̂ᵀ).
        columns = (
            np.eye(self.n_in)
            + (shears * (directions @ self.generator))[:, :, None] * (directions[:, None, :])
        )
        turned = self._turned(
            columns.swapaxes(1, 2).reshape(-1, self.n_in), np.repeat(angles, self.n_in, axis=0)
        )
        return np.asarray(turned.reshape(-1, self.n_in, self.n_in).swapaxes(1, 2))

    def _turned(self, points: Float, angles: Float) -> Float:
        moved = points @ self.generator
        planes = -moved @ self.generator
        return np.asarray(points + (np.cos(angles) - 1) * planes + np.sin(angles) * moved)

    def _angles(self, radii: Float) -> Float:
        if self.is_spiral:
            return self.shear * np.log(np.where(radii > 0, radii, 1.0))
        return np.asarray(self.shear * (radii / self._size) ** 2 / 2)

    def _shears(self, radii: Float) -> Float:
        if self.is_spiral:
            return np.where(radii > 0, self.shear, 0.0)
        return np.asarray(self.shear * (radii / self._size) ** 2)

    @property
    def _size(self) -> float:
        return 1.0 if self.radius is None else self.radius


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
    """Return a radial warp; its constant is attained at half of `radius` and valid everywhere.

    Examples
    --------
    >>> warp = radial_warp(2, lipschitz=0.25, radius=2.0)
    >>> float(np.linalg.svd(warp.jacobian([[1.0, 0.0]]), compute_uv=False).min().round(12))
    0.8
    """
    _check(n, lipschitz, radius, least=1)
    return RadialWarp(
        n_in=n,
        n_out=n,
        lipschitz=lipschitz,
        attained=True,
        keeps_balls=True,
        amplitude=lipschitz / (1 + lipschitz),
        frequency=2 * math.pi / radius,
    )


def twist(n: int, *, lipschitz: float, radius: float = 1.0, seed: int) -> Twist:
    """Return a smooth twist; its constant is valid on the ball and attained on its surface."""
    _check(n, lipschitz, radius, least=2)
    return _twist(n, lipschitz, radius, seed)


def spiral(n: int, *, lipschitz: float, seed: int) -> Twist:
    """Return a logarithmic spiral, with the same singular values at every point except zero.

    In odd dimensions they are largest perpendicular to the axis. At zero the map is continuous but
    not differentiable.
    """
    _check(n, lipschitz, 1.0, least=2)
    return _twist(n, lipschitz, None, seed)


def ball_inversion(n: int, *, lipschitz: float, radius: float = 1.0, seed: int) -> BallInversion:
    """Return a conformal map of the ball onto itself; its constant is attained at two poles.

    Examples
    --------
    >>> mixing = ball_inversion(3, lipschitz=0.5, seed=0)
    >>> points = np.eye(3)
    >>> np.linalg.norm(mixing(points), axis=1).round(12).tolist()
    [1.0, 1.0, 1.0]
    """
    _check(n, lipschitz, radius, least=1)
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
    """Return a shear wave; its constant is attained at zero and valid everywhere."""
    _check(n, lipschitz, radius, least=2)
    slide, front = orthonormal_rows(random_stream(seed, "mixing", "wave"), 2, n)
    frequency = math.pi / radius
    return ShearWave(
        n_in=n,
        n_out=n,
        lipschitz=lipschitz,
        attained=True,
        slide=slide,
        front=front,
        amplitude=_shear(lipschitz) / frequency,
        frequency=frequency,
    )


def _twist(n: int, lipschitz: float, radius: float | None, seed: int) -> Twist:
    planes = np.zeros((n, n))
    first = np.arange(0, n - 1, 2)
    planes[first, first + 1], planes[first + 1, first] = 1.0, -1.0
    frame = orthonormal_rows(random_stream(seed, "mixing", "twist"), n, n)
    return Twist(
        n_in=n,
        n_out=n,
        lipschitz=lipschitz,
        attained=True,
        radius=radius,
        keeps_balls=True,
        generator=frame.T @ planes @ frame,
        shear=_shear(lipschitz),
        is_spiral=radius is None,
    )


def _shear(lipschitz: float) -> float:
    return (1 + lipschitz) - 1 / (1 + lipschitz)


def _norms(points: Float) -> Float:
    return np.asarray(np.linalg.norm(points, axis=1, keepdims=True))


def _polar(points: Float) -> tuple[Float, Float]:
    radii = _norms(points)
    return radii, points / np.where(radii > 0, radii, 1.0)


def _check(n: int, lipschitz: float, radius: float, *, least: int) -> None:
    if n < least:
        message = f"{n} dimensions are too few for this map: it needs {least} or more."
        raise InputError(message)
    if not (math.isfinite(lipschitz) and lipschitz >= 0):
        message = f"L = {lipschitz:g} is not a valid constant: give 0, an isometry, or more."
        raise InputError(message)
    if not (math.isfinite(radius) and radius > 0):
        message = f"a radius of {radius:g} is not positive: give a positive one."
        raise InputError(message)
