"""What every ICA solver shares: one statistic, one point on the rotation group, one trace.

Rows are white after a fixed linear map, so the search is over rotations R. A rotation is judged by
one pass over the rows, which gives the means of G, g(s)zᵀ and g′; everything else is k×k algebra.
With the sign σ of each component's non-Gaussianity, the contrast Σ σ E[G(s)] falls towards the
components, its relative gradient is the antisymmetric part of σ E[g(s)sᵀ], and on independent
components its Hessian is diagonal over pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.core.arrays import Float
from upto.engines.base import Engine
from upto.ica.contrasts import Contrast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.engines.base import Arrays


NARROW = 1e6
"""Ratio of the widest to the narrowest direction from which on rows are whitened first."""
TELLING_ROWS = 200
"""Rows for each dimension from which on what looks Gaussian is taken for it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """Rows, the linear map that makes them white, and the contrast to be searched.

    `matrix` is k×d. `noise` is the size of |E[g′ - gs]| that Gaussian rows of this number reach by
    chance after a search over all directions: components below it count as not identifiable while
    the search lasts. Only rows that `keep` marks count, where it is given. `frozen` components are
    not turned into each other. With `literal`, FastICA's steps are taken whether they make progress
    or not.
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
        """Whether rows are so many that components below the noise are Gaussian, and not weak."""
        return self.n_samples >= TELLING_ROWS * len(self.matrix)

    @cached_property
    def is_narrow(self) -> bool:
        """Whether products with rows as they are would lose what lies in narrow directions."""
        lengths = np.linalg.svd(self.matrix, compute_uv=False)
        return bool(lengths[0] > NARROW * lengths[-1])

    @property
    def n_frozen(self) -> int:
        """Number of frozen components."""
        return 0 if self.frozen is None else int(np.count_nonzero(self.frozen))

    def freeze(self, components: NDArray[np.bool_]) -> Problem:
        """Return the problem in which these too are not turned into each other, if they are two."""
        frozen = components if self.frozen is None else self.frozen | components
        more = np.count_nonzero(frozen) > max(1, self.n_frozen)
        return replace(self, frozen=frozen) if more else self

    def evaluate(
        self, rotations: Sequence[Float], dtype: str = "float64", *, values: bool = True
    ) -> list[Point]:
        """Judge several rotations in one pass over the rows, with or without the contrast itself.

        Only a line search needs the contrast, and it takes as long as its derivatives.
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
                    cross=products[part] @ rotation.T,
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
        inner = np.eye(len(self.matrix)) if self.is_narrow else self.matrix
        unmixing = np.concatenate([rotation @ inner for rotation in rotations]).T
        matrices = (unmixing, self.matrix.T) if self.is_narrow else (unmixing,)
        turns = (np.ascontiguousarray(matrix, dtype=dtype) for matrix in matrices)
        params = (self.mean.astype(dtype), *turns)
        vectors = () if self.keep is None else (self.keep,)
        function = contrast_sums if self.keep is None else _of_kept
        statistic = partial(function, contrast=self.contrast, values=values)
        sums = self.engine.reduce_blocks(statistic, self.rows, *vectors, params=params, dtype=dtype)
        products, slope, value = (each / self.n_samples for each in sums)
        return products @ inner.T, slope, value


@dataclass(frozen=True, eq=False, kw_only=True)
class Point:
    """One rotation and what a pass found there: the means of G(s), g(s)sᵀ and g′(s)."""

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
        """Which way each component is non-Gaussian."""
        return np.where(self.excess < 0, -1.0, 1.0)

    @property
    def contrast(self) -> float:
        """How far components are from Gaussian: the mean of |E[g′(s)] - E[g(s)s]|."""
        return float(np.abs(self.excess).mean())

    def loss(self, signs: Float) -> float:
        """Return the contrast with signs that make it fall towards the components."""
        if self.value is None:
            message = "this point was evaluated without its contrast"
            raise ValueError(message)
        return float((signs * self.counts) @ self.value)

    @cached_property
    def counts(self) -> Float:
        """One for a component that counts, zero for a frozen one.

        What the others settle at then does not depend on the axes of the frozen ones.
        """
        counts: Float = np.ones(len(self.slope))
        if self.frozen is not None:
            counts[self.frozen] = 0.0
        return counts

    @cached_property
    def skew(self) -> Float:
        """The relative gradient, σᵢE[g(sᵢ)sⱼ] - σⱼE[g(sⱼ)sᵢ] without the frozen components' own."""
        signed = (self.signs * self.counts)[:, None] * self.cross
        skew: Float = signed - signed.T
        return skew

    @cached_property
    def curvature(self) -> Float:
        """Twice the Hessian of every pair as if components were independent."""
        own = self.signs * self.counts * self.excess
        curvature: Float = np.add.outer(own, own)
        return curvature

    @property
    def unclear(self) -> NDArray[np.bool_]:
        """Components no less Gaussian than chance makes them."""
        unclear: NDArray[np.bool_] = np.abs(self.excess) <= self.noise
        return unclear

    @property
    def gradient(self) -> float:
        """The largest entry of the relative gradient."""
        return float(np.abs(self.skew).max())


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
    """Return the sums of g(s)xᵀ, g′(s) and, where asked for, G(s) over a block of rows.

    With a whitening, x are the white rows.
    """
    x = x - mean
    if whitening is not None:
        x = xp.matmul(x, whitening)
    sources = xp.matmul(x, unmixing)
    if values:
        value, score, slope = contrast(xp, sources)
        total = xp.sum(value, axis=0)
    else:
        score, slope = contrast.derivatives(xp, sources)
        total = xp.zeros(1, dtype=x.dtype)
    return xp.matmul(score.T, x), xp.sum(slope, axis=0), total


def _of_kept(xp: Any, x: Any, keep: Any, *params: Any, contrast: Contrast, values: bool) -> Arrays:
    return contrast_sums(xp, x[keep], *params, contrast=contrast, values=values)


def orthogonalised(matrix: Float) -> Float:
    """Return the nearest rotation: the polar factor, by which FastICA keeps components apart."""
    values, vectors = np.linalg.eigh(matrix @ matrix.T)
    floor = np.finfo(float).eps * max(float(values[-1]), np.finfo(float).tiny)
    result: Float = ((vectors / np.sqrt(np.maximum(values, floor))) @ vectors.T) @ matrix
    # One Newton step restores what the square root of rounding lost.
    return 1.5 * result - 0.5 * (result @ result.T) @ result
