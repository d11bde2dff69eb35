"""What scores mean beside their nulls: p-values, chance, its limit, and intervals.

Intervals come from half-samples drawn without replacement and not from the bootstrap: a bootstrap
sample holds rows twice, and a row at distance zero to its copy is its own nearest neighbour, gives
kernels a second diagonal and lets what is fitted see what it is judged on. For a mean over n rows,
half-samples vary about the whole as much as the whole varies about the truth, (1 - ½) / (n/2) = 1/n
times the variance of a row, and smooth measures follow it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.core import Estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from upto.assess.similarities.scoring import Scored

    Float = NDArray[np.float64]

LEVEL = 0.05
"""Of the tests; the limit of chance is the value that just fails to reach it."""
_NORMAL_QUANTILE = 1.959963984540054
_ROUNDING = 1e-9


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
    reference = _oriented(scored)
    return float(np.mean(reference >= reference[0] - _slack(scored)))


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
    slack = _ROUNDING * np.maximum(1.0, np.abs(scores[:, 0]))
    mean, spread = scores.mean(axis=1), scores.std(axis=1)
    varies = spread > slack
    away = np.zeros_like(scores)
    away[varies] = (scores[varies] - mean[varies, None]) / spread[varies, None]
    largest = np.sort(away.max(axis=0))
    count = len(largest)
    # Where all pairings score the same, what is left are rounding errors.
    needed = away[:, 0] - np.divide(slack, spread, out=np.zeros_like(slack), where=varies)
    p_values = (count - np.searchsorted(largest, needed)) / count
    allowed = math.floor(LEVEL * count + _ROUNDING)
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
    allowed = math.floor(LEVEL * (len(scored.null) + 1) + _ROUNDING)
    if allowed == 0:
        return None
    ordered = np.sort(scored.null)
    return float(ordered[-allowed] if scored.measure.closer == "higher" else ordered[allowed - 1])


def calibrated(scored: Scored) -> float | None:
    """Return the share of the way from the limit of chance to the best value; 0 within chance.

    None where there is no limit or the best value is infinite.
    """
    limit = chance_limit(scored)
    best = scored.measure.high if scored.measure.closer == "higher" else scored.measure.low
    if limit is None or not math.isfinite(best):
        return None
    if limit == best:
        return 0.0
    return min(max((scored.value - limit) / (best - limit), 0.0), 1.0)


def interval(scored: Scored) -> Estimate:
    """Return the value with its interval, where there are half-samples."""
    if len(scored.halves) < 2:
        return Estimate(value=scored.value)
    half = _NORMAL_QUANTILE * float(scored.halves.std(ddof=1))
    within = scored.measure.within
    return Estimate(
        value=scored.value, low=within(scored.value - half), high=within(scored.value + half)
    )


def _oriented(scored: Scored) -> Float:
    """Return the scores of all pairings, larger for closer runs, the true one first."""
    sign = scored.measure.oriented(1.0)
    return sign * np.concatenate([[scored.value], scored.null])


def _slack(scored: Scored) -> float:
    # Pairings that differ by equal rows score the same up to the order of sums.
    return _ROUNDING * max(1.0, abs(scored.value))
