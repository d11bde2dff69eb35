"""The share of each factor that codes tell beyond chance."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError

if TYPE_CHECKING:
    from upto.core.arrays import Float
    from upto.disentanglement.shared_information import Information

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
        is_counted(found), np.clip(shares_of(found, found.mutual), 0.0, 1.0), 0.0
    )
    return shares


def tellable(found: Information) -> Information:
    """Return the same with a fault of each factor that no code could tell beyond chance.

    With few rows even the factor itself, taken for a code, is within chance. Zero would say that
    the codes do not tell of it, which nobody can know.
    """
    if len(found.chance) < 2 or not found.told.any():
        return found
    varying = found.ranges > 0.0
    level = np.where(varying, least_counted(found), np.inf).min(axis=1, initial=np.inf)
    hopeless = (found.perfect <= level) & varying.any() & ~is_counted(found).any(axis=1)
    faults = [
        f"factor {place + 1} has {found.labelled[place]} labels, too few to tell even a perfect "
        "code from chance"
        if hopeless[place] and not fault
        else fault
        for place, fault in enumerate(found.faults)
    ]
    return replace(found, faults=tuple(faults))


def chance_mean(found: Information) -> Float:
    """Return the information that permuted rows have on average, which is not below zero."""
    mean: Float = np.maximum(found.chance.mean(axis=0), 0.0)
    return mean


def shares_of(found: Information, mutual: Float) -> Float:
    """Return information above the mean of chance, of the most that could be; of either sign."""
    mean = chance_mean(found)
    told, room = mutual - mean, found.entropies[:, None] - mean
    numbers = np.array(found.continuous, dtype=bool)
    told[numbers], room[numbers] = -np.expm1(-2.0 * told[numbers]), -np.expm1(-2.0 * room[numbers])
    shares: Float = np.divide(told, room, out=np.zeros_like(room), where=room > 0.0)
    return shares


def least_counted(found: Information) -> Float:
    """Return the information above which a share is counted."""
    level = np.maximum(_chance_level(found), found.chance.max(axis=0))
    above: Float = np.maximum(level, chance_mean(found))
    return above


def is_counted(found: Information) -> Mask:
    """Return which codes tell of which factors beyond chance."""
    counted: Mask = (found.mutual > least_counted(found)) & (shares_of(found, found.mutual) > 0.0)
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
    # Factors that rows are too few for were looked at as well.
    n_factors = int(np.count_nonzero(found.entropies))
    alarm = FALSE_ALARM / max(n_factors * n_varying, 1)
    level: Float = found.chance.mean(axis=0) + scales * (gammainccinv(shapes, alarm) - shapes)
    return level
