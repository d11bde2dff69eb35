"""Images rendered by torch against NumPy's, whose bytes are held to those of the first version."""

from __future__ import annotations

import math

import numpy as np
import pytest

from upto.core import InputError
from upto_studies.scenes import (
    dsprites_grid,
    render_dsprites,
    render_room,
    render_studio,
    room_grid,
    studio_grid,
)
from upto_studies.scenes.canvas import Canvas
from upto_studies.scenes.rays import Sphere, passes_ball

SETS = {
    "dsprites": (dsprites_grid, render_dsprites, 200),
    "room": (room_grid, render_room, 60),
    "studio": (studio_grid, render_studio, 25),
}
SUMS = {"dsprites": 2358538, "room": 4853589609, "studio": 2008155500}


def drawn(name):
    """Return factors of the grid and, as many, off it."""
    make, _, n_images = SETS[name]
    grid = make()
    gridded = grid.factors(grid.draw(n_images, seed=11))
    low, high = (np.array([pick(own) for own in grid.values]) for pick in (min, max))
    free = low + np.random.default_rng(0).uniform(size=gridded.shape) * (high - low)
    for j, factor in enumerate(grid.names):
        if factor == "shape":
            free[:, j] = np.floor(free[:, j])
    return np.concatenate([gridded, free])


@pytest.mark.parametrize("name", SETS)
def test_torch_renders_what_numpy_renders(name):
    torch = pytest.importorskip("torch")
    factors, render = drawn(name), SETS[name][1]
    expected, found = render(factors, n_pixels=32), render(factors, n_pixels=32, device="cpu")
    assert isinstance(found, torch.Tensor)
    assert found.dtype == torch.uint8
    assert found.device.type == "cpu"
    assert found.shape == expected.shape
    assert expected.std() > 0.1
    away = np.abs(found.numpy().astype(int) - expected)
    assert away.max() <= 1
    # Doubles decide on sprites, and torch rounds no differently there.
    assert (away > 0).mean() <= (0 if name == "dsprites" else 1e-3)


@pytest.mark.parametrize("name", SETS)
def test_blocks_of_a_device_change_nothing_but_memory(name, monkeypatch):
    torch = pytest.importorskip("torch")
    factors, render = drawn(name)[::3], SETS[name][1]
    whole = render(factors, n_pixels=16, device="cpu")
    for length in (1, 2**30):
        monkeypatch.setattr("upto_studies.scenes.canvas._TORCH_BYTES", length)
        assert torch.equal(render(factors, n_pixels=16, device="cpu"), whole)
    assert render(factors[:0], n_pixels=16, device="cpu").shape == (0, *whole.shape[1:])


@pytest.mark.parametrize("name", SETS)
def test_the_bytes_of_numpys_images_stay(name):
    images = SETS[name][1](drawn(name), n_pixels=32)
    # Sums tell of any pixel that moved by more than the libraries' last digits.
    weights = np.arange(images[0].size) % 251
    total = int((images.reshape(len(images), -1).astype(np.int64) @ weights).sum())
    assert total == pytest.approx(SUMS[name], rel=1e-6)


def test_tf32_products_do_not_reach_the_colours():
    torch = pytest.importorskip("torch")
    matmul = torch.backends.cuda.matmul
    if not hasattr(matmul, "fp32_precision"):
        pytest.skip("this torch has one setting for all products, which the engines test")
    before = matmul.fp32_precision
    try:
        matmul.fp32_precision = "tf32"
        with Canvas(device=torch.device("cpu")).exact_products():
            assert matmul.fp32_precision == "ieee"
        assert matmul.fp32_precision == "tf32"
    finally:
        matmul.fp32_precision = before


def test_a_block_on_a_device_holds_its_bytes():
    torch = pytest.importorskip("torch")
    canvas = Canvas(device=torch.device("cuda"))
    spans = list(canvas.spans(5, 1000, 2**20))
    assert [first for first, _ in spans[1:]] == [last for _, last in spans[:-1]]
    assert (spans[0][0], spans[-1][1]) == (5, 1000)
    assert {last - first for first, last in spans[:-1]} == {32}
    assert next(canvas.spans(0, 3, 2**40)) == (0, 1)


def test_a_lamp_within_the_ball_around_a_solid_is_passed_by_all_of_its_rays():
    solid = Sphere(centre=(0.0, 0.0, 0.0), radius=1.0)
    origins = np.array([[0.0, 0.0], [0.5, 2.0], [0.0, 0.0]])[:, :, None]
    turns = np.linspace(0, 2 * math.pi, 12, endpoint=False)
    rays = np.stack([np.sin(turns), np.cos(turns), 0 * turns])[:, None]
    inside, above = passes_ball(solid, origins, rays)
    assert inside.all()
    # The tangents from two radii away are 30 degrees from straight down.
    assert np.array_equal(above, np.abs(turns - math.pi) <= math.pi / 6 + 1e-9)


@pytest.mark.parametrize("render", [own[1] for own in SETS.values()], ids=SETS)
def test_a_device_that_is_not_there_is_refused_in_words(render):
    pytest.importorskip("torch")
    with pytest.raises(InputError, match="there is no device 'abacus'"):
        render(np.zeros((0, {render_dsprites: 5, render_room: 6}.get(render, 7))), device="abacus")


# Grids.


@pytest.mark.parametrize("name", SETS)
def test_levels_are_found_again_from_values(name):
    grid = SETS[name][0]()
    levels = grid.levels(grid.draw(500, seed=2))
    assert np.array_equal(grid.levels_of(grid.values_of(levels).astype(np.float32)), levels)


def test_values_between_levels_are_refused():
    with pytest.raises(InputError, match="1 of 2 values of x match no level"):
        dsprites_grid().levels_of([[0, 0.5, 0.0, 0.0, 0.0], [0, 0.5, 0.0, 0.017, 0.0]])
    with pytest.raises(InputError, match=r"values of shape \(5,\) are not rows of 5"):
        dsprites_grid().levels_of([0, 0.5, 0.0, 0.0, 0.0])
