"""Re-rendered dSprites: outlines against polygons, areas, symmetries, and 100 real images."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

from upto.core import InputError
from upto_studies.scenes import DSPRITES_OUTLINES, SHAPES, dsprites_grid, render_dsprites

ROOT = Path(__file__).resolve().parents[3]
REAL = ROOT.parent / "shared" / "data" / "dsprites" / "dsprites_real_100.npz"

UPRIGHT = [[kind, 1.0, 0.0, 0.5, 0.5] for kind in range(3)]


def outline(kind):
    """Return the upright outline as a polygon, from its definition; v upwards."""
    own, t = DSPRITES_OUTLINES, np.linspace(0, 2 * np.pi, 2001)
    if kind == 0:
        return own.half_side * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]])
    if kind == 1:
        return np.column_stack([own.long * np.cos(t), own.short * np.sin(t)])
    height = 13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)
    return np.column_stack([own.half_width * np.sin(t) ** 3, own.lift + own.rise * height])


@pytest.mark.parametrize("kind", range(3), ids=SHAPES)
def test_pixels_are_the_centres_within_the_turned_outline(kind):
    factors = [kind, 0.83, 1.1, 0.37, 0.81]
    _, scale, angle, x, y = factors
    u, v = outline(kind).T * scale
    # Clockwise, in a frame whose rows run downwards.
    turned = np.column_stack(
        [
            16 + 32 * x + math.cos(angle) * u + math.sin(angle) * v,
            16 + 32 * y + math.sin(angle) * u - math.cos(angle) * v,
        ]
    )
    expected = np.zeros((64, 64), dtype=bool)
    row, column = np.mgrid[:64, :64] + 0.5
    # A point is inside if a line from it crosses the outline an odd number of times.
    for (x0, y0), (x1, y1) in itertools.pairwise(turned):
        if y0 != y1:
            between = (y0 <= row) != (y1 <= row)
            expected ^= between & (column < x0 + (row - y0) * (x1 - x0) / (y1 - y0))
    assert np.array_equal(render_dsprites([factors])[0], expected)


@pytest.mark.parametrize("kind", range(3), ids=SHAPES)
def test_fine_pixels_add_up_to_the_area(kind):
    own = DSPRITES_OUTLINES
    area = [
        4 * own.half_side**2,
        math.pi * own.long * own.short,
        # The heart's curve with factors 16 and 1 encloses 180π.
        180 * math.pi * own.half_width / 16 * own.rise,
    ][kind]
    image = render_dsprites([[kind, 1.0, 0.4, 0.5, 0.5]], n_pixels=1024)[0]
    assert image.sum() / 16**2 == pytest.approx(area, rel=2e-3)


def test_areas_are_those_measured_on_the_real_images():
    turned = [[kind, 1.0, 0.4, 0.5, 0.5] for kind in range(3)]
    areas = render_dsprites(turned, n_pixels=1024).sum(axis=(1, 2)) / 16**2
    np.testing.assert_allclose(areas, [19.2**2, 290, 224], rtol=5e-3)


def test_pixels_are_hard():
    images = render_dsprites(dsprites_grid().factors([5, 400_000, 737_279]))
    assert images.dtype == np.uint8
    assert set(np.unique(images)) == {0, 1}


def test_the_heart_stands_on_its_tip_and_the_ellipse_lies():
    _, ellipse, heart = render_dsprites(UPRIGHT)
    rows, columns = np.nonzero(heart)
    assert np.array_equal(heart, heart[:, ::-1])
    assert heart[rows.max()].sum() < 4 < heart[rows.min() + 2].sum()
    assert np.ptp(np.nonzero(ellipse)[1]) > 1.5 * np.ptp(np.nonzero(ellipse)[0])
    assert np.ptp(columns) + 1 == 20


def test_orientation_turns_clockwise():
    quarter = render_dsprites([[2, 1.0, math.pi / 2, 0.5, 0.5]])[0]
    assert np.array_equal(quarter, np.rot90(render_dsprites([UPRIGHT[2]])[0], -1))


def test_the_last_orientation_is_the_first():
    grid = dsprites_grid()
    levels = np.array([[kind, 3, 0, 7, 21] for kind in range(3)])
    last = levels + np.array([0, 0, 39, 0, 0])
    first, again = (render_dsprites(grid.values_of(each)) for each in (levels, last))
    assert np.array_equal(first, again)


def test_moving_by_whole_pixels_moves_the_image():
    start = [2, 0.7, 0.9, 0.25, 0.5]
    moved = [2, 0.7, 0.9, 0.25 + 3 / 32, 0.5 - 5 / 32]
    first, second = render_dsprites([start, moved])
    assert np.array_equal(np.roll(first, (-5, 3), axis=(0, 1)), second)


def test_every_shape_stays_within_the_frame():
    corners = [
        [kind, 1.0, angle, x, y]
        for kind in range(3)
        for angle in np.linspace(0, 2 * np.pi, 40)
        for x in (0, 1)
        for y in (0, 1)
    ]
    images = render_dsprites(corners)
    border = np.concatenate(
        [images[:, 0], images[:, -1], images[:, :, 0], images[:, :, -1]], axis=1
    )
    assert not border.any()
    centred = render_dsprites([[kind, 1.0, angle, 0.5, 0.5] for kind, _, angle, _, _ in corners])
    assert np.abs(images.sum(axis=(1, 2)) - centred.sum(axis=(1, 2), dtype=int)).max() == 0


def test_an_image_does_not_depend_on_its_neighbours():
    grid = dsprites_grid()
    factors = grid.factors(grid.draw(700, seed=1))
    together = render_dsprites(factors)
    for number in (0, 511, 512, 699):
        assert np.array_equal(render_dsprites(factors[[number]])[0], together[number])
    assert render_dsprites(factors[:0]).shape == (0, 64, 64)


def test_real_images_are_rendered_again_pixel_by_pixel():
    if not REAL.exists():
        pytest.skip("the 100 real images are not here: they are checked by checks.dsprites_render")
    with np.load(REAL) as stored:
        real = stored["images"]
    # Numbers of images and their points of the grid: three of each shape.
    poses = {
        7: 50396,
        64: 41512,
        98: 135392,
        12: 382365,
        39: 466195,
        80: 294627,
        5: 597627,
        56: 550794,
        99: 730720,
    }
    grid = dsprites_grid()
    drawn = render_dsprites(grid.factors(list(poses.values())))
    assert (drawn != real[list(poses)]).sum(axis=(1, 2)).tolist() == [0] * len(poses)


def test_the_recorded_check_is_of_these_outlines_and_holds():
    record = json.loads((ROOT / "checks" / "dsprites_render.json").read_text())
    assert record["broken"] == []
    for own in record["outlines"].values():
        for name, value in own["constants"].items():
            assert value == getattr(DSPRITES_OUTLINES, name)
    assert sum(own["images"] for own in record["pixels"].values()) == 100
    for own in record["nats"].values():
        assert own["all shapes"] < 1.1 * own["real"]
        assert own["their re-rendered twins"] == pytest.approx(own["real"], rel=0.02)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: render_dsprites([[3, 1, 0, 0, 0]]), "1 of 1 rows have a shape other"),
        (lambda: render_dsprites([[0.5, 1, 0, 0, 0]]), "square, ellipse, heart"),
        (lambda: render_dsprites([[0, 1.2, 0, 0, 0], [0, 1, 0, 0, 0]]), "1 of 2 rows leave"),
        (lambda: render_dsprites([[0, 0, 0, 0, 0]]), "or are empty"),
        (lambda: render_dsprites([[0, 1, 0, -0.1, 0]]), "x and y from 0 to 1"),
        (lambda: render_dsprites([[0, 1, 0, 0, 1.1]]), "at most 1, and x and y"),
        (lambda: render_dsprites([[0, 1, np.nan, 0, 0]]), "not finite"),
        (lambda: render_dsprites([[0, 1, 0, 0]]), "not rows of 5"),
        (lambda: render_dsprites([[0, 1, 0, 0, 0]], n_pixels=0), "0 pixels"),
    ],
)
def test_what_is_no_shape_is_refused_in_words(call, words):
    with pytest.raises(InputError, match=words):
        call()
