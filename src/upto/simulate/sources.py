"""Rows of independent sources, and of points in a ball."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.core import InputError, random_stream
from upto.core.array_types import Float
from upto.simulate.distributions import Source, as_source, number_above

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sources:
    """Rows of independent sources, and the distribution of each column.

    See Also
    --------
    draw_sources : Returns it.
    """

    rows: Float
    kinds: tuple[Source, ...]

    @property
    def diameter(self) -> float | None:
        """Diameter of the support, a box; None if unbounded."""
        widths = [
            each.high - each.low
            for each in self.kinds
            if each.low is not None and each.high is not None
        ]
        return math.hypot(*widths) if len(widths) == len(self.kinds) else None


def draw_sources(
    kind: str | Source | Sequence[str | Source], n_rows: int, n_sources: int, *, seed: int
) -> Sources:
    """Draw independent sources.

    Parameters
    ----------
    kind
        Name of one of `SOURCES`, a `Source`, or several of them to cycle through, e.g.
        ``("laplace", "uniform")`` for alternating heavy and light tails.
    n_rows, n_sources
        Number of rows and columns.
    seed
        Seed of the random number generator; a column does not depend on the others.

    Returns
    -------
    Sources
        The rows, and the distribution of each column.

    Raises
    ------
    InputError
        If there is no such source, or nothing to draw.

    See Also
    --------
    draw_clusters : Sources that are independent only within a class.
    draw_ball : Uncorrelated coordinates that fill a ball.
    draw_mixing : A map to mix them by.
    upto.unmix : ICA, which recovers them.

    Examples
    --------
    >>> from upto.simulate import draw_sources
    >>> drawn = draw_sources("uniform", 1000, 3, seed=0)
    >>> drawn.rows.shape, drawn.kinds[0].excess_kurtosis, drawn.diameter
    ((1000, 3), -1.2, 6.0)
    """
    if n_rows < 1 or n_sources < 1:
        message = f"{n_rows} rows of {n_sources} sources cannot be drawn: use at least one."
        raise InputError(message)
    turns = [kind] if isinstance(kind, str | Source) else list(kind)
    if not turns:
        message = "0 kinds of sources were given: name at least one."
        raise InputError(message)
    known = [as_source(each) for each in turns]
    kinds = tuple(known[column % len(known)] for column in range(n_sources))
    rows = np.empty((n_rows, n_sources))
    for column, each in enumerate(kinds):
        stream = random_stream(seed, "sources", str(column), each.name)
        rows[:, column] = each.draw(stream, n_rows)
    return Sources(rows=rows, kinds=kinds)


def draw_ball(n_rows: int, n_dimensions: int, *, radius: float | None = None, seed: int) -> Float:
    """Draw points uniformly from a ball about zero.

    The default radius √(d + 2) makes the covariance the identity. Coordinates are uncorrelated, but
    for d above 1 not independent. The diameter is twice the radius.

    Parameters
    ----------
    n_rows, n_dimensions
        Number of points and of coordinates d.
    radius
        Radius of the ball; √(d + 2) by default.
    seed
        Seed of the random number generator.

    Returns
    -------
    ndarray of shape (n_rows, n_dimensions)
        The points.

    See Also
    --------
    draw_sources : Independent coordinates instead.
    draw_mixing : Maps whose constant holds on a ball.
    upto.theory.rigid_promise : The theorem that asks for convex supports.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.simulate import draw_ball
    >>> points = draw_ball(100, 3, radius=2.0, seed=0)
    >>> bool(np.linalg.norm(points, axis=1).max() <= 2)
    True
    """
    radius = (
        math.sqrt(n_dimensions + 2) if radius is None else number_above(radius, 0.0, "a radius")
    )
    stream = random_stream(seed, "ball")
    directions = stream.normal(size=(n_rows, n_dimensions))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    radii = radius * stream.uniform(size=(n_rows, 1)) ** (1 / n_dimensions)
    return np.asarray(radii * directions)
