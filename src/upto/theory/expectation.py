"""Gaussian mixtures by expectation maximisation, for many data sets at once.

A bootstrap fits a mixture to hundreds of data sets of the same shape, so data sets are the leading
axis and every step is a few batched products. Rows should be of order one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.core.array_types import Float

if TYPE_CHECKING:
    from numpy.typing import NDArray

FLOOR = 1e-6
"""Added to every variance, so that no component collapses to a point."""
_STARTS = 4
_FIRST_STEPS = 12
_STEPS = 300
_CONVERGED = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fits:
    """One mixture per data set of a stack: weights, means, covariances and log-likelihood."""

    weights: Float
    means: Float
    covariances: Float
    log_likelihood: Float

    @property
    def variances(self) -> Float:
        """Variances of every coordinate in every component."""
        return np.diagonal(self.covariances, axis1=2, axis2=3)

    def draw(self, rng: np.random.Generator, count: int, n_rows: int) -> Float:
        """Draw data sets from the first mixture."""
        width = self.means.shape[2]
        chosen = rng.choice(len(self.weights[0]), p=self.weights[0], size=(count, n_rows))
        roots = np.linalg.cholesky(self.covariances[0])
        noise = rng.normal(size=(count, n_rows, width))
        rows = np.empty_like(noise)
        for number, (mean, root) in enumerate(zip(self.means[0], roots, strict=True)):
            here = chosen == number
            rows[here] = noise[here] @ root.T + mean
        return rows


def fit_mixtures(
    rows: Float,
    n_components: int,
    rng: np.random.Generator,
    *,
    diagonal: bool,
    start: Fits | None = None,
) -> Fits:
    """Fit a mixture to each data set of a stack.

    Parameters
    ----------
    rows
        Data sets × rows × coordinates.
    n_components
        Number of components.
    rng
        Random number generator for the starts.
    diagonal
        Whether coordinates are independent within components.
    start
        Mixture to start from, the first one for every data set; by default several random starts
        run for a few steps each, and the best continues.
    """
    count = len(rows)
    if start is not None:
        repeated = _repeated(start, count)
        return _climb(rows, repeated, diagonal=diagonal, steps=_STEPS)
    best = _climb(rows, _start(rows, n_components, rng), diagonal=diagonal, steps=_FIRST_STEPS)
    if n_components > 1:
        for _ in range(_STARTS - 1):
            begun = _start(rows, n_components, rng)
            other = _climb(rows, begun, diagonal=diagonal, steps=_FIRST_STEPS)
            best = _put(best, other, other.log_likelihood > best.log_likelihood)
    return _climb(rows, best, diagonal=diagonal, steps=_STEPS)


def _start(rows: Float, n_components: int, rng: np.random.Generator) -> Fits:
    """Return a start with random rows as means and the variances of all rows."""
    count, n_rows, width = rows.shape
    chosen = np.argsort(rng.random(size=(count, n_rows)), axis=1)[:, :n_components]
    spread = rows.var(axis=1)[:, None, :, None] * np.eye(width) + FLOOR * np.eye(width)
    return Fits(
        weights=np.full((count, n_components), 1.0 / n_components),
        means=np.take_along_axis(rows, chosen[:, :, None], axis=1),
        covariances=np.repeat(spread, n_components, axis=1),
        log_likelihood=np.full(count, -np.inf),
    )


def _climb(rows: Float, fits: Fits, *, diagonal: bool, steps: int) -> Fits:
    """Iterate until the likelihood of every data set has converged."""
    moving = np.arange(len(rows))
    current = fits
    for _ in range(steps):
        here = _taken(current, moving)
        stepped = _step(rows[moving], here, diagonal=diagonal)
        # The likelihood that a step returns is that of its start.
        rising = ~(stepped.log_likelihood - here.log_likelihood <= _CONVERGED)
        current = _replaced(current, moving, stepped)
        moving = moving[rising]
        if not len(moving):
            break
    return current


def distances(rows: Float, fits: Fits) -> tuple[Float, Float]:
    """Return squared Mahalanobis distances of rows to components, and joint log-densities."""
    width = rows.shape[2]
    roots = np.linalg.cholesky(fits.covariances)
    away = rows[:, None] - fits.means[:, :, None]
    white = away @ np.linalg.inv(roots).swapaxes(2, 3)
    volume = np.log(np.diagonal(roots, axis1=2, axis2=3)).sum(axis=2)
    logs = np.log(fits.weights) - volume - 0.5 * width * math.log(2.0 * math.pi)
    squares = np.einsum("bjnd,bjnd->bjn", white, white)
    return squares, logs[:, :, None] - 0.5 * squares


def log_likelihood(rows: Float, fits: Fits) -> Float:
    """Return the log-likelihood of each data set under its mixture."""
    joint = distances(rows, fits)[1]
    found: Float = np.logaddexp.reduce(joint, axis=1).sum(axis=1)
    return found


def _step(rows: Float, fits: Fits, *, diagonal: bool) -> Fits:
    width = rows.shape[2]
    joint = distances(rows, fits)[1]
    highest = joint.max(axis=1, keepdims=True)
    shares = np.exp(joint - highest)
    total = shares.sum(axis=1, keepdims=True)
    likelihood = (highest + np.log(total)).sum(axis=(1, 2))
    shares /= total
    sizes = np.maximum(shares.sum(axis=2), 1e-9)
    means = (shares @ rows) / sizes[:, :, None]
    away = rows[:, None] - means[:, :, None]
    spread = (shares[..., None] * away).swapaxes(2, 3) @ away / sizes[:, :, None, None]
    if diagonal:
        spread = spread * np.eye(width)
    return Fits(
        weights=sizes / sizes.sum(axis=1, keepdims=True),
        means=means,
        covariances=spread + FLOOR * np.eye(width),
        log_likelihood=likelihood,
    )


def _repeated(fits: Fits, count: int) -> Fits:
    repeated = _taken(fits, np.zeros(count, dtype=np.intp))
    return Fits(
        weights=repeated.weights,
        means=repeated.means,
        covariances=repeated.covariances,
        log_likelihood=np.full(count, -np.inf),
    )


def _taken(fits: Fits, chosen: NDArray[np.intp]) -> Fits:
    return Fits(
        weights=fits.weights[chosen],
        means=fits.means[chosen],
        covariances=fits.covariances[chosen],
        log_likelihood=fits.log_likelihood[chosen],
    )


def _replaced(fits: Fits, chosen: NDArray[np.intp], others: Fits) -> Fits:
    found = {}
    for name in ("weights", "means", "covariances", "log_likelihood"):
        values = getattr(fits, name).copy()
        values[chosen] = getattr(others, name)
        found[name] = values
    return Fits(**found)


def _put(fits: Fits, others: Fits, better: NDArray[np.bool_]) -> Fits:
    chosen = np.flatnonzero(better)
    return _replaced(fits, chosen, _taken(others, chosen))
