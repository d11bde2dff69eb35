"""Test whether matched raw coordinates agree better than randomly rotated ones.

Runs of one space with randomly rotated coordinates still have a best matching, and in few
dimensions its correlations are large. So of all that the others' coordinates together explain of a
coordinate, its match alone must explain more than matches of randomly rotated coordinates do. This
ratio is a cosine, and noise does not change it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.alignment.consensus import synchronise
from upto.core import random_stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from upto.alignment.consensus import Scatters
    from upto.core.array_types import Float


CHANCE = 0.99
"""Quantile of the matches of rotated coordinates that a match must exceed."""
TURNED_MATCHES, MIN_TURNS, MAX_TURNS = 2000, 3, 300
"""Number of matches of rotated coordinates, and of random rotations (minimum, maximum)."""
_ROUNDING = 1e-9
_FLAT = 1e-10


def cannot_turn(
    correlations: Scatters, elements: Sequence[Float], deviations: Sequence[Float], *, seed: int
) -> NDArray[np.bool_]:
    """Return which coordinates (runs × coordinates) agree better than randomly rotated ones.

    Parameters
    ----------
    correlations
        Correlations between the coordinates of each pair of runs.
    elements
        The signed permutations that match them.
    deviations
        Standard deviations of the raw coordinates. Rotation at these scales tilts all coordinates
        towards the widest directions of a run, and so towards each other; rotation at unit variance
        need not. The larger of the two limits is used.
    seed
        Seed of the random rotations.
    """
    equal = [np.ones_like(deviation) for deviation in deviations]
    limit = max(turned_limit(correlations, each, seed) for each in (deviations, equal))
    cosines = np.nan_to_num(match_cosines(correlations, elements))
    return cosines >= limit - _ROUNDING


def turned_limit(correlations: Scatters, deviations: Sequence[Float], seed: int) -> float:
    """Return the cosine that matches of randomly rotated coordinates rarely reach.

    All runs are rotated and rematched. Random rotations are drawn in the order of how strongly runs
    are related to the others, so that the limit does not depend on the order of the input.
    """
    rng = random_stream(seed, "turned coordinates")
    related = np.zeros(len(correlations))
    for (i, j), between in correlations.cross.items():
        related[[i, j]] += float(np.vdot(between, between))
    order = np.argsort(-related, kind="stable")
    widths = [len(own) for own in correlations.own]
    turns = min(max(MIN_TURNS, -(-TURNED_MATCHES // sum(widths))), MAX_TURNS)
    found = []
    for _ in range(turns):
        drawn = {int(i): _turn(correlations.own[i], deviations[i], rng) for i in order}
        turned = correlations.mapped([drawn[i] for i in range(len(widths))])
        cosines = match_cosines(turned, synchronise(turned).elements)
        found.append(cosines[np.isfinite(cosines)])
    return float(np.quantile(np.concatenate(found), CHANCE))


def match_cosines(correlations: Scatters, elements: Sequence[Float]) -> Float:
    """Return the agreement of each coordinate with its match, relative to the attainable maximum.

    This is the correlation with the mean of its matches, over the multiple correlation with all of
    these means, or over that of its match with all coordinates of the run if larger. NaN if the
    run, or every other run, lacks the coordinate.
    """
    matched = correlations.mapped(elements)
    runs = range(len(matched))
    toward = [np.sum([matched.between(i, j) for j in runs], axis=0) for i in runs]
    total = np.sum(toward, axis=0)
    cosines = []
    for own, across in zip(matched.own, toward, strict=True):
        shared = across - own
        others = total - across - shared.T
        spread = np.diag(own) * np.diag(others)
        explained = np.diag(others) * _explained(shared, others)
        backwards = np.diag(own) * _explained(shared.T, own)
        could = np.sqrt(np.maximum(np.maximum(explained, backwards), 0.0))
        known = (spread > 0) & (could > _FLAT)
        cosines.append(
            np.divide(np.diag(shared), could, out=np.full(len(own), np.nan), where=known)
        )
    return np.stack(cosines)


def _explained(shared: Float, others: Float) -> Float:
    """Return the variance of each row explained by all columns of the others."""
    values, vectors = np.linalg.eigh(others)
    kept = values > _FLAT * max(float(values[-1]), np.finfo(float).tiny)
    parts = shared @ vectors[:, kept]
    explained: Float = np.sum(parts**2 / values[kept], axis=1)
    return explained


def _turn(own: Float, deviations: Float, rng: np.random.Generator) -> Float:
    """Rotate unit-variance coordinates at given deviations, and rescale to unit variance."""
    width = len(own)
    rotation, _ = np.linalg.qr(rng.normal(size=(width, width)))
    turn = (deviations / deviations.max())[:, None] * rotation
    variance = np.sum(turn * (own @ turn), axis=0)
    scaled: Float = turn / np.sqrt(np.maximum(variance, np.finfo(float).tiny))
    return scaled
