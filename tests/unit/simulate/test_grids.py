"""Grids of factors: numbers and levels, both ways."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from upto.core import FactorGrid, InputError
from upto_studies.scenes import dsprites_grid, room_grid, studio_grid


@pytest.fixture
def grid():
    return FactorGrid(
        names=("size", "hue", "kind"), values=((1.0, 2.0), (0.0, 0.3, 0.6), (5.0, 6.0, 7.0, 8.0))
    )


def test_the_last_factor_runs_fastest(grid):
    expected = list(itertools.product(range(2), range(3), range(4)))
    assert grid.levels().tolist() == [list(row) for row in expected]
    assert grid.factors().tolist() == [list(row) for row in itertools.product(*grid.values)]


@pytest.mark.parametrize("make", [dsprites_grid, room_grid, studio_grid])
def test_numbers_and_levels_undo_each_other(make):
    grid = make()
    numbers = np.array([0, 1, 12345, len(grid) - 1])
    assert grid.index(grid.levels(numbers)).tolist() == numbers.tolist()
    assert grid.levels([len(grid) - 1]).tolist() == [[size - 1 for size in grid.sizes]]


@pytest.mark.parametrize(
    ("make", "sizes", "length"),
    [
        (dsprites_grid, (3, 6, 40, 32, 32), 737_280),
        (room_grid, (10, 10, 10, 8, 4, 15), 480_000),
        (studio_grid, (5, 6, 6, 6, 6, 6, 6), 233_280),
    ],
)
def test_the_grids_are_as_large_as_the_published_ones(make, sizes, length):
    assert make().sizes == sizes
    assert len(make()) == length


def test_draws_are_uniform_and_repeatable(grid):
    drawn = grid.draw(24_000, seed=3)
    counts = np.bincount(drawn, minlength=24)
    # A thousand each; four standard deviations are 124.
    assert np.abs(counts - 1000).max() < 150
    assert np.array_equal(drawn, grid.draw(24_000, seed=3))
    assert not np.array_equal(drawn, grid.draw(24_000, seed=4))


def test_distinct_draws_of_all_points_are_a_permutation(grid):
    drawn = grid.draw(24, distinct=True, seed=0)
    assert sorted(drawn.tolist()) == list(range(24))
    assert drawn.tolist() != list(range(24))


def test_no_points_have_no_levels(grid):
    assert grid.levels([]).shape == (0, 3)
    assert grid.factors(np.array([], dtype=int)).shape == (0, 3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda grid: grid.levels([24]),
            "24 to 24 are outside the grid: its 24 points",
        ),
        (lambda grid: grid.levels([-1]), "-1 to -1 are outside the grid"),
        (lambda grid: grid.levels([0.5]), "of type float64 are not integers"),
        (lambda grid: grid.levels(3), r"of shape \(\) need 1 dimension"),
        (lambda grid: grid.index([[0, 3, 0]]), "from 3 to 3 of hue are outside the grid"),
        (lambda grid: grid.index([[0, -1, 0]]), "levels are 0 to 2"),
        (lambda grid: grid.index([[0, 1]]), "rows of 2 levels do not fit 3 factors"),
        (lambda grid: grid.draw(25, distinct=True, seed=0), "25 points cannot be drawn.*most 24"),
        (lambda grid: grid.draw(0, seed=0), "0 points cannot be drawn"),
        (lambda _: FactorGrid(names=("a",), values=((1.0,), (2.0,))), "1 names for 2 factors"),
        (lambda _: FactorGrid(names=(), values=()), "0 names for 0 factors"),
        (lambda _: FactorGrid(names=("a", "a"), values=((1.0,), (2.0,))), "not distinct"),
        (lambda _: FactorGrid(names=("a",), values=((),)), "factor a has no levels"),
        (lambda _: FactorGrid(names=("a",), values=((np.inf,),)), "or non-finite ones"),
    ],
)
def test_what_is_no_grid_or_leaves_it_is_refused_in_words(grid, call, words):
    with pytest.raises(InputError, match=words):
        call(grid)
