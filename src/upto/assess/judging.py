"""The judgement of one ordered pair on held-out rows, for a pair in detail and for many alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.align import AffineMap
from upto.assess.intervals import r_squared
from upto.assess.nulls import smallest_p_value
from upto.assess.pair import (
    CONSTANT,
    Pair,
    PairMoments,
    bulk_r2,
    candidate_maps,
    held_out_p_values,
    iterate_errors,
    r2_per_direction,
)
from upto.assess.verdict import LEVEL, Candidate, agreement_of, strictest_group, tempered
from upto.core import Agreement, Group

if TYPE_CHECKING:
    from upto.assess.options import Options
    from upto.engines.base import Arrays

Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a pair was judged: every row of the table, the verdict, and its R² per direction."""

    candidates: dict[str, Candidate]
    up_to: Group | None
    agreement: Agreement
    even: float | None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Judgement:
    """An outcome with what it rests on: the fitted maps and the error of every judged row."""

    maps: dict[str, AffineMap]
    errors: dict[str, Float]
    outcome: Outcome


def judge(pair: Pair, moments: PairMoments, options: Options) -> Judgement:
    """Fit every map on the fitted rows and judge it on the held-out ones.

    Where nothing was held out, all rows are fitted and judged and nothing is decided, but for
    runs that are equal.
    """
    holding = pair.split.n_held_out > 0
    maps = candidate_maps(
        options.groups,
        moments.fitted if holding else moments.everything,
        (pair.source.unmixing, pair.target.unmixing),
    )
    errors = dict(iterate_errors(pair, maps, held_out=holding))
    part = pair.target.held_out if holding else pair.target.everything
    total = float(np.trace(part.scatter)) / pair.extent**2
    p_values: dict[str, float] = {}
    if holding:
        p_values = held_out_p_values(
            pair, maps, permutations=options.permutations, seed=options.seed
        )
    without_outermost = bulk_r2(pair, maps)
    candidates = {}
    for name, found in errors.items():
        r2 = r_squared(found, total)
        candidates[name] = Candidate(
            error=float(found.mean()),
            r2=r2,
            p_value=p_values.get(name),
            robust_r2=min(r2, without_outermost.get(name, r2)),
        )
    outcome = _outcome(pair, maps, candidates, options)
    return Judgement(maps=maps, errors=errors, outcome=outcome)


def _outcome(
    pair: Pair,
    maps: dict[str, AffineMap],
    candidates: dict[str, Candidate],
    options: Options,
) -> Outcome:
    def outcome(up_to: Group | None, agreement: Agreement, even: float | None = None) -> Outcome:
        return Outcome(candidates=candidates, up_to=up_to, agreement=agreement, even=even)

    if _are_equal(pair):
        return outcome(Group.IDENTITY, "identical")
    n_paired = len(pair.source.paired)
    if n_paired == 0 or smallest_p_value(n_paired, options.permutations) > LEVEL:
        return outcome(None, "undecided")
    groups = {group: candidates[group] for group in Group if str(group) in candidates}
    up_to = strictest_group(groups, candidates[CONSTANT].error, options.tolerance)
    agreement = agreement_of(groups, up_to)
    if up_to is None:
        return outcome(None, agreement)
    even = r2_per_direction(pair, maps[up_to])
    return outcome(up_to, tempered(agreement, candidates[up_to].r2, even), even)


def _are_equal(pair: Pair) -> bool:
    """Say whether two runs are equal in every value; a pass is made only if a sample is."""
    if not np.array_equal(pair.source.sample, pair.target.sample):
        return False
    unequal = pair.engine.reduce_blocks(_count_unequal, pair.source.rows, pair.target.rows)[0]
    return int(unequal) == 0


def _count_unequal(xp: Any, x: Any, y: Any) -> Arrays:
    return (xp.sum(xp.astype(x != y, xp.int64)),)
