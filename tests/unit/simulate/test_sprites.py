"""Images of squares: closed forms against grids, integrals and shortest paths found by descent."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize
from scipy.special import ndtr

from upto.core import InputError
from upto.theory import position_distance, sprite_metric
from upto_studies.rates import power_rate
from upto_studies.scenes import (
    arc_coordinates,
    draw_sprites,
    flat_coordinates,
    geodesic_distances,
    image_distances,
    image_metric,
    image_stretches,
    pixel_metric,
    render_sprites,
    smoothing_constant,
)

SIGMAS = [0.02, 0.05, 0.1]


@pytest.fixture(scope="module")
def sprites():
    return draw_sprites(6, smallest=0.15, largest=0.35, reach=0.3, seed=0)


def smooth_image(sprite, sigma, points):
    """Return the smoothed image of one sprite on a grid of points, from its definition."""
    p, r = sprite

    def interval(centre):
        return ndtr((points - centre + r) / sigma) - ndtr((points - centre - r) / sigma)

    return interval(0.0)[:, None] * interval(p)


# Pixels.


def test_hard_pixels_are_the_covered_share():
    image = render_sprites([[0.1, 0.3]], n_pixels=8)[0]
    assert image.sum() * (2 / 8) ** 2 == pytest.approx(0.6**2)
    # Columns cover [-0.25, 0] and so on; the square spans [-0.2, 0.4] by [-0.3, 0.3].
    np.testing.assert_allclose(image[3], [0, 0, 0, 0.8, 1, 0.6, 0, 0], atol=1e-12)
    np.testing.assert_allclose(image[:, 4], [0, 0, 0.2, 1, 1, 0.2, 0, 0], atol=1e-12)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_smoothed_pixels_are_means_of_the_smoothed_image(sprites, sigma):
    fine = 32 * 40
    points = (np.arange(fine) + 0.5) * 2 / fine - 1
    expected = smooth_image(sprites[0], sigma, points).reshape(32, 40, 32, 40).mean(axis=(1, 3))
    found = render_sprites(sprites[:1], n_pixels=32, sigma=sigma)[0]
    np.testing.assert_allclose(found, expected, atol=1e-3)


# Distances.


def test_hard_distances_are_roots_of_areas():
    far = image_distances([[-0.5, 0.1]], [[0.5, 0.2]], sigma=0.0)
    assert far[0, 0] == pytest.approx(math.sqrt(0.2**2 + 0.4**2))
    inside = image_distances([[0.0, 0.1]], [[0.05, 0.3]], sigma=0.0)
    assert inside[0, 0] == pytest.approx(math.sqrt(0.6**2 - 0.2**2))
    moved = image_distances([[0.0, 0.2]], [[0.03, 0.2]], sigma=0.0)
    assert moved[0, 0] == pytest.approx(2 * math.sqrt(0.2 * 0.03))


@pytest.mark.parametrize("sigma", SIGMAS)
def test_smoothed_distances_are_integrals_over_the_plane(sprites, sigma):
    points = np.linspace(-1.2, 1.2, 481)
    images = np.array([smooth_image(sprite, sigma, points) for sprite in sprites])
    change = images[:, None] - images[None]
    expected = np.sqrt((change**2).sum(axis=(2, 3))) * (points[1] - points[0])
    np.testing.assert_allclose(image_distances(sprites, sigma=sigma), expected, atol=1e-6)


def test_distances_are_symmetric_and_vanish_on_the_diagonal(sprites):
    distances = image_distances(sprites, sigma=0.05)
    np.testing.assert_allclose(distances, distances.T, rtol=1e-12)
    np.testing.assert_allclose(np.diag(distances), 0, atol=1e-7)


def test_smoothing_brings_images_nearer(sprites):
    hard = image_distances(sprites, sigma=0.0)
    less, more = (image_distances(sprites, sigma=sigma) for sigma in (0.02, 0.1))
    off = ~np.eye(len(sprites), dtype=bool)
    assert (more < less)[off].all()
    assert (less < hard)[off].all()


# Tangents.


@pytest.mark.parametrize("sigma", SIGMAS)
def test_the_metric_is_that_of_small_steps(sigma):
    r, step = 0.25, 1e-4 * sigma
    moves = [(step, 0.0), (0.0, step), (step, step)]
    squares = [
        image_distances([[-dp / 2, r - dr / 2]], [[dp / 2, r + dr / 2]], sigma=sigma)[0, 0] ** 2
        for dp, dr in moves
    ]
    # The distance of so near images is a difference of areas: six digits are left.
    found = np.array(squares) / step**2 / smoothing_constant(sigma)
    metric = image_metric([r], sigma=sigma)[0]
    np.testing.assert_allclose(found[:2], np.diag(metric), rtol=1e-4)
    assert found[2] == pytest.approx(metric.sum(), rel=1e-4)


def test_the_metric_of_pixels_is_the_closed_form():
    sprites = [[0.05, 0.2], [-0.1, 0.3]]
    found = pixel_metric(sprites, n_pixels=400, sigma=0.05)
    expected = image_metric([0.2, 0.3], sigma=0.05)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-9)


@pytest.mark.parametrize("r", [0.1, 0.25, 0.4])
def test_the_metric_reaches_the_limit_of_the_theory_at_rate_one(r):
    sigmas = np.array([0.01, 0.005, 0.0025])
    ratios = np.array(
        [np.diag(image_metric([r], sigma=s)[0] / sprite_metric(r).clip(1e-9)) for s in sigmas]
    )
    # Closed forms: 4r - 4σ/√π and 8r + (4√π - 8/√π)σ.
    np.testing.assert_allclose((1 - ratios[:, 0]) * r / sigmas, 1 / math.sqrt(math.pi), rtol=1e-9)
    expected = math.sqrt(math.pi) / 2 - 1 / math.sqrt(math.pi)
    np.testing.assert_allclose((ratios[:, 1] - 1) * r / sigmas, expected, rtol=1e-9)


def test_stretches_are_conformal_in_the_limit():
    np.testing.assert_allclose(
        image_stretches([0.1, 0.4], sigma=1e-8), 2 * np.sqrt([[0.1] * 2, [0.4] * 2]), rtol=1e-6
    )


# Shortest paths.


def shortest_by_descent(first, second, smallest, n_pieces=60):
    """Return the length of a shortest path in the limit metric, a bent line improved."""
    start, end = np.asarray(first), np.asarray(second)

    def energy(flat):
        points = np.vstack([start, flat.reshape(-1, 2), end])
        steps, middles = np.diff(points, axis=0), (points[1:, 1] + points[:-1, 1]) / 2
        weights = np.array([1.0, 2.0])
        squares = steps**2 @ weights
        gradient = np.zeros_like(points)
        pull = 8 * middles[:, None] * steps * weights
        gradient[1:] += pull
        gradient[:-1] -= pull
        gradient[1:, 1] += 2 * squares
        gradient[:-1, 1] += 2 * squares
        return 4 * middles @ squares, gradient[1:-1].ravel()

    share = np.linspace(0, 1, n_pieces + 1)[1:-1, None]
    lengths = []
    for sag in (0.0, 0.2):
        line = (1 - share) * start + share * end - [0.0, sag] * (4 * share * (1 - share))
        line[:, 1] = np.maximum(line[:, 1], smallest)
        best = scipy.optimize.minimize(
            energy,
            line.ravel(),
            jac=True,
            method="L-BFGS-B",
            bounds=[(None, None), (smallest, None)] * (n_pieces - 1),
            options={"maxiter": 5000, "maxfun": 10000, "ftol": 1e-14, "gtol": 1e-10},
        )
        points = np.vstack([start, best.x.reshape(-1, 2), end])
        steps, middles = np.diff(points, axis=0), (points[1:, 1] + points[:-1, 1]) / 2
        lengths.append(np.sqrt(4 * middles * (steps**2 @ [1.0, 2.0])).sum())
    return min(lengths)


@pytest.mark.parametrize("smallest", [0.1, 0.2])
@pytest.mark.parametrize("number", range(4))
def test_parabolas_are_as_short_as_paths_found_by_descent(smallest, number):
    rng = np.random.default_rng(number)
    ends = np.column_stack([rng.uniform(-0.6, 0.6, 2), rng.uniform(smallest, 0.4, 2)])
    closed = geodesic_distances(ends[:1], ends[1:], smallest=smallest)[0, 0]
    found = shortest_by_descent(*ends, smallest)
    assert found == pytest.approx(closed, rel=1e-3)
    assert found > closed * (1 - 1e-5)


def test_a_path_along_the_floor_is_straight():
    found = geodesic_distances([[-0.4, 0.2]], [[0.4, 0.2]], smallest=0.2)[0, 0]
    assert found == pytest.approx(position_distance(-0.4, 0.4, half_side=0.2))


def test_growing_takes_the_integral_of_the_metric():
    found = geodesic_distances([[0.3, 0.1]], [[0.3, 0.4]])[0, 0]
    assert found == pytest.approx(math.sqrt(8) * 2 / 3 * (0.4**1.5 - 0.1**1.5))


def test_far_squares_are_joined_through_nothing_if_allowed():
    found = geodesic_distances([[-0.9, 0.01]], [[0.9, 0.01]])[0, 0]
    assert found == pytest.approx(2 * math.sqrt(8) * 2 / 3 * 0.01**1.5)


def test_lower_floors_never_lengthen_paths(sprites):
    high, low, none = (geodesic_distances(sprites, smallest=s) for s in (0.15, 0.05, 0.0))
    assert (low <= high * (1 + 1e-12)).all()
    assert (none <= low * (1 + 1e-12)).all()


@pytest.mark.parametrize("smallest", [0.0, 0.15])
def test_geodesics_are_a_metric_that_solves_the_eikonal_equation(smallest):
    sprites = draw_sprites(40, smallest=0.15, largest=0.4, seed=3)
    distances = geodesic_distances(sprites, smallest=smallest)
    np.testing.assert_allclose(distances, distances.T, rtol=1e-12)
    triangles = distances[:, :, None] + distances[None] - distances[:, None, :]
    assert triangles.min() > -1e-12
    step = 1e-6
    along, up = (sprites[1:] + shift for shift in step * np.eye(2))
    here = geodesic_distances(sprites[:1], sprites[1:], smallest=smallest)
    by_p = (geodesic_distances(sprites[:1], along, smallest=smallest) - here) / step
    by_r = (geodesic_distances(sprites[:1], up, smallest=smallest) - here) / step
    r = sprites[1:, 1]
    np.testing.assert_allclose((by_p**2 / (4 * r) + by_r**2 / (8 * r))[0], 1, atol=1e-3)


# Coordinates.


def test_arc_coordinates_are_lengths_along_the_images():
    sprites = [[0.0, 0.2], [0.0, 0.35], [0.3, 0.2]]
    arcs = arc_coordinates(sprites, half_side=0.2)
    grown = geodesic_distances(sprites[:1], sprites[1:2])[0, 0]
    assert math.dist(arcs[0], arcs[1]) == pytest.approx(grown)
    assert math.dist(arcs[0], arcs[2]) == pytest.approx(position_distance(0, 0.3, half_side=0.2))


def test_flat_coordinates_stretch_the_half_side():
    np.testing.assert_allclose(flat_coordinates([[0.3, 0.2]]), [[0.3, 0.2 * math.sqrt(2)]])


def test_sprites_fill_their_range():
    drawn = draw_sprites(5000, smallest=0.2, largest=0.3, seed=1)
    np.testing.assert_allclose(drawn.min(axis=0), [-0.7, 0.2], atol=2e-3)
    np.testing.assert_allclose(drawn.max(axis=0), [0.7, 0.3], atol=2e-3)


def test_unsmoothed_images_part_as_roots_and_smoothed_ones_as_steps():
    steps = np.array([1e-4, 1e-3, 1e-2])
    moved = np.column_stack([steps, np.full(3, 0.3)])
    hard = image_distances([[0.0, 0.3]], moved, sigma=0.0)
    smooth = image_distances([[0.0, 0.3]], moved, sigma=0.1)
    assert power_rate(steps, hard).value == pytest.approx(0.5)
    assert power_rate(steps, smooth).value == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: draw_sprites(5, smallest=0.4, largest=0.3, seed=0), "half sides 0.4 to 0.3"),
        (lambda: draw_sprites(5, smallest=0.1, largest=0.3, reach=0.8, seed=0), "reach 0.8"),
        (lambda: image_distances([[0.0, -0.1]], sigma=0.1), "half side r above 0"),
        (lambda: image_distances([[0.0, 0.1]], sigma=-0.1), "smoothing of -0.1"),
        (lambda: image_metric([0.1], sigma=0.0), "give one above 0"),
        (lambda: render_sprites([[0.0, 0.1]], n_pixels=0), "0 pixels"),
        (lambda: geodesic_distances([[0.0, 0.1]], smallest=0.2), "0.1 is below the smallest, 0.2"),
        (lambda: flat_coordinates([0.1, 0.2]), r"shape \(2,\) are not rows of 2"),
    ],
)
def test_what_is_no_sprite_is_refused_in_words(call, words):
    with pytest.raises(InputError, match=words):
        call()
