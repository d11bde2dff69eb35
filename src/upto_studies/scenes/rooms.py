"""Rendered scenes with known factors, by ray casting in closed form.

Two scenes have the factor grids of published data sets, but do not imitate their images in detail:
a room with one object has the grid of Shapes3D (Burgess & Kim 2018), a still life with a moving
light and camera that of Falcor3D (Nie et al. 2020).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from upto.core import FactorGrid, InputError
from upto.simulate.mixings import checked
from upto_studies.scenes.canvas import Canvas, canvas_on, checked_pixels, namespace, to_bytes
from upto_studies.scenes.rays import (
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

Array = Any
Rows = NDArray[np.float64]

OBJECTS = ("cube", "cylinder", "sphere", "capsule")
_SAMPLES = 2
"""Rays along each side of a pixel."""
_LARGEST_KEPT = 128
"""Largest side, in pixels, of cached views: at most half a gigabyte for a whole grid."""

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
_STUDIO_AMBIENT = 0.15


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


def render_room(factors: Any, *, n_pixels: int = 64, device: Any = None) -> Any:
    """Render images of a room with one object, for factors on or off the grid.

    An image is linear in the colours of floor, wall and object. Its view (scale, shape,
    orientation) is cast once and cached, up to 128 pixels: the grid has 480 views.

    Parameters
    ----------
    factors
        Rows (floor hue, wall hue, object hue, scale, shape, orientation): the scale is from 0.5
        to 1.5, the shape 0 to 3 for cube, cylinder, sphere and capsule, the orientation from -40
        to 40 degrees.
    n_pixels
        Pixels along a side.
    device
        None for NumPy; ``"cpu"``, ``"cuda"`` etc. render with torch, and the images stay there.
        They differ from NumPy's by at most one grey level, in few pixels.

    Returns
    -------
    ndarray or tensor of bytes, of shape (factors, n_pixels, n_pixels, 3)

    Examples
    --------
    >>> render_room([[0.0, 0.5, 0.7, 1.0, 2, 15.0]]).shape
    (1, 64, 64, 3)
    """
    n_pixels = checked_pixels(n_pixels)
    rows, canvas = _room_factors(factors), canvas_on(device)
    images = canvas.empty(len(rows), n_pixels, n_pixels, 3)
    views, order, ends = _groups(rows[:, 3:])
    colours = np.ones((len(rows), 4, 3), dtype=np.float32)
    colours[:, :3] = _rgb(rows[order, :3])
    colours, order = canvas.place(colours), canvas.place(order)
    for view, start, stop in zip(views.tolist(), ends[:-1], ends[1:], strict=True):
        scale, shape, orientation = view
        shares = _kept(_room_view, canvas, scale, int(shape), orientation, n_pixels)
        for first, last in canvas.spans(start, stop, 12 * n_pixels**2):
            with canvas.exact_products():
                seen = to_bytes(shares @ colours[first:last])
            images[order[first:last]] = seen.reshape(-1, n_pixels, n_pixels, 3)
    return images


def render_studio(factors: Any, *, n_pixels: int = 64, device: Any = None) -> Any:
    """Render images of a still life, for factors on or off the grid.

    The light falls off with the square of the distance and casts shadows. The exposure is that of
    film, 1 − exp(−light), so nothing is clipped. Views are cached, up to 128 pixels: the grid has
    216 cameras.

    Parameters
    ----------
    factors
        Rows (light intensity, light x, y, z, camera x, y, z), all in [0, 1].
    n_pixels
        Pixels along a side.
    device
        None for NumPy; ``"cpu"``, ``"cuda"`` etc. render with torch, and the images stay there.
        They differ from NumPy's in few pixels, where rounding moves the edge of a shadow or a
        grey level.

    Returns
    -------
    ndarray or tensor of bytes, of shape (factors, n_pixels, n_pixels, 3)

    Examples
    --------
    >>> render_studio([[0.5] * 7]).shape
    (1, 64, 64, 3)
    """
    n_pixels = checked_pixels(n_pixels)
    rows, canvas = _studio_factors(factors), canvas_on(device)
    images = canvas.empty(len(rows), n_pixels, n_pixels, 3)
    # Brightness only scales the light, so shadows are cast once for all intensities.
    places, order, ends = _groups(rows[:, [4, 5, 6, 1, 2, 3]])
    cameras, _, lamps_end = _groups(places[:, :3])
    lamps = canvas.place(_between(places[:, 3:], _LIGHT_RANGE).T.astype(np.float32))
    powers = _FAINTEST + (_BRIGHTEST - _FAINTEST) * rows[order, 0]
    belongs = canvas.place(np.repeat(np.arange(len(places)), np.diff(ends)))
    powers, order = canvas.place(powers.astype(np.float32)), canvas.place(order)
    rays_bytes = 4 * (_SAMPLES * n_pixels) ** 2
    for camera, begin, end in zip(
        _between(cameras, _CAMERA_RANGE).tolist(), lamps_end[:-1], lamps_end[1:], strict=True
    ):
        seen = _kept(_studio_view, canvas, tuple(camera), n_pixels)
        for lamp, next_lamp in canvas.spans(begin, end, rays_bytes):
            falling = _studio_light(lamps[:, lamp:next_lamp], seen)
            for first, last in canvas.spans(ends[lamp], ends[next_lamp], 3 * rays_bytes):
                own = falling[belongs[first:last] - lamp]
                light = powers[first:last, None, None] * own + _STUDIO_AMBIENT
                images[order[first:last]] = _exposed(seen[6:], light)
    return images


def _kept(cast: Any, *seen: Any) -> Array:
    """Cast a view, the side in pixels last, or return it from the cache."""
    return cast(*seen) if seen[-1] <= _LARGEST_KEPT else cast.__wrapped__(*seen)


def _exposed(colours: Array, light: Array) -> Array:
    """Return exposed images of colours under light as bytes, one per plane of light."""
    xp = namespace(light)
    exposed = 1 - xp.exp(-colours * light[:, None])
    return xp.permute_dims(to_bytes(_pooled(exposed)), (0, 2, 3, 1))


@lru_cache(maxsize=480)
def _room_view(
    canvas: Canvas, scale: float, shape: int, orientation: float, n_pixels: int
) -> Array:
    """Return the weights of the colours of floor, wall, object and light in each pixel."""
    turned = math.radians(orientation)
    camera: Point = (5.5 * math.sin(turned), 2.6, 5.5 * math.cos(turned))
    rays = _kept(_rays, camera, (0.0, 0.9, 0.0), 50.0, n_pixels)
    origins, rays = canvas.place(np.array(camera)[:, None, None]), canvas.place(rays)
    xp, solid = namespace(rays), _room_object(shape, scale)
    near, far = solid.enter(origins, rays), _ROOM.span(origins, rays)[1]
    is_object = near < far
    points = origins + rays * xp.where(is_object, near, far)
    normals = xp.where(is_object, solid.normal(points), -_ROOM.normal(points))
    to_light = canvas.place(np.array(_ROOM_LIGHT)[:, None, None]) - points
    to_light /= xp.sqrt(dot(to_light, to_light))
    hidden = ~is_object & xp.isfinite(solid.enter(points, to_light))
    facing = xp.where(hidden, 0.0, xp.maximum(dot(normals, to_light), 0.0))
    shade = _AMBIENT + (1 - _AMBIENT) * facing
    half = to_light - rays
    half /= xp.sqrt(dot(half, half))
    shine = 0.3 * xp.maximum(dot(normals, half), 0.0) ** 40
    is_floor = ~is_object & (normals[1] > 0)
    shares = xp.stack(
        [
            shade * is_floor,
            shade * ~(is_floor | is_object),
            shade * is_object,
            shine * (is_object & (facing > 0)),
        ]
    )
    # A copy, because matrix products need contiguous colours.
    return xp.astype(_pooled(shares).reshape(4, -1).T, xp.float32)


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
def _studio_view(canvas: Canvas, camera: Point, n_pixels: int) -> Array:
    """Return the point, normal and colour that each ray hits, as nine planes."""
    rays = _kept(_rays, camera, (0.0, 0.8, -0.8), 45.0, n_pixels)
    origins, rays = canvas.place(np.array(camera)[:, None, None]), canvas.place(rays)
    xp, distance = namespace(rays), _STUDIO.span(origins, rays)[1]
    points = origins + rays * distance
    normals = -_STUDIO.normal(points)
    floor, wall, *own = (
        canvas.place(np.array(colour)[:, None, None])
        for colour in (_STUDIO_FLOOR, _STUDIO_WALL, *(each for _, each in _STUDIO_SOLIDS))
    )
    colours = xp.where(normals[1] > 0, floor, wall)
    for (solid, _), colour in zip(_STUDIO_SOLIDS, own, strict=True):
        entry = solid.enter(origins, rays)
        nearer = entry < distance
        distance = xp.where(nearer, entry, distance)
        points = xp.where(nearer, origins + rays * distance, points)
        normals = xp.where(nearer, solid.normal(points), normals)
        colours = xp.where(nearer, colour, colours)
    return xp.astype(xp.concat([points, normals, colours]), xp.float32)


def _studio_light(lamps: Array, seen: Array) -> Array:
    """Return the light on each point from lamps of unit power, one plane per lamp."""
    xp, points, normals = namespace(seen), seen[:3, None], seen[3:6, None]
    rays = points - lamps[:, :, None, None]
    distances = xp.sqrt(dot(rays, rays))
    rays /= distances
    falling = xp.maximum(-dot(normals, rays), 0) / (distances * distances)
    # A lit solid is hit at the visible point itself, up to rounding.
    before, lit = (distances - 1e-3).reshape(-1), falling.reshape(-1)
    flat_rays, n_rays = rays.reshape(3, -1), math.prod(seen.shape[1:])
    for solid, _ in _STUDIO_SOLIDS:
        (near,) = xp.nonzero(passes_ball(solid, lamps[:, :, None, None], rays).reshape(-1))
        hidden = solid.enter(lamps[:, near // n_rays], flat_rays[:, near]) < before[near]
        lit[near[hidden]] = 0
    return lit.reshape(falling.shape)


@lru_cache(maxsize=32)
def _rays(camera: Point, target: Point, angle: float, n_pixels: int) -> Array:
    return camera_rays(camera, target, angle=angle, n_pixels=_SAMPLES * n_pixels)


def _rgb(hues: Rows) -> Rows:
    """Return the full colour of each hue, along a new last axis."""
    sixths = 6 * np.mod(hues, 1)[..., None]
    return np.asarray(np.clip(np.abs(np.mod(sixths - [0, 2, 4], 6) - 3) - 1, 0, 1))


def _pooled(planes: Array) -> Array:
    """Return the mean over the rays of each pixel."""
    steps = range(_SAMPLES)
    total = sum(planes[..., down::_SAMPLES, right::_SAMPLES] for down in steps for right in steps)
    return total / _SAMPLES**2


def _between(shares: Rows, ranges: tuple[tuple[float, float], ...]) -> Rows:
    low, high = np.array(ranges).T
    return np.asarray(low + shares * (high - low))


def _groups(rows: Rows) -> tuple[Rows, NDArray[np.int64], list[int]]:
    """Return the distinct rows in order, the sorting order, and where each group begins."""
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    starts = np.ones(len(rows), dtype=bool)
    starts[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return ordered[starts], order.astype(np.int64), [*np.flatnonzero(starts).tolist(), len(rows)]


def _room_factors(factors: Any) -> Rows:
    rows = checked(factors, 6)
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


def _studio_factors(factors: Any) -> Rows:
    rows = checked(factors, 7)
    outside = ((rows < 0) | (rows > 1)).any(axis=1)
    if outside.any():
        message = (
            f"{int(outside.sum())} of {len(rows)} rows leave the range of lights and cameras: "
            "take all factors from 0 to 1."
        )
        raise InputError(message)
    return rows
