"""Best map of each group, in closed form from centred moments.

Maps act on the right: ``prediction = scale * ((source - source_mean) @ matrix) + target_mean``,
where the matrix of a permutation is stored as an index. For runs of different width an isometry
embeds a narrower source in the target's space, or rotates a wider source and drops coordinates;
the error is measured in the target's own coordinates. For rotations, dropping has no closed form:
the better of two starts is improved iteratively.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Group, InputError
from upto.core.array_types import Float, Index
from upto.engines import RANK_TOLERANCE, match, nearest_rotation, pseudo_inverse, varying

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.engines import CrossMoments
    from upto.engines.base import Arrays, Statistic


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AffineMap:
    """A fitted map. Exactly one of `matrix` and `index` is set.

    With `index`, target coordinate j is predicted by source coordinate ``index[j]`` times
    ``scale[j]``; a scale of zero predicts its mean.

    See Also
    --------
    upto.Aligner : Fits one; it is `map_`.
    upto.AlignResult : Its method `map` returns one.
    """

    source_mean: Float
    target_mean: Float
    scale: Float
    matrix: Float | None = None
    index: Index | None = None

    def linear(self) -> Float:
        """Return the linear part as a matrix, source coordinates by target coordinates."""
        if self.matrix is not None:
            return self.matrix * self.scale
        linear = np.zeros((len(self.source_mean), len(self.target_mean)))
        linear[self.index, np.arange(len(self.target_mean))] = self.scale
        return linear

    def predict(self, rows: Any) -> Any:
        """Map rows in memory."""
        centred = np.asarray(rows, dtype=np.float64) - self.source_mean
        # In place: runs of many rows have no room for a copy per step.
        found = centred[:, self.index] if self.matrix is None else centred @ self.matrix
        found *= self.scale
        found += self.target_mean
        return found

    def block_function(self) -> tuple[Statistic, tuple[Any, ...]]:
        """Return the function of a block of rows, for passes, and its params."""
        return partial(_mapped_block, dense=self.index is None), self.params

    @property
    def params(self) -> tuple[Any, ...]:
        """Arrays for the functions of blocks."""
        operand = self.matrix if self.index is None else self.index
        return self.source_mean, self.target_mean, self.scale, operand

    def of_columns(self, places: Index) -> AffineMap:
        """Return the map of rows whose column i is the map's source coordinate ``places[i]``."""
        matrix = None if self.matrix is None else self.matrix[places]
        index = None if self.index is None else np.argsort(places)[self.index]
        return replace(self, source_mean=self.source_mean[places], matrix=matrix, index=index)

    def inverse(self, rank_tolerance: float = RANK_TOLERANCE) -> AffineMap:
        """Return the inverse map, or the pseudo-inverse if the map is singular."""
        inverse = np.asarray(np.linalg.pinv(self.linear(), rcond=rank_tolerance), dtype=np.float64)
        return AffineMap(
            source_mean=self.target_mean,
            target_mean=self.source_mean,
            scale=np.ones(len(self.source_mean)),
            matrix=inverse,
        )

    def exact_inverse(self) -> AffineMap:
        """Return the inverse map.

        Raises
        ------
        InputError
            If rows with different coordinates have the same image.
        """
        rank, width = int(np.linalg.matrix_rank(self.linear())), len(self.source_mean)
        if rank < width:
            message = (
                f"the fitted map has rank {rank} on {width} source coordinates and no inverse: fit "
                "it in the other direction."
            )
            raise InputError(message)
        return self.inverse()


def fit_map(
    group: Group, moments: CrossMoments, *, rank_tolerance: float = RANK_TOLERANCE
) -> AffineMap:
    """Return the element of a group with the smallest squared error.

    Parameters
    ----------
    group
        Group to choose from.
    moments
        Moments of source and target.
    rank_tolerance
        Directions whose variance is below this fraction of the largest count as absent.
    """
    if group is Group.MONOTONE_PERMUTATION:
        message = "monotone functions cannot be fitted from moments: fit an `Aligner` to rows."
        raise InputError(message)
    if group is Group.IDENTITY:
        return _identity(moments)
    if group is Group.SIGNED_PERMUTATION:
        return _signed_permutation(moments)
    if group is Group.SIGNED_SIMILARITY:
        return _signed_similarity(moments)
    if group is Group.SCALED_PERMUTATION:
        return _scaled_permutation(moments)
    if group is Group.AFFINE:
        return _affine(moments, rank_tolerance)
    return _rigid(moments, scaled=group is Group.SIMILARITY)


def needs_full_scatter(group: Group, source: Any, target: Any) -> bool:
    """Return whether a fit needs the full scatter matrix of the source, not only its diagonal."""
    return group is Group.AFFINE or source.shape[1] > target.shape[1]


def fit_maps(
    groups: Sequence[Group], moments: CrossMoments, *, rank_tolerance: float = RANK_TOLERANCE
) -> dict[Group, AffineMap]:
    """Fit several groups; a group and its scaled version share one rotation or matching.

    They do not if coordinates are dropped, because the scale decides which.
    """
    maps: dict[Group, AffineMap] = {}
    shared = {} if _drops_coordinates(moments) else _UNSCALED
    for group in groups:
        unscaled = shared.get(group)
        if unscaled in maps:
            maps[group] = _rescaled(maps[unscaled], moments)
        else:
            maps[group] = fit_map(group, moments, rank_tolerance=rank_tolerance)
    return maps


_UNSCALED = {Group.SIGNED_SIMILARITY: Group.SIGNED_PERMUTATION, Group.SIMILARITY: Group.RIGID}


def _mapped_block(
    xp: Any, x: Any, source_mean: Any, target_mean: Any, scale: Any, operand: Any, *, dense: bool
) -> Arrays:
    return (image_of_block(xp, x - source_mean, operand, dense=dense) * scale + target_mean,)


def image_of_block(xp: Any, centred: Any, operand: Any, *, dense: bool) -> Any:
    """Multiply centred rows by a matrix, or select their coordinates."""
    return xp.matmul(centred, operand) if dense else xp.take(centred, operand, axis=1)


def _identity(moments: CrossMoments) -> AffineMap:
    mean = moments.source.mean
    if len(mean) != len(moments.target.mean):
        message = (
            f"the identity needs runs of equal width, not {len(mean)} and "
            f"{len(moments.target.mean)} coordinates: compare up to another group."
        )
        raise InputError(message)
    return AffineMap(
        source_mean=mean, target_mean=mean, scale=np.ones(len(mean)), index=np.arange(len(mean))
    )


def _signed_permutation(moments: CrossMoments, *, at_scale: float = 1.0) -> AffineMap:
    if len(moments.source.mean) == len(moments.target.mean):
        index = moments.matching
        covariance = moments.cross[index, np.arange(len(index))]
        return AffineMap(
            source_mean=moments.source.mean,
            target_mean=moments.target.mean,
            scale=np.where(covariance < 0, -1.0, 1.0),
            index=index,
        )
    signs = np.where(moments.cross < 0, -1.0, 1.0)
    # A source coordinate that is used costs its variance; if all are used, the sum is constant.
    variance = np.diag(moments.source.scatter)[:, None] if _drops_coordinates(moments) else 0.0
    gain = 2 * np.abs(moments.cross) - at_scale * variance
    return _matched(moments, gain=gain, coefficient=signs)


def _signed_similarity(moments: CrossMoments) -> AffineMap:
    """Match coordinates and scale them; the scale decides which of them to drop, and vice versa."""
    if not _drops_coordinates(moments):
        return _rescaled(_signed_permutation(moments), moments)

    def error(found: AffineMap) -> float:
        linear = found.linear()
        return float(np.vdot(linear, moments.source.scatter @ linear - 2 * moments.cross))

    best = None
    for scale in (0.0, 1.0):
        for _ in range(_DROPPING_STEPS):
            found = _rescaled(_signed_permutation(moments, at_scale=scale), moments)
            if best is not None and error(found) >= error(best):
                break
            best, scale = found, float(np.abs(found.scale).max())
    return found if best is None else best


def _drops_coordinates(moments: CrossMoments) -> bool:
    return len(moments.source.mean) > len(moments.target.mean)


def _scaled_permutation(moments: CrossMoments) -> AffineMap:
    variance = np.diag(moments.source.scatter)
    alive = varying(np.sqrt(variance))
    inverse = np.divide(1.0, variance, out=np.zeros_like(variance), where=alive)[:, None]
    slope = moments.cross * inverse
    return _matched(moments, gain=moments.cross * slope, coefficient=slope)


def _matched(moments: CrossMoments, *, gain: Float, coefficient: Float) -> AffineMap:
    """Match coordinates one to one so that the total gain is maximal."""
    sources, targets = match(gain)
    width = len(moments.target.mean)
    index, scale = np.zeros(width, dtype=np.intp), np.zeros(width)
    index[targets] = sources
    scale[targets] = coefficient[sources, targets]
    return AffineMap(
        source_mean=moments.source.mean, target_mean=moments.target.mean, scale=scale, index=index
    )


def _rigid(moments: CrossMoments, *, scaled: bool) -> AffineMap:
    rotation = AffineMap(
        source_mean=moments.source.mean,
        target_mean=moments.target.mean,
        scale=np.ones(len(moments.target.mean)),
        matrix=(
            _dropping_rotation(moments, scaled=scaled)
            if _drops_coordinates(moments)
            else moments.rotation
        ),
    )
    return _rescaled(rotation, moments) if scaled else rotation


def _dropping_rotation(moments: CrossMoments, *, scaled: bool) -> Float:
    """Return a matrix with orthonormal columns and a small squared error.

    Each step minimises an upper bound that is tight at the current matrix, so the error never
    increases (the unbalanced Procrustes problem has no closed form). With a scale, which decides
    the directions to drop, each step is at the best scale of the current matrix.
    """
    cross, scatter = moments.cross, moments.source.scatter
    slack = float(np.linalg.eigvalsh(scatter)[-1]) * np.eye(len(scatter)) - scatter

    def scale_and_error(matrix: Float) -> tuple[float, float]:
        total = float(np.vdot(matrix, scatter @ matrix))
        gain = float(np.vdot(matrix, cross))
        scale = gain / total if scaled and total > 0 and gain else 1.0
        return scale, scale**2 * total - 2 * scale * gain

    found = []
    for matrix in (moments.rotation, nearest_rotation(moments.source.inverse @ cross)):
        scale, error = scale_and_error(matrix)
        for _ in range(_DROPPING_STEPS):
            stepped = nearest_rotation(cross / scale + slack @ matrix)
            next_scale, next_error = scale_and_error(stepped)
            if error - next_error <= 1e-9 * abs(error):
                break
            matrix, scale, error = stepped, next_scale, next_error
        found.append((error, matrix))
    return min(found, key=itemgetter(0))[1]


_DROPPING_STEPS = 30


def _rescaled(isometry: AffineMap, moments: CrossMoments) -> AffineMap:
    """Add the global scale with the smallest squared error."""
    if _drops_coordinates(moments):
        linear = isometry.linear()
        total = float(np.vdot(linear, moments.source.scatter @ linear))
    else:
        total = float(np.trace(moments.source.scatter))
    if isometry.matrix is None:
        columns = np.arange(len(isometry.scale))
        gain = float(isometry.scale @ moments.cross[isometry.index, columns])
    else:
        gain = float(np.vdot(isometry.matrix, moments.cross * isometry.scale))
    return replace(isometry, scale=isometry.scale * (gain / total if total > 0 else 0.0))


def _affine(moments: CrossMoments, rank_tolerance: float) -> AffineMap:
    source = moments.source
    if rank_tolerance == RANK_TOLERANCE:
        inverse = source.inverse
    else:
        inverse = pseudo_inverse(source.scatter, rank_tolerance)
    return AffineMap(
        source_mean=moments.source.mean,
        target_mean=moments.target.mean,
        scale=np.ones(len(moments.target.mean)),
        matrix=inverse @ moments.cross,
    )
