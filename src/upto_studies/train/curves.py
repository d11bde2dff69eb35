"""Fits of predicted relations to pairs, with bootstrap intervals over pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import rankdata

from upto.core import Estimate, random_stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from upto.core.array_types import Float


def relative_change(excess: Float) -> Float:
    """Return 2L+L², the fraction by which two decoders of excess L can change a distance."""
    return 2 * excess + excess**2


def predicted_shape(excess: Float) -> Float:
    """Return √(2L+L²), to which the error bound of Theorem 1 is proportional."""
    return np.sqrt(relative_change(excess))


FORMS: dict[str, tuple[Callable[[Float], Float], bool]] = {
    "a·√(2L+L²)": (predicted_shape, False),
    "a·√(2L+L²) + b": (predicted_shape, True),
    "a·(2L+L²)": (relative_change, False),
}
"""Relations between the excess L of a decoder's constant over one and the error: what a multiplies,
and whether there is an intercept b."""

_LEVEL = 0.95
_FEWEST = 3
"""Minimum number of pairs for an interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One fitted relation.

    Parameters
    ----------
    form
        Its name in `FORMS`.
    slope, intercept
        a and b.
    r_squared
        Fraction of the variance about the mean that it explains; negative if worse than the mean.
    """

    form: str
    slope: Estimate
    intercept: float
    r_squared: Estimate

    def at(self, excess: Float) -> Float:
        """Evaluate the curve."""
        shape, _ = FORMS[self.form]
        values: Float = self.slope.value * shape(excess) + self.intercept
        return values


def fit_curve(
    form: str, excess: Float, error: Float, *, n_resamples: int, seed: int
) -> Curve | None:
    """Fit one of the `FORMS` by least squares; intervals are from a bootstrap over pairs.

    Returns
    -------
    Curve or None
        None with fewer than three pairs, or if all errors are equal.
    """
    shape, with_intercept = FORMS[form]
    x = shape(excess)
    if len(error) < _FEWEST or np.ptp(error) == 0:
        return None

    def numbers(rows: NDArray[np.intp]) -> Float:
        slope, intercept = _line(x[rows], error[rows], with_intercept=with_intercept)
        left = error[rows] - slope * x[rows] - intercept
        spread = ((error[rows] - error[rows].mean()) ** 2).sum()
        return np.array([slope, 1 - (left**2).sum() / spread if spread > 0 else np.nan])

    slope, r_squared = _estimates(numbers, len(error), n_resamples, seed)
    _, intercept = _line(x, error, with_intercept=with_intercept)
    return Curve(form=form, slope=slope, intercept=intercept, r_squared=r_squared)


def correlation(
    first: Float, second: Float, *, n_resamples: int, seed: int, ranks: bool = False
) -> Estimate | None:
    """Return the correlation of two quantities over pairs, with a bootstrap interval.

    Parameters
    ----------
    first, second
        One value per pair.
    n_resamples, seed
        Number of resamples and seed of the bootstrap.
    ranks
        Whether to correlate ranks (Spearman) instead of values (Pearson).

    Returns
    -------
    Estimate or None
        None with fewer than three pairs, or if all values are equal.
    """
    if len(first) < _FEWEST or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None

    def numbers(rows: NDArray[np.intp]) -> Float:
        x, y = first[rows], second[rows]
        return np.array([_pearson(rankdata(x), rankdata(y)) if ranks else _pearson(x, y)])

    (estimate,) = _estimates(numbers, len(first), n_resamples, seed)
    return estimate


def mean_estimate(values: Float, *, n_resamples: int, seed: int) -> Estimate:
    """Return a mean over pairs with a bootstrap interval, from three pairs."""
    (estimate,) = _estimates(
        lambda rows: np.array([values[rows].mean()]), len(values), n_resamples, seed
    )
    return estimate


def _estimates(
    numbers: Callable[[NDArray[np.intp]], Float], n_pairs: int, n_resamples: int, seed: int
) -> list[Estimate]:
    found = numbers(np.arange(n_pairs))
    if n_pairs < _FEWEST:
        return [Estimate(value=float(value)) for value in found]
    stream = random_stream(seed, "bootstrap over pairs")
    drawn = np.array([numbers(stream.integers(n_pairs, size=n_pairs)) for _ in range(n_resamples)])
    tail = 100 * (1 - _LEVEL) / 2
    # A resample of equal pairs has no slope and no correlation.
    low, high = np.nanpercentile(drawn, [tail, 100 - tail], axis=0)
    return [
        Estimate(value=float(value), low=float(lower), high=float(upper))
        for value, lower, upper in zip(found, low, high, strict=True)
    ]


def _line(x: Float, y: Float, *, with_intercept: bool) -> tuple[float, float]:
    centre_x, centre_y = (x.mean(), y.mean()) if with_intercept else (0.0, 0.0)
    total = float(((x - centre_x) ** 2).sum())
    slope = float(((x - centre_x) * (y - centre_y)).sum()) / total if total > 0 else 0.0
    return slope, float(centre_y - slope * centre_x)


def _pearson(x: Float, y: Float) -> float:
    x, y = x - x.mean(), y - y.mean()
    total = float(np.sqrt((x**2).sum() * (y**2).sum()))
    return float((x * y).sum()) / total if total > 0 else float("nan")
