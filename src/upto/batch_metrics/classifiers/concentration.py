"""Sparsity of a classifier's feature use, and the predictive gain of its top features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def hoyer_sparsity(weights: ArrayLike) -> float | None:
    r"""Return Hoyer's sparsity: 0 if all weights have equal magnitude, 1 if only one is nonzero.

    Parameters
    ----------
    weights
        One finite number per feature; signs do not matter.

    Returns
    -------
    float or None
        The sparsity; None for a single weight or if all are zero.

    See Also
    --------
    top_features : The features with the largest weights.
    prepare : Fitted classifiers have such weights as ``splits``.

    Notes
    -----
    For d weights v,

    .. math::

        \frac{\sqrt{d} - \lVert v \rVert_1 / \lVert v \rVert_2}{\sqrt{d} - 1}

    References
    ----------
    Hoyer (2004). Non-negative matrix factorization with sparseness constraints. Journal of Machine
    Learning Research 5, 1457-1469.

    Examples
    --------
    >>> from upto.batch_metrics.classifiers import hoyer_sparsity
    >>> hoyer_sparsity([0.0, -2.0, 0.0]), hoyer_sparsity([1.0, 1.0, 1.0])
    (1.0, 0.0)
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

    Returns
    -------
    ndarray of int
        Positions of the features.

    Raises
    ------
    InputError
        If there is only one feature, or the percentage is not between 0 and 100.

    See Also
    --------
    hoyer_sparsity : Concentration of the weights themselves.
    concentration_difference : What the top features gain over the rest.

    Examples
    --------
    >>> from upto.batch_metrics.classifiers import top_features
    >>> top_features([0.1, 5.0, 0.3, -4.0], 50).tolist()
    [1, 3]
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
    """Return the AUROC of the top features minus that of the rest.

    Parameters
    ----------
    top, rest
        AUROC of a classifier on the top features only, and on the others only.

    Returns
    -------
    float or None
        The difference; None if either is missing.

    See Also
    --------
    concentration_ratio : The same as a ratio.
    normalised_concentration : The same relative to the gain over chance.
    top_features : Which features are at the top.

    Examples
    --------
    >>> from upto.batch_metrics.classifiers import concentration_difference
    >>> concentration_difference(0.75, 0.5)
    0.25
    """
    return None if top is None or rest is None else top - rest


def concentration_ratio(top: float | None, rest: float | None) -> float | None:
    """Return the AUROC of the top features over that of the rest, minus one.

    Parameters
    ----------
    top, rest
        AUROC of a classifier on the top features only, and on the others only.

    Returns
    -------
    float or None
        The ratio minus one; None if either is missing or the rest has an AUROC of zero.

    See Also
    --------
    concentration_difference : The same as a difference.
    normalised_concentration : The same relative to the gain over chance.

    Examples
    --------
    >>> from upto.batch_metrics.classifiers import concentration_ratio
    >>> concentration_ratio(0.75, 0.5)
    0.5
    """
    return None if top is None or not rest else top / rest - 1.0


def normalised_concentration(top: float | None, rest: float | None) -> float | None:
    r"""Return the fraction of the top features' gain over chance that the rest does not reach.

    Parameters
    ----------
    top, rest
        AUROC of a classifier on the top features only, and on the others only.

    Returns
    -------
    float or None
        The fraction: 1 if the rest is at chance, 0 if it equals the top, negative if it exceeds it.
        None if either is missing or the top is at chance.

    See Also
    --------
    concentration_difference : The difference itself.
    concentration_ratio : The same as a ratio.

    Notes
    -----
    With areas A of the top and the rest,

    .. math::

        1 - \frac{A_{\mathrm{rest}} - 1/2}{A_{\mathrm{top}} - 1/2}

    Examples
    --------
    >>> from upto.batch_metrics.classifiers import normalised_concentration
    >>> normalised_concentration(0.75, 0.5), normalised_concentration(0.75, 0.625)
    (1.0, 0.5)
    """
    if top is None or rest is None or top == 0.5:
        return None
    return 1.0 - (rest - 0.5) / (top - 0.5)


def _weights(weights: ArrayLike) -> NDArray[Any]:
    array = np.asarray(weights, dtype=np.float64)
    if array.ndim != 1 or not array.size or not np.isfinite(array).all():
        message = f"weights have shape {array.shape}: give one finite number per feature."
        raise InputError(message)
    return array
