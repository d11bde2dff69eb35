"""Optima in closed form, as references for trained members."""

from __future__ import annotations

from typing import Any

import numpy as np


def linear_autoencoder_error(rows: Any, n_code: int) -> float:
    """Return the minimum mean squared error of a linear autoencoder without bias.

    The optimum projects onto the leading eigenvectors of the uncentred second moment E[xxᵀ]; the
    error is the sum of the other eigenvalues over the number of columns.

    Examples
    --------
    >>> linear_autoencoder_error(np.diag([3.0, 2.0, 1.0]), 2)
    0.1111111111111111
    """
    values = np.asarray(rows, dtype=np.float64)
    moment = values.T @ values / len(values)
    left = np.linalg.eigvalsh(moment)[: values.shape[1] - n_code]
    return float(left.clip(min=0).sum() / values.shape[1])
