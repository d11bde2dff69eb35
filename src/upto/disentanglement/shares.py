"""Share of each factor's information in codes beyond chance."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError

if TYPE_CHECKING:
    from upto.core.array_types import Float
    from upto.disentanglement.shared_information import Information

Mask = NDArray[np.bool_]

FALSE_ALARM = 1e-3
"""Rate of noise tables in which any code is found informative about any factor."""

UNSURE = 0.01
"""Probability that the true deviation of chance exceeds the one used."""


def beyond_chance(found: Information) -> Float:
    """Return the share of each factor's information in codes beyond chance, from 0 to 1.

    Permuted rows give the chance level. Information counts if it exceeds all permutations and a
    level that any code of a noise table reaches in one table of a thousand: otherwise ratios of
    shares would compare noise with noise and find it perfect. From counted information only the
    mean of chance is subtracted, so that few rows do not reduce large shares less than small ones.

    For labels, the share is relative to their entropy. Continuous factors have no entropy: their
    share is 1 - exp(-2 I), the R² of Gaussian variables with that information (Linfoot 1957),
    relative to the maximum of the estimator. Neither depends systematically on the number of rows.
    """
    return np.where(is_counted(found), np.clip(shares_of(found, found.mutual), 0.0, 1.0), 0.0)


def tellable(found: Information) -> Information:
    """Return the information with a fault for each factor that no code could encode beyond chance.

    With few rows even the factor itself, used as a code, is within chance. A score of zero would
    claim that codes do not encode it, which cannot be known.
    """
    if len(found.chance) < 2 or not found.told.any():
        return found
    varying = found.ranges > 0.0
    level = np.where(varying, least_counted(found), np.inf).min(axis=1, initial=np.inf)
    hopeless = (found.perfect <= level) & varying.any() & ~is_counted(found).any(axis=1)
    faults = [
        f"factor {place + 1} has {found.labelled[place]} labels, too few to distinguish even a "
        "perfect code from chance"
        if hopeless[place] and not fault
        else fault
        for place, fault in enumerate(found.faults)
    ]
    return replace(found, faults=tuple(faults))


def chance_mean(found: Information) -> Float:
    """Return the mean information of permuted rows, at least zero."""
    mean: Float = np.maximum(found.chance.mean(axis=0), 0.0)
    return mean


def shares_of(found: Information, mutual: Float) -> Float:
    """Return information minus the mean of chance, relative to its maximum; of either sign."""
    mean = chance_mean(found)
    told, room = mutual - mean, found.entropies[:, None] - mean
    numbers = np.array(found.continuous, dtype=bool)
    told[numbers], room[numbers] = -np.expm1(-2.0 * told[numbers]), -np.expm1(-2.0 * room[numbers])
    return np.divide(told, room, out=np.zeros_like(room), where=room > 0.0)


def least_counted(found: Information) -> Float:
    """Return the information above which a share counts."""
    level = np.maximum(_chance_level(found), found.chance.max(axis=0))
    above: Float = np.maximum(level, chance_mean(found))
    return above


def is_counted(found: Information) -> Mask:
    """Return which codes are informative about which factors beyond chance."""
    return (found.mutual > least_counted(found)) & (shares_of(found, found.mutual) > 0.0)


def _chance_level(found: Information) -> Float:
    """Return the level of information that noise rarely reaches, from few permutations.

    For noise, information times rows follows a gamma distribution: half a chi-squared one, with
    scale one, if rows are counted in cells. For neighbours, the tail comes from rare labels that
    lie together by chance, which two rows of a label do with scale two. The deviation then
    determines the shape, and with many rows the distribution is close to normal.
    """
    # The import takes longer than most estimates.
    from scipy.special import gammainccinv, gammaincinv

    count = len(found.chance)
    if count < 2:
        message = f"permutations is {count}: the chance level needs two or more."
        raise InputError(message)
    varying = found.ranges > 0.0
    deviations = found.chance.std(axis=0, ddof=1)
    # Few permutations of one code can agree by chance; those of all codes do not.
    n_varying = max(int(varying.sum()), 1)
    pooled = np.sqrt(np.square(deviations[:, varying]).sum(axis=1, keepdims=True) / n_varying)
    freedom = (count - 1) * n_varying / 2
    surely = np.maximum(deviations, pooled) * np.sqrt(freedom / gammaincinv(freedom, UNSURE))
    is_counted = found.discrete_codes or found.estimator.kind != "neighbours"
    scales = (1.0 if is_counted else 2.0) / np.maximum(found.labelled, 1)[:, None]
    # A table of two values and two labels has one degree of freedom, the minimum.
    shapes = np.maximum(np.square(surely / scales), 0.5)
    # Factors with too few rows were tested as well.
    n_factors = int(np.count_nonzero(found.entropies))
    alarm = FALSE_ALARM / max(n_factors * n_varying, 1)
    level: Float = found.chance.mean(axis=0) + scales * (gammainccinv(shapes, alarm) - shapes)
    return level
