"""Calibrate scores against their nulls: p-values, chance levels, their limits, and intervals."""

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
    from upto.core.array_types import Float
    from upto.measures.pair_scores import Scored


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyTest:
    """The adjusted p-value of a score, and the score that must be exceeded for a p-value of 5 %.

    `limit` is None where there are too few pairings to reach 5 %.
    """

    p_value: float
    limit: float | None


def p_value(scored: Scored) -> float:
    """Return the share of pairings at least as close as the true one, which is included.

    Exact if the null contains all pairings; otherwise an estimate that keeps the level.
    """
    return share_as_good(scored.value, scored.null, better=scored.measure.closer)


def adjusted_p_values(family: Sequence[Scored]) -> list[float]:
    """Return the p-values of `family_tests`."""
    return [test.p_value for test in family_tests(family)]


def family_tests(family: Sequence[Scored]) -> list[FamilyTest]:
    """Test every score of a family, adjusted for testing all of them.

    Scores are standardised over all pairings, including the true one, and each score is compared
    with the family's largest in the same pairing: the single-step procedure of Westfall and Young.
    The scores must come from one call, so that they share their pairings.
    """
    if not family:
        return []
    sign = np.array([each.measure.oriented(1.0) for each in family])
    values = [each.value for each in family]
    scores: Float = sign[:, None] * np.column_stack([values, [each.null for each in family]])
    # Pairings that only exchange equal rows score the same up to the order of summation.
    slack = ROUNDING * np.maximum(1.0, np.abs(scores[:, 0]))
    mean, spread = scores.mean(axis=1), scores.std(axis=1)
    varies = spread > slack
    away = np.zeros_like(scores)
    away[varies] = (scores[varies] - mean[varies, None]) / spread[varies, None]
    largest = np.sort(away.max(axis=0))
    count = len(largest)
    # Where all pairings score the same, the deviations are rounding errors.
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
    """Return the mean score of random pairings, or None if there are none."""
    return float(scored.null.mean()) if len(scored.null) else None


def chance_limit(scored: Scored) -> float | None:
    """Return the score that a pair must exceed for a p-value of 5 %.

    None if there are too few pairings.
    """
    return limit_of_chance(scored.null, better=scored.measure.closer)


def calibrated(scored: Scored) -> float | None:
    """Rescale a score so that 0 is the chance limit (or below) and 1 the best possible value.

    None if there is no limit or the best value is infinite.
    """
    limit = chance_limit(scored)
    best = scored.measure.high if scored.measure.closer == "higher" else scored.measure.low
    return None if limit is None else share_beyond(scored.value, limit, best)


def interval(scored: Scored) -> Estimate:
    """Return the value with its interval, if there are half-samples."""
    low, high = scored.measure.low, scored.measure.high
    return half_sample_interval(scored.value, scored.halves, low, high)
