"""P-values of explained variance, and their correction for multiple testing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from upto.core.array_types import Float


def q_values(p: Float) -> Float:
    """Return p-values adjusted by the Benjamini-Hochberg procedure; NaN is ignored and kept.

    Examples
    --------
    >>> q_values(np.array([0.01, 0.04, np.nan, 0.03])).tolist()
    [0.03, 0.04, nan, 0.04]
    """
    found = np.flatnonzero(~np.isnan(p))
    q = np.full(len(p), np.nan)
    order = found[np.argsort(p[found], kind="stable")]
    raised = p[order] * len(order) / np.arange(1, len(order) + 1)
    q[order] = np.minimum(np.minimum.accumulate(raised[::-1])[::-1], 1.0)
    return q


def permutation_tail(explained: Float, tail: Float, counts: Float) -> Float:
    """Return the p-values of explained shares under random assignment of rows to batches.

    A beta distribution with the mean and variance over all permutations (Pitman, Welch) replaces
    the F-test, which finds too many batches of few rows if tails are heavy. `tail` is the sum of
    fourth powers over the squared sum of squares.
    """
    from scipy.special import betainc

    n, groups = counts.sum(), len(counts)
    # Means over permutations of products of four values from four distinct rows, from two, etc.
    pair, triple = (1 - tail) / (n * (n - 1)), (2 * tail - 1) / (n * (n - 1) * (n - 2))
    quadruple = (3 - 6 * tail) / (n * (n - 1) * (n - 2) * (n - 3))
    single, uneven = tail / n, -tail / (n * (n - 1))
    alike = single - 4 * uneven - 3 * pair + 12 * triple - 6 * quadruple
    paired = pair - 2 * triple + quadruple
    leverage = float((counts * (1 / counts - 1 / n) ** 2).sum())
    df = groups - 1
    mean = df / (n - 1)
    variance = alike * leverage + paired * (df**2 + 2 * df) - mean**2
    total = np.maximum(mean * (1 - mean) / np.maximum(variance, 1e-300) - 1, 1e-3)
    p: Float = betainc(total * (1 - mean), total * mean, np.clip(1 - explained, 0.0, 1.0))
    return p


def upper_tail(ratio: Float, df: float, df_rest: float) -> Float:
    """Return the p-values of ratios of mean squares; 0 where the ratio is infinite."""
    from scipy.special import fdtrc

    return np.where(np.isinf(ratio), 0.0, fdtrc(df, df_rest, ratio))
