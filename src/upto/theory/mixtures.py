"""The parameters of a Gaussian mixture, however they are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError
from upto.theory.precision import significand_precision

Float = NDArray[np.float64]

_ROUNDING = 1e-6
_EPS = float(np.finfo(np.float64).eps)
_PRODUCTS = 4.0
"""How much more than the rounding of each number a covariance that was computed may have."""
_POINT = 1e-6
"""Standard deviations up to this, in those of the coordinate, make a component a point there."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Components:
    """A mixture in units in which every coordinate that varies has variance one.

    No assumption depends on units, and tolerances mean the same in each coordinate. `rounding` is
    how far, relatively, a covariance may be from what it was before it was stored, and `given` are
    the parameters in the units they came in.
    """

    weights: Float
    means: Float
    covariances: Float
    rounding: float
    stored_as: str
    given: tuple[Float, Float, Float]

    @property
    def variances(self) -> Float:
        """Variances of every coordinate in every component."""
        return np.diagonal(self.covariances, axis1=1, axis2=2)

    def positive_definite(self) -> list[bool | None]:
        """Say of each component whether it fills the space; None where rounding may do so."""
        return [self._fills(each) for each in self.covariances]

    def _fills(self, covariance: Float) -> bool | None:
        deviations = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
        if deviations.min() <= _POINT:
            return False
        scaled = covariance / np.outer(deviations, deviations)
        smallest = float(np.linalg.eigvalsh(scaled)[0])
        if smallest <= 16.0 * len(scaled) * _EPS:
            return False
        return True if smallest > _PRODUCTS * len(scaled) * self.rounding else None

    def differ(self, tolerance: float) -> NDArray[np.bool_]:
        """Say for every pair of components which coordinates have different laws."""
        means = np.abs(self.means[:, None] - self.means[None])
        variances = np.abs(self.variances[:, None] - self.variances[None])
        apart: NDArray[np.bool_] = (means > tolerance) | (variances > tolerance)
        return apart


def as_components(mixture: Any) -> Components:
    """Read a mixture: its parameters, in units of the standard deviation of each coordinate."""
    if hasattr(mixture, "weights_"):
        weights, means, covariances = mixture.weights_, mixture.means_, mixture.covariances_
        if mixture.covariance_type == "tied":
            covariances = np.broadcast_to(covariances, (len(weights), *np.shape(covariances)))
        elif mixture.covariance_type == "spherical":
            covariances = np.repeat(np.asarray(covariances)[:, None], np.shape(means)[1], axis=1)
    elif hasattr(mixture, "weights"):
        weights, means, covariances = mixture.weights, mixture.means, mixture.covariances
    elif isinstance(mixture, tuple | list) and len(mixture) == 3:
        weights, means, covariances = mixture
    else:
        message = (
            f"a {type(mixture).__name__} is not a mixture: give one with weights, means and "
            "covariances, or a tuple of the three."
        )
        raise InputError(message)
    kind = np.asarray(covariances).dtype
    weights, means, covariances = (
        np.asarray(each, dtype=np.float64) for each in (weights, means, covariances)
    )
    if covariances.ndim == 2 and covariances.shape == means.shape:
        covariances = covariances[:, :, None] * np.eye(means.shape[1])
    _refuse_misfits(weights, means, covariances)
    # Whole numbers are no rounded ones, and what is zero by design tells nothing.
    stored = significand_precision(
        covariances.reshape(-1, 1).astype(kind if kind.kind == "f" else float)
    )
    centre = weights @ means
    total = weights @ ((means - centre) ** 2 + np.diagonal(covariances, axis1=1, axis2=2))
    unit = np.sqrt(np.where(total > 0, total, 1.0))
    return Components(
        weights=weights,
        means=(means - centre) / unit,
        covariances=covariances / unit[:, None] / unit,
        rounding=2.0**-stored.bits,
        stored_as=stored.name,
        given=(weights, means, covariances),
    )


def _refuse_misfits(weights: Float, means: Float, covariances: Float) -> None:
    if (
        means.ndim != 2
        or 0 in means.shape
        or weights.shape != means.shape[:1]
        or covariances.shape != (*means.shape, means.shape[1])
    ):
        message = (
            f"weights {weights.shape}, means {means.shape} and covariances {covariances.shape} are "
            "not a mixture: give J, J×d and J×d×d numbers."
        )
        raise InputError(message)
    if not all(np.isfinite(each).all() for each in (weights, means, covariances)):
        message = "the parameters of the mixture are not all finite: give numbers."
        raise InputError(message)
    if weights.min() <= 0 or abs(weights.sum() - 1.0) > _ROUNDING:
        message = (
            f"weights from {weights.min():g} sum to {weights.sum():.7g}: they must be positive and "
            "sum to one; leave out components without weight."
        )
        raise InputError(message)
    skew = np.abs(covariances - covariances.swapaxes(1, 2)).max()
    if skew > _ROUNDING * np.abs(covariances).max():
        message = f"a covariance differs from its transpose by {skew:.3g}: give symmetric ones."
        raise InputError(message)
    smallest = np.linalg.eigvalsh(covariances).min()
    if smallest < -_ROUNDING * np.abs(covariances).max():
        message = f"a covariance has the eigenvalue {smallest:.3g}: give none below zero."
        raise InputError(message)
