"""Search for mixtures with two choices of hidden variables that both satisfy P3."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from upto.theory.priors import check_prior
from upto_studies.trials.case import Case

if TYPE_CHECKING:
    from upto.core.array_types import Float

Grid = NDArray[np.intp]

_SIZES = ((2, 2), (2, 3), (2, 2, 2), (2, 2, 3))
_OTHERS = 40


def hidden_cases(rng: np.random.Generator, count: int) -> list[Case]:
    """Attack P3: at most one choice of hidden variables of a law may satisfy it.

    Each coordinate depends on some hidden variables of a grid, or confuses some states by accident.
    If P3 holds for the grid, other grids of the same states are tried; any for which it also holds
    must be the same up to the order of variables and of their values.

    Parameters
    ----------
    rng
        Random number generator.
    count
        Number of mixtures.
    """
    cases = []
    for number in range(count):
        sizes = _SIZES[number % len(_SIZES)]
        grid: Grid = np.array(list(itertools.product(*map(range, sizes))))
        mixture = _draw_mixture(rng, grid)
        if not _holds(mixture, grid):
            continue
        own = partitions(grid)
        wrong = 0
        for _ in range(_OTHERS):
            other = grid[_swapped(rng, len(grid))]
            wrong += partitions(other) != own and _holds(mixture, other)
        cases.append(
            Case(
                statement="hidden-variables",
                kind="×".join(map(str, sizes)),
                n_dimensions=mixture[1].shape[1],
                measured=float(wrong),
                bound=0.5,
            )
        )
    return cases


def partitions(grid: Grid) -> frozenset[frozenset[frozenset[int]]]:
    """Return the partition of the states by each hidden variable, without names."""
    return frozenset(
        frozenset(
            frozenset(np.flatnonzero(column == value).tolist()) for value in np.unique(column)
        )
        for column in grid.T
    )


def _swapped(rng: np.random.Generator, count: int) -> Grid:
    """Permute states: two of them, or all."""
    order = np.arange(count)
    if rng.random() < 0.5:
        return rng.permutation(order)
    first, second = rng.choice(count, size=2, replace=False)
    order[[first, second]] = order[[second, first]]
    return order


def _holds(mixture: tuple[Float, Float, Float], grid: Grid) -> bool:
    return check_prior(mixture, states=grid)[2].holds is True


def _draw_mixture(rng: np.random.Generator, grid: Grid) -> tuple[Float, Float, Float]:
    count, variables = grid.shape
    width = int(rng.integers(1, variables + 3))
    means = np.zeros((count, width))
    for coordinate in range(width):
        seen = np.flatnonzero(rng.random(size=variables) < 0.6)
        states = np.unique(grid[:, seen], axis=0, return_inverse=True)[1].ravel()
        # With few values, some states are confused.
        levels = rng.normal(size=math.prod(grid.max(axis=0) + 1))
        if rng.random() < 0.3:
            levels = np.round(levels)
        means[:, coordinate] = levels[states]
    variances = np.repeat(np.exp(rng.normal(size=(1, width))), count, axis=0)
    return np.full(count, 1.0 / count), means, variances
