"""Dependence between codes under a Gaussian model; no factors are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.disentanglement.predictor_tables import as_codes, constant_codes, sentences
from upto.disentanglement.score import FactorScore

if TYPE_CHECKING:
    from upto.core.array_types import Float
    from upto.disentanglement.predictor_tables import CodesLike


def gaussian_total_correlation(codes: CodesLike) -> FactorScore:
    """Return the divergence, in nats, of a Gaussian with the codes' covariance from independence.

    It is -½ log det of the correlation matrix, so it is invariant to order, sign and scale of
    codes. A constant code is independent of all others. For linearly dependent codes the total
    correlation is infinite and the value is None.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement.gaussian_tc import gaussian_total_correlation
    >>> first = np.array([1.0, 1.0, -1.0, -1.0])
    >>> second = np.array([1.0, -1.0, 1.0, -1.0])
    >>> found = gaussian_total_correlation(np.column_stack([first, 3 * first + 4 * second]))
    >>> round(found.value, 6), round(-float(np.log(1 - 0.6**2)) / 2, 6)
    (0.223144, 0.223144)
    """
    read = as_codes(codes)
    name = "gaussian total correlation"
    varying = read.standardised()[:, ~read.is_constant]
    faults = [constant_codes(read)]
    correlation = varying.T @ varying / len(varying)
    values = np.linalg.eigvalsh(correlation)
    if len(values) and values[0] <= len(values) * np.finfo(np.float64).eps * values[-1]:
        faults.append("codes are linearly dependent: their total correlation is infinite")
        return FactorScore(name=name, value=None, says=sentences(faults))
    value = max(0.0, float(-np.log(values).sum() / 2))
    return FactorScore(name=name, value=value, says=sentences(faults))


def wasserstein_correlation(codes: CodesLike, *, normalised: bool = False) -> FactorScore:
    """Return the squared Wasserstein distance between the same two Gaussians.

    Parameters
    ----------
    codes
        Codes, one row per sample.
    normalised
        Whether to divide by the total variance, for invariance to a common scale.
    """
    read = as_codes(codes)
    covariance = _covariance(read.columns)
    deviations = np.sqrt(np.diag(covariance))
    total = float(np.trace(covariance))
    # The root of Σ D has the same trace as the root of the symmetric D^½ Σ D^½, which is stable.
    values = np.linalg.eigvalsh(covariance * np.outer(deviations, deviations))
    value = max(0.0, 2 * total - 2 * float(np.sqrt(np.clip(values, 0.0, None)).sum()))
    faults = [constant_codes(read)]
    name = "gaussian wasserstein correlation" + ("/normalised" if normalised else "")
    if normalised:
        value = value / total if total else 0.0
    return FactorScore(name=name, value=value, says=sentences(faults))


def _covariance(columns: Float) -> Float:
    centred = columns - columns.mean(axis=0)
    found: Float = centred.T @ centred / max(len(columns) - 1, 1)
    return found
