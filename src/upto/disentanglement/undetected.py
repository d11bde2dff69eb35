"""Bounds of scores of shares, given the information that chance may hide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from upto.core.array_types import Float
from upto.disentanglement.shares import (
    Mask,
    beyond_chance,
    chance_mean,
    is_counted,
    least_counted,
    shares_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.disentanglement.shared_information import Information

FEW = 3.0
"""Multiple of the chance level above which half the rows estimate a share as well as all do."""
SURE = 2.0
"""Standard deviations of sampling error included in the bounds."""
LITTLE = 0.15
"""Share of a factor that is negligible if hidden in chance."""

Ends: TypeAlias = "tuple[list[float], list[float]]"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Unseen:
    """Bounds of the shares of information, factors × codes.

    Where half of the rows estimate a share as well as all do, half-samples show its uncertainty and
    all three arrays are equal.

    Parameters
    ----------
    shares
        The counted shares.
    lowest, highest
        Lower and upper bounds of the shares.
    leaning
        For uncounted shares, the information above the mean of chance, of either sign; else zero.
    """

    shares: Float
    lowest: Float
    highest: Float
    leaning: Float

    def of(self, factors: Mask, codes: Mask) -> Unseen:
        """Return the bounds of some factors and codes."""
        return Unseen(
            shares=self.shares[factors][:, codes],
            lowest=self.lowest[factors][:, codes],
            highest=self.highest[factors][:, codes],
            leaning=self.leaning[factors][:, codes],
        )

    @property
    def turned(self) -> Unseen:
        """The transpose, with codes as rows."""
        return Unseen(
            shares=self.shares.T,
            lowest=self.lowest.T,
            highest=self.highest.T,
            leaning=self.leaning.T,
        )

    @property
    def hides_something(self) -> bool:
        """Whether a code may have more than negligible information hidden in chance."""
        return bool(self.highest.max(initial=0.0) > LITTLE)

    def gaps(self) -> Ends:
        """Return the smallest and largest gap of each row between its largest and second value."""
        least = gaps_of_each(self.lowest, self.highest).max(axis=1)
        most = gaps_of_each(self.highest, self.lowest).max(axis=1)
        return least.tolist(), most.tolist()

    def ratios(self) -> Ends:
        """Return the smallest and largest ratio of the first part of each row to the row sum.

        What several parts may hide is added like independent errors.
        """
        least, most = [], []
        for row in range(len(self.shares)):
            first = int(np.argmax(self.shares[row]))
            others = np.arange(self.shares.shape[1]) != first
            counted, low, high = self.shares[row], self.lowest[row], self.highest[row]
            leaning = self.leaning[row]
            reach = np.sqrt(np.square(high - counted - leaning)[others].sum())
            more = max(float(leaning[others].sum() + reach), 0.0)
            least.append(_ratio(low[first], float(counted[others].sum()) + more))
            ends = zip(high, low, strict=True)
            most.append(max(_ratio(end, low.sum() - own) for end, own in ends))
        return least, most


def unseen_shares(found: Information) -> Unseen:
    """Return bounds of the shares that `beyond_chance` counts.

    With few rows the chance level is high: codes rotated by 30° then look as pure as good ones, and
    good ones look uninformative. Estimates by neighbours are biased downwards by up to about that
    level if rows are few. Estimated information also varies: for Gaussian variables, with a
    variance of their squared correlation over the number of rows.
    """
    mean = chance_mean(found)
    level, told, counted = least_counted(found) - mean, found.mutual - mean, is_counted(found)
    shares = beyond_chance(found)
    # Information within the level may be underestimated by all of it, far above it by nothing.
    times = np.divide(told, level, out=np.full_like(told, FEW), where=level > 0.0)
    missing = level * np.clip((FEW - times) / (FEW - 1.0), 0.0, 1.0)
    reached = np.maximum(told + missing, 0.0)
    rows = np.maximum(found.labelled, 1)[:, None]
    spread = SURE * np.sqrt(-np.expm1(-2.0 * reached) / rows)
    lowest = np.clip(shares_of(found, mean + told - missing - spread), 0.0, 1.0)
    highest = np.clip(shares_of(found, mean + reached + spread), 0.0, 1.0)
    is_sure = counted & (times >= FEW)
    # With few rows the estimator does not find all information even in the factor itself.
    room, found_of_all = found.entropies[:, None] - mean, found.perfect[:, None] - mean
    short = np.divide(room, found_of_all, out=np.ones_like(room), where=found_of_all > 0.0)
    surely = np.clip(shares_of(found, mean + told * np.maximum(short, 1.0)), 0.0, 1.0)
    # A constant code hides nothing, and neither does a factor that cannot be scored.
    is_silent = (found.ranges == 0.0) | ~found.told[:, None]
    highest = np.maximum(np.where(is_sure, surely, highest), shares)
    return Unseen(
        shares=shares,
        lowest=np.where(is_sure, shares, np.where(counted, np.minimum(lowest, shares), 0.0)),
        highest=np.where(is_silent, 0.0, highest),
        leaning=np.where(counted | is_silent, 0.0, shares_of(found, found.mutual)),
    )


def gaps_of_each(leaders: Float, others: Float) -> Float:
    """Return how far each entry of a row exceeds all others; 0 if it does not."""
    found = np.zeros_like(leaders)
    for place in range(leaders.shape[1]):
        rest = np.delete(others, place, axis=1).max(axis=1, initial=0.0)
        found[:, place] = np.maximum(leaders[:, place] - rest, 0.0)
    return found


def mean_of(ends: Sequence[float], where: Mask) -> float | None:
    """Return the mean of the selected bounds; None if there are none."""
    kept = [end for end, is_kept in zip(ends, where, strict=True) if is_kept]
    return float(np.mean(kept)) if kept else None


def _ratio(part: float, rest: float) -> float:
    return float(part / (part + rest)) if part > 0.0 else 0.0
