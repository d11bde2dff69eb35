"""Rendered scenes with known factors, drawn in-house by casting rays in closed form.

Two scenes have the factor grids of published data sets, whose images they do not imitate in
detail: a room with one object has the grid of Shapes3D (Burgess & Kim 2018), a still life under a
moving light and camera that of Falcor3D (Nie et al. 2020).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError
from upto.simulate.grids import FactorGrid
from upto.simulate.mixings import checked
from upto.simulate.rays import (
    Box,
    Capsule,
    Cylinder,
    Point,
    Solid,
    Sphere,
    camera_rays,
    dot,
    passes_ball,
)

Array = NDArray[Any]
Image = NDArray[np.uint8]

OBJECTS = ("cube", "cylinder", "sphere", "capsule")
_SAMPLES = 2
"""Rays along each side of a pixel."""

_ROOM = Box(low=(-4.0, 0.0, -5.0), high=(4.0, 20.0, 7.0))
_ROOM_LIGHT: Point = (2.5, 7.0, 4.0)
_AMBIENT = 0.35

_STUDIO = Box(low=(-5.0, 0.0, -5.0), high=(5.0, 20.0, 12.0))
_STUDIO_SOLIDS: tuple[tuple[Solid, Point], ...] = (
    (Sphere(centre=(-1.3, 0.8, -0.6), radius=0.8), (0.85, 0.25, 0.2)),
    (Box(low=(0.6, 0.0, -2.2), high=(2.2, 2.0, -0.8)), (0.25, 0.45, 0.85)),
    (Cylinder(foot=(0.4, 0.0, 0.9), radius=0.5, height=0.9), (0.9, 0.75, 0.2)),
    (Capsule(foot=(-0.5, 0.0, -2.6), radius=0.45, height=2.2), (0.3, 0.7, 0.35)),
)
_STUDIO_FLOOR: Point = (0.75, 0.7, 0.65)
_STUDIO_WALL: Point = (0.6, 0.65, 0.7)
_LIGHT_RANGE = ((-3.0, 3.0), (3.0, 6.0), (-1.0, 4.0))
_CAMERA_RANGE = ((-2.0, 2.0), (1.5, 4.0), (5.0, 8.0))
_FAINTEST, _BRIGHTEST = 12.0, 60.0


def room_grid() -> FactorGrid:
    """Return the factors of the room, those of Shapes3D: 480 000 points.

    Hues are in [0, 1), the orientation of the camera in degrees.

    Examples
    --------
    >>> room_grid().sizes
    (10, 10, 10, 8, 4, 15)
    """
    hues = tuple((np.arange(10) / 10).tolist())
    return FactorGrid(
        names=("floor hue", "wall hue", "object hue", "scale", "shape", "orientation"),
        values=(
            hues,
            hues,
            hues,
            tuple(np.linspace(0.75, 1.25, 8).tolist()),
            (0.0, 1.0, 2.0, 3.0),
            tuple(np.linspace(-30, 30, 15).tolist()),
        ),
    )


def studio_grid() -> FactorGrid:
    """Return the factors of the still life, those of Falcor3D: 233 280 points.

    All are in [0, 1]: from the faintest to the brightest light, and from one end of a range of
    positions to the other along x to the right, y upwards and z towards the camera.

    Examples
    --------
    >>> studio_grid().sizes
    (5, 6, 6, 6, 6, 6, 6)
    """
    along = tuple(np.linspace(0, 1, 6).tolist())
    return FactorGrid(
        names=(
            "light intensity",
            *(f"{what} {axis}" for what in ("light", "camera") for axis in "xyz"),
        ),
        values=(tuple(np.linspace(0, 1, 5).tolist()), *[along] * 6),
    )


def render_room(factors: Any, *, n_pixels: int = 64) -> Image:
    """Return in-house images of a room with one object, of gridded or any other factors.

    An image is linear in the colours of floor, wall and object. Its view (scale, shape,
    orientation) is cast once and kept: the grid has 480 views.

    Parameters
    ----------
    factors
        Rows (floor hue, wall hue, object hue, scale, shape, orientation): the scale is from 0.5
        to 1.5, the shape 0 to 3 for cube, cylinder, sphere and capsule, the orientation from -40
        to 40 degrees.
    n_pixels
        Pixels along a side.

    Returns
    -------
    ndarray of shape (factors, n_pixels, n_pixels, 3)

    Examples
    --------
    >>> render_room([[0.0, 0.5, 0.7, 1.0, 2, 15.0]]).shape
    (1, 64, 64, 3)
    """
    rows = _room_factors(factors, n_pixels)
    colours = np.ones((len(rows), 4, 3), dtype=np.float32)
    colours[:, :3] = _rgb(rows[:, :3])
    images = np.empty((len(rows), n_pixels, n_pixels, 3), dtype=np.uint8)
    views, belongs = np.unique(rows[:, 3:], axis=0, return_inverse=True)
    for number, own in enumerate(_groups(belongs, len(views))):
        scale, shape, orientation = (float(value) for value in views[number])
        shares = _room_view(scale, int(shape), orientation, n_pixels)
        for image in own:
            images[image] = _bytes(shares @ colours[image]).reshape(n_pixels, n_pixels, 3)
    return images


def render_studio(factors: Any, *, n_pixels: int = 64) -> Image:
    """Return in-house images of a still life, of gridded or any other factors.

    The light falls off with the square of the distance and casts shadows. What reaches the camera
    is exposed as on film, by 1 − exp(−light), so that nothing is clipped. What a camera sees is
    kept: the grid has 216 cameras.

    Parameters
    ----------
    factors
        Rows (light intensity, light x, y, z, camera x, y, z), all in [0, 1].
    n_pixels
        Pixels along a side.

    Returns
    -------
    ndarray of shape (factors, n_pixels, n_pixels, 3)

    Examples
    --------
    >>> render_studio([[0.5] * 7]).shape
    (1, 64, 64, 3)
    """
    rows = _studio_factors(factors, n_pixels)
    images = np.empty((len(rows), n_pixels, n_pixels, 3), dtype=np.uint8)
    # Brightness only scales the light, so one cast of shadows serves all of it.
    places, belongs = np.unique(rows[:, 1:], axis=0, return_inverse=True)
    for number, own in enumerate(_groups(belongs, len(places))):
        light = _between(places[number, :3], _LIGHT_RANGE)
        seen = _studio_view(_between(places[number, 3:], _CAMERA_RANGE), n_pixels)
        falling = _studio_light(light, seen)
        for image in own:
            power = np.float32(_FAINTEST + (_BRIGHTEST - _FAINTEST) * rows[image, 0])
            exposed = 1 - np.exp(-seen[6:] * (power * falling + np.float32(0.15)))
            images[image] = _bytes(np.moveaxis(_pooled(exposed), 0, -1))
    return images


@lru_cache(maxsize=480)
def _room_view(scale: float, shape: int, orientation: float, n_pixels: int) -> Array:
    """Return how much of the colours of floor, wall, object and light each pixel has."""
    turned = math.radians(orientation)
    camera: Point = (5.5 * math.sin(turned), 2.6, 5.5 * math.cos(turned))
    solid = _room_object(shape, scale)
    origins = np.array(camera)[:, None, None]
    rays = camera_rays(camera, (0.0, 0.9, 0.0), angle=50.0, n_pixels=_SAMPLES * n_pixels)
    near, far = solid.enter(origins, rays), _ROOM.span(origins, rays)[1]
    is_object = near < far
    points = origins + rays * np.where(is_object, near, far)
    normals = np.where(is_object, solid.normal(points), -_ROOM.normal(points))
    to_light = np.array(_ROOM_LIGHT)[:, None, None] - points
    to_light /= np.sqrt(dot(to_light, to_light))
    facing = np.maximum(dot(normals, to_light), 0.0)
    facing[~is_object & np.isfinite(solid.enter(points, to_light))] = 0.0
    shade = _AMBIENT + (1 - _AMBIENT) * facing
    half = to_light - rays
    half /= np.sqrt(dot(half, half))
    shine = 0.3 * np.maximum(dot(normals, half), 0.0) ** 40
    is_floor = ~is_object & (normals[1] > 0)
    shares = np.stack(
        [
            shade * is_floor,
            shade * ~(is_floor | is_object),
            shade * is_object,
            shine * (is_object & (facing > 0)),
        ]
    )
    pooled = _pooled(shares).reshape(4, -1).T
    return np.ascontiguousarray(pooled, dtype=np.float32)


def _room_object(shape: int, scale: float) -> Solid:
    if shape == 0:
        half = 0.75 * scale
        return Box(low=(-half, 0.0, -half), high=(half, 2 * half, half))
    if shape == 1:
        return Cylinder(foot=(0.0, 0.0, 0.0), radius=0.8 * scale, height=1.6 * scale)
    if shape == 2:
        return Sphere(centre=(0.0, 0.95 * scale, 0.0), radius=0.95 * scale)
    return Capsule(foot=(0.0, 0.0, 0.0), radius=0.6 * scale, height=2.2 * scale)


@lru_cache(maxsize=216)
def _studio_view(camera: Point, n_pixels: int) -> Array:
    """Return the point, the normal and the colour that each ray sees: nine planes."""
    origins = np.array(camera)[:, None, None]
    rays = camera_rays(camera, (0.0, 0.8, -0.8), angle=45.0, n_pixels=_SAMPLES * n_pixels)
    distance = _STUDIO.span(origins, rays)[1]
    points = origins + rays * distance
    normals = -_STUDIO.normal(points)
    floor, wall = (np.array(colour)[:, None, None] for colour in (_STUDIO_FLOOR, _STUDIO_WALL))
    colours = np.where(normals[1] > 0, floor, wall)
    for solid, colour in _STUDIO_SOLIDS:
        entry = solid.enter(origins, rays)
        nearer = entry < distance
        distance = np.where(nearer, entry, distance)
        points = np.where(nearer, origins + rays * distance, points)
        normals = np.where(nearer, solid.normal(points), normals)
        colours = np.where(nearer, np.array(colour)[:, None, None], colours)
    return np.concatenate([points, normals, colours]).astype(np.float32)


def _studio_light(light: Point, seen: Array) -> Array:
    """Return the light of a lamp of power one that falls on each point."""
    points, normals = seen[:3], seen[3:6]
    lamp = np.array(light, dtype=np.float32)[:, None, None]
    rays = points - lamp
    distances = np.sqrt(dot(rays, rays))
    rays /= distances
    falling = np.maximum(-dot(normals, rays), 0) / (distances * distances)
    # A solid that is lit itself is entered where it is seen, but for rounding.
    before = distances - np.float32(1e-3)
    flat = falling.reshape(-1)
    for solid, _ in _STUDIO_SOLIDS:
        near = np.flatnonzero(passes_ball(solid, lamp, rays))
        some = np.stack([axis.reshape(-1)[near] for axis in rays])
        hidden = solid.enter(lamp[..., 0], some) < before.reshape(-1)[near]
        flat[near[hidden]] = 0
    return np.asarray(falling)


def _rgb(hues: Array) -> Array:
    """Return the full colour of each hue, along a new last axis."""
    sixths = 6 * np.mod(hues, 1)[..., None]
    return np.asarray(np.clip(np.abs(np.mod(sixths - [0, 2, 4], 6) - 3) - 1, 0, 1))


def _pooled(planes: Array) -> Array:
    """Return the mean over the rays of each pixel."""
    steps = range(_SAMPLES)
    total = sum(planes[:, down::_SAMPLES, right::_SAMPLES] for down in steps for right in steps)
    return np.asarray(total / _SAMPLES**2)


def _bytes(image: Array) -> Image:
    return np.asarray(np.minimum(image * 255 + 0.5, 255), dtype=np.uint8)


def _between(shares: Array, ranges: tuple[tuple[float, float], ...]) -> Point:
    x, y, z = (
        low + float(share) * (high - low) for share, (low, high) in zip(shares, ranges, strict=True)
    )
    return x, y, z


def _groups(belongs: Array, n_groups: int) -> list[Array]:
    # NumPy 2.0 alone gives this a second axis.
    flat = belongs.ravel()
    order = np.argsort(flat, kind="stable")
    ends = np.cumsum(np.bincount(flat, minlength=n_groups))
    return np.split(order, ends[:-1])[:n_groups]


def _room_factors(factors: Any, n_pixels: int) -> Array:
    rows = _with_pixels(checked(factors, 6), n_pixels)
    scale, shape, orientation = rows[:, 3:].T
    outside = (scale < 0.5) | (scale > 1.5) | (np.abs(orientation) > 40)
    outside |= ~np.isin(shape, range(len(OBJECTS)))
    if outside.any():
        message = (
            f"{int(outside.sum())} of {len(rows)} rows do not fit the room: take scales from 0.5 "
            "to 1.5, shapes 0, 1, 2 and 3, and orientations from -40 to 40 degrees."
        )
        raise InputError(message)
    return rows


def _studio_factors(factors: Any, n_pixels: int) -> Array:
    rows = _with_pixels(checked(factors, 7), n_pixels)
    outside = ((rows < 0) | (rows > 1)).any(axis=1)
    if outside.any():
        message = (
            f"{int(outside.sum())} of {len(rows)} rows leave the range of lights and cameras: "
            "take all factors from 0 to 1."
        )
        raise InputError(message)
    return rows


def _with_pixels(rows: Array, n_pixels: int) -> Array:
    if n_pixels < 1:
        message = f"{n_pixels} pixels make no image: ask for at least one."
        raise InputError(message)
    return rows
