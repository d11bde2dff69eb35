"""Independent sources of mean zero and variance one, with closed-form properties."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaln, digamma, gammaln

from upto.core import InputError, random_stream
from upto.core.array_types import Float

if TYPE_CHECKING:
    from collections.abc import Sequence

Draw = Callable[[np.random.Generator, int], Float]

_GAUSSIAN_ENTROPY = 0.5 * math.log(2 * math.pi * math.e)
_ROOT_3 = math.sqrt(3.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A distribution with population mean zero and variance one.

    Parameters
    ----------
    name
        Name, with the parameter if there is one.
    skewness, excess_kurtosis
        Third and fourth standardised cumulants; None if infinite.
    negentropy
        Negentropy in nats; None if infinite or without a closed form.
    low, high
        Ends of the support; None if unbounded.
    draw
        Function of a generator and a number of values that draws them.
    """

    name: str
    skewness: float | None = 0.0
    excess_kurtosis: float | None
    negentropy: float | None
    low: float | None = None
    high: float | None = None
    draw: Draw

    @property
    def is_bounded(self) -> bool:
        """Whether the support is bounded, as the theorems require."""
        return self.low is not None and self.high is not None

    @property
    def is_gaussian(self) -> bool:
        """Whether it is Gaussian, so that ICA cannot separate two of them."""
        return self.negentropy == 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sources:
    """Rows of independent sources, and the distribution of each column."""

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

    Examples
    --------
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
    known = [_source(each) for each in turns]
    kinds = tuple(known[column % len(known)] for column in range(n_sources))
    rows = np.empty((n_rows, n_sources))
    for column, each in enumerate(kinds):
        stream = random_stream(seed, "sources", str(column), each.name)
        rows[:, column] = each.draw(stream, n_rows)
    return Sources(rows=rows, kinds=kinds)


def _above(number: float, least: float, what: str) -> float:
    if not (math.isfinite(number) and number > least):
        message = f"{what} of {number:g} cannot be used: take a number above {least:g}."
        raise InputError(message)
    return number


def student_t(degrees_of_freedom: float = 5.0) -> Source:
    """Return Student's t; its fourth moment is infinite up to four degrees of freedom."""
    nu = _above(degrees_of_freedom, 2.0, "degrees of freedom")
    scale = math.sqrt((nu - 2) / nu)
    entropy = (nu + 1) / 2 * (digamma((nu + 1) / 2) - digamma(nu / 2))
    entropy += 0.5 * math.log(nu) + betaln(nu / 2, 0.5) + math.log(scale)
    return Source(
        name=f"student-t({nu:g})",
        skewness=0.0 if nu > 3 else None,
        excess_kurtosis=6 / (nu - 4) if nu > 4 else None,
        negentropy=_GAUSSIAN_ENTROPY - float(entropy),
        draw=lambda rng, n: scale * rng.standard_t(nu, size=n),
    )


def generalised_normal(shape: float = 4.0) -> Source:
    """Return the density proportional to exp(-|x/a|^shape): 1 is Laplace, 2 is Gaussian."""
    beta = _above(shape, 0.0, "a shape")
    scale = math.exp(0.5 * (gammaln(1 / beta) - gammaln(3 / beta)))
    kurtosis = math.exp(gammaln(5 / beta) + gammaln(1 / beta) - 2 * gammaln(3 / beta)) - 3
    entropy = 1 / beta + math.log(2 * scale / beta) + gammaln(1 / beta)

    def draw(rng: np.random.Generator, n: int) -> Float:
        sizes = scale * rng.gamma(1 / beta, size=n) ** (1 / beta)
        return np.asarray(sizes * rng.choice([-1.0, 1.0], size=n))

    gaussian = beta == 2.0
    return Source(
        name=f"generalised-normal({beta:g})",
        excess_kurtosis=0.0 if gaussian else kurtosis,
        negentropy=0.0 if gaussian else _GAUSSIAN_ENTROPY - float(entropy),
        draw=draw,
    )


def bimodal(separation: float = 0.9) -> Source:
    """Return two Gaussians of equal weight with means ±`separation`, below 1."""
    if not 0 < separation < 1:
        message = (
            f"a separation of {separation:g} is impossible at variance one: take one in (0, 1)."
        )
        raise InputError(message)
    spread = math.sqrt(1 - separation**2)
    return Source(
        name=f"bimodal({separation:g})",
        excess_kurtosis=-2 * separation**4,
        negentropy=None,
        draw=lambda rng, n: (
            separation * rng.choice([-1.0, 1.0], size=n) + spread * rng.normal(size=n)
        ),
    )


def sparse(density: float = 0.1) -> Source:
    """Return a Gaussian that is zero except in a fraction `density` of the rows."""
    if not 0 < density <= 1:
        message = f"a density of {density:g} is not a fraction: use one above 0 and at most 1."
        raise InputError(message)
    scale = 1 / math.sqrt(density)
    return Source(
        name=f"sparse({density:g})",
        excess_kurtosis=3 / density - 3,
        negentropy=0.0 if density == 1 else None,
        draw=lambda rng, n: scale * (rng.uniform(size=n) < density) * rng.normal(size=n),
    )


SOURCES: dict[str, Source] = {
    "gaussian": Source(
        name="gaussian",
        excess_kurtosis=0.0,
        negentropy=0.0,
        draw=lambda rng, n: rng.normal(size=n),
    ),
    "laplace": Source(
        name="laplace",
        excess_kurtosis=3.0,
        negentropy=_GAUSSIAN_ENTROPY - 1 - 0.5 * math.log(2),
        draw=lambda rng, n: rng.laplace(scale=math.sqrt(0.5), size=n),
    ),
    "logistic": Source(
        name="logistic",
        excess_kurtosis=1.2,
        negentropy=_GAUSSIAN_ENTROPY - 2 - math.log(_ROOT_3 / math.pi),
        draw=lambda rng, n: rng.logistic(scale=_ROOT_3 / math.pi, size=n),
    ),
    "uniform": Source(
        name="uniform",
        excess_kurtosis=-1.2,
        negentropy=_GAUSSIAN_ENTROPY - math.log(2 * _ROOT_3),
        low=-_ROOT_3,
        high=_ROOT_3,
        draw=lambda rng, n: rng.uniform(-_ROOT_3, _ROOT_3, size=n),
    ),
    "exponential": Source(
        name="exponential",
        skewness=2.0,
        excess_kurtosis=6.0,
        negentropy=_GAUSSIAN_ENTROPY - 1,
        low=-1.0,
        draw=lambda rng, n: rng.exponential(size=n) - 1,
    ),
    "two-valued": Source(
        name="two-valued",
        excess_kurtosis=-2.0,
        negentropy=None,
        low=-1.0,
        high=1.0,
        draw=lambda rng, n: rng.choice([-1.0, 1.0], size=n),
    ),
    "student-t": student_t(),
    "generalised-normal": generalised_normal(),
    "bimodal": bimodal(),
    "sparse": sparse(),
}
"""Sources by name, with default parameters."""


def draw_ball(n_rows: int, n_dimensions: int, *, radius: float | None = None, seed: int) -> Float:
    """Draw points uniformly from a ball about zero.

    The default radius √(d + 2) makes the covariance the identity. Coordinates are uncorrelated, but
    for d above 1 not independent. The diameter is twice the radius.

    Examples
    --------
    >>> points = draw_ball(100, 3, radius=2.0, seed=0)
    >>> bool(np.linalg.norm(points, axis=1).max() <= 2)
    True
    """
    radius = math.sqrt(n_dimensions + 2) if radius is None else _above(radius, 0.0, "a radius")
    stream = random_stream(seed, "ball")
    directions = stream.normal(size=(n_rows, n_dimensions))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    radii = radius * stream.uniform(size=(n_rows, 1)) ** (1 / n_dimensions)
    return np.asarray(radii * directions)


def _source(kind: str | Source) -> Source:
    if isinstance(kind, Source):
        return kind
    if kind not in SOURCES:
        message = f"there is no source {kind!r}: choose one of {', '.join(SOURCES)}."
        raise InputError(message)
    return SOURCES[kind]
