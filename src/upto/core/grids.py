"""Factor grids: all combinations of the levels of several factors, numbered."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.core.errors import InputError
from upto.core.seeds import random_stream

if TYPE_CHECKING:
    from upto.core.array_types import Float

Int = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorGrid:
    """All combinations of factor levels, numbered with the last factor varying fastest.

    Parameters
    ----------
    names
        Name of each factor.
    values
        Values of the levels of each factor.

    See Also
    --------
    upto.ImageSet : Has one as `grid`.
    upto.read_image_set : Images on a grid.

    Examples
    --------
    >>> from upto.core import FactorGrid
    >>> grid = FactorGrid(names=("size", "hue"), values=((1.0, 2.0), (0.0, 0.3, 0.6)))
    >>> grid.sizes, len(grid)
    ((2, 3), 6)
    >>> grid.levels([4]).tolist(), grid.index([[1, 1]]).tolist()
    ([[1, 1]], [4])
    >>> grid.factors([4]).tolist()
    [[2.0, 0.3]]
    """

    names: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        if not self.names or len(self.names) != len(self.values):
            message = (
                f"a grid cannot have {len(self.names)} names for {len(self.values)} factors: "
                "pass one name per factor, and at least one factor."
            )
            raise InputError(message)
        if len(set(self.names)) < len(self.names):
            message = f"the names {', '.join(self.names)} are not distinct: rename a factor."
            raise InputError(message)
        for name, levels in zip(self.names, self.values, strict=True):
            if not levels or not all(math.isfinite(value) for value in levels):
                message = f"the factor {name} has no levels or non-finite ones: leave it out."
                raise InputError(message)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of levels of each factor."""
        return tuple(len(levels) for levels in self.values)

    def __len__(self) -> int:
        return math.prod(self.sizes)

    def levels(self, indices: Any = None) -> Int:
        """Return the level of every factor, one row per index.

        Parameters
        ----------
        indices
            Numbers of points, from 0 to the length of the grid minus 1; all points by default.

        Returns
        -------
        ndarray of shape (indices, factors)
        """
        chosen = np.arange(len(self)) if indices is None else _whole(indices, 1, "indices")
        if len(chosen) and not 0 <= chosen.min() <= chosen.max() < len(self):
            message = (
                f"indices from {chosen.min()} to {chosen.max()} are outside the grid: "
                f"its {len(self)} points are 0 to {len(self) - 1}."
            )
            raise InputError(message)
        return np.stack(np.unravel_index(chosen, self.sizes), axis=1).astype(np.int64)

    def index(self, levels: Any) -> Int:
        """Return the number of each point, given as a row of levels."""
        rows = self._checked(levels)
        return np.asarray(np.ravel_multi_index(tuple(rows.T), self.sizes), dtype=np.int64)

    def values_of(self, levels: Any) -> Float:
        """Return the values of rows of levels."""
        rows = self._checked(levels)
        columns = [np.array(own)[rows[:, j]] for j, own in enumerate(self.values)]
        return np.stack(columns, axis=1).astype(np.float64)

    def levels_of(self, values: Any) -> Int:
        """Return the levels of rows of values, which must equal level values up to rounding.

        Examples
        --------
        >>> grid = FactorGrid(names=("size", "hue"), values=((1.0, 2.0), (0.0, 0.3, 0.6)))
        >>> grid.levels_of([[2.0, 0.3]]).tolist()
        [[1, 1]]
        """
        rows: Float = np.asarray(values, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self.names):
            message = (
                f"values of shape {rows.shape} are not rows of {len(self.names)}: pass one value "
                f"each of {', '.join(self.names)}."
            )
            raise InputError(message)
        found = np.empty(rows.shape, dtype=np.int64)
        for j, own in enumerate(self.values):
            away = np.abs(rows[:, j, None] - np.array(own))
            found[:, j] = away.argmin(axis=1)
            near = away.min(axis=1) <= 1e-6 * max(1.0, *(abs(value) for value in own))
            if not near.all():
                message = (
                    f"{int((~near).sum())} of {len(rows)} values of {self.names[j]} match no "
                    "level: use values of the grid."
                )
                raise InputError(message)
        return found

    def factors(self, indices: Any = None) -> Float:
        """Return the value of every factor, one row per index; all points by default.

        The value of a categorical factor, e.g. a shape, is the number of its level.
        """
        return self.values_of(self.levels(indices))

    def draw(self, n_points: int, *, distinct: bool = False, seed: int) -> Int:
        """Draw points uniformly, so that factors are independent, and return their numbers.

        Parameters
        ----------
        n_points
            Number of points.
        distinct
            Whether to draw without replacement.
        seed
            Seed of the random number generator.

        Examples
        --------
        >>> grid = FactorGrid(names=("size",), values=((1.0, 2.0, 3.0),))
        >>> sorted(grid.draw(3, distinct=True, seed=0).tolist())
        [0, 1, 2]
        """
        if n_points < 1 or (distinct and n_points > len(self)):
            most = f" and at most {len(self)}" if distinct else ""
            message = f"{n_points} points cannot be drawn: ask for at least one{most}."
            raise InputError(message)
        stream = random_stream(seed, "grid")
        if distinct:
            return np.asarray(stream.choice(len(self), size=n_points, replace=False), np.int64)
        return np.asarray(stream.integers(len(self), size=n_points), dtype=np.int64)

    def _checked(self, levels: Any) -> Int:
        rows = _whole(levels, 2, "levels")
        if rows.shape[1] != len(self.names):
            message = (
                f"rows of {rows.shape[1]} levels do not fit {len(self.names)} factors: "
                f"pass one level each of {', '.join(self.names)}."
            )
            raise InputError(message)
        outside = ((rows < 0) | (rows >= self.sizes)).any(axis=0)
        if outside.any():
            j = int(outside.argmax())
            message = (
                f"levels from {rows[:, j].min()} to {rows[:, j].max()} of {self.names[j]} are "
                f"outside the grid: its levels are 0 to {self.sizes[j] - 1}."
            )
            raise InputError(message)
        return rows


def _whole(numbers: Any, n_dimensions: int, what: str) -> Int:
    found = np.asarray(numbers)
    if found.size and not np.issubdtype(found.dtype, np.integer):
        message = f"{what} of type {found.dtype} are not integers: pass integers."
        raise InputError(message)
    if found.ndim != n_dimensions:
        message = f"{what} of shape {found.shape} need {n_dimensions} dimension(s): reshape them."
        raise InputError(message)
    return found.astype(np.int64)
