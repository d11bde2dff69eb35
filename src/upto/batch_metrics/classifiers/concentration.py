"""Sparsity of a classifier's feature use, and the predictive gain of its top features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def hoyer_sparsity(weights: ArrayLike) -> float | None:
    """Return Hoyer's sparsity: 0 if all weights have equal magnitude, 1 if only one is nonzero.

    It is (√d − ‖v‖₁/‖v‖₂) / (√d − 1), or None for a single weight or if all are zero.
    """
    sizes = np.abs(_weights(weights))
    largest = float(sizes.max())
    if len(sizes) == 1 or largest == 0.0:
        return None
    sizes = sizes / largest
    root = float(np.sqrt(len(sizes)))
    share = float(sizes.sum() / np.sqrt((sizes * sizes).sum()))
    return min(max((root - share) / (root - 1.0), 0.0), 1.0)


def top_features(splits: ArrayLike, percent: float) -> NDArray[np.intp]:
    """Return the features with the largest weights, in ascending order of position.

    Parameters
    ----------
    splits
        Weight of each feature.
    percent
        Percentage of features at the top, rounded so that at least one is at the top and at least
        one is not. Ties are broken by position.

    Raises
    ------
    InputError
        If there is only one feature, or the percentage is not between 0 and 100.
    """
    sizes = np.abs(_weights(splits))
    if len(sizes) < 2:
        message = "1 feature cannot be split into top and rest: give two or more."
        raise InputError(message)
    if not 0.0 < percent < 100.0:
        message = f"percent is {percent:g}: choose a number between 0 and 100."
        raise InputError(message)
    count = min(max(int(np.floor(len(sizes) * percent / 100.0 + 0.5)), 1), len(sizes) - 1)
    return np.sort(np.argsort(-sizes, kind="stable")[:count])


def concentration_difference(top: float | None, rest: float | None) -> float | None:
    """Return the AUROC of the top features minus that of the rest."""
    return None if top is None or rest is None else top - rest


def concentration_ratio(top: float | None, rest: float | None) -> float | None:
    """Return the AUROC of the top features over that of the rest, minus one."""
    return None if top is None or not rest else top / rest - 1.0


def normalised_concentration(top: float | None, rest: float | None) -> float | None:
    """Return the fraction of the top features' gain over chance that the rest does not reach."""
    if top is None or rest is None or top == 0.5:
        return None
    return 1.0 - (rest - 0.5) / (top - 0.5)


def _weights(weights: ArrayLike) -> NDArray[Any]:
    array = np.asarray(weights, dtype=np.float64)
    if array.ndim != 1 or not array.size or not np.isfinite(array).all():
        message = f"weights have shape {array.shape}: give one finite number per feature."
        raise InputError(message)
    return array
