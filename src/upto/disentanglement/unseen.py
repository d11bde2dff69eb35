"""How far scores of shares can be off: what codes may tell without being told from chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from upto.core.arrays import Float
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
"""In units of the level of chance, above which half of the rows show a share about as all do."""
SURE = 2.0
"""Standard deviations by which information of so many rows may be off."""
LITTLE = 0.15
"""A share of a factor so small that it does not matter if it is hidden in chance."""

Ends: TypeAlias = "tuple[list[float], list[float]]"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Unseen:
    """Between which shares codes may tell of factors, factors by codes.

    Where half of the rows tell a share as well as all do, half-samples show how sure it is, and
    all three are the same.

    Parameters
    ----------
    shares
        What is counted.
    lowest, highest
        What there is at the least, and at the most.
    leaning
        Of what is not counted, the share above the mean of chance, of either sign; zero elsewhere.
    """

    shares: Float
    lowest: Float
    highest: Float
    leaning: Float

    def of(self, factors: Mask, codes: Mask) -> Unseen:
        """Return that of some factors and codes."""
        return Unseen(
            shares=self.shares[factors][:, codes],
            lowest=self.lowest[factors][:, codes],
            highest=self.highest[factors][:, codes],
            leaning=self.leaning[factors][:, codes],
        )

    @property
    def turned(self) -> Unseen:
        """The same with codes for rows."""
        return Unseen(
            shares=self.shares.T,
            lowest=self.lowest.T,
            highest=self.highest.T,
            leaning=self.leaning.T,
        )

    @property
    def hides_something(self) -> bool:
        """Whether a code may tell more than a little without being told from chance."""
        return bool(self.highest.max(initial=0.0) > LITTLE)

    def gaps(self) -> Ends:
        """Return the least and the largest gap of each row between its largest and its second."""
        least = gaps_of_each(self.lowest, self.highest).max(axis=1)
        most = gaps_of_each(self.highest, self.lowest).max(axis=1)
        return least.tolist(), most.tolist()

    def ratios(self) -> Ends:
        """Return the least and the largest ratio of the first part of each row to all of it.

        What several parts may hide is added as independent errors are.
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
    """Return what codes may tell beside the shares that `beyond_chance` counts.

    Few rows make the level of chance high: codes that are turned by a third of a right angle then
    look as pure as good ones, and good ones look as if they told nothing. Estimates by neighbours
    fall short by up to about that level where rows are few. Information that is there also varies:
    that of Gaussian variables with a variance of their squared correlation over the rows.
    """
    mean = chance_mean(found)
    level, told, counted = least_counted(found) - mean, found.mutual - mean, is_counted(found)
    shares = beyond_chance(found)
    # All of the level may be missing from what is within it, and nothing from what is far above.
    times = np.divide(told, level, out=np.full_like(told, FEW), where=level > 0.0)
    missing = level * np.clip((FEW - times) / (FEW - 1.0), 0.0, 1.0)
    reached = np.maximum(told + missing, 0.0)
    rows = np.maximum(found.labelled, 1)[:, None]
    spread = SURE * np.sqrt(-np.expm1(-2.0 * reached) / rows)
    lowest = np.clip(shares_of(found, mean + told - missing - spread), 0.0, 1.0)
    highest = np.clip(shares_of(found, mean + reached + spread), 0.0, 1.0)
    is_sure = counted & (times >= FEW)
    # Of few rows, the estimator does not find all even in the factor itself.
    room, found_of_all = found.entropies[:, None] - mean, found.perfect[:, None] - mean
    short = np.divide(room, found_of_all, out=np.ones_like(room), where=found_of_all > 0.0)
    surely = np.clip(shares_of(found, mean + told * np.maximum(short, 1.0)), 0.0, 1.0)
    # A constant code hides nothing, and neither does a factor of which nothing can be said.
    is_silent = (found.ranges == 0.0) | ~found.told[:, None]
    highest = np.maximum(np.where(is_sure, surely, highest), shares)
    return Unseen(
        shares=shares,
        lowest=np.where(is_sure, shares, np.where(counted, np.minimum(lowest, shares), 0.0)),
        highest=np.where(is_silent, 0.0, highest),
        leaning=np.where(counted | is_silent, 0.0, shares_of(found, found.mutual)),
    )


def gaps_of_each(leaders: Float, others: Float) -> Float:
    """Return by how much each part of a row outdoes all others of it; 0 where it does not."""
    found = np.zeros_like(leaders)
    for place in range(leaders.shape[1]):
        rest = np.delete(others, place, axis=1).max(axis=1, initial=0.0)
        found[:, place] = np.maximum(leaders[:, place] - rest, 0.0)
    return found


def mean_of(ends: Sequence[float], where: Mask) -> float | None:
    """Return the mean of some ends of parts; None where there are none."""
    kept = [end for end, is_kept in zip(ends, where, strict=True) if is_kept]
    return float(np.mean(kept)) if kept else None


def _ratio(part: float, rest: float) -> float:
    return float(part / (part + rest)) if part > 0.0 else 0.0
