"""The verdict of one pair on held-out rows, for a pair in detail and for many alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.assess.nulls import smallest_p_value
from upto.assess.onto import Candidate
from upto.assess.pair import CONSTANT, iterate_errors
from upto.assess.sharing import AGREEING, UNRELATED, Sharing, find_shared
from upto.assess.verdict import LEVEL, ROUNDING, strictest_group, word_for
from upto.core import Agreement, Group, Shared

if TYPE_CHECKING:
    from upto.assess.onto import Onto
    from upto.assess.options import Options
    from upto.assess.pair import Pair, PairMoments
    from upto.engines.base import Arrays


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a pair was judged.

    `even` is R² of an average direction, in the direction where it is less; `exact` is the
    strictest group with an element that maps one run onto the other without an error.
    """

    candidates: dict[str, Candidate]
    up_to: Group | None
    agreement: Agreement
    even: float | None = None
    exact: Group | None = None
    shared: Shared | None = None


def judge(
    pair: Pair, moments: PairMoments, forward: Onto, backward: Onto, options: Options
) -> Outcome:
    """Decide from the maps of both directions; where nothing was held out, nothing is decided."""

    def outcome(agreement: Agreement, up_to: Group | None = None) -> Outcome:
        return Outcome(candidates=forward.candidates, up_to=up_to, agreement=agreement)

    if _are_equal(pair):
        return replace(outcome("identical", Group.IDENTITY), exact=Group.IDENTITY)
    n_paired = len(pair.source.paired)
    moved = pair.split.memory is not None
    if smallest_p_value(n_paired, options.permutations, moved=moved) > LEVEL:
        return outcome("undecided")
    groups = forward.groups
    if not any(each.p_value is not None and each.p_value <= LEVEL for each in groups.values()):
        return outcome("chance")
    directions, turned, share, found = [forward], pair, 1.0, None
    if not options.one_way:
        found = find_shared(pair, moments.fitted)
        if found.first_is_image:
            directions, turned = [backward], pair.flipped()
        elif not found.second_is_image:
            directions = [forward, backward]
    up_to = strictest_group(directions, options.tolerance)
    if up_to is None:
        return outcome("weak")
    chosen = [each.groups[up_to] for each in directions]
    shared = None
    if found is not None:
        shared = _shared(found, forward, backward, up_to)
        share = shared.share if len(directions) == 2 else 1.0
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


def _shared(found: Sharing, forward: Onto, backward: Onto, up_to: Group) -> Shared:
    n_shared, first, second = found.n_shared, found.variance_first, found.variance_second
    if found.n_first == found.n_second > n_shared and _agree(forward, backward, up_to, found):
        n_shared, first, second = found.n_first, 1.0, 1.0
    return Shared(
        n_shared=n_shared,
        n_first=found.n_first,
        n_second=found.n_second,
        variance_first=first,
        variance_second=second,
        rest_is_unrelated=found.rest < UNRELATED,
    )


def _agree(forward: Onto, backward: Onto, up_to: Group, found: Sharing) -> bool:
    """Say whether the verdict's own maps show that runs agree on every direction.

    Few rows can settle a map of a strict group before they settle canonical directions. What the
    maps leave along all principal directions together must be less than half a direction: one that
    is unrelated leaves a whole one, however it is spread over them.
    """
    for onto in (forward, backward):
        directions = onto.groups[up_to].directions
        left = np.sum(1.0 - np.minimum(directions, 1.0))
        if len(directions) < found.n_first or left >= AGREEING:
            return False
    return True


def _exact(directions: list[Onto], pair: Pair, shared: Shared | None) -> Group | None:
    """Return the strictest group that maps one run onto the other up to rounding, on all rows."""
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
    """Say whether also the rows a map was fitted to have no error."""
    maps = {name: onto.maps[name] for name in (group, CONSTANT)}
    errors = dict(iterate_errors(pair, maps, held_out=False))
    own, constant = errors[group], errors[CONSTANT]
    return bool(own.mean() <= rounding * constant.mean() and own.max() <= rounding * constant.max())


def _are_equal(pair: Pair) -> bool:
    """Say whether two runs are equal in every value; a pass is made only if a sample is."""
    if not np.array_equal(pair.source.sample, pair.target.sample):
        return False
    unequal = pair.engine.reduce_blocks(_count_unequal, pair.source.rows, pair.target.rows)[0]
    return int(unequal) == 0


def _count_unequal(xp: Any, x: Any, y: Any) -> Arrays:
    return (xp.sum(xp.astype(x != y, xp.int64)),)
