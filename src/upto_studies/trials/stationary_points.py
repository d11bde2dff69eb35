"""Stationary points of a contrast, found by Newton's method and followed as rows move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from upto.core.array_types import Float

if TYPE_CHECKING:
    from upto.ica.contrasts import Contrast


_NEWTON_STEPS = 12
_CONVERGED = 1e-11
_NEAR = 0.3


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Followed:
    """Followed stationary points, for a stack of runs.

    Parameters
    ----------
    rotations
        The stationary points, as rotations of the rows.
    curvature
        Smallest absolute eigenvalue of the Hessian along the path.
    softest
        Unit rotation generator along which the contrast curves least at the end.
    found
        Whether every stop was near the previous one and had zero gradient.
    """

    rotations: Float
    curvature: Float
    softest: Float
    found: NDArray[np.bool_]


def follow(
    contrast: Contrast,
    signs: Float,
    start: Float,
    end: Float,
    rotations: Float,
    *,
    n_stops: int = 12,
) -> Followed:
    """Follow stationary points from the rows `start` to the rows `end`, along a straight line.

    Parameters
    ----------
    contrast
        The contrast; the mean of each component is multiplied by its sign.
    signs
        One sign per component, as (runs, d).
    start, end
        Stacks of runs, as (runs, rows, d).
    rotations
        Starting rotations, as (runs, d, d).
    n_stops
        Stops after the first, at each of which Newton's method converges.
    """
    turns = skew_basis(start.shape[2])
    found = np.ones(len(start), dtype=bool)
    least = np.full(len(start), np.inf)
    for time in np.linspace(0.0, 1.0, n_stops + 1):
        rows = start + time * (end - start)
        before = rotations
        for _ in range(_NEWTON_STEPS):
            gradient, hessian = derivatives(contrast, signs, rows @ _t(rotations), turns)
            step = _solved(hessian, -gradient)
            step /= np.maximum(np.linalg.norm(step, axis=1, keepdims=True) / 0.5, 1.0)
            rotations = _turned(np.einsum("ck,kij->cij", step, turns)) @ rotations
        gradient, hessian = derivatives(contrast, signs, rows @ _t(rotations), turns)
        values, vectors = np.linalg.eigh(hessian)
        least = np.minimum(least, np.abs(values).min(axis=1))
        moved = np.linalg.norm(rotations - before, axis=(1, 2))
        # The first stop may be far from where its search started.
        found &= (np.abs(gradient).max(axis=1) < _CONVERGED) & ((moved < _NEAR) | (time == 0.0))
    chosen = np.abs(values).argmin(axis=1)
    softest = np.einsum("ck,kij->cij", vectors[np.arange(len(chosen)), :, chosen], turns)
    return Followed(rotations=rotations, curvature=least, softest=softest, found=found)


def contrast_signs(contrast: Contrast, components: Float) -> Float:
    """Return the signs with which the contrast decreases towards components, as in the solvers.

    Parameters
    ----------
    contrast
        The contrast.
    components
        A stack of runs of components.
    """
    score, slope = contrast.derivatives(np, components)
    excess = slope.mean(axis=1) - (score * components).mean(axis=1)
    return np.where(excess < 0.0, -1.0, 1.0)


def turning_shift(contrast: Contrast, signs: Float, rows: Float, followed: Followed) -> Float:
    """Return unit shifts of every row that push its stationary point along the softest rotation.

    Parameters
    ----------
    contrast, signs
        See `follow`.
    rows
        The rows of the stationary points in `followed`.
    followed
        Result of `follow`.
    """
    components = rows @ _t(followed.rotations)
    score, slope = contrast.derivatives(np, components)
    # The gradient of E[g(s)ᵀΩs] in the components.
    push = (signs[:, None] * slope) * (components @ _t(followed.softest)) - (
        signs[:, None] * score
    ) @ _t(followed.softest)
    push = push @ followed.rotations
    shifts: Float = push / np.maximum(np.linalg.norm(push, axis=2, keepdims=True), 1e-300)
    return shifts


def skew_basis(d: int) -> Float:
    """Return skew matrices that are orthonormal in the Frobenius norm, one per pair."""
    upper = np.triu_indices(d, 1)
    turns = np.zeros((len(upper[0]), d, d))
    number = np.arange(len(turns))
    turns[number, upper[0], upper[1]] = np.sqrt(0.5)
    turns[number, upper[1], upper[0]] = -np.sqrt(0.5)
    return turns


def derivatives(
    contrast: Contrast, signs: Float, components: Float, turns: Float
) -> tuple[Float, Float]:
    """Return the Riemannian gradient and Hessian of the mean contrast over rotations.

    Parameters
    ----------
    contrast, signs
        See `follow`.
    components
        A stack of runs of components.
    turns
        Skew matrices that are orthonormal in the Frobenius norm.
    """
    size = components.shape[1]
    score, slope = contrast.derivatives(np, components)
    cross = (signs[:, None] * score).swapaxes(1, 2) @ components / size
    gradient = np.einsum("cij,kij->ck", cross, turns)
    turned = np.einsum("kij,cnj->cnki", turns, components)
    weighted = (signs[:, None] * slope)[:, :, None] * turned
    shape = (len(components), -1, len(turns))
    # Rows and coordinates are summed together.
    hessian = weighted.swapaxes(2, 3).reshape(shape).swapaxes(1, 2) @ (
        turned.swapaxes(2, 3).reshape(shape)
    )
    products = np.einsum("kij,ljm->klim", turns, turns)
    bent = np.einsum("cim,klim->ckl", cross, products)
    return gradient, hessian / size + (bent + bent.swapaxes(1, 2)) / 2.0


def _solved(hessian: Float, right: Float) -> Float:
    """Solve with eigenvalues bounded away from zero, so that a step is always defined."""
    values, vectors = np.linalg.eigh(hessian)
    values = np.where(np.abs(values) < 1e-12, 1e-12, values)
    solved: Float = np.einsum(
        "cij,cj->ci", vectors, np.einsum("cji,cj->ci", vectors, right) / values
    )
    return solved


def _turned(turn: Float) -> Float:
    """Return a rotation that equals the exponential of a skew matrix to second order."""
    eye = np.eye(turn.shape[1])
    return np.asarray(np.linalg.solve(eye - turn / 2.0, eye + turn / 2.0), dtype=np.float64)


def _t(matrices: Float) -> Float:
    return matrices.swapaxes(1, 2)
