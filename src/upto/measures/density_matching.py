"""L2 distance between densities of two mixtures up to an affine map.

The distance is this package's own definition: Kivva et al. 2022 report an L2 distance between
learned latent densities up to affine maps, but we found no formula for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations, permutations, product
from typing import TYPE_CHECKING

import numpy as np
import scipy.optimize

from upto.core import random_stream
from upto.core.array_types import Float
from upto.engines import nearest_rotation
from upto.measures.densities import (
    Mixture,
    check_widths,
    component_overlaps,
    log_inner,
    push_forward,
)
from upto.measures.kinds import as_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

Error = Callable[[Float], tuple[float, Float]]

_EVERY_PAIRING = 5
"""Largest number of components for which every pairing of components gives a start."""
_ROTATIONS = 64
_PAIRINGS = 10
_COSINES = (0.0, 0.2, 0.4, 0.6, 0.8)
_FIRST_STEPS, _IMPROVED, _GRADIENT = 15, 8, 1e-9
_LARGEST_EXPONENT = 50.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DensityMatch:
    """The affine map that minimises the distance between two densities.

    Parameters
    ----------
    distance
        L2 distance to the first density after the map, relative to the L2 norm of the first.
    matrix, shift
        The map ``z -> matrix @ z + shift`` of the second density.
    """

    distance: float
    matrix: Float
    shift: Float


def affine_l2_distance(first: Mixture, second: Mixture, *, n_starts: int = 16) -> float:
    """Return the smallest L2 distance between a density and the affine images of another.

    ``min over A, b of ‖p − (A, b)#q‖ / ‖p‖`` for the first density p and the second q: from 0,
    where q is p up to an affine map, to 1. It is not symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.measures import Mixture, affine_l2_distance, push_forward
    >>> clusters = Mixture(
    ...     weights=[0.3, 0.7], means=[[0.0, 0.0], [4.0, 1.0]], covariances=[np.eye(2), np.eye(2)]
    ... )
    >>> image = push_forward(clusters, [[2.0, 1.0], [0.0, -1.0]], [5.0, 5.0])
    >>> affine_l2_distance(clusters, image) < 1e-6
    True
    >>> blob = Mixture(weights=[1.0], means=[[0.0, 0.0]], covariances=[np.eye(2)])
    >>> affine_l2_distance(clusters, blob) > 0.3
    True
    """
    return match_densities(first, second, n_starts=n_starts).distance


def match_densities(
    first: Mixture, second: Mixture, *, n_starts: int = 16, improve: bool = True
) -> DensityMatch:
    """Find the affine map that brings the second density closest to the first.

    The distance has many local minima, so the result is an upper bound of the smallest distance.
    BFGS starts from three kinds of maps: maps that match the moments of the mixtures and rotate
    paired components onto each other, for every pairing (beyond five components, the pairing by
    weight and that by what rotations of the whitened mixtures keep); the same for subsets of the
    components; and random rotations.

    Parameters
    ----------
    first, second
        Mixtures of equal width.
    n_starts
        Number of best starts of each kind to optimise; more make the search more thorough.
    improve
        Whether to improve the starts by BFGS, whose cost grows with the fourth power of the width.
        Otherwise the map is the best start.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.measures import Mixture, match_densities
    >>> near = Mixture(weights=[0.3, 0.7], means=[[0.0], [4.0]], covariances=np.ones((2, 1, 1)))
    >>> far = Mixture(weights=[0.3, 0.7], means=[[9.0], [1.0]], covariances=np.full((2, 1, 1), 4.0))
    >>> match = match_densities(near, far)
    >>> match.matrix.round(3).tolist(), match.shift.round(3).tolist()
    ([[-0.5]], [4.5])
    """
    check_widths(first, second)
    n_starts = as_count(n_starts, "starts requested")
    # Both mixtures are whitened first, so that every good map is close to a rotation.
    (to_first, mean), (to_second, other_mean) = _whitening(first), _whitening(second)
    target = push_forward(first, to_first, -to_first @ mean)
    source = push_forward(second, to_second, -to_second @ other_mean)
    norms = log_inner(target, target), log_inner(source, source)
    error = partial(_squared_distance, target=target, source=source, norms=norms)
    starts = [
        start
        for kind in (_whole_starts, _partial_starts, _turned_starts)
        for start in _lowest(error, kind(target, source), n_starts)
    ]
    if improve:
        nearly = (_improved(error, start, _FIRST_STEPS) for start in starts)
        starts = [_improved(error, start) for start in _lowest(error, nearly, _IMPROVED)]
    best = min(starts, key=lambda place: error(place)[0])
    linear, moved = _split(best, first.width)
    back = np.linalg.inv(to_first)
    matrix = back @ linear @ to_second
    return DensityMatch(
        distance=min(1.0, float(np.sqrt(max(0.0, error(best)[0])))),
        matrix=matrix,
        shift=back @ moved + mean - matrix @ other_mean,
    )


def _squared_distance(
    place: Float, target: Mixture, source: Mixture, norms: tuple[float, float]
) -> tuple[float, Float]:
    """Return the squared relative distance for the parameters of a map, and its gradient."""
    matrix, shift = _split(place, source.width)
    logs, inverses, pulled = component_overlaps(
        target,
        source.weights,
        source.means @ matrix.T + shift,
        matrix @ source.covariances @ matrix.T,
    )
    overlaps = np.exp(logs - norms[0])
    # A singular image has infinite norm; the search only needs to recognise it as bad.
    exponent = norms[1] - norms[0] - np.linalg.slogdet(matrix)[1]
    norm = float(np.exp(min(exponent, _LARGEST_EXPONENT)))
    by_mean = np.einsum("jk,jki,kl->il", overlaps, pulled, source.means)
    curved = np.einsum("jk,jki,jkl->kil", overlaps, pulled, pulled)
    curved -= np.einsum("jk,jkil->kil", overlaps, inverses)
    by_matrix = -2.0 * (by_mean + np.sum(curved @ matrix @ source.covariances, axis=0))
    by_matrix -= norm * np.linalg.pinv(matrix).T
    by_shift = -2.0 * np.einsum("jk,jki->i", overlaps, pulled)
    value = float(1.0 - 2.0 * overlaps.sum() + norm)
    return value, np.concatenate([by_matrix.ravel(), by_shift])


def _whitening(mixture: Mixture) -> tuple[Float, Float]:
    mean, covariance = _moments(mixture.weights, mixture.means, mixture.covariances)
    return _roots(covariance)[0], mean


def _moments(weights: Float, means: Float, covariances: Float) -> tuple[Float, Float]:
    mean = weights @ means
    away = means - mean
    spread = covariances + away[:, :, None] * away[:, None, :]
    return mean, np.tensordot(weights, spread, axes=1)


def _roots(covariance: Float) -> tuple[Float, Float]:
    """Return the inverse symmetric square root and the symmetric square root."""
    values, vectors = np.linalg.eigh(covariance)
    root = np.sqrt(values)
    return (vectors / root) @ vectors.T, (vectors * root) @ vectors.T


def _improved(error: Error, start: Float, steps: int | None = None) -> Float:
    options = {"gtol": _GRADIENT} | ({} if steps is None else {"maxiter": steps})
    found = scipy.optimize.minimize(error, start, jac=True, method="BFGS", options=options)
    place: Float = found.x
    return place


def _lowest(error: Error, places: Iterable[Float], count: int) -> list[Float]:
    """Return the best distinct places."""
    distinct = {tuple(np.round(place, 3)): place for place in places}
    return sorted(distinct.values(), key=lambda place: error(place)[0])[:count]


def _whole_starts(target: Mixture, source: Mixture) -> Iterator[Float]:
    """Yield maps that match the moments of all paired components."""
    shapes = (_shape(each.means, each.covariances, each.weights) for each in (target, source))
    yield _join(_axes_to_axes(*shapes), np.zeros(target.width))
    size = min(target.n_components, source.n_components)
    for ours, theirs in _pairings(target, source, size):
        yield from _between(_Part(target, ours), _Part(source, theirs))
    if max(target.n_components, source.n_components) > _EVERY_PAIRING:
        for ours, theirs in _settled_pairings(target, source):
            yield from _between(_Part(target, ours), _Part(source, theirs))


def _partial_starts(target: Mixture, source: Mixture) -> Iterator[Float]:
    """Yield maps that match the moments of subsets of the components."""
    for size in range(1, min(target.n_components, source.n_components)):
        for ours, theirs in _pairings(target, source, size):
            yield from _between(_Part(target, ours), _Part(source, theirs))


def _turned_starts(target: Mixture, _: Mixture) -> Iterator[Float]:
    """Yield random rotations."""
    rng = random_stream(0, "density starts")
    for draw in rng.normal(size=(_ROTATIONS, target.width, target.width)):
        yield _join(nearest_rotation(draw), np.zeros(target.width))


def _pairings(
    target: Mixture, source: Mixture, size: int
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield candidate pairings of target and source components."""
    ours, theirs = (np.argsort(-each.weights, kind="stable") for each in (target, source))
    if max(target.n_components, source.n_components) > _EVERY_PAIRING:
        yield ours[:size], theirs[:size]
        return
    for chosen, partners in product(combinations(ours, size), permutations(theirs, size)):
        yield np.array(chosen), np.array(partners)


def _settled_pairings(
    target: Mixture, source: Mixture
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield the pairing by what rotations keep, and the pairings to which its rotations lead."""
    away = np.square(_invariants(target)[:, None] - _invariants(source)[None]).sum(axis=2)
    pairing = scipy.optimize.linear_sum_assignment(away)
    for _ in range(_PAIRINGS):
        yield pairing
        ours, theirs = pairing
        weights = np.sqrt(target.weights[ours] * source.weights[theirs])
        rotation = nearest_rotation((target.means[ours].T * weights) @ source.means[theirs])
        turned = source.means @ rotation.T
        away = np.square(target.means[:, None] - turned[None]).sum(axis=2)
        again = scipy.optimize.linear_sum_assignment(away)
        if all(np.array_equal(one, two) for one, two in zip(pairing, again, strict=True)):
            return
        pairing = again


def _invariants(mixture: Mixture) -> Float:
    """Return numbers of each component of a whitened mixture that no rotation changes.

    They are the length of its mean, its deviations, and quantiles of the cosines between its mean
    and those of the others, whose order and number may differ.
    """
    gram = mixture.means @ mixture.means.T
    lengths = np.sqrt(np.diagonal(gram))
    cosines = gram / np.maximum(np.outer(lengths, lengths), np.finfo(float).tiny)
    angles = np.quantile(cosines, _COSINES, axis=1).T
    deviations = np.sqrt(np.linalg.eigvalsh(mixture.covariances))
    return np.column_stack([lengths, lengths.mean() * angles, deviations])


class _Part:
    """A subset of the components of a mixture, whitened jointly."""

    def __init__(self, mixture: Mixture, which: NDArray[np.intp]) -> None:
        self.weights = mixture.weights[which] / mixture.weights[which].sum()
        means, covariances = mixture.means[which], mixture.covariances[which]
        self.centre, covariance = _moments(self.weights, means, covariances)
        self.inverse_root, self.root = _roots(covariance)
        self.means = (means - self.centre) @ self.inverse_root
        self.covariances = self.inverse_root @ covariances @ self.inverse_root


def _between(first: _Part, second: _Part) -> Iterator[Float]:
    """Yield maps that match the moments of paired components, rotated by axes and by means."""
    # Distinct marks keep the contributions of different pairs from cancelling.
    marks = np.arange(1.0, len(first.weights) + 1)
    shapes = (_shape(part.means, part.covariances, marks) for part in (first, second))
    weights = np.sqrt(first.weights * second.weights)
    by_means = nearest_rotation((first.means.T * weights) @ second.means)
    for rotation in (_axes_to_axes(*shapes), by_means):
        matrix = first.root @ rotation @ second.inverse_root
        yield _join(matrix, first.centre - matrix @ second.centre)


def _shape(means: Float, covariances: Float, marks: Float) -> tuple[Float, Float]:
    """Return a matrix and a vector that rotate with the components."""
    seconds = covariances + means[:, :, None] * means[:, None, :]
    squares = seconds @ seconds
    sizes = np.trace(squares, axis1=1, axis2=2)
    return np.tensordot(marks, squares, axes=1), (marks * sizes) @ means


def _axes_to_axes(ours: tuple[Float, Float], theirs: tuple[Float, Float]) -> Float:
    """Return the rotation that maps axes to axes by length, with signs given by the vectors."""
    axes, other_axes = np.linalg.eigh(ours[0])[1], np.linalg.eigh(theirs[0])[1]
    signs = np.where((ours[1] @ axes) * (theirs[1] @ other_axes) < 0, -1.0, 1.0)
    rotation: Float = (axes * signs) @ other_axes.T
    return rotation


def _join(matrix: Float, shift: Float) -> Float:
    return np.concatenate([matrix.ravel(), shift])


def _split(place: Float, width: int) -> tuple[Float, Float]:
    return place[: width * width].reshape(width, width), place[width * width :]
