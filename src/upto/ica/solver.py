"""Evaluation of rotations, shared by all ICA solvers.

Rows are white after a fixed linear map, so the search is over rotations R. One pass over the rows
evaluates a rotation: it gives the means of G, g(s)zᵀ and g′; everything else is k×k algebra. With
the sign σ of each component's non-Gaussianity, the contrast Σ σ E[G(s)] decreases towards the
components, its relative gradient is the antisymmetric part of σ E[g(s)sᵀ], and for independent
components its Hessian is diagonal over pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from upto.core.array_types import Float
from upto.core.cached import cached_property
from upto.engines.algebra import compute, eigh, product
from upto.engines.base import Engine
from upto.engines.rotations import polar_factor_by_products
from upto.ica.contrasts import Contrast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.engines.base import Arrays


NARROW = 1e6
"""Ratio of the widest to the narrowest direction above which rows are whitened first."""
NEARLY_WHITE = 0.5
TELLING_ROWS = 200
"""Rows per dimension above which components that look Gaussian are treated as Gaussian."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """Rows, the linear map that whitens them, and the contrast to optimise.

    `matrix` is k×d. `noise` is the value of |E[g′ - gs]| that as many Gaussian rows reach by chance
    after a search over all directions; during the search, components below it count as not
    identifiable. If `keep` is given, only the rows it marks are used. `frozen` components are not
    rotated into each other. With `literal`, FastICA's steps are taken even if they stall.
    """

    engine: Engine
    rows: Any
    mean: Float
    matrix: Float
    contrast: Contrast
    noise: float
    n_samples: float
    keep: NDArray[np.bool_] | None = None
    frozen: NDArray[np.bool_] | None = None
    literal: bool = False

    @property
    def is_telling(self) -> bool:
        """Whether there are enough rows to call components below the noise Gaussian, not weak."""
        return self.n_samples >= TELLING_ROWS * len(self.matrix)

    @cached_property
    def is_narrow(self) -> bool:
        """Whether products with the raw rows would lose the narrow directions to rounding."""
        if _is_identity(self.matrix):
            return False
        squares, _ = eigh(self.matrix @ self.matrix.T)
        return bool(squares[0] < squares[-1] / NARROW**2)

    @property
    def n_frozen(self) -> int:
        """Number of frozen components."""
        return 0 if self.frozen is None else int(np.count_nonzero(self.frozen))

    def freeze(self, components: NDArray[np.bool_]) -> Problem:
        """Return the problem with these components frozen too, if two or more are then frozen."""
        frozen = components if self.frozen is None else self.frozen | components
        more = np.count_nonzero(frozen) > max(1, self.n_frozen)
        return replace(self, frozen=frozen) if more else self

    def roughly(self) -> Problem:
        """Return the problem with rough products, if the engine has them and rows are white.

        A product with rows that are not white would lose the narrow directions.
        """
        rough = getattr(self.engine, "roughly", None)
        if rough is None or np.abs(self.matrix - np.eye(*self.matrix.shape)).max() > NEARLY_WHITE:
            return self
        return replace(self, engine=rough())

    def evaluate(
        self, rotations: Sequence[Float], dtype: str = "float64", *, values: bool = True
    ) -> list[Point]:
        """Evaluate several rotations in one pass, with or without the contrast itself.

        Only a line search needs the contrast, which takes as long as its derivatives.
        """
        products, slope, value = self.means(rotations, dtype, values=values)
        points, start = [], 0
        for rotation in rotations:
            part = slice(start, start + len(rotation))
            start += len(rotation)
            points.append(
                Point(
                    rotation=rotation,
                    value=value[part] if values else None,
                    cross=product(products[part], rotation.T),
                    slope=slope[part],
                    noise=self.noise,
                    frozen=self.frozen,
                )
            )
        return points

    def means(
        self, rotations: Sequence[Float], dtype: str = "float64", *, values: bool = False
    ) -> tuple[Float, Float, Float]:
        """Return the means of g(s)zᵀ, g′(s) and G(s) for sources ``rotation @ z``, in one pass."""
        products, slope, value = self.raw_means(rotations, dtype, values=values)
        return products if self.is_plain else product(products, self.inner.T), slope, value

    @cached_property
    def inner(self) -> Float:
        """Map from the coordinates of a pass to white coordinates."""
        return np.eye(len(self.matrix)) if self.is_narrow else self.matrix

    @cached_property
    def is_plain(self) -> bool:
        """Whether the coordinates of a pass are white as they are."""
        return _is_identity(self.inner)

    def raw_means(
        self, rotations: Sequence[Float], dtype: str, *, values: bool = False
    ) -> tuple[Float, Float, Float]:
        """Return the same, but the first still in the coordinates of the pass."""
        unmixing = np.concatenate(rotations)
        unmixing = (unmixing if self.is_plain else product(unmixing, self.inner)).T
        matrices = (unmixing, self.matrix.T) if self.is_narrow else (unmixing,)
        turns = (np.ascontiguousarray(matrix, dtype=dtype) for matrix in matrices)
        # White rows are about zero already.
        mean = self.mean.astype(dtype) if self.mean.any() else None
        params = (mean, *turns)
        vectors = () if self.keep is None else (self.keep,)
        function = contrast_sums if self.keep is None else _of_kept
        statistic = partial(function, contrast=self.contrast, values=values)
        sums = self.engine.reduce_blocks(statistic, self.rows, *vectors, params=params, dtype=dtype)
        products, slope, value = (each / self.n_samples for each in sums)
        return products, slope, value


@dataclass(frozen=True, eq=False, kw_only=True)
class Point:
    """A rotation and the means of G(s), g(s)sᵀ and g′(s) there."""

    rotation: Float
    value: Float | None
    cross: Float
    slope: Float
    noise: float
    frozen: NDArray[np.bool_] | None

    @cached_property
    def excess(self) -> Float:
        """E[g′(s)] - E[g(s)s] of each component: zero for a Gaussian one of unit variance."""
        excess: Float = self.slope - np.diag(self.cross)
        return excess

    @cached_property
    def signs(self) -> Float:
        """Sign of each component's non-Gaussianity."""
        return np.where(self.excess < 0, -1.0, 1.0)

    @property
    def contrast(self) -> float:
        """Mean non-Gaussianity of the components, |E[g′(s)] - E[g(s)s]|."""
        return float(np.abs(self.excess).mean())

    def loss(self, signs: Float) -> float:
        """Return the contrast, signed to decrease towards the components."""
        if self.value is None:
            message = "this point was evaluated without its contrast"
            raise ValueError(message)
        return float((signs * self.counts) @ self.value)

    @cached_property
    def counts(self) -> Float:
        """Weight of each component: zero if frozen, else one.

        The optimum of the others then does not depend on the axes of the frozen ones.
        """
        counts: Float = np.ones(len(self.slope))
        if self.frozen is not None:
            counts[self.frozen] = 0.0
        return counts

    @cached_property
    def skew(self) -> Float:
        """The relative gradient, σᵢE[g(sᵢ)sⱼ] - σⱼE[g(sⱼ)sᵢ] without terms of frozen components."""
        return compute(_skew, self.cross, self.signs * self.counts)[0]

    @cached_property
    def curvature(self) -> Float:
        """Twice the Hessian of every pair as if components were independent."""
        own = self.signs * self.counts * self.excess
        curvature: Float = np.add.outer(own, own)
        return curvature

    @property
    def unclear(self) -> NDArray[np.bool_]:
        """Components no less Gaussian than expected by chance."""
        unclear: NDArray[np.bool_] = np.abs(self.excess) <= self.noise
        return unclear

    @cached_property
    def gradient(self) -> float:
        """The largest entry of the relative gradient."""
        if "skew" in self.__dict__:
            return float(np.abs(self.skew).max())
        return float(compute(_largest_skew, self.cross, self.signs * self.counts)[0])


def _skew(xp: Any, cross: Any, signs: Any) -> Arrays:
    signed = signs[:, None] * cross
    return (signed - signed.T,)


def _largest_skew(xp: Any, cross: Any, signs: Any) -> Arrays:
    return (xp.max(xp.abs(_skew(xp, cross, signs)[0])),)


def _is_identity(matrix: Float) -> bool:
    return bool(np.array_equal(matrix, np.eye(len(matrix))))


def contrast_sums(
    xp: Any,
    x: Any,
    mean: Any,
    unmixing: Any,
    whitening: Any = None,
    *,
    contrast: Contrast,
    values: bool,
) -> Arrays:
    """Return the sums of g(s)xᵀ, g′(s) and, with `values`, G(s) over a block of rows.

    With `whitening`, x are the white rows; without `mean`, rows are centred.
    """
    x = x if mean is None else x - mean
    if whitening is not None:
        x = xp.matmul(x, whitening)
    sources = xp.matmul(x, unmixing)
    if values:
        value, score, slope = contrast(xp, sources)
        total = xp.sum(value, axis=0)
    else:
        score, slope = contrast.derivatives(xp, sources)
        total = xp.zeros(1, dtype=x.dtype)
    # A product, because sums over the rows of a narrow block are slow.
    ones = xp.ones((x.shape[0],), dtype=x.dtype)
    return xp.matmul(score.T, x), xp.matmul(ones, slope), total


def _of_kept(xp: Any, x: Any, keep: Any, *params: Any, contrast: Contrast, values: bool) -> Arrays:
    return contrast_sums(xp, x[keep], *params, contrast=contrast, values=values)


def orthogonalised(matrix: Float) -> Float:
    """Return the nearest rotation (polar factor): FastICA's symmetric orthogonalisation."""
    return compute(_orthogonal, matrix)[0]


def _orthogonal(xp: Any, matrix: Any) -> Arrays:
    return (orthogonal_factor(xp, matrix),)


def orthogonal_factor(xp: Any, matrix: Any) -> Any:
    """Return the polar factor of a matrix in any array namespace."""
    if array_api_compat.is_torch_namespace(xp):
        found = polar_factor_by_products(matrix)
        if found is not None:
            return found
    values, vectors = xp.linalg.eigh(xp.matmul(matrix, matrix.T))
    floor = max(float(values[-1]), _TINY) * _EPS
    inverse = xp.matmul(vectors / xp.sqrt(xp.clip(values, floor, None)), vectors.T)
    result = xp.matmul(inverse, matrix)
    # One Newton step restores the digits that the square root lost to rounding.
    return 1.5 * result - 0.5 * xp.matmul(xp.matmul(result, result.T), result)


_EPS, _TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)
