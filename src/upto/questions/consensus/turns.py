"""Whether coordinates that are matched as they are agree better than turned ones would.

Runs of one space whose coordinates were turned at random still have a best matching, and in few
dimensions its correlations are large. So a match must also hold what it could: of all that the
others' coordinates together explain of a coordinate, its match alone has to explain more than
matches of randomly turned coordinates do. That is a cosine, and noise leaves it as it is.
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
    from upto.core.arrays import Float


CHANCE = 0.99
"""Quantile of the matches of turned coordinates above which a match cannot turn."""
TURNED_MATCHES, MIN_TURNS, MAX_TURNS = 2000, 3, 300
"""Matches of turned coordinates behind the limit, and the fewest and most turns of all runs."""
_ROUNDING = 1e-9
_FLAT = 1e-10


def cannot_turn(
    correlations: Scatters,
    elements: Sequence[Float],
    deviations: Sequence[Float],
    *,
    seed: int,
) -> NDArray[np.bool_]:
    """Say which coordinates agree better than those of randomly turned runs: runs by coordinates.

    Parameters
    ----------
    correlations
        Correlations between the coordinates of every two runs.
    elements
        The signed permutations that match them.
    deviations
        Standard deviations of the coordinates as they were given. Turned at these, all coordinates
        lean to the widest directions of a run, and so to each other; turned at unit variance, they
        need not. The larger of the two limits counts.
    seed
        Seed of the turns.
    """
    equal = [np.ones_like(deviation) for deviation in deviations]
    limit = max(turned_limit(correlations, each, seed) for each in (deviations, equal))
    cosines = np.nan_to_num(match_cosines(correlations, elements))
    held: NDArray[np.bool_] = cosines >= limit - _ROUNDING
    return held


def turned_limit(correlations: Scatters, deviations: Sequence[Float], seed: int) -> float:
    """Return the cosine that matches of randomly turned coordinates seldom reach.

    Every run is turned, and all are matched again. Runs are turned in the order of how much they
    have to do with the others, so that the limit does not depend on the order they are given in.
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
    """Return how much of what it could a coordinate shares with its match in the others.

    The correlation with the mean of its matches, over the multiple correlation with all of these
    means, or over that of its match with all coordinates of the run if that is larger. NaN where a
    run, or every other one, has no such coordinate.
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
    """Return what all of the others' columns explain of the variance of each row."""
    values, vectors = np.linalg.eigh(others)
    kept = values > _FLAT * max(float(values[-1]), np.finfo(float).tiny)
    parts = shared @ vectors[:, kept]
    explained: Float = np.sum(parts**2 / values[kept], axis=1)
    return explained


def _turn(own: Float, deviations: Float, rng: np.random.Generator) -> Float:
    """Turn coordinates of unit variance at other deviations; their variances are 1 again."""
    width = len(own)
    rotation, _ = np.linalg.qr(rng.normal(size=(width, width)))
    turn = (deviations / deviations.max())[:, None] * rotation
    variance = np.sum(turn * (own @ turn), axis=0)
    scaled: Float = turn / np.sqrt(np.maximum(variance, np.finfo(float).tiny))
    return scaled
