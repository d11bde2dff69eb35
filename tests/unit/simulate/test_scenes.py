"""Rendered scenes: rays against closed forms and small steps, images against what was asked."""

from __future__ import annotations

import math

import numpy as np
import pytest

from upto.core import InputError
from upto_studies.scenes import OBJECTS, render_room, render_studio, room_grid, studio_grid
from upto_studies.scenes import rooms as scenes
from upto_studies.scenes.rays import Box, Capsule, Cylinder, Sphere, camera_rays, passes_ball

SOLIDS = {
    "sphere": Sphere(centre=(0.3, -0.2, 0.1), radius=0.8),
    "box": Box(low=(-0.7, -0.4, -0.5), high=(0.5, 0.9, 0.8)),
    "cylinder": Cylinder(foot=(0.2, -0.6, -0.1), radius=0.6, height=1.1),
    "capsule": Capsule(foot=(-0.1, -0.9, 0.2), radius=0.4, height=1.8),
}


def depth(name, points):
    """Return a function that is below 0 within a solid, 0 on it and above 0 outside."""
    solid = SOLIDS[name]
    if name == "sphere":
        return np.linalg.norm(points.T - solid.centre, axis=-1).T - solid.radius
    if name == "box":
        return np.maximum(solid.low - points.T, points.T - solid.high).max(axis=-1).T
    x, y, z = (axis - at for axis, at in zip(points, solid.foot, strict=True))
    if name == "cylinder":
        return np.maximum.reduce([np.hypot(x, z) - solid.radius, -y, y - solid.height])
    middle = np.clip(y, solid.radius, solid.height - solid.radius)
    return np.sqrt(x**2 + (y - middle) ** 2 + z**2) - solid.radius


@pytest.fixture(scope="module")
def rays():
    rng = np.random.default_rng(0)
    origins = rng.normal(size=(3, 400))
    origins *= 3 / np.linalg.norm(origins, axis=0)
    directions = rng.normal(scale=0.7, size=(3, 400)) - origins
    return origins, directions / np.linalg.norm(directions, axis=0)


# Rays.


@pytest.mark.parametrize("name", SOLIDS)
def test_rays_enter_where_small_steps_do(name, rays):
    origins, directions = rays
    found = SOLIDS[name].enter(origins, directions)
    steps = np.arange(0, 6, 2e-3)
    inside = depth(name, origins[..., None] + directions[..., None] * steps) < 0
    first = np.where(inside.any(axis=1), steps[inside.argmax(axis=1)], np.inf)
    # Rays that only graze are met by neither or by one.
    sure = inside.sum(axis=1) > 20
    missed = ~inside.any(axis=1)
    assert sure.sum() > 60
    assert missed.sum() > 30
    np.testing.assert_allclose(found[sure], first[sure], atol=2.1e-3)
    assert np.isinf(found[missed]).mean() > 0.95
    points = origins + directions * np.where(np.isfinite(found), found, 0)
    np.testing.assert_allclose(depth(name, points)[np.isfinite(found)], 0, atol=1e-9)


@pytest.mark.parametrize("name", SOLIDS)
def test_normals_are_gradients_that_face_the_ray(name, rays):
    origins, directions = rays
    found = SOLIDS[name].enter(origins, directions)
    met = np.isfinite(found)
    points = (origins + directions * np.where(met, found, 0))[:, met]
    normals = SOLIDS[name].normal(points)
    step = 1e-6
    gradients = np.stack(
        [
            (depth(name, points + shift[:, None]) - depth(name, points - shift[:, None])) / 2
            for shift in step * np.eye(3)
        ]
    )
    np.testing.assert_allclose(normals, gradients / step, atol=1e-4)
    assert ((normals * directions[:, met]).sum(axis=0) < 1e-9).all()


@pytest.mark.parametrize("name", SOLIDS)
def test_rays_away_from_a_solid_or_past_the_ball_around_it_do_not_enter(name, rays):
    origins, directions = rays
    assert np.isinf(SOLIDS[name].enter(origins, origins / 3)).all()
    start = origins[:, :1]
    towards = -start / 3 + 0.5 * directions
    towards /= np.linalg.norm(towards, axis=0)
    passing = passes_ball(SOLIDS[name], start, towards)
    met = np.isfinite(SOLIDS[name].enter(start, towards))
    assert 0 < met.sum() <= passing.sum() < len(passing)
    assert not (met & ~passing).any()


def test_a_ray_along_an_axis_meets_each_solid_at_its_height():
    origins, directions = np.array([[0.0], [5.0], [0.2]]), np.array([[0.0], [-1.0], [0.0]])
    found = {name: float(solid.enter(origins, directions)[0]) for name, solid in SOLIDS.items()}
    assert found["box"] == pytest.approx(5 - 0.9)
    assert found["cylinder"] == pytest.approx(5 - 0.5)
    assert found["capsule"] == pytest.approx(5 - 0.5 - math.sqrt(0.4**2 - 0.1**2))
    assert found["sphere"] == pytest.approx(5 + 0.2 - math.sqrt(0.8**2 - 0.3**2 - 0.1**2))


def test_the_camera_sees_its_target_in_the_middle_and_its_angle_at_the_edge():
    rays = camera_rays((1.0, 2.0, 5.0), (0.0, 0.5, 0.0), angle=50.0, n_pixels=1)
    ahead = np.array([-1.0, -1.5, -5.0])
    np.testing.assert_allclose(rays[:, 0, 0], ahead / np.linalg.norm(ahead))
    rays = camera_rays((0.0, 1.0, 5.0), (0.0, 1.0, 0.0), angle=50.0, n_pixels=100)
    # Pixel centres stop half a pixel before the edge; rows run downwards, columns to the right.
    assert rays[0, 50, -1] / -rays[2, 50, -1] == pytest.approx(0.99 * math.tan(math.radians(25)))
    assert rays[1, 0, 50] > 0 > rays[1, -1, 50]


# The room.


def masks(shape, scale=1.0, orientation=0.0, n_pixels=64):
    """Return where floor, wall and object are, and the image that shows it."""
    # Hues 0, 1/3 and 2/3 are red, green and blue; what all channels share is the white highlight.
    image = render_room([[0, 1 / 3, 2 / 3, scale, shape, orientation]], n_pixels=n_pixels)[0]
    coloured = image - image.min(axis=-1, keepdims=True)
    return [coloured[..., k] > 1 for k in range(3)], image


def test_a_hue_colours_its_own_part_only():
    base = [0.1, 0.4, 0.7, 1.0, 1, 10.0]
    floor, wall, thing = masks(1, orientation=10.0)[0]
    before = render_room([base])[0].astype(int)
    for column, part in enumerate([floor, wall, thing]):
        changed = list(base)
        changed[column] += 0.2
        differs = (render_room([changed])[0] != before).any(axis=-1)
        assert differs.sum() > 100
        assert not (differs & ~part).any()


def test_colours_are_full_hues():
    (floor, wall, thing), image = masks(0)
    only = floor & ~wall & ~thing
    assert (image[only][:, 1:] == 0).all()
    shades = image[only][:, 0]
    yellow = render_room([[1 / 6, 1 / 3, 2 / 3, 1, 0, 0]])[0][only]
    assert np.array_equal(yellow[:, 0], yellow[:, 1])
    assert np.array_equal(yellow[:, 0], shades)
    # Ambient light alone, and never more than full light.
    assert shades.min() == round(255 * 0.35)
    assert 200 < shades.max() <= 255


def test_hues_are_a_circle():
    first, again = render_room([[0.3, 0.2, 0.9, 1, 3, 5.0], [1.3, -0.8, 1.9, 1, 3, 5.0]])
    assert np.array_equal(first, again)


@pytest.mark.parametrize("scale", [0.75, 1.25])
def test_the_sphere_covers_the_rays_within_its_angle(scale):
    radius = 0.95 * scale
    camera, target = (0.0, 2.6, 5.5), (0.0, 0.9, 0.0)
    rays = camera_rays(camera, target, angle=50.0, n_pixels=128)
    to_centre = np.array([0.0, radius, 0.0]) - camera
    distance = np.linalg.norm(to_centre)
    cosine = np.tensordot(to_centre / distance, rays, axes=1)
    inside = cosine >= math.sqrt(1 - (radius / distance) ** 2)
    expected = inside.reshape(64, 2, 64, 2).any(axis=(1, 3))
    thing = masks(2, scale)[0][2]
    assert np.array_equal(thing, expected)


@pytest.mark.parametrize("shape", range(4), ids=OBJECTS)
def test_larger_objects_cover_more_and_stand_on_the_floor(shape):
    sizes = [masks(shape, scale)[0][2].sum() for scale in room_grid().values[3]]
    assert (np.diff(sizes) > 0).all()
    assert sizes[-1] > 2 * sizes[0]


@pytest.mark.parametrize("shape", range(4), ids=OBJECTS)
def test_opposite_cameras_see_mirrored_outlines(shape):
    first, second = (masks(shape, orientation=angle)[0] for angle in (-20.0, 20.0))
    for one, other in zip(first, second, strict=True):
        assert (one[:, ::-1] != other).mean() < 2e-3


def test_round_objects_do_not_turn_but_the_room_does():
    (floor, _, thing), image = masks(2, orientation=-30.0)
    (turned_floor, _, same), turned = masks(2, orientation=30.0)
    assert np.array_equal(thing, same)
    assert (floor != turned_floor).sum() > 50
    assert (image != turned).any(axis=-1).sum() > 1000


def test_all_views_of_the_grid_differ():
    grid = room_grid()
    levels = np.array([[0, 3, 6, s, k, a] for s in (0, 1, 7) for k in range(4) for a in (0, 1, 14)])
    images = render_room(grid.values_of(levels), n_pixels=32)
    assert len(np.unique(images.reshape(len(images), -1), axis=0)) == len(levels)


def test_an_object_casts_a_shadow_on_the_floor():
    darkest = round(255 * 0.35)
    large, small = (
        ((image == [darkest, 0, 0]).all(axis=-1) & floor).sum()
        for (floor, _, _), image in (masks(3, scale=scale) for scale in (1.25, 0.75))
    )
    assert large > small > 5


# The still life.


def film(image):
    """Return the light that exposed an image."""
    return -np.log(1 - (image.astype(float) / 255).clip(0, 0.999))


def test_light_adds_in_proportion_to_its_power():
    rows = np.full((3, 7), 0.5)
    rows[:, 0] = [0.0, 0.5, 1.0]
    dim, middle, bright = film(render_studio(rows))
    # Exposure bends within a pixel where colours meet: most pixels hold one colour.
    error = np.abs((dim + bright) / 2 - middle) / (middle + 0.1)
    assert np.median(error) < 0.02
    assert (bright >= dim).all()
    assert (bright > 1.5 * dim).mean() > 0.5


def test_the_floor_is_lit_by_the_cosine_over_the_squared_distance():
    # From far enough a pixel is a point: compare with Lambert's law at a spot without shadow.
    row = [0.25, 0.5, 1.0, 1.0, 0.5, 1.0, 1.0]
    camera, target = np.array([0.0, 4.0, 8.0]), (0.0, 0.8, -0.8)
    lamp, power = np.array([0.0, 6.0, 4.0]), 12 + 48 * 0.25
    image = render_studio([row], n_pixels=128)[0]
    rays = camera_rays(tuple(camera), target, angle=45.0, n_pixels=128)[:, 120, ::20]
    points = camera[:, None] - rays * camera[1] / rays[1]
    away = lamp[:, None] - points
    falling = away[1] / np.linalg.norm(away, axis=0) ** 3
    colour = np.array([0.75, 0.7, 0.65])
    expected = 255 * (1 - np.exp(-colour * (power * falling[:, None] + 0.15)))
    np.testing.assert_allclose(image[120, ::20], expected, atol=1.5)


def test_the_floor_is_dark_where_the_ball_hides_the_lamp():
    image = render_studio([[0.5, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5]], n_pixels=128)[0]
    camera, lamp = np.array([0.0, 2.75, 6.5]), np.array([3.0, 4.5, 1.5])
    ball, radius = np.array([-1.3, 0.8, -0.6]), 0.8
    rays = camera_rays(tuple(camera), (0.0, 0.8, -0.8), angle=45.0, n_pixels=128)
    points = camera - np.moveaxis(rays, 0, -1) * (camera[1] / rays[1])[..., None]

    def passes(start):
        """Return how far lines from the start to the points pass the centre of the ball."""
        ways = points - start
        ways /= np.linalg.norm(ways, axis=-1, keepdims=True)
        return np.linalg.norm(np.cross(ways, ball - start), axis=-1)

    # The part of the floor to the left of the ball, where nothing else throws a shadow.
    x, _, z = np.moveaxis(points, -1, 0)
    floor = (rays[1] < 0) & (x > -4) & (x < -1.5) & (z > -1) & (z < 1) & (passes(camera) > 0.9)
    hidden, lit = (floor & (passes(lamp) < radius - 0.1)), floor & (passes(lamp) > radius + 0.1)
    assert hidden.sum() > 100
    assert lit.sum() > 100
    ambient = np.round(255 * (1 - np.exp(-0.15 * np.array([0.75, 0.7, 0.65]))))
    np.testing.assert_allclose(image[hidden], np.tile(ambient, (hidden.sum(), 1)), atol=1)
    assert (image[lit] > 1.5 * ambient).all()


def test_every_factor_of_the_still_life_changes_the_image():
    base = np.full(7, 0.5)
    rows = np.vstack([base, base + 0.2 * np.eye(7)])
    images = render_studio(rows, n_pixels=32).astype(int)
    assert (np.abs(images[1:] - images[0]).mean(axis=(1, 2, 3)) > 1).all()


def test_the_red_ball_is_brighter_where_the_lamp_is():
    rows = np.full((2, 7), 0.5)
    rows[:, 1] = [0.0, 1.0]
    left, right = render_studio(rows).astype(float)
    red = (left[..., 0] > 1.5 * left[..., 2]) & (right[..., 0] > 1.5 * right[..., 2])
    red[:, 32:] = False
    columns = np.nonzero(red)[1]
    west = red & (np.arange(64) < np.median(columns))
    east = red & (np.arange(64) > np.median(columns))
    assert left[west].mean() / left[east].mean() > right[west].mean() / right[east].mean()


@pytest.mark.parametrize(
    ("render", "make"), [(render_room, room_grid), (render_studio, studio_grid)]
)
def test_images_do_not_depend_on_their_neighbours_or_on_what_was_drawn_before(render, make):
    grid = make()
    factors = grid.factors(grid.draw(12, seed=5))
    together = render(factors, n_pixels=16)
    assert together.dtype == np.uint8
    assert together.shape == (12, 16, 16, 3)
    assert np.array_equal(render(factors[::-1], n_pixels=16), together[::-1])
    assert np.array_equal(render(factors[7:8], n_pixels=16)[0], together[7])
    assert render(factors[:0], n_pixels=16).shape == (0, 16, 16, 3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: render_room([[0, 0, 0, 1, 4, 0]]), "1 of 1 rows do not fit the room"),
        (lambda: render_room([[0, 0, 0, 2, 0, 0], [0, 0, 0, 1, 0, 0]]), "scales from 0.5"),
        (lambda: render_room([[0, 0, 0, 1, 0, 60]]), "orientations from -40 to 40"),
        (lambda: render_room([[0, 0, 0, 1, 0]]), "not rows of 6"),
        (lambda: render_room([[0, 0, 0, 1, 0, 0]], n_pixels=0), "0 pixels are not an image"),
        (lambda: render_studio([[0.5] * 6 + [1.2]]), "1 of 1 rows leave the range"),
        (lambda: render_studio([[0.5] * 6]), "not rows of 7"),
        (lambda: render_studio([[np.nan] * 7]), "not finite"),
        (lambda: render_studio([[0.5] * 7], n_pixels=-1), "-1 pixels are not an image"),
        (lambda: render_studio([[0.5] * 7], n_pixels=6.5), "6.5 pixels are not an image"),
    ],
)
def test_what_cannot_be_rendered_is_refused_in_words(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_large_views_are_not_kept():
    for render, factors, view in (
        (render_room, [[0.1, 0.2, 0.3, 1.05, 2, 7.0]], scenes._room_view),
        (render_studio, [[0.5, 0.1, 0.2, 0.3, 0.41, 0.42, 0.43]], scenes._studio_view),
    ):
        n_views, n_rays = view.cache_info().currsize, scenes._rays.cache_info().currsize
        large = render(factors, n_pixels=136)
        assert view.cache_info().currsize == n_views
        assert scenes._rays.cache_info().currsize == n_rays
        # Four pixels make one of half the size, but for rounding and the film's bend.
        small = render(factors, n_pixels=68)
        pooled = large.astype(float).reshape(1, 68, 2, 68, 2, 3).mean(axis=(2, 4))
        assert np.median(np.abs(pooled - small)) <= 1
        assert view.cache_info().currsize == n_views + 1
