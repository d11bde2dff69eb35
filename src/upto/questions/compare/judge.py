"""Decide the agreement of a pair of runs on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Agreement, Group, Shared
from upto.evidence.pairings import smallest_p_value
from upto.questions.compare.pair import CONSTANT, iterate_errors
from upto.questions.compare.prediction import Candidate
from upto.questions.compare.shared_directions import AGREEING, CLOSELY
from upto.questions.compare.verdict import LEVEL, ROUNDING, strictest_group, word_for

if TYPE_CHECKING:
    from upto.core.array_types import Float
    from upto.engines.base import Arrays
    from upto.questions.compare.pair import Pair
    from upto.questions.compare.pair_options import Options
    from upto.questions.compare.prediction import Onto
    from upto.questions.compare.relation import Relation


MANY = 199
"""Permutations for which only the number of rows limits the p-value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Agreement of a pair of runs.

    `even` is R² averaged over directions, in the direction of mapping where it is lower; `exact` is
    the strictest group with an element whose errors are below `ROUNDING`, or that of the runs.
    """

    candidates: dict[str, Candidate]
    up_to: Group | None
    agreement: Agreement
    even: float | None = None
    exact: Group | None = None
    shared: Shared | None = None

    def flipped(self, backward: Onto) -> Outcome:
        """Return the agreement seen from the second run, with the scores of the reverse maps."""
        shared = None if self.shared is None else self.shared.flipped()
        return replace(self, candidates=backward.candidates, shared=shared)

    def alone(self) -> Outcome:
        """Return the agreement without the rows it came from."""
        candidates = {name: each.alone() for name, each in self.candidates.items()}
        return replace(self, candidates=candidates)


def judge(pair: Pair, relation: Relation, options: Options) -> Outcome:
    """Decide from the maps in both directions; undecided if no rows were held out."""
    forward, backward = relation.forward, relation.backward

    def outcome(
        agreement: Agreement, up_to: Group | None = None, shared: Shared | None = None
    ) -> Outcome:
        return Outcome(
            candidates=forward.candidates, up_to=up_to, agreement=agreement, shared=shared
        )

    if _are_equal(pair):
        return replace(outcome("identical", Group.IDENTITY), exact=Group.IDENTITY)
    least, enough = (
        smallest_p_value(
            len(pair.source.paired),
            permutations,
            memory=pair.split.memory,
            strata=pair.paired_strata,
        )
        for permutations in (options.permutations, max(options.permutations, MANY))
    )
    if least > LEVEL:
        return outcome("undecided")
    if not relation.is_beyond(LEVEL):
        # Rows that could hardly have reached the level are no evidence of chance either.
        return outcome("chance" if enough <= LEVEL / 5 else "undecided")
    directions, turned, share, found = [forward], pair, 1.0, None
    if not options.one_way and relation.canonical is not None:
        found = relation.canonical.shared
        if found.n_shared == found.n_first < found.n_second:
            # The first run is an image of the second: it spans some of its directions.
            directions, turned = [backward], pair.flipped()
        elif not found.n_shared == found.n_second < found.n_first:
            directions = [forward, backward]
    up_to = strictest_group(directions, options.tolerance)
    if up_to is None:
        return outcome("weak", shared=found)
    chosen = [each.groups[up_to] for each in directions]
    shared = None
    if found is not None:
        shared = _shared(pair, found, forward, backward, up_to)
        share = shared.share
        if len(directions) == 1:
            # An image must share all its directions, so nine in ten are not enough.
            share = float(shared.n_closely == min(shared.n_first, shared.n_second))
    agreement = word_for(chosen, share=share)
    if found is not None and len(directions) == 1 and agreement in ("same", "close"):
        agreement = "image"
    evens = [each.even for each in chosen if each.even is not None]
    return Outcome(
        candidates=forward.candidates,
        up_to=up_to,
        agreement=agreement,
        even=min(evens, default=None),
        exact=_exact(directions, turned, shared),
        shared=shared,
    )


def _shared(pair: Pair, shared: Shared, forward: Onto, backward: Onto, up_to: Group) -> Shared:
    """Count shared directions by canonical pairs, or by the verdict's maps if these find more."""
    if shared.n_first != shared.n_second:
        return shared
    along = [onto.groups[up_to].directions for onto in (forward, backward)]
    if up_to is Group.MONOTONE_PERMUTATION:
        along = [
            _along_coordinates(target.paired, onto.images.of(up_to))
            for target, onto in ((pair.target, forward), (pair.source, backward))
        ]
    if min(len(each) for each in along) < shared.n_first:
        return shared
    n_shared, n_closely = (
        max(least, _agreeing(along, enough, up_to))
        for least, enough in ((shared.n_shared, AGREEING), (shared.n_closely, CLOSELY))
    )
    if n_shared == shared.n_first > shared.n_shared:
        shared = replace(shared, variance_first=1.0, variance_second=1.0)
    return replace(shared, n_shared=n_shared, n_closely=min(n_closely, n_shared))


def _agreeing(along: list[Float], enough: float, up_to: Group) -> int:
    """Count the directions whose R² is large enough under the maps of both directions.

    A map of a strict group needs fewer rows than canonical directions do. Its unexplained variance
    summed over all principal directions must stay below the limit for one direction, because the
    deficit of one spreads over several. Monotone functions act on coordinates, which are counted.
    """
    if up_to is Group.MONOTONE_PERMUTATION:
        return min(int(np.count_nonzero(each >= enough)) for each in along)
    left = max(float(np.sum(1.0 - np.minimum(each, 1.0))) for each in along)
    return len(along[0]) if left < 1.0 - enough else 0


def _along_coordinates(target: Float, predicted: Float) -> Float:
    """Return R² of every coordinate that varies."""
    total = np.var(target, axis=0)
    left = np.mean((target - predicted) ** 2, axis=0)
    found: Float = 1.0 - left[total > 0] / total[total > 0]
    return found


def _exact(directions: list[Onto], pair: Pair, shared: Shared | None) -> Group | None:
    """Return the strictest group that maps all rows of one run onto the other up to rounding."""
    if len(directions) == 2 and shared is not None and not shared.is_bijective:
        return None
    rounding = max(ROUNDING, *(16 * run.precision for run in (pair.source, pair.target)))
    for group in Group:
        found = [each.groups.get(group) for each in directions]
        if all(
            each is not None and each.error <= rounding * onto.baseline
            for each, onto in zip(found, directions, strict=True)
        ) and _is_exact_on_all_rows(directions[0], pair, group, rounding):
            return group
    return None


def _is_exact_on_all_rows(onto: Onto, pair: Pair, group: Group, rounding: float) -> bool:
    """Return whether a map is exact on the fitted rows as well."""
    maps = {name: onto.maps[name] for name in (group, CONSTANT)}
    errors = dict(iterate_errors(pair, maps, held_out=False))
    own, constant = errors[group], errors[CONSTANT]
    return bool(own.mean() <= rounding * constant.mean() and own.max() <= rounding * constant.max())


def _are_equal(pair: Pair) -> bool:
    """Return whether two runs are equal in every value; all rows are read only if a sample is."""
    source, target = pair.source.sample, pair.target.sample
    # Most runs differ in their first row.
    if not (np.array_equal(source[:1], target[:1]) and np.array_equal(source, target)):
        return False
    unequal = pair.engine.reduce_blocks(_count_unequal, pair.source.rows, pair.target.rows)[0]
    return int(unequal) == 0


def _count_unequal(xp: Any, x: Any, y: Any) -> Arrays:
    return (xp.sum(xp.astype(x != y, xp.int64)),)
