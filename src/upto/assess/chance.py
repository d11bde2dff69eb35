"""The chance level: everything fitted again on shuffled rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from upto.align import AffineMap, row_errors
from upto.assess.intervals import average, summarise
from upto.assess.nulls import shuffles
from upto.assess.pair import candidate_maps
from upto.core import Errors, Group
from upto.engines import CrossMoments, Moments

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from upto.assess.options import Options
    from upto.assess.pair import Map, Pair

Float = NDArray[np.float64]

CHANCE_ROWS = 5000
MONOTONE_JUDGED = 500
"""Rows on which monotone maps of shuffled rows are judged."""


def chance_rows(width: int) -> int:
    """Return how many rows the chance level is taken from: ten for each dimension or more."""
    return max(CHANCE_ROWS, 10 * width)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Chance:
    """What shuffled rows give, by map."""

    in_sample: dict[str, Errors]
    held_out: dict[str, Errors]
    errors: dict[str, Float]


def chance_level(pair: Pair, options: Options, advance: Callable[[int], None]) -> Chance:
    """Fit every map to rows shuffled within the fitted and within the held-out part."""
    if options.refits == 0:
        return Chance(in_sample={}, held_out={}, errors={})
    source, target = pair.source, pair.target
    x, y = source.sample, target.sample
    index = pair.split.first_rows(len(x))
    held_out = pair.split.parts[index] == 1
    everyone = np.ones(len(index), dtype=bool)
    inside: dict[str, list[Errors]] = {}
    outside: dict[str, list[Errors]] = {}
    pooled: dict[str, list[Float]] = {}
    fits = [
        (everyone, _marginals(x, y), (source.unmixing_in_sample, target.unmixing_in_sample), inside)
    ]
    if held_out.any():
        marginals = _marginals(x[~held_out], y[~held_out])
        fits.append((held_out, marginals, (source.unmixing, target.unmixing), outside))
    for order in shuffles(pair.split, index, options.refits, options.seed):
        shuffled = y[order]
        for judged, (own, other), unmixings, kept in fits:
            fitted = everyone if judged is everyone else ~judged
            # Shuffling leaves the moments of each run as they are: only the products change.
            cross = (x[fitted] - own.mean).T @ (shuffled[fitted] - other.mean)
            maps = candidate_maps(options.groups, CrossMoments(own, other, cross), unmixings)
            found = row_errors(pair.engine, x[judged], shuffled[judged], _affine(maps))
            found /= pair.extent
            centred = y[judged] - y[judged].mean(axis=0)
            total = float(np.vdot(centred, centred)) / pair.extent**2
            errors = dict(zip(maps, found.T, strict=True))
            if Group.MONOTONE_PERMUTATION in options.groups:
                moved = _monotone_errors(
                    pair, x[judged], shuffled[judged], order, held_out=kept is outside
                )
                errors[Group.MONOTONE_PERMUTATION] = moved
            for name, each in errors.items():
                kept.setdefault(name, []).append(summarise(each, total * len(each) / len(found)))
                if kept is outside:
                    pooled.setdefault(name, []).append(each)
        advance(1)
    return Chance(
        in_sample={name: average(each) for name, each in inside.items()},
        held_out={name: average(each) for name, each in outside.items()},
        errors={name: np.concatenate(each) for name, each in pooled.items()},
    )


def _affine(maps: Mapping[str, Map]) -> list[AffineMap]:
    return [each for each in maps.values() if isinstance(each, AffineMap)]


def _monotone_errors(
    pair: Pair, x: Float, y: Float, order: NDArray[np.intp], *, held_out: bool
) -> Float:
    """Return what a monotone map makes of shuffled rows, on some of them."""
    fit = pair.monotone_fit(fitted=held_out)
    own = np.argsort(order[: fit.n_rows], kind="stable")
    if not held_out:
        # In sample, the pairs that are judged are those that were fitted.
        x, y = fit.source, fit.target[own]
    x, y = x[:MONOTONE_JUDGED], y[:MONOTONE_JUDGED]
    errors: Float = np.linalg.norm(y - fit.fit(own).predict(x), axis=1) / pair.extent
    return errors


def _marginals(x: Float, y: Float) -> tuple[Moments, Moments]:
    found = []
    for rows in (x, y):
        mean = rows.mean(axis=0)
        found.append(Moments(float(len(rows)), mean, (rows - mean).T @ (rows - mean)))
    return found[0], found[1]
