"""What scores mean beside their nulls: p-values, chance, its limit, and intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.measures.resample import (
    LEVEL,
    ROUNDING,
    half_sample_interval,
    limit_of_chance,
    share_as_good,
    share_beyond,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core import Estimate
    from upto.core.arrays import Float
    from upto.measures.permutation import Scored


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyTest:
    """The adjusted p-value of a score, and the limit it is beyond where that is 5 % at most.

    There is no limit where there are too few pairings for 5 %.
    """

    p_value: float
    limit: float | None


def p_value(scored: Scored) -> float:
    """Return the share of pairings at least as close as the true one, which counts as one.

    Where all pairings are in the null this is exact, else it is an estimate that keeps the level.
    """
    return share_as_good(scored.value, scored.null, better=scored.measure.closer)


def adjusted_p_values(family: Sequence[Scored]) -> list[float]:
    """Return the p-values of `family_tests`."""
    return [test.p_value for test in family_tests(family)]


def family_tests(family: Sequence[Scored]) -> list[FamilyTest]:
    """Test every score of a family, having looked at all of them.

    All pairings, of which the true one is the first, are standardised score by score, and a score
    counts against the largest of the family in the same pairing: Westfall and Young's single step.
    The scores must come from one call, so that they share their pairings.
    """
    if not family:
        return []
    sign = np.array([each.measure.oriented(1.0) for each in family])
    values = [each.value for each in family]
    scores: Float = sign[:, None] * np.column_stack([values, [each.null for each in family]])
    # Pairings that differ by equal rows score the same up to the order of sums.
    slack = ROUNDING * np.maximum(1.0, np.abs(scores[:, 0]))
    mean, spread = scores.mean(axis=1), scores.std(axis=1)
    varies = spread > slack
    away = np.zeros_like(scores)
    away[varies] = (scores[varies] - mean[varies, None]) / spread[varies, None]
    largest = np.sort(away.max(axis=0))
    count = len(largest)
    # Where all pairings score the same, what is left are rounding errors.
    needed = away[:, 0] - np.divide(slack, spread, out=np.zeros_like(slack), where=varies)
    p_values = (count - np.searchsorted(largest, needed)) / count
    allowed = math.floor(LEVEL * count + ROUNDING)
    if allowed == 0:
        return [FamilyTest(p_value=float(p), limit=None) for p in p_values]
    beyond = mean + largest[-allowed - 1] * spread + slack
    limits = sign * np.where(varies, beyond, scores.max(axis=1))
    return [
        FamilyTest(p_value=float(p), limit=each.measure.within(float(limit)))
        for each, p, limit in zip(family, p_values, limits, strict=True)
    ]


def chance(scored: Scored) -> float | None:
    """Return the mean score of random pairings; None where there is only the true one."""
    return float(scored.null.mean()) if len(scored.null) else None


def chance_limit(scored: Scored) -> float | None:
    """Return the score that a pair must beat for a p-value of 5 %.

    None where there are too few pairings for that.
    """
    return limit_of_chance(scored.null, better=scored.measure.closer)


def calibrated(scored: Scored) -> float | None:
    """Return the share of the way from the limit of chance to the best value; 0 within chance.

    None where there is no limit or the best value is infinite.
    """
    limit = chance_limit(scored)
    best = scored.measure.high if scored.measure.closer == "higher" else scored.measure.low
    return None if limit is None else share_beyond(scored.value, limit, best)


def interval(scored: Scored) -> Estimate:
    """Return the value with its interval, where there are half-samples."""
    low, high = scored.measure.low, scored.measure.high
    return half_sample_interval(scored.value, scored.halves, low, high)
