"""Read the parameters of Gaussian mixtures."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.core.array_types import Float
from upto.theory.exact import loses_rank
from upto.theory.precision import significand_precision

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROUNDING = 1e-6
_EPS = float(np.finfo(np.float64).eps)
_PRODUCTS = 4.0
"""Error of a computed covariance, in multiples of the rounding of each number."""
_ILL_CONDITIONED = 1e8
"""Correlations with a larger condition number may be errors of their computation."""
_POINT = 1e-6
"""Standard deviations below this fraction of the largest of the coordinate may be zero."""
_EXTREME = 1e100
_SHORT = (8, 11)
"""Bits of the significands of bfloat16 and float16."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Components:
    """A mixture in units in which every varying coordinate has variance one.

    No assumption depends on units, and tolerances mean the same in each coordinate. `rounding` is
    the relative error of a covariance from storage, `means_rounding` that of a mean, `arithmetic`
    the rounding of its type, `given` are the parameters in their original units, and `reading`
    notes how ambiguous ones were read.
    """

    weights: Float
    means: Float
    covariances: Float
    rounding: float
    means_rounding: float
    arithmetic: float
    stored_as: str
    given: tuple[Float, Float, Float]
    reading: str

    @property
    def variances(self) -> Float:
        """Variances of every coordinate in every component."""
        return np.diagonal(self.covariances, axis1=1, axis2=2)

    def correlations(self) -> Float:
        """Absolute correlations within every component, zero for a coordinate and itself."""
        deviations = np.sqrt(np.maximum(self.variances, 0.0))
        sizes = deviations[:, :, None] * deviations[:, None, :]
        found: Float = np.zeros(sizes.shape)
        np.divide(np.abs(self.covariances), sizes, out=found, where=sizes > 0)
        width = sizes.shape[1]
        found[:, np.arange(width), np.arange(width)] = 0.0
        return found

    def positive_definite(self) -> list[bool | None]:
        """Return whether each covariance is positive definite; None if rounding may cause it."""
        largest = self.variances.max(axis=0)
        return [
            self._fills(scaled, stored, largest)
            for scaled, stored in zip(self.covariances, self.given[2], strict=True)
        ]

    def _fills(self, covariance: Float, stored: Float, largest: Float) -> bool | None:
        variances = np.diagonal(covariance)
        if np.diagonal(stored).min() <= 0.0:
            return False
        if (variances <= _POINT**2 * largest).any():
            return None
        deviations = np.sqrt(variances)
        values = np.linalg.eigvalsh(covariance / np.outer(deviations, deviations))
        smallest, width = float(values[0]), len(values)
        if smallest <= 16.0 * width * _EPS and loses_rank(stored):
            return False
        slight = smallest <= _PRODUCTS * width * self.rounding
        return None if slight or values[-1] > _ILL_CONDITIONED * smallest else True

    def pair_unit(self, first: int, second: int) -> Float:
        """Return the deviation of each coordinate in two components, or overall if it is zero."""
        own = 0.5 * (self.variances[first] + self.variances[second])
        return np.sqrt(np.where(own > 0, own, 1.0))

    def differ(self, tolerance: float) -> NDArray[np.bool_]:
        """Return, for every pair of components, which coordinates have different laws."""
        count, width = self.means.shape
        apart = np.zeros((count, count, width), dtype=bool)
        for one, two in combinations(range(count), 2):
            unit = self.pair_unit(one, two)
            means = np.abs(self.means[one] - self.means[two]) > tolerance * unit
            variances = np.abs(self.variances[one] - self.variances[two]) > tolerance * unit**2
            apart[one, two] = apart[two, one] = means | variances
        return apart

    def are_equal(self, first: int, second: int, tolerance: float) -> bool:
        """Return whether two components have the same law, including correlations."""
        unit = self.pair_unit(first, second)
        means = np.abs(self.means[first] - self.means[second]) / unit
        shapes = np.abs(self.covariances[first] - self.covariances[second]) / unit[:, None] / unit
        return bool(means.max() <= tolerance and shapes.max() <= tolerance)

    def may_be_equal(self, first: int, second: int) -> bool:
        """Return whether rounding to the stored precision can cause all that two differ by."""
        _, means, covariances = self.given
        return all(
            bool((np.abs(one - two) <= rounding * (np.abs(one) + np.abs(two))).all())
            for one, two, rounding in (
                (means[first], means[second], self.means_rounding),
                (covariances[first], covariances[second], self.rounding),
            )
        )


def mixture_parameters(mixture: Any) -> tuple[Float, Float, Float]:
    """Return J weights, J×d means and J×d×d covariances, in their own units."""
    weights, means, covariances, _, _ = _read(mixture)
    return weights, means, covariances


def as_components(mixture: Any) -> Components:
    """Read a mixture, in units of the standard deviation of each coordinate."""
    weights, means, covariances, kind, reading = _read(mixture)
    # Whole numbers are not rounded, and zeros by design are not informative.
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
        means_rounding=2.0 ** -significand_precision(means.reshape(-1, 1)).bits,
        arithmetic=float(np.finfo(kind if kind.kind == "f" else float).eps) / 2.0,
        stored_as=stored.name,
        given=(weights, means, covariances),
        reading=reading,
    )


def _read(mixture: Any) -> tuple[Float, Float, Float, np.dtype[Any], str]:
    """Return the parameters, the type covariances are stored as, and how they were read."""
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
    weights, means, covariances = map(_as_numbers, (weights, means, covariances))
    kind = covariances.dtype
    weights, means, covariances = (
        each.astype(np.float64) for each in (weights, means, covariances)
    )
    reading = ""
    if covariances.ndim == 2 and covariances.shape == means.shape:
        if may_be_covariance(covariances) and np.count_nonzero(covariances) > len(means):
            count = len(means)
            reading = f"; the {count}×{count} numbers are read as variances of {count} components"
        covariances = covariances[:, :, None] * np.eye(means.shape[1])
    weights = _of_sum_one(weights)
    _refuse_misfits(weights, means, covariances)
    return weights, means, covariances, kind, reading


def _of_sum_one(weights: Float) -> Float:
    """Return weights divided by their sum, if the sum differs from one by rounding of 8 or 11 bits.

    Each number is rounded by at most 2⁻ᵇ of itself, and the sum it was divided by as well.
    """
    total = float(weights.sum())
    significands = np.frexp(weights)[0]
    for bits in _SHORT:
        scaled = np.ldexp(significands, bits)
        if (scaled == np.rint(scaled)).all() and abs(total - 1.0) <= 2.0 * 2.0**-bits:
            return weights / total
    return weights


def _as_numbers(values: Any) -> NDArray[Any]:
    try:
        found = np.asarray(values)
    except ValueError:
        found = np.empty(0, dtype=object)
    if found.dtype.kind not in "fiub":
        message = (
            "the parameters of the mixture are not arrays of real numbers: give J, J×d and J×d×d "
            "numbers."
        )
        raise InputError(message)
    return found


def may_be_covariance(values: NDArray[Any]) -> bool:
    """Return whether J×d variances are symmetric within rounding, like one covariance matrix."""
    if values.ndim != 2 or values.shape[0] != values.shape[1] or len(values) < 2:
        return False
    numbers = values.astype(np.float64)
    deviations = np.sqrt(np.abs(np.diagonal(numbers)))
    return bool((np.abs(numbers - numbers.T) <= _ROUNDING * np.outer(deviations, deviations)).all())


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
    largest, widest = (float(np.abs(each).max()) for each in (means, covariances))
    if max(largest, widest) > _EXTREME or 0.0 < widest < 1.0 / _EXTREME:
        message = (
            f"squares of means up to {largest:.3g} and covariances up to {widest:.3g} overflow: "
            "give latents in other units, which does not affect identifiability."
        )
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
