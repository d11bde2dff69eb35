"""Intersections of rays with convex solids, in closed form.

Points and directions are arrays whose first axis is (x, y, z), with y upwards; directions have
length one. A ray that does not meet a solid in front of its origin enters at infinity. Arrays are
NumPy's or torch's; results have the same library, type and device.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np

from upto_studies.scenes.canvas import namespace

Array = Any
Point = tuple[float, float, float]

_NEAR = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Sphere:
    """A ball."""

    centre: Point
    radius: float

    @property
    def ball(self) -> tuple[Point, float]:
        """Centre and radius of an enclosing ball."""
        return self.centre, self.radius

    def enter(self, origins: Array, directions: Array) -> Array:
        """Return the distance at which rays enter."""
        away = origins - _column(self.centre, origins)
        # A NumPy double, so that the result is in double precision with NumPy.
        return _entry(*_round(away, directions, self.radius, np.float64(1.0)))

    def normal(self, points: Array) -> Array:
        """Return the outward normal at points of the surface."""
        return _unit(points - _column(self.centre, points))


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """An axis-aligned box."""

    low: Point
    high: Point

    @property
    def ball(self) -> tuple[Point, float]:
        """Centre and radius of an enclosing ball."""
        x, y, z = ((low + high) / 2 for low, high in zip(self.low, self.high, strict=True))
        return (x, y, z), math.dist(self.low, self.high) / 2

    def span(self, origins: Array, directions: Array) -> tuple[Array, Array]:
        """Return the distances at which lines enter and leave; misses have the first larger."""
        spans = [
            _slab(origins[k], directions[k], self.low[k], self.high[k])
            for k in range(len(self.low))
        ]
        xp = namespace(directions)
        first = xp.maximum(xp.maximum(spans[0][0], spans[1][0]), spans[2][0])
        last = xp.minimum(xp.minimum(spans[0][1], spans[1][1]), spans[2][1])
        return first, last

    def enter(self, origins: Array, directions: Array) -> Array:
        """Return the distance at which rays enter."""
        return _entry(*self.span(origins, directions))

    def normal(self, points: Array) -> Array:
        """Return the outward normal at points of the surface."""
        xp, low, high = namespace(points), _column(self.low, points), _column(self.high, points)
        share = (2 * points - low - high) / (high - low)
        side = xp.argmax(xp.abs(share), axis=0)
        axes = xp.arange(3, device=array_api_compat.device(points))
        axes = xp.reshape(axes, (3, *[1] * (points.ndim - 1)))
        return xp.where(axes == side, xp.sign(share), xp.zeros_like(share))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cylinder:
    """An upright cylinder."""

    foot: Point
    radius: float
    height: float

    @property
    def ball(self) -> tuple[Point, float]:
        """Centre and radius of an enclosing ball."""
        x, y, z = self.foot
        return (x, y + self.height / 2, z), math.hypot(self.height / 2, self.radius)

    def enter(self, origins: Array, directions: Array) -> Array:
        """Return the distance at which rays enter."""
        xp, away = namespace(directions), origins - _column(self.foot, origins)
        steep = xp.maximum(directions[0] ** 2 + directions[2] ** 2, 1e-12)
        around = _round(away[::2], directions[::2], self.radius, steep)
        level = _slab(away[1], directions[1], 0.0, self.height)
        return _entry(xp.maximum(around[0], level[0]), xp.minimum(around[1], level[1]))

    def normal(self, points: Array) -> Array:
        """Return the outward normal at points of the surface."""
        xp, away = namespace(points), points - _column(self.foot, points)
        up = 2 * away[1] / self.height - 1
        cap = xp.abs(up) > xp.hypot(away[0], away[2]) / self.radius
        away[1] = 0
        lid = xp.zeros_like(points)
        lid[1] = xp.sign(up)
        return xp.where(cap, lid, _unit(away))


@dataclass(frozen=True, slots=True, kw_only=True)
class Capsule:
    """An upright cylinder with a hemisphere at either end; the height includes both."""

    foot: Point
    radius: float
    height: float

    @property
    def ball(self) -> tuple[Point, float]:
        """Centre and radius of an enclosing ball."""
        x, y, z = self.foot
        return (x, y + self.height / 2, z), math.hypot(self.height / 2, self.radius)

    def enter(self, origins: Array, directions: Array) -> Array:
        """Return the distance at which rays enter."""
        x, y, z = self.foot
        between = self.height - 2 * self.radius
        low = y + self.radius
        parts = (
            Cylinder(foot=(x, low, z), radius=self.radius, height=between),
            Sphere(centre=(x, low, z), radius=self.radius),
            Sphere(centre=(x, low + between, z), radius=self.radius),
        )
        entries = [part.enter(origins, directions) for part in parts]
        xp = namespace(directions)
        return xp.minimum(xp.minimum(entries[0], entries[1]), entries[2])

    def normal(self, points: Array) -> Array:
        """Return the outward normal at points of the surface."""
        xp, away = namespace(points), points - _column(self.foot, points)
        away[1] -= xp.minimum(xp.maximum(away[1], self.radius), self.height - self.radius)
        return _unit(away)


Solid = Sphere | Box | Cylinder | Capsule


def camera_rays(position: Point, target: Point, *, angle: float, n_pixels: int) -> Array:
    """Return the directions of the rays through the centres of pixels.

    Parameters
    ----------
    position, target
        Position of the camera and the point it looks at, not straight up or down.
    angle
        Field of view in degrees, the same horizontally and vertically.
    n_pixels
        Pixels along a side.

    Returns
    -------
    ndarray of shape (3, n_pixels, n_pixels)
        Rows run downwards.
    """
    ahead = _unit(np.subtract(target, position))
    right = _unit(np.cross(ahead, (0.0, 1.0, 0.0)))
    up = np.cross(right, ahead)
    steps = math.tan(math.radians(angle) / 2) * ((np.arange(n_pixels) + 0.5) * 2 / n_pixels - 1)
    ahead, right, up = (axis[:, None, None] for axis in (ahead, right, up))
    return _unit(ahead + right * steps - up * steps[:, None])


def passes_ball(solid: Solid, origins: Array, directions: Array) -> Array:
    """Return which rays hit the ball around a solid: the others cannot hit the solid."""
    centre, radius = solid.ball
    xp, towards = namespace(directions), _column(centre, origins) - origins
    squared = dot(towards, towards) - radius**2
    # Every ray from within the ball hits it.
    least = xp.where(squared <= 0, -xp.inf, xp.sqrt(xp.maximum(squared, 0)) * (1 - 1e-6))
    return dot(towards, directions) >= least


def dot(first: Array, second: Array) -> Array:
    """Return inner products along the short first axis, several times faster than sum."""
    total = first[0] * second[0]
    for one, other in zip(first[1:], second[1:], strict=True):
        total += one * other
    return total


def _unit(vectors: Array) -> Array:
    xp = namespace(vectors)
    length = xp.sqrt(dot(vectors, vectors))
    return vectors / xp.where(length > 0, length, 1)


def _column(point: Point, like: Array) -> Array:
    xp = namespace(like)
    column = xp.asarray(point, dtype=like.dtype, device=array_api_compat.device(like))
    return xp.reshape(column, (3, *[1] * (like.ndim - 1)))


def _round(away: Array, directions: Array, radius: float, steep: Any) -> tuple[Array, Array]:
    """Return the interval of s with |away + s·direction| ≤ radius, where steep = |direction|²."""
    xp, half = namespace(directions), dot(away, directions)
    inside = half * half - steep * (dot(away, away) - radius**2)
    root = xp.sqrt(xp.maximum(inside, 0))
    first, last = (-half - root) / steep, (-half + root) / steep
    return xp.where(inside < 0, xp.inf, first), xp.where(inside < 0, -xp.inf, last)


def _slab(origin: Array, direction: Array, low: float, high: float) -> tuple[Array, Array]:
    xp = namespace(direction)
    # A ray parallel to the slab leaves it too far away to matter.
    inverse = 1 / xp.where(xp.abs(direction) < 1e-9, 1e-9, direction)
    one, other = (low - origin) * inverse, (high - origin) * inverse
    return xp.minimum(one, other), xp.maximum(one, other)


def _entry(first: Array, last: Array) -> Array:
    xp = namespace(first)
    return xp.where((first <= last) & (first > _NEAR), first, xp.inf)
