"""Test the components of a mixture that was fitted to rows.

A fit with one component too many splits a component along an accident of the rows, and the halves
have variances that differ by more than those of real components would by chance. So the tests are:
do the rows follow J Gaussians, with the parameters given? Is one component fewer enough? Are
coordinates independent within components, and could two variance ratios be equal?
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from upto.core import InputError, random_stream
from upto.theory.components_test import LEVEL, MOST_ROWS, ComponentsTest
from upto.theory.expectation import FLOOR, Fits, fit_mixtures
from upto.theory.goodness import misfit_level, parameters_level
from upto.theory.valid_numbers import check_count

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from upto.core.array_types import Float


_ONE_SIDED = 1.645
_FEWEST_DRAWS = 20
"""Number of draws whose standard error is known to a sixth."""
_NUMBERS = 2_000_000
"""Largest size of a stack of data sets, in numbers times components."""


def bootstrap_components(
    rows: ArrayLike,
    n_components: int,
    *,
    diagonal: bool = True,
    parameters: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
    n_draws: int = 99,
    seed: int = 0,
) -> ComponentsTest:
    r"""Test whether all components of a mixture of J Gaussians are real, and differ in shape.

    First, whether rows follow J Gaussians: the gain in likelihood from a further component, and the
    kurtosis of rows about components, against data sets drawn from the best-fitting J. Then the
    likelihood ratio of J and J - 1 components, both with unrestricted covariances, is compared with
    that of data sets drawn from the J - 1, each refitted (McLachlan 1987); and, if `diagonal`, that
    of J with unrestricted covariances and J with independent coordinates, with data sets drawn from
    the latter. Not rejecting independence is weak evidence, so the upper limit of every correlation
    within a component must also be below 0.2. Data sets drawn from the J diagonal ones give the
    standard error of every difference of log-ratios of variances: all differences of a pair of
    components must exceed chance, and the p-value is multiplied by the number of pairs since the
    best is chosen. ``checks/components.py`` measures the levels. The result does not depend on the
    order of the rows.

    Parameters
    ----------
    rows
        Rows the mixture was fitted to, one per latent.
    n_components
        Number J of components.
    diagonal
        Whether to test that coordinates are independent within components.
    parameters
        Weights, means and J×d×d covariances to test against the rows.
    n_draws
        Number of data sets to draw for each test.
    seed
        Seed of the random number generator.

    Returns
    -------
    ComponentsTest
        The p-values, and what follows from them.

    Raises
    ------
    InputError
        If the rows are not a matrix of finite numbers, or fewer than the parameters.

    See Also
    --------
    check_prior : Uses it for mixtures fitted to rows.
    distinct_ratios : The gap of variance ratios.
    upto.mixture : All checks of runs of codes, with a verdict.

    Notes
    -----
    The main test is that of McLachlan's likelihood ratio,

    .. math::

        T = 2 \left( \ell_J - \ell_{J-1} \right), \qquad
        p = \frac{1 + \#\{ b : T_b \ge T \}}{1 + n_{\mathrm{draws}}}

    with the log-likelihoods of the fits of J and J - 1 components, and :math:`T_b` the same on data
    set b drawn from the J - 1. Drawing stops once p cannot fall below 0.05 anymore.

    References
    ----------
    McLachlan (1987). On bootstrapping the likelihood ratio test statistic for the number of
    components in a normal mixture. Applied Statistics 36, 318-324.

    Kivva et al. (2022). Identifiability of deep generative models without auxiliary information.
    Advances in Neural Information Processing Systems.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.theory import bootstrap_components
    >>> rng = np.random.default_rng(0)
    >>> bootstrap_components(rng.normal(size=(100, 2)), 2).are_needed
    False
    """
    count = check_count(n_components, "n_components")
    draws = check_count(n_draws, "n_draws", least=19)
    rng = random_stream(seed, "components")
    points, centre, spread = _standard(rows, count, rng)
    n_rows, width = points.shape
    at_once = max(1, _NUMBERS // (n_rows * width * (count + 1)))
    full = plain = fit_mixtures(points[None], count, rng, diagonal=False)
    turned = best = full
    if diagonal:
        plain = fit_mixtures(points[None], count, rng, diagonal=True)
        turned = fit_mixtures(points[None], count, rng, diagonal=False, start=plain)
        best = max(full, turned, key=lambda fits: float(fits.log_likelihood[0]))
    given = fit = fewer = independent = limit = ratios = 1.0
    drawn, pair = 0, None
    if parameters is not None:
        same = _in_units(parameters, centre, spread)
        given = parameters_level(points[None], same, plain, diagonal=diagonal)
    if given > LEVEL:
        fit = misfit_level(points[None], best, rng, level=LEVEL, n_draws=draws, at_once=at_once)
    if min(given, fit) > LEVEL:
        if count > 1:
            # Drawn data sets have one set of starts, so the rows must not have more.
            fewer, drawn = _fewer(points, full, rng, draws, at_once)
        # Spurious components follow accidents of the rows, including correlations.
        if diagonal and (count == 1 or fewer <= LEVEL):
            independent, limit = _independent(turned, plain, rng, n_rows, draws, at_once)
        if count > 1 and diagonal and fewer <= LEVEL < independent:
            pair, ratios = _equal_ratios(plain, rng, n_rows, draws, at_once)
    return ComponentsTest(
        n_components=count,
        n_rows=n_rows,
        n_draws=drawn,
        given=given,
        fit=fit,
        fewer=fewer,
        independent=independent,
        correlation=float(np.abs(_correlations(best)).max(initial=0.0)),
        correlation_limit=limit,
        pair=pair,
        ratios=ratios,
    )


def _in_units(
    parameters: tuple[ArrayLike, ArrayLike, ArrayLike], centre: Float, spread: Float
) -> Fits:
    weights, means, covariances = (np.asarray(each, dtype=np.float64) for each in parameters)
    scaled = covariances / spread[:, None] / spread + FLOOR * np.eye(len(spread))
    return Fits(
        weights=weights[None],
        means=((means - centre) / spread)[None],
        covariances=scaled[None],
        log_likelihood=np.full(1, -np.inf),
    )


def _correlations(fits: Fits) -> Float:
    """Return the correlations within each component of each data set."""
    deviations = np.sqrt(fits.variances)
    found = fits.covariances / deviations[..., :, None] / deviations[..., None, :]
    width = deviations.shape[2]
    return np.asarray(found[..., *np.triu_indices(width, 1)])


def _fewer(
    points: Float, full: Fits, rng: np.random.Generator, n_draws: int, at_once: int
) -> tuple[float, int]:
    """Return the p-value of one component fewer, and the number of data sets drawn."""
    n_rows, count = len(points), full.means.shape[1]
    small = fit_mixtures(points[None], count - 1, rng, diagonal=False)
    ratio = full.log_likelihood[0] - small.log_likelihood[0]

    def drawn_ratios(size: int) -> Float:
        again = small.draw(rng, size, n_rows)
        less = fit_mixtures(again, count - 1, rng, diagonal=False)
        return fit_mixtures(again, count, rng, diagonal=False).log_likelihood - less.log_likelihood

    return _level(drawn_ratios, float(ratio), n_draws, at_once)


def _independent(
    full: Fits, plain: Fits, rng: np.random.Generator, n_rows: int, n_draws: int, at_once: int
) -> tuple[float, float]:
    """Return the p-value of independent coordinates within components.

    Also return the upper limit of all correlations within them.
    """
    count, width = plain.means.shape[1:]
    if width == 1:
        return 1.0, 0.0
    chance: list[Float] = []

    def drawn_ratios(size: int) -> Float:
        again = plain.draw(rng, size, n_rows)
        less = fit_mixtures(again, count, rng, diagonal=True, start=plain)
        any_shape = fit_mixtures(again, count, rng, diagonal=False, start=plain)
        chance.append(_correlations(any_shape))
        return any_shape.log_likelihood - less.log_likelihood

    ratio = float(full.log_likelihood[0] - plain.log_likelihood[0])
    level = _level(drawn_ratios, ratio, n_draws, at_once)[0]
    while sum(map(len, chance)) < _FEWEST_DRAWS:
        drawn_ratios(min(at_once, 10))
    errors = np.concatenate(chance).std(axis=0, ddof=1)
    return level, float((np.abs(_correlations(full)[0]) + _ONE_SIDED * errors).max())


def _level(
    drawn_ratios: Callable[[int], Float], ratio: float, n_draws: int, at_once: int
) -> tuple[float, int]:
    beyond = drawn = 0
    # Once too many data sets exceed the statistic for a small p-value, further ones cannot help.
    while drawn < n_draws and beyond + 1 <= LEVEL * (n_draws + 1):
        size = min(at_once, n_draws - drawn, 10)
        beyond += int(np.sum(drawn_ratios(size) >= ratio))
        drawn += size
    return (1 + beyond) / (1 + drawn), drawn


def _standard(
    rows: ArrayLike, n_components: int, rng: np.random.Generator
) -> tuple[Float, Float, Float]:
    points = np.asarray(rows, dtype=np.float64)
    if points.ndim != 2 or 0 in points.shape or not np.isfinite(points).all():
        message = (
            f"rows of shape {points.shape} are not n×d finite numbers: give one row per latent."
        )
        raise InputError(message)
    width = points.shape[1]
    needed = (n_components + 1) * (width + 1) * (width + 2)
    if len(points) < needed:
        message = (
            f"{len(points)} rows are too few to test {n_components} components in {width} "
            f"dimensions: give at least {needed}."
        )
        raise InputError(message)
    # Sorting makes the rows, and draws from them, independent of their order.
    points = points[np.lexsort(points.T)]
    if len(points) > MOST_ROWS:
        points = points[np.sort(rng.choice(len(points), size=MOST_ROWS, replace=False))]
    spread = points.std(axis=0)
    if spread.min() == 0.0:
        message = f"coordinate {int(spread.argmin()) + 1} of the rows is constant: leave it out."
        raise InputError(message)
    centre = points.mean(axis=0)
    return (points - centre) / spread, centre, spread


def _equal_ratios(
    fitted: Fits, rng: np.random.Generator, n_rows: int, n_draws: int, at_once: int
) -> tuple[tuple[int, int], float]:
    """Return the best pair of components, and the p-value that two of its ratios are equal."""
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
        # Every difference must differ from zero, so the least certain one decides.
        worst = float(2.0 * ndtr(-(differences / errors).min()))
        if worst < smallest:
            best, smallest = (one, other), worst
    return best, min(1.0, smallest * math.comb(n_components, 2))
