"""The verdict of one pair on held-out rows, for a pair in detail and for many alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.assess.nulls import smallest_p_value
from upto.assess.onto import Candidate
from upto.assess.sharing import AGREEING, UNRELATED, Sharing, find_shared
from upto.assess.verdict import LEVEL, strictest_group, word_for
from upto.core import Agreement, Group, Shared

if TYPE_CHECKING:
    from upto.assess.onto import Onto
    from upto.assess.options import Options
    from upto.assess.pair import Pair, PairMoments
    from upto.engines.base import Arrays

_EXACT = 1e-9
"""Error over that of predicting the mean below which a map is exact, in double precision."""


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
        return outcome("identical", Group.IDENTITY)
    n_paired = len(pair.source.paired)
    if smallest_p_value(n_paired, options.permutations, pair.split.memory) > LEVEL:
        return outcome("undecided")
    groups = forward.groups
    if not any(each.p_value is not None and each.p_value <= LEVEL for each in groups.values()):
        return outcome("chance")
    directions, share, found = [forward], 1.0, None
    if not options.one_way:
        found = find_shared(pair, moments.fitted)
        if found.first_is_image:
            directions = [backward]
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
        exact=_exact(directions, pair),
        shared=shared,
    )


def _shared(found: Sharing, forward: Onto, backward: Onto, up_to: Group) -> Shared:
    n_shared = found.n_shared
    if found.n_first == found.n_second:
        n_shared = max(n_shared, _agreeing(forward, backward, up_to, found.n_first))
    return Shared(
        n_shared=n_shared,
        n_first=found.n_first,
        n_second=found.n_second,
        variance_first=found.variance_first,
        variance_second=found.variance_second,
        rest_is_unrelated=found.rest < UNRELATED,
    )


def _agreeing(forward: Onto, backward: Onto, up_to: Group, n_first: int) -> int:
    """Count directions by the verdict's own maps: all of both runs, or none.

    Few rows can settle a map of a strict group before they settle canonical directions. What the
    maps leave along all principal directions together must be less than half a direction: one that
    is unrelated leaves a whole one, however it is spread over them.
    """
    for onto in (forward, backward):
        directions = onto.groups[up_to].directions
        if len(directions) < n_first or np.sum(1.0 - np.minimum(directions, 1.0)) >= AGREEING:
            return 0
    return n_first


def _exact(directions: list[Onto], pair: Pair) -> Group | None:
    """Return the strictest group that maps one run onto the other up to rounding."""
    rounding = max(_EXACT, *(16 * _precision(run.rows) for run in (pair.source, pair.target)))
    for group in Group:
        found = [each.groups.get(group) for each in directions]
        if all(
            each is not None and each.error <= rounding * onto.baseline
            for each, onto in zip(found, directions, strict=True)
        ):
            return group
    return None


def _precision(rows: Any) -> float:
    """Return the relative rounding of stored numbers."""
    dtype = np.dtype(getattr(rows, "dtype", np.float64))
    return float(np.finfo(dtype).eps) if dtype.kind == "f" else 0.0


def _are_equal(pair: Pair) -> bool:
    """Say whether two runs are equal in every value; a pass is made only if a sample is."""
    if not np.array_equal(pair.source.sample, pair.target.sample):
        return False
    unequal = pair.engine.reduce_blocks(_count_unequal, pair.source.rows, pair.target.rows)[0]
    return int(unequal) == 0


def _count_unequal(xp: Any, x: Any, y: Any) -> Arrays:
    return (xp.sum(xp.astype(x != y, xp.int64)),)
