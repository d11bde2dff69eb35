"""Gaussian mixtures: their images under affine maps, and the L2 geometry of their densities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.core import InputError
from upto.core.array_types import Float
from upto.measures.kinds import as_count, as_rows, refuse_extremes
from upto.measures.moments import run_moments

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


_WEIGHT_ROUNDING = 1e-8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mixture:
    """A mixture of J Gaussians in d dimensions.

    Parameters
    ----------
    weights
        J positive weights that sum to one.
    means
        J×d means.
    covariances
        J×d×d positive definite covariances.
    fitted
        Whether the parameters were estimated from rows, as by `fit_mixture`.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.measures import Mixture, l2_inner
    >>> mixture = Mixture(weights=[0.5, 0.5], means=[[-9.0], [9.0]], covariances=np.ones((2, 1, 1)))
    >>> mixture.n_components, mixture.width
    (2, 1)
    >>> round(l2_inner(mixture, mixture), 3)
    0.141
    """

    weights: Float
    means: Float
    covariances: Float
    fitted: bool = False

    def __post_init__(self) -> None:
        for name in ("weights", "means", "covariances"):
            values = np.array(getattr(self, name), dtype=np.float64)
            if not np.isfinite(values).all():
                message = f"{name} of the mixture are not all finite: give finite numbers."
                raise InputError(message)
            values.setflags(write=False)
            object.__setattr__(self, name, values)
        _check(self.weights, self.means, self.covariances)

    @property
    def n_components(self) -> int:
        """Number of Gaussians."""
        return len(self.weights)

    @property
    def width(self) -> int:
        """Number of coordinates."""
        return int(self.means.shape[1])


def fit_mixture(rows: ArrayLike, n_components: int, seed: int = 0) -> Mixture:
    """Fit a mixture with full covariances by expectation maximisation.

    Rows are whitened first, so the fit is equivariant to affine maps of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.measures import fit_mixture
    >>> rows = np.random.default_rng(0).normal(size=(200, 2))
    >>> rows[:50] += 20
    >>> mixture = fit_mixture(rows, 2)
    >>> sorted(mixture.weights.round(3).tolist())
    [0.25, 0.75]
    """
    from sklearn.mixture import GaussianMixture

    points = as_rows(rows, "the run")
    refuse_extremes(points, "the run")
    n_samples, width = points.shape
    count = as_count(
        n_components,
        f"components requested from {n_samples} rows",
        most=n_samples,
        up_to=f" to {n_samples}",
    )
    moments = run_moments(points)
    if moments.rank < width:
        message = (
            f"the rows vary in {moments.rank} of {width} directions: a density needs all of them, "
            "so drop linearly dependent coordinates."
        )
        raise InputError(message)
    whitening = np.sqrt(n_samples) * moments.whitening
    fitted = GaussianMixture(count, random_state=seed).fit((points - moments.mean) @ whitening)
    white = Mixture(
        weights=fitted.weights_, means=fitted.means_, covariances=fitted.covariances_, fitted=True
    )
    return push_forward(white, np.linalg.inv(whitening).T, moments.mean)


def push_forward(mixture: Mixture, matrix: ArrayLike, shift: ArrayLike) -> Mixture:
    """Return the distribution of ``matrix @ z + shift`` for z drawn from the mixture."""
    linear, moved = np.asarray(matrix, dtype=np.float64), np.asarray(shift, dtype=np.float64)
    if linear.shape != (mixture.width, mixture.width) or moved.shape != (mixture.width,):
        message = (
            f"a matrix of shape {linear.shape} and a shift of shape {moved.shape} do not map "
            f"{mixture.width} coordinates: give {mixture.width}×{mixture.width} and "
            f"{mixture.width} numbers."
        )
        raise InputError(message)
    covariances = linear @ mixture.covariances @ linear.T
    return Mixture(
        weights=mixture.weights,
        means=mixture.means @ linear.T + moved,
        covariances=(covariances + covariances.transpose(0, 2, 1)) / 2,
        fitted=mixture.fitted,
    )


def l2_inner(first: Mixture, second: Mixture) -> float:
    """Return the integral of the product of two densities."""
    check_widths(first, second)
    return float(np.exp(log_inner(first, second)))


def component_overlaps(
    target: Mixture, weights: Float, means: Float, covariances: Float
) -> tuple[Float, Float, Float]:
    """Return log products of components, inverse covariances and weighted mean differences."""
    sums = target.covariances[:, None] + covariances[None]
    away = target.means[:, None] - means[None]
    inverses: Float = np.asarray(np.linalg.inv(sums), dtype=np.float64)
    pulled = (inverses @ away[..., None])[..., 0]
    logs = -0.5 * (
        np.sum(away * pulled, axis=-1)
        + np.linalg.slogdet(sums)[1]
        + means.shape[1] * np.log(2.0 * np.pi)
    )
    return logs + np.log(target.weights)[:, None] + np.log(weights), inverses, pulled


def log_inner(first: Mixture, second: Mixture) -> float:
    """Return the logarithm of the integral of the product of two densities."""
    logs, _, _ = component_overlaps(first, second.weights, second.means, second.covariances)
    return float(np.logaddexp.reduce(logs.ravel()))


def check_widths(first: Mixture, second: Mixture) -> None:
    """Raise if the mixtures differ in width."""
    if first.width != second.width:
        message = (
            f"mixtures in {first.width} and {second.width} dimensions cannot be compared: give "
            "mixtures of equal width."
        )
        raise InputError(message)


def _check(weights: Float, means: Float, covariances: Float) -> None:
    if weights.ndim != 1 or means.ndim != 2 or 0 in means.shape:
        message = f"weights {weights.shape} and means {means.shape} must have shapes J and J×d."
        raise InputError(message)
    count, width = means.shape
    if len(weights) != count or covariances.shape != (count, width, width):
        message = (
            f"a mixture has {len(weights)} weights, means of shape {means.shape} and covariances "
            f"of shape {covariances.shape}: give J, J×d and J×d×d numbers."
        )
        raise InputError(message)
    if weights.min() <= 0 or abs(weights.sum() - 1.0) > _WEIGHT_ROUNDING:
        message = (
            f"the smallest weight is {weights.min():g} and weights sum to {weights.sum():.9g}: "
            "they must be positive and sum to one, so drop components of zero weight."
        )
        raise InputError(message)
    if not np.allclose(covariances, covariances.transpose(0, 2, 1), rtol=1e-8, atol=0.0):
        message = f"not all of the {count} covariances are symmetric: give symmetric matrices."
        raise InputError(message)
    smallest = np.linalg.eigvalsh(covariances)[:, 0]
    if smallest.min() <= 0:
        message = (
            f"component {smallest.argmin() + 1} has a covariance with eigenvalue "
            f"{smallest.min():g}: covariances must be positive definite."
        )
        raise InputError(message)
