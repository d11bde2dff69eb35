"""The share of each factor that codes tell beyond chance, and what may be unseen beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError

if TYPE_CHECKING:
    from upto.disentanglement.shared_information import Information

Float = NDArray[np.float64]
Mask = NDArray[np.bool_]

FALSE_ALARM = 1e-3
"""The share of tables of noise in which any code may be found to tell of any factor."""

UNSURE = 0.01
"""How often the deviation of chance may be larger than the one that is counted with."""


def beyond_chance(found: Information) -> Float:
    """Return the share of each factor that codes tell beyond chance, from 0 to 1.

    Information of permuted rows is chance. What is counted is above all of it and above a level
    that any code of a table of noise reaches in one table of a thousand: ratios of shares would
    else set a share of noise against other noise, and find it perfect. Of what is counted, only the
    mean of chance is taken off, so that few rows do not lessen large shares less than small ones.

    Of labels, the share is that of their entropy. Numbers on a line have no entropy: theirs is 1 -
    exp(-2 I), the R² of Gaussian variables with that information (Linfoot 1957), over the most that
    the estimator can find. Neither grows or falls with the number of rows.
    """
    shares: Float = np.where(
        _is_counted(found), np.clip(_shares(found, found.mutual), 0.0, 1.0), 0.0
    )
    return shares


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Unseen:
    """What codes may tell of factors without being told from chance, factors by codes.

    Parameters
    ----------
    shares
        Shares above the mean of chance, of either sign; zero where a share is counted.
    reach
        How much a share must be above the mean of chance to be counted.
    """

    shares: Float
    reach: Float

    def limits(self, axis: int) -> Float:
        """Return how much may be unseen at the most, in all factors or all codes."""
        reach = np.sqrt(np.square(self.reach).sum(axis=axis))
        most: Float = np.maximum(self.shares.sum(axis=axis) + reach, 0.0)
        return most

    def of(self, factors: Mask, codes: Mask) -> Unseen:
        """Return that of some factors and codes."""
        return Unseen(shares=self.shares[factors][:, codes], reach=self.reach[factors][:, codes])


def unseen_shares(found: Information) -> Unseen:
    """Return the shares that `beyond_chance` does not count.

    Few rows make the level of chance high: codes that are turned by a third of a right angle then
    look as pure as good ones. What is unseen says how sure a ratio of shares is.
    """
    hidden = ~_is_counted(found)
    level, shares = _shares(found, _level(found)), _shares(found, found.mutual)
    return Unseen(
        shares=np.where(hidden, shares, 0.0), reach=np.where(hidden, np.maximum(level, 0.0), 0.0)
    )


def _shares(found: Information, mutual: Float) -> Float:
    """Return information above the mean of chance, of the most that could be; of either sign."""
    mean = np.maximum(found.chance.mean(axis=0), 0.0)
    told, room = mutual - mean, found.entropies[:, None] - mean
    numbers = np.array(found.continuous, dtype=bool)
    told[numbers], room[numbers] = -np.expm1(-2.0 * told[numbers]), -np.expm1(-2.0 * room[numbers])
    shares: Float = np.divide(told, room, out=np.zeros_like(room), where=room > 0.0)
    return shares


def _level(found: Information) -> Float:
    """Return the information above which a share is counted."""
    level = _chance_level(found)
    mean = np.maximum(found.chance.mean(axis=0), 0.0)
    above: Float = np.maximum(np.maximum(level, found.chance.max(axis=0)), mean)
    return above


def _is_counted(found: Information) -> Mask:
    counted: Mask = (found.mutual > _level(found)) & (_shares(found, found.mutual) > 0.0)
    return counted


def _chance_level(found: Information) -> Float:
    """Return the information that noise hardly reaches, from few permutations.

    Of noise, information times rows is of a gamma law: half a chi-squared one, with scale one,
    where rows are counted. By neighbours, its tail are rare labels that lie together by chance, and
    two rows of a label do so with scale two. The deviation then tells the shape, and many rows
    bring the law close to a normal one.
    """
    # It takes longer to import than most estimates to make.
    from scipy.special import gammainccinv, gammaincinv

    count = len(found.chance)
    if count < 2:
        message = (
            f"{count} permutations of rows do not tell what chance gives: ask for two or more."
        )
        raise InputError(message)
    varying = found.ranges > 0.0
    deviations = found.chance.std(axis=0, ddof=1)
    # Few permutations of one code may lie close together by chance; those of all codes do not.
    n_varying = max(int(varying.sum()), 1)
    pooled = np.sqrt(np.square(deviations[:, varying]).sum(axis=1, keepdims=True) / n_varying)
    freedom = (count - 1) * n_varying / 2
    surely = np.maximum(deviations, pooled) * np.sqrt(freedom / gammaincinv(freedom, UNSURE))
    is_counted = found.discrete_codes or found.estimator.kind != "neighbours"
    scales = (1.0 if is_counted else 2.0) / np.maximum(found.labelled, 1)[:, None]
    # A table of two values and two labels has one degree of freedom, and none has less.
    shapes = np.maximum(np.square(surely / scales), 0.5)
    alarm = FALSE_ALARM / max(int(found.told.sum()) * n_varying, 1)
    level: Float = found.chance.mean(axis=0) + scales * (gammainccinv(shapes, alarm) - shapes)
    return level
