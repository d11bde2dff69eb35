"""The chance level: everything fitted again on shuffled rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from upto.align import AffineMap, MonotoneFit, row_errors
from upto.assess.intervals import average, summarise
from upto.assess.nulls import shuffles
from upto.assess.pair import CONSTANT, MONOTONE_ROWS, candidate_maps
from upto.core import Errors, Group
from upto.engines import CrossMoments, Moments

if TYPE_CHECKING:
    from collections.abc import Callable

    from upto.assess.options import Options
    from upto.assess.pair import Map, Pair

Float = NDArray[np.float64]

CHANCE_ROWS = 5000


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
    monotone = Group.MONOTONE_PERMUTATION in options.groups
    for order in shuffles(pair.split, index, options.refits, options.seed):
        shuffled = y[order]
        for judged, (own, other), unmixings, kept in fits:
            fitted = everyone if judged is everyone else ~judged
            # Shuffling leaves the moments of each run as they are: only the products change.
            cross = (x[fitted] - own.mean).T @ (shuffled[fitted] - other.mean)
            moved = None
            if monotone:
                some = np.flatnonzero(fitted)[:MONOTONE_ROWS]
                moved = MonotoneFit(x[some], shuffled[some]).fit()
            maps = candidate_maps(options.groups, CrossMoments(own, other, cross), unmixings, moved)
            maps.pop(CONSTANT)
            found = _errors(pair, maps, x[judged], shuffled[judged])
            centred = y[judged] - y[judged].mean(axis=0)
            total = float(np.vdot(centred, centred)) / pair.extent**2
            for name, errors in found.items():
                kept.setdefault(name, []).append(summarise(errors, total))
                if kept is outside:
                    pooled.setdefault(name, []).append(errors)
        advance(1)
    return Chance(
        in_sample={name: average(each) for name, each in inside.items()},
        held_out={name: average(each) for name, each in outside.items()},
        errors={name: np.concatenate(each) for name, each in pooled.items()},
    )


def _errors(pair: Pair, maps: dict[str, Map], x: Float, y: Float) -> dict[str, Float]:
    affine = {name: each for name, each in maps.items() if isinstance(each, AffineMap)}
    found = row_errors(pair.engine, x, y, list(affine.values())) / pair.extent
    errors = dict(zip(affine, found.T, strict=True))
    for name, each in maps.items():
        if name not in affine:
            errors[name] = np.linalg.norm(y - each.predict(x), axis=1) / pair.extent
    return errors


def _marginals(x: Float, y: Float) -> tuple[Moments, Moments]:
    found = []
    for rows in (x, y):
        mean = rows.mean(axis=0)
        found.append(Moments(float(len(rows)), mean, (rows - mean).T @ (rows - mean)))
    return found[0], found[1]
