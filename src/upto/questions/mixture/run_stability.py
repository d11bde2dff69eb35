"""Match the priors of runs up to affine maps, beside mixtures with random means."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from upto.core import random_stream
from upto.evidence.intervals import mean_of_pairs
from upto.measures.densities import Mixture
from upto.measures.matched_components import match_components
from upto.measures.resample import limit_of_chance
from upto.questions.mixture.parts import Compared, MatchedComponent, MixturePair, Stability

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from upto.core import Progress
    from upto.core.array_types import Float
    from upto.measures.matched_components import ComponentMatch
    from upto.measures.resample import Better

ENOUGH = 0.6
"""Overlap from which a component recurs: equal shapes two standard deviations apart."""
_ROUNDING = 1e-6
_STARTS = 4
_WIDEST = 12
"""Largest number of coordinates in which the map is improved by descent."""


class _Scores(NamedTuple):
    distance: float
    overlap: float
    recurring: float


def match_runs(
    names: Sequence[str],
    densities: Sequence[Mixture],
    *,
    draws: int,
    seed: int,
    progress: Progress,
) -> tuple[tuple[MixturePair, ...], Stability]:
    """Match the priors of every ordered pair of runs, and of runs and random mixtures.

    Parameters
    ----------
    names, densities
        Two or more runs.
    draws
        Number of random mixtures, which take the place of the second run of a pair in turn.
    seed
        Seed of the random number generator.
    progress
        Told of every match.
    """
    places = list(permutations(range(len(names)), 2))
    rng = random_stream(seed, "mixtures of random means")
    order = rng.permutation(len(places))
    scores, chance, pairs = [], [], []
    with progress.task("match priors", len(places) + draws) as advance:
        for one, other in places:
            found = _matched(densities[one], densities[other])
            scores.append(_scores(found))
            pairs.append(_pair(names, densities, (one, other), found))
            advance(1)
        for draw in range(draws):
            one, other = places[order[draw % len(places)]]
            drawn = with_random_means(densities[other], rng)
            chance.append(_scores(_matched(densities[one], drawn)))
            advance(1)

    def compared(what: Callable[[_Scores], float], better: Better) -> Compared:
        values = np.zeros((len(names), len(names)))
        for place, each in zip(places, scores, strict=True):
            values[place] = what(each)
        null = np.array([what(each) for each in chance])
        return Compared(
            value=mean_of_pairs(values, low=0.0, high=1.0),
            chance=float(null.mean()) if len(null) else None,
            limit=limit_of_chance(null, better=better),
        )

    return tuple(pairs), Stability(
        n_pairs=len(pairs),
        n_draws=draws,
        enough=ENOUGH,
        distance=compared(lambda each: each.distance, "lower"),
        overlap=compared(lambda each: each.overlap, "higher"),
        recurring=compared(lambda each: each.recurring, "higher"),
        identical=all(_are_identical(densities[0], each) for each in densities[1:]),
    )


def _are_identical(first: Mixture, second: Mixture) -> bool:
    """Return whether two mixtures have the same parameters, in the same order, within rounding."""
    return all(
        one.shape == other.shape and np.allclose(one, other, rtol=_ROUNDING, atol=0.0)
        for one, other in (
            (first.weights, second.weights),
            (first.means, second.means),
            (first.covariances, second.covariances),
        )
    )


def with_random_means(mixture: Mixture, rng: np.random.Generator) -> Mixture:
    """Return the mixture with Gaussian means of the same mean and covariance between components.

    New means are random sums of the old ones, so that an affine map of the mixture maps them too.
    """
    centre = mixture.weights @ mixture.means
    spread = np.sqrt(mixture.weights)[:, None] * (mixture.means - centre)
    noise: Float = rng.normal(size=(mixture.n_components, mixture.n_components))
    return Mixture(
        weights=mixture.weights,
        means=centre + noise @ spread,
        covariances=mixture.covariances,
    )


def _matched(first: Mixture, second: Mixture) -> ComponentMatch:
    return match_components(first, second, n_starts=_STARTS, improve=first.width <= _WIDEST)


def _scores(found: ComponentMatch) -> _Scores:
    return _Scores(
        distance=found.distance,
        overlap=float(found.overlaps.mean()),
        recurring=float((found.overlaps >= ENOUGH).mean()),
    )


def _pair(
    names: Sequence[str],
    densities: Sequence[Mixture],
    places: tuple[int, int],
    found: ComponentMatch,
) -> MixturePair:
    first, second = (densities[place].weights for place in places)
    matches = tuple(
        MatchedComponent(
            first=number + 1,
            second=None if partner < 0 else int(partner) + 1,
            overlap=float(overlap),
            first_weight=float(first[number]),
            second_weight=None if partner < 0 else float(second[partner]),
            recurs=bool(overlap >= ENOUGH),
        )
        for number, (partner, overlap) in enumerate(
            zip(found.partners, found.overlaps, strict=True)
        )
    )
    return MixturePair(
        first=names[places[0]],
        second=names[places[1]],
        distance=found.distance,
        overlap=float(found.overlaps.mean()),
        n_recurring=sum(match.recurs for match in matches),
        matches=matches,
    )
