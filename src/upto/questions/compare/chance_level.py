"""Chance level of every map, from refits on shuffled rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.alignment import AffineMap, row_errors
from upto.core import Errors, Group
from upto.core.array_types import Float
from upto.engines import CrossMoments, Moments
from upto.evidence.intervals import average, summarise
from upto.evidence.pairings import shuffles
from upto.questions.compare.pair import candidate_maps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from upto.questions.compare.pair import Pair
    from upto.questions.compare.pair_options import Options


CHANCE_ROWS = 5000
MONOTONE_JUDGED, MONOTONE_REFITS = 500, 2
"""Rows and maximum number of shuffles for the chance level of monotone maps."""


def chance_rows(width: int) -> int:
    """Return the number of rows for the chance level: at least ten per dimension."""
    return max(CHANCE_ROWS, 10 * width)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Chance:
    """Errors on shuffled rows, by map."""

    in_sample: dict[str, Errors]
    held_out: dict[str, Errors]
    errors: dict[str, Float]


def chance_level(pair: Pair, options: Options, advance: Callable[[int], None]) -> Chance:
    """Refit every map on rows shuffled within the fitted and within the held-out part."""
    if options.refits == 0:
        return Chance(in_sample={}, held_out={}, errors={})
    x, y = pair.source.sample, pair.target.sample
    index = pair.split.first_rows(len(x))
    held_out = pair.split.parts[index] == 1
    everyone = np.ones(len(index), dtype=bool)
    inside: dict[str, list[Errors]] = {}
    outside: dict[str, list[Errors]] = {}
    pooled: dict[str, list[Float]] = {}
    fits = [_Refit(pair, everyone, everyone, inside)]
    if held_out.any():
        fits.append(_Refit(pair, ~held_out, held_out, outside))
    orders = shuffles(pair.split, index, options.refits, options.seed)
    for number, order in enumerate(orders):
        shuffled = y[order]
        for refit in fits:
            errors = refit.errors(pair, shuffled, options.groups)
            if Group.MONOTONE_PERMUTATION in options.groups and number < MONOTONE_REFITS:
                errors[Group.MONOTONE_PERMUTATION] = _monotone_errors(
                    pair, x[refit.judged], shuffled[refit.judged], order,
                    held_out=refit.kept is outside,
                )  # fmt: skip
            for name, each in errors.items():
                total = refit.total * len(each) / refit.n_judged
                refit.kept.setdefault(name, []).append(summarise(each, total))
                if refit.kept is outside:
                    pooled.setdefault(name, []).append(each)
        advance(1)
    return Chance(
        in_sample={name: average(each) for name, each in inside.items()},
        held_out={name: average(each) for name, each in outside.items()},
        errors={name: np.concatenate(each) for name, each in pooled.items()},
    )


class _Refit:
    """Quantities that shuffling does not change: the moments of each run and the total variance."""

    def __init__(
        self,
        pair: Pair,
        fitted: NDArray[np.bool_],
        judged: NDArray[np.bool_],
        kept: dict[str, list[Errors]],
    ) -> None:
        x, y = pair.source.sample, pair.target.sample
        self.fitted, self.judged, self.kept = fitted, judged, kept
        self.own, self.other = _marginals(x[fitted], y[fitted])
        self.unmixings = (pair.source.unmixing, pair.target.unmixing)
        if judged is fitted:
            self.unmixings = (pair.source.unmixing_in_sample, pair.target.unmixing_in_sample)
        self.source = x[fitted] - self.own.mean
        self.rows = x[judged]
        self.n_judged = len(self.rows)
        centred = y[judged] - y[judged].mean(axis=0)
        self.total = float(np.vdot(centred, centred)) / pair.extent**2

    def errors(self, pair: Pair, shuffled: Float, groups: Sequence[Group]) -> dict[str, Float]:
        """Refit every affine map on shuffled rows and return its errors over the diameter."""
        cross = self.source.T @ (shuffled[self.fitted] - self.other.mean)
        moments = CrossMoments(self.own, self.other, cross)
        maps = candidate_maps(groups, moments, self.unmixings)
        affine = [each for each in maps.values() if isinstance(each, AffineMap)]
        found = row_errors(pair.engine, self.rows, shuffled[self.judged], affine) / pair.extent
        return dict(zip(maps, found.T, strict=True))


def _monotone_errors(
    pair: Pair, x: Float, y: Float, order: NDArray[np.intp], *, held_out: bool
) -> Float:
    """Return the errors of a monotone map on a subset of shuffled rows."""
    fit = pair.monotone_fit(fitted=held_out)
    own = np.argsort(order[: fit.n_rows], kind="stable")
    if not held_out:
        # In sample, the map is evaluated on the pairs it was fitted to.
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
