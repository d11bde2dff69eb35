"""Whether rows follow a mixture of J Gaussians that was fitted to them.

Two statistics are looked at, each for a stack of data sets, so that those of data sets drawn from
the mixture tell which values are chance: what one component more adds to the likelihood, and
Mardia's kurtosis of the rows about their components.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaincc

from upto.theory.expectation import distances, fit_mixtures, log_likelihood

if TYPE_CHECKING:
    from upto.core.arrays import Float
    from upto.theory.expectation import Fits


_UNCONVERGED = 0.01
"""How far the mean log-likelihood of a fit may be below the best: ten times what is usual."""


def misfit_level(
    rows: Float, fitted: Fits, rng: np.random.Generator, *, level: float, n_draws: int, at_once: int
) -> float:
    """Return the p-value of rows being drawn from mixtures like the one that was fitted to them.

    Parameters
    ----------
    rows
        One data set, as a stack.
    fitted
        The mixture with any covariances that fits it best.
    rng
        Generator of draws and starts.
    level, n_draws, at_once
        Where no further draw can bring the p-value down to the level, drawing stops.
    """
    count = fitted.means.shape[1]
    seen = _statistics(rows, fitted, count, rng)
    beyond = np.zeros(len(seen))
    drawn = 0
    # Two statistics are looked at, so each has half of the level.
    while drawn < n_draws and (beyond + 1).min() * len(seen) <= level * (n_draws + 1):
        size = min(at_once, n_draws - drawn, 10)
        again = fitted.draw(rng, size, rows.shape[1])
        fits = fit_mixtures(again, count, rng, diagonal=False, start=fitted)
        beyond += (_statistics(again, fits, count, rng) >= seen).sum(axis=1)
        drawn += size
    return min(1.0, len(seen) * float((1.0 + beyond.min()) / (1.0 + drawn)))


def parameters_level(rows: Float, given: Fits, fitted: Fits, *, diagonal: bool) -> float:
    """Return the p-value of given parameters being those of the law of rows, or fitted to them.

    Twice what the likelihood loses by them is χ² with as many degrees as there are parameters if
    they are those of the law, and about zero if they were fitted.
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
