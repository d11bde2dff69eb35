"""Unrelated runs, of every kind of rows that once looked related."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.signal

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Float = NDArray[np.float64]
    Runs = tuple[Float, Float]


def _gaussian(rng: np.random.Generator, n: int, d: int) -> Runs:
    return rng.normal(size=(n, d)), rng.normal(size=(n, d))


def _heavy_tailed(rng: np.random.Generator, n: int, d: int) -> Runs:
    return rng.standard_t(1.5, size=(n, d)), rng.standard_t(1.5, size=(n, d))


def _shared_marginals(rng: np.random.Generator, n: int, d: int) -> Runs:
    """Both runs are drawn from one skewed law far from the origin, one direction dominating."""
    scale = np.geomspace(30.0, 1.0, d)
    return tuple(100.0 + scale * rng.lognormal(size=(n, d)) for _ in range(2))  # type: ignore[return-value]


def _different_widths(rng: np.random.Generator, n: int, d: int) -> Runs:
    return rng.normal(size=(n, d)), rng.laplace(size=(n, 2 * d))


def _tied_integers(rng: np.random.Generator, n: int, d: int) -> Runs:
    return rng.integers(3, size=(n, d)).astype(float), rng.integers(3, size=(n, d)).astype(float)


def _clusters(rng: np.random.Generator, n: int, d: int) -> Runs:
    """Both runs have the same clusters, but the rows belong to them independently."""
    centres = 10.0 * rng.normal(size=(3, d))
    return tuple(centres[rng.integers(3, size=n)] + rng.normal(size=(n, d)) for _ in range(2))  # type: ignore[return-value]


def _repeated_rows(rng: np.random.Generator, n: int, d: int) -> Runs:
    """Every pair of rows occurs five times."""
    x, y = _gaussian(rng, n // 5, d)
    return np.repeat(x, 5, axis=0), np.repeat(y, 5, axis=0)


def _random_walks(rng: np.random.Generator, n: int, d: int) -> Runs:
    return np.cumsum(rng.normal(size=(n, d)), axis=0), np.cumsum(rng.normal(size=(n, d)), axis=0)


def _twice_integrated(rng: np.random.Generator, n: int, d: int) -> Runs:
    x, y = _random_walks(rng, n, d)
    return np.cumsum(x, axis=0), np.cumsum(y, axis=0)


def _autoregressive(memory: float, lag: int = 1) -> Callable[[np.random.Generator, int, int], Runs]:
    """Make runs whose rows keep a part of the row before them, or of an earlier one."""

    def draw(rng: np.random.Generator, n: int, d: int) -> Runs:
        noise = rng.normal(size=(2, n + 500, d))
        filtered = [1.0, *[0.0] * (lag - 1), -memory]
        rows = scipy.signal.lfilter([1.0], filtered, noise, axis=1)[:, 500:]
        return rows[0], rows[1]

    return draw


def _near_copies(each: int, jitter: float) -> Callable[[np.random.Generator, int, int], Runs]:
    """Make runs in which every sample occurs several times, with a little noise."""

    def draw(rng: np.random.Generator, n: int, d: int) -> Runs:
        x, y = _gaussian(rng, n // each, d)
        noise = jitter * rng.normal(size=(2, n // each * each, d))
        return np.repeat(x, each, axis=0) + noise[0], np.repeat(y, each, axis=0) + noise[1]

    return draw


def _far_rows(share: float, scale: float) -> Callable[[np.random.Generator, int, int], Runs]:
    """Make runs that have the same far rows."""

    def draw(rng: np.random.Generator, n: int, d: int) -> Runs:
        x, y = _gaussian(rng, n, d)
        far = slice(0, max(1, round(share * n)))
        x[far] *= scale
        y[far] *= scale
        return x, y

    return draw


def _counts(rng: np.random.Generator, n: int, d: int) -> Runs:
    return rng.poisson(0.3, (n, d)).astype(float), rng.poisson(0.3, (n, d)).astype(float)


def _bits(rng: np.random.Generator, n: int, d: int) -> Runs:
    return (rng.random((n, d)) < 0.3).astype(float), (rng.random((n, d)) < 0.3).astype(float)


UNRELATED: dict[str, Callable[[np.random.Generator, int, int], Runs]] = {
    "Gaussian": _gaussian,
    "heavy tails": _heavy_tailed,
    "shared marginals": _shared_marginals,
    "different widths": _different_widths,
    "tied integers": _tied_integers,
    "shared clusters": _clusters,
    "repeated rows": _repeated_rows,
    "memory 0.5": _autoregressive(0.5),
    "memory 0.9": _autoregressive(0.9),
    "memory 0.99": _autoregressive(0.99),
    "negative memory": _autoregressive(-0.9),
    "a season of seven": _autoregressive(0.9, lag=7),
    "random walks": _random_walks,
    "twice integrated": _twice_integrated,
    "near copies in fives": _near_copies(5, 1e-6),
    "near copies in pairs": _near_copies(2, 0.05),
    "rough copies in fives": _near_copies(5, 0.2),
    "one far row": _far_rows(0.0, 20.0),
    "one very far row": _far_rows(0.0, 1e3),
    "3 % far rows": _far_rows(0.03, 20.0),
    "counts": _counts,
    "bits": _bits,
}
