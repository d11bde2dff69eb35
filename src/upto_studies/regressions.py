"""Regressions with a misspecified linear model whose best fit and errors are known.

Hidden inputs z are uniform on the cube [-1, 1]^k; observed are x = z·A and
y = Σⱼ wⱼ·hⱼ(zⱼ) + noise. Since E[zzᵀ] is a third of the identity, the best linear model has one
coefficient per curve, and its worst error is a sum of one-dimensional errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.core import InputError, random_stream
from upto.core.array_types import Float
from upto.simulate.mixings import orthonormal_rows

if TYPE_CHECKING:
    from collections.abc import Sequence


_GRID = np.linspace(-1, 1, 4001)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A function on [-1, 1] and its best linear approximation under the uniform distribution.

    Parameters
    ----------
    name, function
        Name and function h.
    slope
        Best linear coefficient, 3·E[z·h(z)].
    low, high
        Range of the residual, h(z) - slope·z.
    """

    name: str
    function: Callable[[Float], Float]
    slope: float
    low: float
    high: float


CURVES: dict[str, Curve] = {
    curve.name: curve
    for curve in (
        Curve(name="line", function=lambda z: z, slope=1.0, low=0.0, high=0.0),
        Curve(name="cubic", function=lambda z: z * z * z, slope=0.6, low=-0.4, high=0.4),
        Curve(name="parabola", function=lambda z: z + z * z, slope=1.0, low=0.0, high=1.0),
        Curve(name="absolute", function=np.abs, slope=0.0, low=0.0, high=1.0),
        Curve(
            name="exponential",
            function=np.exp,
            slope=3 / math.e,
            low=3 / math.e * (2 - math.log(3)),
            high=math.e - 3 / math.e,
        ),
        Curve(
            name="sine",
            function=lambda z: np.sin(np.pi * z),
            slope=3 / math.pi,
            low=-3 / math.pi,
            high=3 / math.pi,
        ),
    )
}
"""Curves by name; a linear model is correct for ``line``."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Regression:
    """A regression with its ground truth, drawn by `draw_regression`."""

    curves: tuple[Curve, ...]
    weights: Float
    matrix: Float
    noise: float

    @property
    def is_identifiable(self) -> bool:
        """Whether E[xxᵀ] is invertible, so that the best linear model is unique."""
        return bool(self.matrix.shape[0] == self.matrix.shape[1])

    @property
    def coefficients(self) -> Float:
        """The best coefficients β*, of smallest norm if not unique."""
        return np.asarray(np.linalg.pinv(self.matrix) @ self._hidden())

    @property
    def nearest_error(self) -> float:
        """The largest |h(x) - β*ᵀx|: the ε up to which h is structurally identified."""
        low = sum(min(w * c.low, w * c.high) for w, c in self._terms())
        high = sum(max(w * c.low, w * c.high) for w, c in self._terms())
        return float(max(high, -low))

    def draw(self, n_rows: int, *, seed: int) -> tuple[Float, Float]:
        """Draw observed inputs x and outputs y."""
        stream = random_stream(seed, "regression")
        hidden = stream.uniform(-1, 1, size=(n_rows, len(self.curves)))
        outputs = self.noise * stream.normal(size=n_rows)
        for column, (weight, curve) in zip(hidden.T, self._terms(), strict=True):
            outputs += weight * curve.function(column)
        return hidden @ self.matrix, outputs

    def difference(self, first: Float, second: Float) -> float:
        """Return the largest difference of two linear models over the support, at a corner."""
        return float(np.abs(self.matrix @ (first - second)).sum())

    def worst_error(self, coefficients: Float) -> float:
        """Return the largest |h(x) - βᵀx| over the support, on a fine grid."""
        slopes = self.matrix @ coefficients
        left = [
            weight * curve.function(_GRID) - slope * _GRID
            for slope, (weight, curve) in zip(slopes, self._terms(), strict=True)
        ]
        low, high = sum(each.min() for each in left), sum(each.max() for each in left)
        return float(max(high, -low))

    def expected_gap(self, n_rows: int) -> float:
        """Return the asymptotic mean of sup|βᵀx - β′ᵀx| for two fits to independent samples.

        It is a sum of absolute differences of coefficients of z, each asymptotically Gaussian with
        the sandwich variance.
        """
        return float(2 * np.sqrt(self._variances() / (math.pi * n_rows)).sum())

    def expected_error(self, n_rows: int) -> float:
        """Return the asymptotic mean of sup|βᵀx - β*ᵀx| for a fit."""
        return self.expected_gap(n_rows) / math.sqrt(2)

    def unseen_gap(self, first: Float, second: Float) -> float:
        """Return the distance of two starts in the directions that no input spans.

        The coefficients fitted from them stay this far apart, whatever the data.
        """
        apart = first - second
        return float(np.linalg.norm(apart - np.linalg.pinv(self.matrix) @ (self.matrix @ apart)))

    def _terms(self) -> list[tuple[float, Curve]]:
        return list(zip(self.weights.tolist(), self.curves, strict=True))

    def _hidden(self) -> Float:
        return np.array([weight * curve.slope for weight, curve in self._terms()])

    def _variances(self) -> Float:
        """Return n times the variance of each coefficient of z: 9·E[z²(h - β*ᵀx + noise)²]."""
        left = np.array([w * (c.function(_NODES) - c.slope * _NODES) for w, c in self._terms()])
        means, variances = left @ _SHARES, (left**2) @ _SHARES - (left @ _SHARES) ** 2
        other_means = means.sum() - means
        others = (variances.sum() - variances) + other_means**2 + self.noise**2
        squares = _SHARES * _NODES**2
        own = left**2 @ squares + 2 * (left @ squares) * other_means
        return np.asarray(9 * (own + others / 3))


def draw_regression(
    curves: Sequence[str], *, n_observed: int | None = None, noise: float = 0.1, seed: int
) -> Regression:
    """Draw a regression with one hidden input per curve.

    Parameters
    ----------
    curves
        Names from `CURVES`; their weights are drawn from [0.5, 1.5] with random signs.
    n_observed
        Number of observed inputs, random linear combinations of the hidden ones with singular
        values from 0.5 to 2. With more than the hidden inputs, E[xxᵀ] is singular.
    noise
        Standard deviation of the noise.
    seed
        Seed of the random number generator.

    Examples
    --------
    >>> regression = draw_regression(["cubic"], noise=0.0, seed=0)
    >>> x, y = regression.draw(100_000, seed=0)
    >>> abs(fit_linear(x, y) - regression.coefficients).max() < 0.02
    np.True_
    """
    unknown = [name for name in curves if name not in CURVES]
    if unknown or not curves:
        message = f"there is no curve {unknown or 'given'}: choose from {', '.join(CURVES)}."
        raise InputError(message)
    k = len(curves)
    d = k if n_observed is None else n_observed
    if d < k:
        message = f"{d} observed inputs cannot represent {k} hidden ones: use {k} or more."
        raise InputError(message)
    # Weights are drawn first, so that they do not depend on `n_observed`.
    stream = random_stream(seed, "regression", "truth")
    weights = stream.uniform(0.5, 1.5, size=k) * stream.choice([-1.0, 1.0], size=k)
    left, right = orthonormal_rows(stream, k, k), orthonormal_rows(stream, k, d)
    return Regression(
        curves=tuple(CURVES[name] for name in curves),
        weights=weights,
        matrix=(left * np.geomspace(2.0, 0.5, k)) @ right,
        noise=noise,
    )


def fit_linear(x: Float, y: Float, *, start: Float | None = None) -> Float:
    """Return the least-squares coefficients that gradient descent from `start` converges to.

    If the coefficients are unique, the start does not matter.
    """
    start = np.zeros(x.shape[1]) if start is None else start
    inverse = np.linalg.pinv(x.T @ x, rcond=1e-10, hermitian=True)
    return np.asarray(start + inverse @ (x.T @ (y - x @ start)))


def _quadrature() -> tuple[Float, Float]:
    # Each half separately, as a curve may have a kink at zero.
    nodes, weights = np.polynomial.legendre.leggauss(40)
    return np.concatenate([nodes - 1, nodes + 1]) / 2, np.concatenate([weights, weights]) / 4


_NODES, _SHARES = _quadrature()
