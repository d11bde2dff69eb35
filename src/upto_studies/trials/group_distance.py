"""Distance of two mixtures, or two decoders, up to an element of a group."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linear_sum_assignment

from upto.core import Group
from upto.core.array_types import Float

if TYPE_CHECKING:
    from collections.abc import Iterator

    from upto_studies.trials.rivals import Model, Rival

Parts = tuple[Float, Float, Float]

UNLIKE = 1.0
"""Distance of mixtures with different numbers of components."""

_EQUAL = 1e-9
_ANGLES = 360
_REFINEMENTS = 6


def prior_distance(first: Model, second: Model, group: Group) -> float:
    """Return the minimum distance of one mixture from an image of another, in standard units.

    Affine maps of two coordinates are rotations of standardised mixtures; the angle is searched
    for. Scaled permutations are enumerated.
    """
    one, other = merged(*first.mixture), merged(*second.mixture)
    if len(one[0]) != len(other[0]):
        return UNLIKE
    one, other = _standard(one, group), _standard(other, group)
    return min(parts_distance(_turned(one, turn), other) for turn in _turns(one, other, group))


def decoder_distance(first: Model, rival: Rival, group: Group) -> float:
    """Return the distance of f from f′ after a group element that also maps P(Z) to P(Z′).

    The element is the best affine map from z to the latent of the rival with the same image.
    """
    width = first.means.shape[1]
    points = 4.0 * np.random.default_rng(0).normal(size=(60 * width, width))
    targets = rival.link(points)
    design = np.column_stack([points, np.ones(len(points))])
    solved = np.linalg.lstsq(design, targets, rcond=None)[0]
    matrix, shift = solved[:-1].T, solved[-1]
    error = float(np.abs(design @ solved - targets).max())
    if group is Group.SCALED_PERMUTATION:
        rest = np.sort(np.abs(matrix), axis=1)[:, :-1]
        error = max(error, float(rest.max(initial=0.0)))
    weights, means, covariances = merged(*first.mixture)
    other = merged(*rival.model.mixture)
    if len(weights) != len(other[0]):
        return UNLIKE
    image = weights, means @ matrix.T + shift, matrix @ covariances @ matrix.T
    return max(error, parts_distance(image, other))


def merged(weights: Float, means: Float, covariances: Float) -> Parts:
    """Merge equal components of a mixture."""
    kept: list[int] = []
    totals: list[float] = []
    for number, weight in enumerate(weights):
        for place, other in enumerate(kept):
            apart = np.abs(means[number] - means[other]).max()
            apart = max(apart, np.abs(covariances[number] - covariances[other]).max())
            if apart <= _EQUAL:
                totals[place] += float(weight)
                break
        else:
            kept.append(number)
            totals.append(float(weight))
    return np.array(totals), means[kept], covariances[kept]


def parts_distance(one: Parts, other: Parts) -> float:
    """Return the largest difference of components after the best matching."""
    costs = np.abs(one[0][:, None] - other[0])
    costs = np.maximum(costs, np.abs(one[1][:, None] - other[1]).max(axis=2))
    costs = np.maximum(costs, np.abs(one[2][:, None] - other[2]).max(axis=(2, 3)))
    rows, columns = linear_sum_assignment(costs)
    return float(costs[rows, columns].max())


def _standard(parts: Parts, group: Group) -> Parts:
    """Centre a mixture and give it unit covariance, or unit variances for scaled permutations."""
    weights, means, covariances = parts
    away = means - weights @ means
    total = np.einsum("j,jab->ab", weights, covariances + away[:, :, None] * away[:, None])
    if group is Group.SCALED_PERMUTATION:
        root = np.diag(1.0 / np.sqrt(np.diag(total)))
    else:
        values, vectors = np.linalg.eigh(total)
        root = vectors / np.sqrt(values) @ vectors.T
    return weights, away @ root, root @ covariances @ root


def _turned(parts: Parts, turn: Float) -> Parts:
    weights, means, covariances = parts
    return weights, means @ turn.T, turn @ covariances @ turn.T


def _turns(one: Parts, other: Parts, group: Group) -> Iterator[Float]:
    width = one[1].shape[1]
    if group is Group.SCALED_PERMUTATION or width == 1:
        for order in itertools.permutations(range(width)):
            for signs in itertools.product((1.0, -1.0), repeat=width):
                yield np.diag(signs)[list(order)]
        return
    # Coarse search over all directions, then refinement of the best of both orientations.
    for flip in (1.0, -1.0):
        centre, reach = np.pi, np.pi
        for _ in range(_REFINEMENTS):
            angles = np.linspace(centre - reach, centre + reach, _ANGLES)
            costs = _mismatch(one, other, _rotations(angles, flip))
            centre, reach = float(angles[np.argmin(costs)]), reach / 100.0
        yield _rotations(np.array([centre]), flip)[0]


def _rotations(angles: Float, flip: float) -> Float:
    cosines, sines = np.cos(angles), np.sin(angles)
    stack = np.array([[cosines, -sines * flip], [sines, cosines * flip]])
    found: Float = np.moveaxis(stack, 2, 0)
    return found


def _mismatch(one: Parts, other: Parts, turns: Float) -> Float:
    """Return the cost of many rotations: each component with its nearest in the other mixture."""
    means = np.einsum("kab,jb->kja", turns, one[1])
    covariances = np.einsum("kab,jbc,kdc->kjad", turns, one[2], turns)
    costs = np.abs(one[0][:, None] - other[0])[None] + np.abs(
        means[:, :, None] - other[1][None, None]
    ).sum(axis=3)
    costs = costs + np.abs(covariances[:, :, None] - other[2][None, None]).sum(axis=(3, 4))
    found: Float = costs.min(axis=2).sum(axis=1)
    return found
