"""Goodness-of-fit test of a mixture of J Gaussians.

Two statistics are compared with those of data sets drawn from the mixture: the gain in likelihood
from one more component, and Mardia's kurtosis of the rows about their components.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaincc

from upto.theory.expectation import distances, fit_mixtures, log_likelihood

if TYPE_CHECKING:
    from upto.core.array_types import Float
    from upto.theory.expectation import Fits


_UNCONVERGED = 0.01
"""Largest shortfall of the mean log-likelihood of a fit: ten times the usual one."""


def misfit_level(
    rows: Float, fitted: Fits, rng: np.random.Generator, *, level: float, n_draws: int, at_once: int
) -> float:
    """Return the p-value of rows being drawn from a mixture like the fitted one.

    Parameters
    ----------
    rows
        One data set, as a stack.
    fitted
        The best-fitting mixture with unrestricted covariances.
    rng
        Random number generator for draws and starts.
    level, n_draws, at_once
        Level, largest number of draws and batch size; drawing stops early once further draws cannot
        bring the p-value down to the level.
    """
    count = fitted.means.shape[1]
    seen = _statistics(rows, fitted, count, rng)
    beyond = np.zeros(len(seen))
    drawn = 0
    # Bonferroni: each of the two statistics has half of the level.
    while drawn < n_draws and (beyond + 1).min() * len(seen) <= level * (n_draws + 1):
        size = min(at_once, n_draws - drawn, 10)
        again = fitted.draw(rng, size, rows.shape[1])
        fits = fit_mixtures(again, count, rng, diagonal=False, start=fitted)
        beyond += (_statistics(again, fits, count, rng) >= seen).sum(axis=1)
        drawn += size
    return min(1.0, len(seen) * float((1.0 + beyond.min()) / (1.0 + drawn)))


def parameters_level(rows: Float, given: Fits, fitted: Fits, *, diagonal: bool) -> float:
    """Return the p-value of the given parameters being true, or fitted to the rows.

    Twice the loss in log-likelihood is χ² with as many degrees of freedom as parameters if they are
    true, and about zero if they were fitted.
    """
    count, width = given.means.shape[1:]
    shape = width if diagonal else width * (width + 1) // 2
    degrees = count * (1 + width + shape) - 1
    lost = float(fitted.log_likelihood[0] - log_likelihood(rows, given)[0])
    return float(gammaincc(0.5 * degrees, max(0.0, lost - _UNCONVERGED * rows.shape[1])))


def _statistics(rows: Float, fits: Fits, count: int, rng: np.random.Generator) -> Float:
    more = fit_mixtures(rows, count + 1, rng, diagonal=False)
    squares, joint = distances(rows, fits)
    shares = np.exp(joint - joint.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    width = rows.shape[2]
    kurtosis = np.einsum("bjn,bjn->b", shares, np.square(squares)) / rows.shape[1]
    gain = more.log_likelihood - fits.log_likelihood
    return np.stack([gain, np.abs(kurtosis - width * (width + 2.0))])
