"""Riemannian Hessian of the contrast at the components, and its smallest eigenvalue μ."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from upto.core.array_types import Float
from upto.ica.contrasts import LogCosh

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from upto.engines.base import Arrays, Engine
    from upto.ica.components import Unmixing
    from upto.ica.contrasts import Contrast


DENSE = 48
"""Number of components up to which the Hessian is formed; beyond it, LOBPCG is used."""


WORK = 3e12
"""Largest number of floating-point operations; it limits the rows used."""
_APPLICATIONS = 160


def affordable_rows(n_components: int) -> int:
    """Return the largest number of rows to compute the smallest curvature from."""
    k = float(n_components)
    turns = k * k / 2 if k <= DENSE else _APPLICATIONS
    return int(min(max(WORK / (6 * k * k * turns), 2000.0), 200_000.0))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Curvature:
    """Smallest eigenvalue of the Hessian, and its rotation.

    `value` is over all rotations, `identifiable` over those that leave the subspaces of components
    that can rotate into each other; `turn` is the generator, antisymmetric and of unit norm.
    """

    value: float
    identifiable: float | None
    turn: Float


class _Operator:
    """The Hessian as a linear operator on antisymmetric matrices; each application is one pass."""

    def __init__(self, engine: Engine, rows: Any, unmixing: Unmixing, contrast: Contrast) -> None:
        self.engine, self.rows, self.unmixing = engine, rows, unmixing
        self.contrast, self.n_samples = contrast, rows.shape[0]
        params = (unmixing.mean, unmixing.components.T)
        cross, slope, square = engine.reduce_blocks(
            partial(_gradient_sums, contrast=contrast), rows, params=params
        )
        cross, slope, square = (each / self.n_samples for each in (cross, slope, square))
        self.signs = np.where(slope * square < np.diag(cross), -1.0, 1.0)
        self.gradient = self.signs[:, None] * cross
        own = self.signs * slope
        self.pairs = 0.5 * (np.outer(own, square) + np.outer(square, own))
        self.pairs -= 0.5 * np.add.outer(np.diag(self.gradient), np.diag(self.gradient))

    def apply(self, turns: Sequence[Float]) -> list[Float]:
        """Apply the Hessian to several antisymmetric matrices in one pass."""
        params = (self.unmixing.mean, self.unmixing.components.T, np.concatenate(turns).T)
        statistic = partial(_turned_sums, contrast=self.contrast, count=len(turns))
        (sums,) = self.engine.reduce_blocks(statistic, self.rows, params=params)
        applied = []
        for turn, found in zip(turns, sums / self.n_samples, strict=True):
            total = self.signs[:, None] * found
            total = total + 0.5 * (self.gradient @ turn.T + turn.T @ self.gradient)
            applied.append(0.5 * (total - total.T))
        return applied


def smallest_curvature(
    engine: Engine,
    rows: Any,
    unmixing: Unmixing,
    contrast: Contrast | None = None,
    subspaces: Sequence[Sequence[int]] = (),
) -> Curvature | None:
    """Return the smallest eigenvalue of the Riemannian Hessian at the components.

    Signs make the contrast decrease towards the components: at an optimum all eigenvalues are
    positive, and one near zero means that some rotation changes nothing. Up to 48 components the
    Hessian is formed and the result exact; beyond that, preconditioned Lanczos-type iterations
    (LOBPCG) are used. None for a single component, which cannot rotate.
    """
    k = len(unmixing.components)
    if k < 2:
        return None
    operator = _Operator(engine, rows, unmixing, contrast or LogCosh())
    within = np.zeros((k, k), dtype=bool)
    for subspace in subspaces:
        within[np.ix_(subspace, subspace)] = True
    upper = np.triu_indices(k, 1)
    free = ~within[upper]
    solve = _dense if k <= DENSE else _iterated
    value, turn = solve(operator, upper, np.ones(len(free), dtype=bool))
    outside: float | None = value
    if not free.all():
        outside = solve(operator, upper, free)[0] if free.any() else None
    return Curvature(value=value, identifiable=outside, turn=turn)


def _dense(
    operator: _Operator, upper: tuple[Any, Any], free: NDArray[np.bool_]
) -> tuple[float, Float]:
    k = len(operator.signs)
    chosen = np.flatnonzero(free)
    matrix = np.empty((len(free), len(chosen)))
    batch = max(1, 4096 // k)
    for start in range(0, len(chosen), batch):
        some = chosen[start : start + batch]
        turns = [_antisymmetric(np.eye(1, len(free), i)[0], upper, k) for i in some]
        for column, applied in enumerate(operator.apply(turns)):
            matrix[:, start + column] = np.sqrt(2.0) * applied[upper]
    values, vectors = scipy.linalg.eigh(matrix[chosen], subset_by_index=[0, 0])
    return float(values[0]), _antisymmetric(_among(vectors[:, 0], free), upper, k)


def _iterated(
    operator: _Operator, upper: tuple[Any, Any], free: NDArray[np.bool_]
) -> tuple[float, Float]:
    k, chosen = len(operator.signs), np.flatnonzero(free)
    size = len(chosen)
    curvatures = operator.pairs[upper][chosen]
    diagonal = np.maximum(curvatures, 1e-3)
    lowest = np.argsort(curvatures, kind="stable")[:3]
    start = np.zeros((size, len(lowest)))
    start[lowest, np.arange(len(lowest))] = 1.0
    # A small part of every direction, as an exact start would miss those orthogonal to it.
    start += 1e-3 * np.sin(1.0 + np.arange(size * len(lowest)).reshape(size, -1))

    def apply(block: Float) -> Float:
        columns = np.atleast_2d(block.T)
        turns = [_antisymmetric(_among(column, free), upper, k) for column in columns]
        applied = [np.sqrt(2.0) * each[upper][chosen] for each in operator.apply(turns)]
        return np.stack(applied, axis=1)

    hessian = scipy.sparse.linalg.LinearOperator(
        (size, size), matvec=apply, matmat=apply, dtype=np.float64
    )
    inverse = scipy.sparse.linalg.LinearOperator(
        (size, size),
        matvec=lambda v: v.ravel() / diagonal,
        matmat=lambda v: v / diagonal[:, None],
        dtype=np.float64,
    )
    with warnings.catch_warnings():
        # LOBPCG's accuracy test is stricter than a sampled Hessian warrants.
        warnings.simplefilter("ignore", UserWarning)
        values, vectors = scipy.sparse.linalg.lobpcg(
            hessian, start, M=inverse, largest=False, maxiter=60, tol=1e-5
        )
    best = int(np.argmin(values))
    return float(values[best]), _antisymmetric(_among(vectors[:, best], free), upper, k)


def _among(vector: Float, free: NDArray[np.bool_]) -> Float:
    """Return the values of the free pairs, with zeros for the others."""
    full = np.zeros(len(free))
    full[free] = vector
    return full


def _antisymmetric(vector: Float, upper: tuple[Any, Any], k: int) -> Float:
    turn = np.zeros((k, k))
    turn[upper] = vector / np.sqrt(2.0)
    return turn - turn.T


def _gradient_sums(xp: Any, x: Any, mean: Any, unmixing: Any, *, contrast: Contrast) -> Arrays:
    sources = xp.matmul(x - mean, unmixing)
    _, score, slope = contrast(xp, sources)
    square = xp.linalg.vecdot(sources, sources, axis=-2)
    return xp.matmul(score.T, sources), xp.sum(slope, axis=0), square


def _turned_sums(
    xp: Any, x: Any, mean: Any, unmixing: Any, turns: Any, *, contrast: Contrast, count: int
) -> Arrays:
    """Return the sums of g′(sᵢ)(Ωs)ᵢsⱼ for several antisymmetric matrices Ω."""
    sources = xp.matmul(x - mean, unmixing)
    _, _, slope = contrast(xp, sources)
    width = sources.shape[1]
    turned = xp.matmul(sources, turns)
    parts = []
    for number in range(count):
        moved = turned[:, number * width : (number + 1) * width]
        parts.append(xp.matmul((slope * moved).T, sources))
    return (xp.stack(parts),)
