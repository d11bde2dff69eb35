"""Check the assumptions on the prior on a Gaussian mixture."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.theory.hierarchy import Assumption
from upto.theory.mixtures import as_components
from upto.theory.spurious import bootstrap_components
from upto.theory.valid_numbers import check_size

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from upto.theory.components_test import ComponentsTest
    from upto.theory.mixtures import Components

_ROUNDING = 1e-6
_SUMS = 16.0


def check_prior(
    mixture: Any,
    *,
    rows: ArrayLike | None = None,
    fitted: bool = False,
    states: ArrayLike | None = None,
    correlation: float = _ROUNDING,
    gap: float = _ROUNDING,
    seed: int = 0,
) -> tuple[Assumption, ...]:
    """Check assumptions P1, P2 and P3, and distinct components, on a Gaussian mixture.

    Parameters of a prior that a model was built or trained with are exact, up to the precision they
    were stored with. Parameters fitted to rows are not those of the law of the rows: it may not be
    a Gaussian mixture, and a component may be spurious, with variances unlike the others'. So they
    decide nothing by themselves; with the rows, `bootstrap_components` can.

    Parameters
    ----------
    mixture
        A mixture with `weights`, `means` and `covariances`, a `GaussianMixture` of scikit-learn or
        the result of `upto.measures.fit_mixture`, which are fitted, or a tuple of the three arrays.
        Covariances are J×d×d, or J×d variances.
    rows
        Rows the mixture was fitted to, one per latent, to test the assumptions on. If they do not
        follow the mixture, or are fewer than 150 per component, P1, P2 and distinct components are
        undecided; if coordinates are correlated within its components, P2 is false.
    fitted
        Whether a tuple of parameters was fitted to rows too.
    states
        J×k values of the hidden variables U_1 … U_k in each component; by default one variable
        whose values are the components.
    correlation
        Coordinates correlated by more than this within a component are not independent; smaller
        correlations above rounding leave independence undecided.
    gap
        Variance ratios whose logarithms differ by no more than this count as equal; components are
        equal within the same tolerance, in standard deviations of a coordinate within them.
    seed
        Seed of the random number generator of the test on `rows`.

    Returns
    -------
    The checks of P1, P2, P3, that no two components are equal, and that one is positive definite.

    Raises
    ------
    InputError
        If these are not the parameters of a mixture, or rows or states do not fit it.

    See Also
    --------
    what_is_identified : Takes these checks.
    distinct_ratios : The gap behind P2.
    bootstrap_components : The test on rows.
    upto.mixture : All checks of runs of codes, with a verdict.

    References
    ----------
    Kivva et al. (2022). Identifiability of deep generative models without auxiliary information.
    Advances in Neural Information Processing Systems.

    Examples
    --------
    >>> from upto.theory import check_prior
    >>> weights, means = [0.4, 0.6], [[-1.0, 0.0], [1.0, 2.0]]
    >>> variances = [[1.0, 1.0], [0.5, 2.0]]
    >>> for check in check_prior((weights, means, variances)):
    ...     print(check.name, check.holds)
    P1 True
    P2 True
    P3 True
    distinct True
    P1 partly True
    """
    correlation = check_size(correlation, "correlation")
    gap = check_size(gap, "gap")
    components = as_components(mixture)
    estimated = fitted or rows is not None or _is_fitted(mixture)
    whole, partly = _mixture(components)
    independent = _conditional_independence(components, correlation, gap)
    grid = _grid(states, len(components.weights))
    hidden = replace(_hidden_variables(components, grid, gap), hidden_variables=grid.shape[1])
    distinct = _distinct(components, gap)
    if estimated:
        test = None
        if rows is not None:
            test = _tested(components, rows, seed)
        whole, partly = (
            _estimated(each, test, told=bool(test and test.fits)) for each in (whole, partly)
        )
        independent = _estimated(independent, test, told=bool(test and test.ratios_differ))
        if test and (test.are_needed or test.are_correlated):
            independent = replace(
                independent,
                holds=False if test.are_correlated else independent.holds,
                evidence=f"{test.says}; {test.says_of_shapes}",
            )
        distinct = _estimated(distinct, test, told=bool(test and test.are_needed))
        hidden = _estimated(hidden, None, told=False)
    return whole, independent, hidden, distinct, partly


def _is_fitted(mixture: Any) -> bool:
    return hasattr(mixture, "weights_") or getattr(mixture, "fitted", False) is True


def _tested(components: Components, rows: ArrayLike, seed: int) -> ComponentsTest:
    count, width = components.means.shape
    given = np.asarray(rows)
    if given.ndim == 2 and given.shape[1] != width:
        message = (
            f"rows of {given.shape[1]} coordinates do not fit a mixture in {width} dimensions: "
            "give those it was fitted to."
        )
        raise InputError(message)
    diagonal = bool(components.correlations().max() <= _ROUNDING)
    return bootstrap_components(
        given, count, diagonal=diagonal, parameters=components.given, seed=seed
    )


def _estimated(check: Assumption, test: ComponentsTest | None, *, told: bool) -> Assumption:
    """Return a check of fitted parameters: undecided, unless a test on enough rows decides it."""
    if test is None:
        reason = "parameters fitted to rows do not decide this"
        if check.name != "P3":
            reason += "; give the rows for a test"
        evidence = f"{reason}: as fitted, {check.evidence}"
        return replace(check, holds=None, evidence=evidence)
    holds = told and check.holds is True
    return replace(
        check,
        holds=True if holds and test.are_enough else None,
        evidence=f"{test.says}; as fitted, {check.evidence}",
        n_enough=test.n_enough if holds and not test.are_enough else None,
    )


def distinct_ratios(variances: ArrayLike) -> tuple[tuple[int, int] | None, float]:
    r"""Find the two components whose variance ratios differ most from each other.

    Parameters
    ----------
    variances
        J×d variances of each coordinate in each component.

    Returns
    -------
    The pair and the smallest gap between its sorted log-ratios: infinite for one coordinate. If
    fewer than two components have positive variances, there is no pair and the gap is zero.

    See Also
    --------
    check_prior : Uses it for P2.
    bootstrap_components : Whether ratios fitted to rows differ beyond chance.

    Notes
    -----
    For components j and k, sort the log-ratios :math:`\log (\sigma_{ji}^2 / \sigma_{ki}^2)` of all
    coordinates i. The gap of a pair is the smallest difference of two neighbours, and the best pair
    has the largest gap. If it is zero, two coordinates can be rotated into each other.

    References
    ----------
    Kivva et al. (2022). Identifiability of deep generative models without auxiliary information.
    Advances in Neural Information Processing Systems.

    Examples
    --------
    >>> from upto.theory import distinct_ratios
    >>> pair, gap = distinct_ratios([[1.0, 1.0], [0.5, 2.0], [1.0, 1.0]])
    >>> pair, round(gap, 4)
    ((0, 1), 1.3863)
    """
    found = np.asarray(variances, dtype=np.float64)
    usable = np.flatnonzero((found > 0).all(axis=1))
    logs = np.log(found[usable])
    best: tuple[int, int] | None = None
    widest = 0.0
    for position in range(len(usable) - 1):
        ratios = np.sort(logs[position + 1 :] - logs[position], axis=1)
        gaps = np.diff(ratios, axis=1).min(axis=1, initial=np.inf)
        other = int(np.argmax(gaps))
        if best is None or gaps[other] > widest:
            best = int(usable[position]), int(usable[position + 1 + other])
            widest = float(gaps[other])
    return best, widest


def _mixture(components: Components) -> tuple[Assumption, Assumption]:
    count, width = components.means.shape
    full = components.positive_definite()
    flat, unknown = full.count(False), full.count(None)
    plural = "s" * (count != 1)
    words = [f"{count} Gaussian component{plural} in {width} dimensions, by construction"]
    if flat:
        words.append(f"{flat} of {count} are degenerate: points, or flat in a direction")
    if unknown:
        words.append(
            f"{unknown} of {count} are positive definite by no more than rounding, to "
            f"{components.stored_as} or in their computation, can cause"
        )
    if not flat and not unknown:
        words.append("all covariances are positive definite")
    evidence = "; ".join(words) + components.reading
    whole = False if flat else None if unknown else True
    partly = True if True in full else None if unknown else False
    return (
        Assumption(name="P1", holds=whole, evidence=evidence),
        Assumption(name="P1 partly", holds=partly, evidence=evidence),
    )


def _distinct(components: Components, tolerance: float) -> Assumption:
    count = len(components.weights)
    pairs = list(combinations(range(count), 2))
    # Correlations distinguish components too, so whole covariances are compared.
    same = [
        (first + 1, second + 1)
        for first, second in pairs
        if components.are_equal(first, second, tolerance)
    ]
    evidence = f"no two of {count} components are equal"
    if same:
        first, second = same[0]
        evidence = (
            f"{len(same)} of {len(pairs)} pairs of components are equal, the first of them {first} "
            f"and {second}, so fewer describe the same law"
        )
        return Assumption(name="distinct", holds=False, evidence=evidence)
    near = [pair for pair in pairs if components.may_be_equal(*pair)]
    if near:
        first, second = near[0]
        evidence += (
            f", but {len(near)} of {len(pairs)} pairs, the first of them {first + 1} and "
            f"{second + 1}, differ by no more than rounding to {components.stored_as} can cause"
        )
    return Assumption(name="distinct", holds=None if near else True, evidence=evidence)


def _conditional_independence(components: Components, tolerance: float, gap: float) -> Assumption:
    correlations = components.correlations()
    largest = float(correlations.max())
    if largest > tolerance:
        state = int(correlations.max(axis=(1, 2)).argmax()) + 1
        evidence = (
            f"coordinates are correlated by {largest:.3g} within component {state}"
            f"{components.reading}"
        )
        return Assumption(name="P2", holds=False, evidence=evidence)
    full = np.array([each is not False for each in components.positive_definite()])
    pair, widest = distinct_ratios(np.where(full[:, None], components.variances, 0.0))
    independent = f"correlations within components are at most {largest:.2g}"
    # Covariances are sums of products, each rounded.
    unknown = largest > _SUMS * correlations.shape[1] * components.arithmetic
    if unknown:
        independent += ", which is not zero"
    independent += components.reading
    if pair is None:
        evidence = f"{independent}; two positive definite components are needed"
        return Assumption(name="P2", holds=False, evidence=evidence)
    names = f"components {pair[0] + 1} and {pair[1] + 1}"
    if math.isinf(widest):
        evidence = f"{independent}; one coordinate has one ratio, in {names}"
        return Assumption(name="P2", holds=True, evidence=evidence)
    evidence = (
        f"{independent}; the best pair, {names}, has log-ratios of variances at least "
        f"{widest:.3g} apart"
    )
    apart = widest > gap
    # A difference of two log-ratios contains four numbers, each rounded.
    rounded = 4.0 * components.rounding
    if gap < widest <= rounded:
        unknown = True
        evidence += f", and rounding to {components.stored_as} can cause {rounded:.2g}"
    if None in (components.positive_definite()[each] for each in pair):
        unknown = True
        evidence += "; one of them may be positive definite only by rounding"
    return Assumption(name="P2", holds=None if apart and unknown else apart, evidence=evidence)


def _hidden_variables(
    components: Components, grid: NDArray[np.intp], tolerance: float
) -> Assumption:
    differ = components.differ(tolerance)
    neighbours = _neighbours(differ, grid)
    count, variables = grid.shape
    for variable, coordinates in enumerate(neighbours, 1):
        if not coordinates:
            evidence = f"no coordinate depends on hidden variable {variable}, so it is not observed"
            return Assumption(name="P3", holds=False, evidence=evidence)
    for coordinate in range(components.means.shape[1]):
        seen = [i for i in range(variables) if coordinate in neighbours[i]]
        apart = (grid[:, None, seen] != grid[None, :, seen]).any(axis=2)
        clashes = np.argwhere(apart & ~differ[:, :, coordinate])
        if len(clashes):
            first, second = clashes[0] + 1
            evidence = (
                f"(a) fails: coordinate {coordinate + 1} has the same law in components {first} "
                f"and {second}, though hidden variables it depends on differ"
            )
            return Assumption(name="P3", holds=False, evidence=evidence)
    for first in range(variables):
        for second in range(variables):
            if first != second and neighbours[first] <= neighbours[second]:
                evidence = (
                    f"(c) fails: all {len(neighbours[first])} coordinates that depend on hidden "
                    f"variable {first + 1} depend on {second + 1} too"
                )
                return Assumption(name="P3", holds=False, evidence=evidence)
    most = _prime_factors(count)
    start = "(a) and (c) hold for these parameters"
    if variables >= most:
        evidence = f"{start}; (b) too, as {count} states are a product of {most} sizes at most"
        return Assumption(name="P3", holds=True, evidence=evidence)
    evidence = (
        f"{start}; (b) is not decided: {count} states could be those of {most} hidden variables "
        f"instead of {variables}"
    )
    return Assumption(name="P3", holds=None, evidence=evidence)


def _neighbours(differ: NDArray[np.bool_], grid: NDArray[np.intp]) -> list[set[int]]:
    """Return, for each hidden variable, the coordinates that depend on it given the others."""
    found: list[set[int]] = []
    for variable in range(grid.shape[1]):
        others = np.delete(grid, variable, axis=1)
        alike = (others[:, None] == others[None]).all(axis=2)
        found.append({int(t) for t in np.flatnonzero(differ[alike].any(axis=0))})
    return found


def _prime_factors(number: int) -> int:
    count, factor = 0, 2
    while number > 1:
        while number % factor == 0:
            number //= factor
            count += 1
        factor += 1
    return max(count, 1)


def _grid(states: ArrayLike | None, count: int) -> NDArray[np.intp]:
    if states is None:
        return np.arange(count)[:, None]
    values = np.asarray(states)
    if values.ndim != 2 or len(values) != count or values.shape[1] == 0:
        message = (
            f"states of shape {values.shape} do not fit {count} components: give one row for each "
            "component and one column for each hidden variable."
        )
        raise InputError(message)
    sizes = [len(np.unique(column)) for column in values.T]
    if len(np.unique(values, axis=0)) != count or math.prod(sizes) != count or min(sizes) < 2:
        shape = "×".join(str(size) for size in sizes)
        message = (
            f"hidden variables with {shape} values do not make {count} components: give every "
            "combination of at least two values each once."
        )
        raise InputError(message)
    return np.stack([np.unique(column, return_inverse=True)[1] for column in values.T], axis=1)
