"""Components of Gaussian mixtures with diagonal covariances, of several members side by side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.engines.device_rows import host_array, load_torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core.array_types import Float

VARIANCE_FLOOR = 1e-6
"""Smallest variance of a coordinate within a component: below it, densities grow without bound."""


def log_densities(codes: Any, means: Any, log_variances: Any) -> Any:
    """Return the log densities of codes in each component.

    Parameters
    ----------
    codes
        Members × rows × coordinates.
    means, log_variances
        Of each component: members × components × coordinates.

    Returns
    -------
    tensor
        Members × rows × components.
    """
    torch = load_torch()
    deviations = torch.exp(-0.5 * log_variances)
    # Differences before squares: an expanded square loses the digits of narrow components.
    away = (codes[:, :, None] - means[:, None]) * deviations[:, None]
    norms = log_variances.sum(-1) + means.shape[-1] * math.log(2.0 * math.pi)
    return -0.5 * (away.square().sum(-1) + norms[:, None])


def log_responsibilities(codes: Any, log_weights: Any, means: Any, log_variances: Any) -> Any:
    """Return the log probability of each component given a code.

    Parameters
    ----------
    codes
        Members × rows × coordinates.
    log_weights
        Members × components; they need not be normalised.
    means, log_variances
        Members × components × coordinates.

    Returns
    -------
    tensor
        Members × rows × components.
    """
    logits = log_densities(codes, means, log_variances) + log_weights[:, None]
    return logits.log_softmax(-1)


def fit_components(
    codes: Any, n_components: int, seeds: Sequence[int], *, n_starts: int = 5
) -> tuple[Float, Float, Float]:
    """Fit a mixture with diagonal covariances to the codes of each member.

    Parameters
    ----------
    codes
        Members × rows × coordinates, as an array or a tensor.
    n_components
        Number of components.
    seeds
        Seed of each member.
    n_starts
        Number of starts; the fit with the highest likelihood is kept.

    Returns
    -------
    tuple
        Weights (members × components), means and variances (members × components ×
        coordinates); no variance is below the floor. All are NaN for a member whose codes are not
        finite.

    Raises
    ------
    InputError
        If there is not one seed per member, or there are fewer rows than components.
    """
    from sklearn.mixture import GaussianMixture

    given = np.asarray(codes if isinstance(codes, np.ndarray) else host_array(codes), np.float64)
    if given.ndim != 3 or len(given) != len(seeds):
        shape = " × ".join(map(str, given.shape))
        message = f"codes of shape {shape} with {len(seeds)} seeds: give one seed per member."
        raise InputError(message)
    if given.shape[1] < n_components or n_components < 1:
        message = f"{n_components} components cannot be fitted to {given.shape[1]} rows."
        raise InputError(message)
    weights = np.full((len(given), n_components), np.nan)
    means, variances = np.full((2, len(given), n_components, given.shape[2]), np.nan)
    for member, (rows, seed) in enumerate(zip(given, seeds, strict=True)):
        if not np.isfinite(rows).all():
            continue
        fit = GaussianMixture(
            n_components,
            covariance_type="diag",
            reg_covar=VARIANCE_FLOOR,
            n_init=n_starts,
            random_state=seed % 2**32,
        ).fit(rows)
        weights[member], means[member] = fit.weights_, fit.means_
        variances[member] = np.maximum(fit.covariances_, VARIANCE_FLOOR)
    return weights, means, variances
