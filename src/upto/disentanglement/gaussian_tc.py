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
    r"""Return the divergence, in nats, of a Gaussian with the codes' covariance from independence.

    It is invariant to order, sign and scale of codes. A constant code is independent of all others.
    For linearly dependent codes the total correlation is infinite and the value is None.

    Parameters
    ----------
    codes
        Codes, one row per sample.

    Returns
    -------
    FactorScore
        The divergence, at least 0.

    See Also
    --------
    wasserstein_correlation : Another distance of the same two Gaussians.
    evaluate_scores : The same with the level of independent codes.

    Notes
    -----
    With the correlation matrix R of the codes,

    .. math::

        \mathrm{TC} = -\tfrac{1}{2} \log \det R

    References
    ----------
    Locatello et al. (2019). Challenging common assumptions in the unsupervised learning of
    disentangled representations. International Conference on Machine Learning.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import gaussian_total_correlation
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
    r"""Return the squared Wasserstein distance of the same Gaussian from independence.

    It is that of a Gaussian with the covariance of the codes and one with only its diagonal.

    Parameters
    ----------
    codes
        Codes, one row per sample.
    normalised
        Whether to divide by the total variance, for invariance to a common scale.

    Returns
    -------
    FactorScore
        The distance, at least 0.

    See Also
    --------
    gaussian_total_correlation : The divergence of the same two Gaussians.

    Notes
    -----
    With the covariance Σ of the codes and its diagonal D,

    .. math::

        W_2^2 = 2 \operatorname{tr} \Sigma
        - 2 \operatorname{tr} \left( D^{1/2} \Sigma D^{1/2} \right)^{1/2}

    References
    ----------
    Gelbrich (1990). On a formula for the L2 Wasserstein metric between measures on Euclidean and
    Hilbert spaces. Mathematische Nachrichten 147, 185-203.

    Locatello et al. (2019). Challenging common assumptions in the unsupervised learning of
    disentangled representations. International Conference on Machine Learning.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import wasserstein_correlation
    >>> first, second = np.array([1.0, 1.0, -1.0, -1.0]), np.array([1.0, -1.0, 1.0, -1.0])
    >>> independent = wasserstein_correlation(np.column_stack([first, second])).value
    >>> equal = wasserstein_correlation(np.column_stack([first, first]), normalised=True).value
    >>> round(independent, 6), round(equal, 4)
    (0.0, 0.5858)
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
