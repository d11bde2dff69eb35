"""Whether the components of a mixture that was fitted to rows are there, and differ as they seem.

A fit with one component too many splits a component along an accident of the rows, and the halves
have variances that differ by more than those of real components would by chance. So two questions
are asked of the rows, and both must be answered: would one component less do, and could two of the
variance ratios be equal?
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from upto.core import InputError, random_stream
from upto.theory.checks import check_count
from upto.theory.expectation import Fits, fit_mixtures

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Float = NDArray[np.float64]

LEVEL = 0.05
"""How often components that are not there may be taken for real ones."""

_MOST_ROWS = 4000
_NUMBERS = 2_000_000
"""How many numbers the rows of a stack of data sets may be, times their components."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentsTest:
    """What rows say of the components of a mixture that was fitted to them.

    Parameters
    ----------
    n_components, n_rows
        J, and how many rows the test used: at most 4,000 of them, drawn at random.
    n_draws
        How many data sets were drawn from the mixture with one component less.
    fewer
        p-value of J - 1 components with any covariances; one for J = 1. Where it is large, drawing
        stops early, and the p-value is that of the data sets drawn so far.
    pair
        The two components, of the test's own fit, whose variance ratios are told apart best.
    ratios
        p-value of two coordinates having equal variance ratios in every pair of components; one
        where the first question was answered no, or coordinates are not independent.
    """

    n_components: int
    n_rows: int
    n_draws: int
    fewer: float
    pair: tuple[int, int] | None
    ratios: float

    @property
    def are_needed(self) -> bool:
        """Whether no fewer components would do, at a level of 0.05."""
        return self.fewer <= LEVEL

    @property
    def ratios_differ(self) -> bool:
        """Whether, besides, two components have variance ratios that all differ."""
        return self.are_needed and self.ratios <= LEVEL

    @property
    def says(self) -> str:
        """The p-values in words."""
        n_fewer = self.n_components - 1
        enough = "1 component does" if n_fewer == 1 else f"{n_fewer} components do"
        fewer = (
            f"that {enough} for {self.n_rows} rows has p = {self.fewer:.2g} by {self.n_draws} draws"
        )
        if not self.are_needed:
            return f"{fewer}, so a component may be there by chance"
        return f"{fewer}, and that two variance ratios are equal p = {self.ratios:.2g}"


def bootstrap_components(
    rows: ArrayLike,
    n_components: int,
    *,
    diagonal: bool = True,
    n_draws: int = 99,
    seed: int = 0,
) -> ComponentsTest:
    """Test whether all components of a mixture of J Gaussians are there, and differ in shape.

    The likelihood ratio of J components, of independent coordinates if `diagonal`, and of J - 1
    with any covariances is compared with that of data sets drawn from the fitted J - 1, each
    fitted anew (McLachlan 1987). If these do not do, data sets drawn from the J components give
    the standard error of every difference of log-ratios of variances: all differences of a pair
    of components must be larger than chance, and the p-value is multiplied by the number of pairs
    since the best is taken. The level of both is measured in ``checks/components.py``.

    Parameters
    ----------
    rows
        What a mixture was fitted to, one row a latent.
    n_components
        J.
    diagonal
        Whether coordinates are independent within components.
    n_draws
        Data sets to draw for each question.
    seed
        Seed of draws and starts.

    Raises
    ------
    InputError
        If the rows are no matrix of finite numbers, or fewer than the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> bootstrap_components(rng.normal(size=(400, 2)), 2).are_needed
    False
    """
    count = check_count(n_components, "n_components")
    draws = check_count(n_draws, "n_draws", least=19)
    rng = random_stream(seed, "components")
    points = _standard(rows, count, rng)
    n_rows, width = points.shape
    if count == 1:
        return ComponentsTest(
            n_components=1, n_rows=n_rows, n_draws=0, fewer=1.0, pair=None, ratios=1.0
        )
    ratio, small, large = _likelihood_ratio(points[None], count, rng, diagonal=diagonal)
    at_once = max(1, _NUMBERS // (n_rows * width * count))
    beyond = drawn = 0
    # Once more data sets are beyond than a small p-value allows, no further ones can help.
    while drawn < draws and beyond + 1 <= LEVEL * (draws + 1):
        size = min(at_once, draws - drawn, 10)
        found, _, _ = _likelihood_ratio(
            small.draw(rng, size, n_rows), count, rng, diagonal=diagonal
        )
        beyond += int(np.sum(found >= ratio[0]))
        drawn += size
    fewer = (1 + beyond) / (1 + drawn)
    pair, ratios = None, 1.0
    if fewer <= LEVEL and diagonal:
        pair, ratios = _equal_ratios(large, rng, n_rows, draws, at_once)
    return ComponentsTest(
        n_components=count, n_rows=n_rows, n_draws=drawn, fewer=fewer, pair=pair, ratios=ratios
    )


def _standard(rows: ArrayLike, n_components: int, rng: np.random.Generator) -> Float:
    points = np.asarray(rows, dtype=np.float64)
    if points.ndim != 2 or 0 in points.shape or not np.isfinite(points).all():
        message = f"rows of shape {points.shape} are no n×d finite numbers: give one row a latent."
        raise InputError(message)
    width = points.shape[1]
    needed = max(1, n_components - 1) * (width + 1) * (width + 2)
    if len(points) < needed:
        message = (
            f"{len(points)} rows are too few to tell {n_components} components in {width} "
            f"dimensions: give at least {needed}."
        )
        raise InputError(message)
    if len(points) > _MOST_ROWS:
        points = points[np.sort(rng.choice(len(points), size=_MOST_ROWS, replace=False))]
    spread = points.std(axis=0)
    if spread.min() == 0.0:
        message = f"coordinate {int(spread.argmin()) + 1} of the rows is constant: leave it out."
        raise InputError(message)
    standard: Float = (points - points.mean(axis=0)) / spread
    return standard


def _likelihood_ratio(
    rows: Float, n_components: int, rng: np.random.Generator, *, diagonal: bool
) -> tuple[Float, Fits, Fits]:
    small = fit_mixtures(rows, n_components - 1, rng, diagonal=False)
    large = fit_mixtures(rows, n_components, rng, diagonal=diagonal)
    return large.log_likelihood - small.log_likelihood, small, large


def _equal_ratios(
    fitted: Fits, rng: np.random.Generator, n_rows: int, n_draws: int, at_once: int
) -> tuple[tuple[int, int], float]:
    """Return the best pair of components, and the p-value of two of its ratios being equal."""
    n_components, width = fitted.means.shape[1:]
    pairs = list(combinations(range(n_components), 2))
    if width == 1:
        return pairs[0], 0.0
    drawn: list[Float] = []
    for begun in range(0, n_draws, at_once):
        again = fitted.draw(rng, min(at_once, n_draws - begun), n_rows)
        found = fit_mixtures(again, n_components, rng, diagonal=True, start=fitted)
        drawn.append(np.log(found.variances))
    spread = np.concatenate(drawn)
    logs = np.log(fitted.variances[0])
    first, second = np.triu_indices(width, 1)
    best, smallest = pairs[0], 1.0
    for one, other in pairs:
        ratios, around = logs[one] - logs[other], spread[:, one] - spread[:, other]
        differences = np.abs(ratios[first] - ratios[second])
        errors = np.std(around[:, first] - around[:, second], axis=0, ddof=1)
        # Every difference must be told from zero, so the least certain one decides.
        worst = float(2.0 * ndtr(-(differences / errors).min()))
        if worst < smallest:
            best, smallest = (one, other), worst
    return best, min(1.0, smallest * math.comb(n_components, 2))
