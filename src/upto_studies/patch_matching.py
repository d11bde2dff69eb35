"""How often patches find their own partner, and the best linear matching as a yardstick."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core.array_types import Float

_RIDGE = 1e-3
"""Share of the mean variance that is added to the variance of every pixel."""
_HIGHEST = 0.999
"""Highest canonical correlation, for the density ratio has a pole at one."""


def matching_accuracy(f: NDArray[Any], g: NDArray[Any], batch_rows: int) -> float:
    """Return the share of rows whose highest score in their batch is that of their own partner.

    Parameters
    ----------
    f, g
        Rows and their partners, whose products are the scores.
    batch_rows
        Rows of a batch; rows that fill no batch are left out.
    """
    n_batches = len(f) // batch_rows
    found = []
    for start in range(0, n_batches * batch_rows, batch_rows):
        some = slice(start, start + batch_rows)
        scores = f[some] @ g[some].T
        found.append(scores.argmax(axis=1) == np.arange(batch_rows))
    return float(np.mean(found))


def linear_matching(
    fitted: tuple[NDArray[Any], NDArray[Any]],
    held_out: tuple[NDArray[Any], NDArray[Any]],
    n_directions: int,
) -> tuple[Float, Float]:
    """Return rows whose products are the log ratio of densities if patches are jointly normal.

    In canonical coordinates u and v of correlation ρ the ratio p(v | u) / p(v) has the logarithm
    Σ (ρuv - ρ²(u² + v²)/2) / (1 - ρ²), up to a constant. What depends on u alone ranks no partner.

    Parameters
    ----------
    fitted
        Top and bottom patches of the training images.
    held_out
        Those of held-out images.
    n_directions
        Number of canonical directions.
    """
    whitened, rows = [], []
    for own, other in zip(fitted, held_out, strict=True):
        values = np.asarray(own, dtype=np.float64)
        mean = values.mean(axis=0)
        moments = np.cov(values, rowvar=False)
        moments += _RIDGE * np.trace(moments) / len(moments) * np.eye(len(moments))
        factor = np.linalg.cholesky(moments)
        whitened.append(np.linalg.solve(factor, (values - mean).T).T)
        rows.append(np.linalg.solve(factor, (np.asarray(other, np.float64) - mean).T).T)
    left, found, right = np.linalg.svd(whitened[0].T @ whitened[1] / len(whitened[0]))
    rho = found[:n_directions].clip(max=_HIGHEST)
    u, v = rows[0] @ left[:, : len(rho)], rows[1] @ right[: len(rho)].T
    share = rho / (1.0 - rho**2)
    penalty = (0.5 * rho * share * v**2).sum(axis=1, keepdims=True)
    return np.hstack([u * share, np.ones((len(u), 1))]), np.hstack([v, -penalty])
