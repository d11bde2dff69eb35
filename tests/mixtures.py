"""Planted sources of unit variance, and how far components are from what was planted."""

from __future__ import annotations

import numpy as np
import scipy.optimize

DRAW = {
    "laplace": lambda rng, n: rng.laplace(size=n) / np.sqrt(2),
    "uniform": lambda rng, n: rng.uniform(-np.sqrt(3), np.sqrt(3), size=n),
    "gaussian": lambda rng, n: rng.normal(size=n),
    "two values": lambda rng, n: rng.choice([-1.0, 1.0], size=n),
    "skewed": lambda rng, n: rng.exponential(size=n) - 1,
}


def planted(rng, n_rows, kinds=("laplace", "laplace", "uniform", "uniform")):
    """Draw independent sources of unit variance, by default with heavy and with light tails."""
    return np.column_stack([DRAW[kind](rng, n_rows) for kind in kinds])


def mixed(rng, n_rows, kinds=("laplace", "laplace", "uniform", "uniform"), width=None):
    """Return planted sources and a random mixture of them, into more coordinates if asked."""
    sources = planted(rng, n_rows, kinds)
    return sources, sources @ rng.normal(size=(len(kinds), width or len(kinds)))


def some_gaussian(n_gaussian, n_sources):
    """Return the kinds of sources, the first ones Gaussian."""
    others = ("laplace", "uniform")
    return tuple("gaussian" if i < n_gaussian else others[i % 2] for i in range(n_sources))


def sources_of(found, rows):
    """Return the sources that an `Unmixing` or a fitted `ICA` gives rows."""
    if hasattr(found, "components"):
        return (rows - found.mean) @ found.components.T
    return (rows - found.mean_) @ found.components_.T


def amari(first, second) -> float:
    """Return Amari's distance of two unmixings of the same rows: 0 up to order, sign and scale."""
    product = np.abs(first @ np.linalg.pinv(second))
    k = len(product)
    by_row = (product / product.max(axis=1, keepdims=True)).sum()
    by_column = (product / product.max(axis=0)).sum()
    return float((by_row + by_column - 2 * k) / (2 * k * (k - 1)))


def correlations(first, second):
    """Return the absolute correlations of two sets of columns."""
    width = first.shape[1]
    return np.abs(np.corrcoef(first.T, second.T)[:width, width:])


def mismatch(first, second) -> float:
    """Return one minus the smallest |correlation| under the best one-to-one matching."""
    correlation = correlations(first, second)
    matched = scipy.optimize.linear_sum_assignment(correlation, maximize=True)
    return float(1 - correlation[matched].min())
