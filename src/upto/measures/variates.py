"""Canonical variates, fitted on some rows, and their correlations on the same or on other rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core.array_types import Float
from upto.engines.algebra import eigh, product
from upto.measures.factors import singular_vectors
from upto.measures.moments import HeldOutScore, RowForm, RunMoments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.measures.moments import PairMoments

_TIED = 1e-9
_ABSENT = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Variates:
    """Pairs of canonical directions, in columns, and their fitted correlations, highest first.

    A variate is the projection of centred rows on a direction; without a ridge it has unit length.
    """

    correlations: Float
    x: Float
    y: Float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kind:
    """A mean of canonical correlations.

    `whiten` maps a run to the directions used; `share` returns the share of each correlation from
    the fitted ones. If given, `weigh` returns the weights of the directions of a run instead.
    """

    whiten: Callable[[RunMoments], Float]
    share: Callable[[Float], Float]
    weigh: Callable[[RunMoments, Float], Float] | None = None


def canonical_variates(pair: PairMoments, x_map: Float, y_map: Float) -> Variates:
    """Return the canonical directions of two runs, given a whitening map for each."""
    rows, columns = _used(x_map), _used(y_map)
    cross = pair.cross[np.ix_(rows, columns)]
    left, values, right = singular_vectors(x_map[rows].T @ cross @ y_map[columns])
    return Variates(correlations=values, x=x_map @ left, y=y_map @ right.T)


def in_sample(pair: PairMoments, kind: Kind) -> float:
    """Return the weighted mean canonical correlation of the rows it is fitted on."""
    if kind.weigh is not None:
        variates, weights = _weighted(pair, kind.whiten, kind.weigh)
        return float(weights @ variates.correlations)
    # The singular values are the correlations; directions are not needed.
    between = kind.whiten(pair.x).T @ pair.cross @ kind.whiten(pair.y)
    values: Float = np.asarray(np.linalg.svd(between, compute_uv=False), dtype=np.float64)
    return float(kind.share(values) @ values)


def fitted(pair: PairMoments, kind: Kind) -> FittedVariates:
    """Fit the variates of two runs and their shares of the score."""
    if kind.weigh is not None:
        return FittedVariates(*_weighted(pair, kind.whiten, kind.weigh), settles=False)
    variates = canonical_variates(pair, kind.whiten(pair.x), kind.whiten(pair.y))
    return FittedVariates(variates, kind.share(variates.correlations), settles=True)


@dataclass(frozen=True, slots=True, eq=False)
class FittedVariates(RowForm):
    """The sum of the correlations of variates on held-out rows, times their shares.

    A correlation counts as 0 if a variate is constant. If it `settles`, variates of equal fitted
    correlation are rotated to their principal axes on these rows.
    """

    variates: Variates
    shares: Float
    settles: bool

    def __call__(self, x: RunMoments, y: RunMoments) -> HeldOutScore:
        """Return the score as a function of the cross-scatter."""
        rows, columns = _used(self.variates.x), _used(self.variates.y)
        x_scatter, y_scatter = x.scatter[np.ix_(rows, rows)], y.scatter[np.ix_(columns, columns)]
        variates = replace(self.variates, x=self.variates.x[rows], y=self.variates.y[columns])
        if self.settles:
            variates = settled(
                variates,
                lambda own, other: [(own, x_scatter @ own), (other, y_scatter @ other)],
            )
        own, other = variates.x, variates.y
        lengths = (
            _present(np.einsum("ik,ik->k", own, x_scatter @ own), _apart(own, x.variances[rows])),
            _present(
                np.einsum("ik,ik->k", other, y_scatter @ other),
                _apart(other, y.variances[columns]),
            ),
        )
        weights = np.zeros((len(x.mean), len(y.mean)))
        weights[np.ix_(rows, columns)] = (own * self._scale(*lengths)) @ other.T
        return HeldOutScore(weights)

    def of_rows(self, x: RunMoments, y: RunMoments, x_rows: Float, y_rows: Float) -> float:
        """Return the score from centred rows: fewer products if there are not many."""
        own, other = x_rows @ self.variates.x, y_rows @ self.variates.y
        apart = _apart(self.variates.x, x.variances)
        aside = _apart(self.variates.y, y.variances)
        for group in _ties(self.variates.correlations) if self.settles else ():
            first, second = own[:, group], other[:, group]
            axes = eigh(first.T @ first + second.T @ second)[1][:, ::-1]
            own[:, group], other[:, group] = first @ axes, second @ axes
            weights = np.square(axes).T
            apart[group], aside[group] = weights @ apart[group], weights @ aside[group]
        lengths = [
            _present(np.einsum("ik,ik->k", each, each), scale)
            for each, scale in ((own, apart), (other, aside))
        ]
        return float(self._scale(*lengths) @ np.einsum("ik,ik->k", own, other))

    def _scale(self, first: Float, second: Float) -> Float:
        lengths = np.sqrt(first * second)
        # Directions with zero fitted correlation are arbitrary, and so is their held-out
        # correlation.
        is_known = (lengths > 0.0) & (self.variates.correlations > _TIED)
        return np.divide(self.shares, lengths, out=np.zeros_like(lengths), where=is_known)


def _used(directions: Float) -> NDArray[np.intp]:
    """Return the coordinates in which directions differ from zero."""
    return np.flatnonzero(directions.any(axis=1))


def _apart(directions: Float, variances: Float) -> Float:
    """Return the squared lengths of variates if coordinates were uncorrelated."""
    apart: Float = np.square(directions).T @ variances
    return apart


def _present(spread: Float, apart: Float) -> Float:
    """Return squared lengths, 0 where cancellation leaves only rounding."""
    return np.where(spread > _ABSENT * apart, spread, 0.0)


def _ties(correlations: Float, tied: float = _TIED) -> list[slice]:
    """Return the groups of two or more equal correlations."""
    edges = [0, *(np.flatnonzero(-np.diff(correlations) > tied) + 1), len(correlations)]
    return [slice(start, end) for start, end in pairwise(edges) if end - start > 1]


def settled(
    variates: Variates,
    factors: Callable[[Float, Float], Sequence[tuple[Float, Float]]],
    tied: float = _TIED,
) -> Variates:
    """Rotate variates of equal correlation to the principal axes of a quadratic form.

    With fewer rows than coordinates many correlations equal one and their variates have no unique
    basis: rounding must not choose it. The form of some variates is the sum of AᵀB over the pairs
    that `factors` returns of them; it is called once, because many groups of few variates would
    each read the same large matrices. `tied` is the largest difference between equal correlations.
    """
    groups = _ties(variates.correlations, tied)
    if not groups:
        return variates
    columns: Any = groups[0]
    if len(groups) > 1:
        columns = np.concatenate([np.arange(group.start, group.stop) for group in groups])
    pairs, forms, start = factors(variates.x[:, columns], variates.y[:, columns]), [], 0
    for group in groups:
        own = slice(start, start := start + group.stop - group.start)
        form = np.zeros((group.stop - group.start,) * 2)
        for first, second in pairs:
            form += product(first[:, own].T, second[:, own])
        forms.append(form)
    # Of wide runs, each is as large as all rows.
    del pairs
    x, y = variates.x.copy(), variates.y.copy()
    for group, form in zip(groups, forms, strict=True):
        axes = eigh(form)[1][:, ::-1]
        x[:, group], y[:, group] = x[:, group] @ axes, y[:, group] @ axes
    return replace(variates, x=x, y=y)


def _weighted(
    pair: PairMoments,
    whiten: Callable[[RunMoments], Float],
    weigh: Callable[[RunMoments, Float], Float],
) -> tuple[Variates, Float]:
    """Return variates with weights that sum to one, from the run with fewer directions."""
    x_map, y_map = whiten(pair.x), whiten(pair.y)
    is_flipped = x_map.shape[1] > y_map.shape[1]
    if is_flipped:
        pair, x_map, y_map = pair.flipped(), y_map, x_map

    def loadings(x: Float, _: Float) -> list[tuple[Float, Float]]:
        projected = pair.x.scatter @ x
        return [(projected, projected)]

    variates = settled(canonical_variates(pair, x_map, y_map), loadings)
    weights = weigh(pair.x, variates.x)
    if is_flipped:
        variates = replace(variates, x=variates.y, y=variates.x)
    total = float(weights.sum())
    return variates, weights / total if total > 0.0 else weights
