"""Means over folds and tasks, with intervals corrected for shared training rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import t as student

from upto.core import Estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core.array_types import Float


LEVEL = 0.95
_ROUNDING = 1e-12
"""Relative errors below this are rounding, not variation between folds."""


def mean_over_folds(values: Float, *, shared: float, least: float = 0.0) -> Estimate | None:
    """Return the mean of a folds × tasks table, with its interval.

    Parameters
    ----------
    values
        One row per fold and one column per task; NaN where a fold could not be scored.
    shared
        Ratio of test to training rows: Nadeau and Bengio widen the variance of the mean of k folds
        from s²/k to s² (1/k + shared), because training sets overlap. If test sets overlap instead,
        the corresponding term of the same formula.
    least
        Lower bound on the standard deviation between folds.
    """
    if not np.isfinite(values).any():
        return None
    value = float(np.nanmean(values))
    spread = _spread(values, shared=shared, least=least)
    if spread is None:
        return Estimate(value=value, level=LEVEL)
    error, freedom = spread
    reach = float(student.ppf(0.5 + LEVEL / 2, freedom)) * error
    return Estimate(value=value, low=value - reach, high=value + reach, level=LEVEL)


def standard_error(values: Float) -> float | None:
    """Return the paper's standard error, which treats folds and tasks as independent."""
    known = values[np.isfinite(values)]
    if len(known) < 2:
        return None
    return float(known.std(ddof=1) / np.sqrt(len(known)))


def p_of_mean(values: Float, null: float, *, shared: float) -> float | None:
    """Return the two-sided p-value of a mean over folds, by the same widened variance.

    AUROCs of few rows take few values: if all folds agree there is no variance, and the p-value is
    that of a sign test with all signs equal.
    """
    spread = _spread(values, shared=shared)
    if spread is None:
        return None
    error, freedom = spread
    distance = abs(float(np.nanmean(values)) - null)
    if error <= _ROUNDING * distance or error == 0.0:
        return 1.0 if distance == 0.0 else 0.5**freedom
    return float(2 * student.sf(distance / error, freedom))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p-values to control the family-wise error rate (Holm)."""
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - rank) * p))
        adjusted[place] = largest
    return adjusted


def _spread(values: Float, *, shared: float, least: float = 0.0) -> tuple[float, int] | None:
    """Return the standard error of a mean over folds and its degrees of freedom."""
    judged = values[np.isfinite(values).any(axis=1)]
    if len(judged) < 2:
        return None
    means = np.nanmean(judged, axis=1)
    variance = max(float(means.var(ddof=1)), least**2)
    return float(np.sqrt(variance * (1 / len(means) + shared))), len(means) - 1
