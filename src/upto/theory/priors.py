"""What can be checked of the assumptions on the prior on a fitted Gaussian mixture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError
from upto.theory.hierarchy import Assumption

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Float = NDArray[np.float64]

_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Components:
    weights: Float
    means: Float
    covariances: Float

    @property
    def variances(self) -> Float:
        return np.diagonal(self.covariances, axis1=1, axis2=2)

    @property
    def scale(self) -> float:
        """A variance that stands for the size of the mixture: the largest of a coordinate."""
        spread = np.var(self.means, axis=0) + self.variances.max(axis=0)
        return float(spread.max())

    def differ(self, tolerance: float) -> NDArray[np.bool_]:
        """Say for every pair of components which coordinates have different laws."""
        means = np.abs(self.means[:, None] - self.means[None])
        variances = np.abs(self.variances[:, None] - self.variances[None])
        apart: NDArray[np.bool_] = (means > tolerance * math.sqrt(self.scale)) | (
            variances > tolerance * self.scale
        )
        return apart


def check_prior(
    mixture: Any,
    *,
    states: ArrayLike | None = None,
    correlation: float = _ROUNDING,
    gap: float = _ROUNDING,
) -> tuple[Assumption, Assumption, Assumption, Assumption]:
    """Assumption P1, P2 and P3 on the parameters of a Gaussian mixture, and distinct components.

    Parameters are taken as they are: how far they are from those of the data's law is not seen
    here. Variances fitted to n rows are off by about √(2/n) of themselves, so choose `gap` above
    that and `correlation` above 1/√n.

    Parameters
    ----------
    mixture
        A mixture with `weights`, `means` and `covariances`, a fitted `GaussianMixture` of
        scikit-learn, or a tuple of the three arrays. Covariances are J×d×d, or J×d variances.
    states
        J×k: the value of each hidden variable U_1 … U_k in each component; one variable whose
        values are the components by default.
    correlation
        Coordinates correlated by no more than this within a component count as independent.
    gap
        Variance ratios whose logarithms differ by no more than this count as equal; the same
        relative tolerance tells whether components differ.

    Returns
    -------
    The checks of P1, P2 and P3, and that no two components are equal.
    """
    components = _components(mixture)
    return (
        _mixture(components, gap),
        _conditional_independence(components, correlation, gap),
        _hidden_variables(components, _grid(states, len(components.weights)), gap),
        _distinct(components, gap),
    )


def distinct_ratios(variances: ArrayLike) -> tuple[tuple[int, int] | None, float]:
    """Find the two components whose variance ratios differ most from each other.

    Parameters
    ----------
    variances
        J×d variances of each coordinate in each component.

    Returns
    -------
    The pair and the smallest gap between its sorted log-ratios: infinite for one coordinate. There
    is no pair, and the gap is zero, where fewer than two components have positive variances.
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


def _mixture(components: _Components, tolerance: float) -> Assumption:
    count, width = components.means.shape
    smallest = np.linalg.eigvalsh(components.covariances)[:, 0]
    degenerate = int(np.sum(smallest <= tolerance * components.scale))
    words = [f"{count} Gaussian components in {width} dimensions, by construction"]
    words.append(
        f"{degenerate} are degenerate, which is allowed"
        if degenerate
        else f"the smallest eigenvalue of a covariance is {smallest.min():.3g}"
    )
    words.append("that the latents follow this mixture is not checked")
    return Assumption(name="P1", holds=True, evidence="; ".join(words))


def _distinct(components: _Components, tolerance: float) -> Assumption:
    count = len(components.weights)
    pairs = list(combinations(range(count), 2))
    # Correlations tell components apart too, so look at whole covariances here.
    scale = components.scale
    same = [
        (first + 1, second + 1)
        for first, second in pairs
        if np.abs(components.means[first] - components.means[second]).max()
        <= tolerance * math.sqrt(scale)
        and np.abs(components.covariances[first] - components.covariances[second]).max()
        <= tolerance * scale
    ]
    evidence = f"no two of {count} components are equal"
    if same:
        first, second = same[0]
        evidence = (
            f"{len(same)} of {len(pairs)} pairs of components are equal, the first of them {first} "
            f"and {second}, so fewer describe the same law"
        )
    return Assumption(name="distinct", holds=not same, evidence=evidence)


def _conditional_independence(components: _Components, tolerance: float, gap: float) -> Assumption:
    deviations = np.sqrt(components.variances)
    sizes = deviations[:, :, None] * deviations[:, None, :]
    correlations = np.divide(
        np.abs(components.covariances), sizes, out=np.zeros_like(sizes), where=sizes > 0
    )
    width = correlations.shape[1]
    correlations[:, np.arange(width), np.arange(width)] = 0.0
    largest = float(correlations.max())
    if largest > tolerance:
        state = int(correlations.max(axis=(1, 2)).argmax()) + 1
        evidence = f"coordinates are correlated by {largest:.3g} within component {state}"
        return Assumption(name="P2", holds=False, evidence=evidence)
    pair, widest = distinct_ratios(components.variances)
    independent = f"correlations within components are at most {largest:.2g}"
    if pair is None:
        evidence = f"{independent}; two components with positive variances are needed"
        return Assumption(name="P2", holds=False, evidence=evidence)
    names = f"components {pair[0] + 1} and {pair[1] + 1}"
    if math.isinf(widest):
        evidence = f"{independent}; one coordinate has one ratio, in {names}"
        return Assumption(name="P2", holds=True, evidence=evidence)
    evidence = (
        f"{independent}; the best pair, {names}, has log-ratios of variances at least "
        f"{widest:.3g} apart"
    )
    return Assumption(name="P2", holds=widest > gap, evidence=evidence)


def _hidden_variables(
    components: _Components, grid: NDArray[np.intp], tolerance: float
) -> Assumption:
    differ = components.differ(tolerance)
    neighbours = _neighbours(differ, grid)
    count, variables = grid.shape
    for variable, coordinates in enumerate(neighbours, 1):
        if not coordinates:
            evidence = f"no coordinate depends on hidden variable {variable}, so it is not seen"
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
    """Find, for each hidden variable, the coordinates that depend on it given the others."""
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
            f"hidden variables with {shape} values do not number {count} components: give every "
            "combination of at least two values each once."
        )
        raise InputError(message)
    return np.stack([np.unique(column, return_inverse=True)[1] for column in values.T], axis=1)


def _components(mixture: Any) -> _Components:
    if hasattr(mixture, "weights_"):
        weights, means, covariances = mixture.weights_, mixture.means_, mixture.covariances_
        if mixture.covariance_type == "tied":
            covariances = np.broadcast_to(covariances, (len(weights), *np.shape(covariances)))
        elif mixture.covariance_type == "spherical":
            covariances = np.repeat(np.asarray(covariances)[:, None], np.shape(means)[1], axis=1)
    elif hasattr(mixture, "weights"):
        weights, means, covariances = mixture.weights, mixture.means, mixture.covariances
    elif isinstance(mixture, tuple | list) and len(mixture) == 3:
        weights, means, covariances = mixture
    else:
        message = (
            f"a {type(mixture).__name__} is not a mixture: give one with weights, means and "
            "covariances, or a tuple of the three."
        )
        raise InputError(message)
    weights, means, covariances = (
        np.asarray(each, dtype=np.float64) for each in (weights, means, covariances)
    )
    if covariances.ndim == 2 and covariances.shape == means.shape:
        covariances = covariances[:, :, None] * np.eye(means.shape[1])
    _refuse_misfits(weights, means, covariances)
    return _Components(weights=weights, means=means, covariances=covariances)


def _refuse_misfits(weights: Float, means: Float, covariances: Float) -> None:
    if (
        means.ndim != 2
        or 0 in means.shape
        or weights.shape != means.shape[:1]
        or covariances.shape != (*means.shape, means.shape[1])
    ):
        message = (
            f"weights {weights.shape}, means {means.shape} and covariances {covariances.shape} are "
            "not a mixture: give J, J×d and J×d×d numbers."
        )
        raise InputError(message)
    if not all(np.isfinite(each).all() for each in (weights, means, covariances)):
        message = "the parameters of the mixture are not all finite: give numbers."
        raise InputError(message)
    if weights.min() <= 0 or abs(weights.sum() - 1.0) > _ROUNDING:
        message = (
            f"weights from {weights.min():g} sum to {weights.sum():.7g}: they must be positive and "
            "sum to one; leave out components without weight."
        )
        raise InputError(message)
    smallest = np.linalg.eigvalsh(covariances).min()
    if smallest < -_ROUNDING * np.abs(covariances).max():
        message = f"a covariance has the eigenvalue {smallest:.3g}: give none below zero."
        raise InputError(message)
