"""Intervals for mean errors, and summaries of errors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from upto.core import Errors, Estimate, Histogram, random_stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core.array_types import Float


RESAMPLES = 999
MIN_ROWS = 10
"""Smallest number of rows for an interval."""
LARGE = 4096
"""Number of rows from which the normal limit replaces the studentised bootstrap."""
MIN_RUNS = 4
"""Smallest number of runs for an interval over their pairs."""
LEVEL = 0.95
INNER_LEVEL = 0.965
"""Nominal level of the bootstrap, which covers 95 % in checks.calibration."""
_ROUNDING = 1e-14
"""Variance over the squared diameter that rounding alone can cause."""
_NORMAL_QUANTILE = 1.959963984540054


def mean_of_pairs(values: Float, *, low: float = -math.inf, high: float = math.inf) -> Estimate:
    """Return the off-diagonal mean of a K×K matrix over runs, with an interval.

    The interval is a jackknife over runs with Student's t: pairs that share a run are not
    independent, and a bootstrap over few runs is far too narrow.

    Parameters
    ----------
    values
        Value of each ordered pair of runs; the diagonal is ignored.
    low, high
        Range of the values, to which the interval is clipped.
    """
    count = len(values)
    off = ~np.eye(count, dtype=bool)
    mean = float(values[off].mean())
    if count < MIN_RUNS:
        return Estimate(value=mean)
    from scipy.special import stdtrit

    others = np.where(off, values, 0.0)
    without = (others.sum() - others.sum(axis=0) - others.sum(axis=1)) / ((count - 1) * (count - 2))
    deviation = np.sqrt((count - 1) / count * np.square(without - without.mean()).sum())
    half = float(stdtrit(count - 1, (1 + LEVEL) / 2) * deviation)
    ends = [float(min(max(end, low), high)) for end in (mean - half, mean + half)]
    return Estimate(value=mean, low=ends[0], high=ends[1], level=LEVEL)


def mean_intervals(
    values: Float,
    seed: int,
    *,
    others: Float | None = None,
    clusters: NDArray[np.intp] | None = None,
) -> list[Estimate]:
    """Return the mean of each column with a studentised bootstrap interval.

    Columns are sorted first, so the interval does not depend on the order of the rows.

    Parameters
    ----------
    values
        One row per held-out row, one column per map.
    seed
        Seed of the random number generator.
    others
        In-sample errors of the rows the maps were fitted to: they show the spread of errors and
        include outliers that are missing among few held-out rows.
    clusters
        Number of the independent cluster of each row; by default each row is one.
    """
    n_rows, _ = values.shape
    means = values.mean(axis=0)
    if clusters is not None:
        values, n_rows = _cluster_values(values, clusters)
    if n_rows < MIN_ROWS:
        return [Estimate(value=float(mean)) for mean in means]
    errors = values.std(axis=0, ddof=1) / math.sqrt(n_rows)
    if n_rows >= LARGE:
        half = _NORMAL_QUANTILE * errors
        return [_estimate(*row) for row in zip(means, means - half, means + half, strict=True)]
    pool = values if others is None or clusters is not None else _pooled(values, others)
    ordered = np.sort(pool, axis=0)
    counts = _drawn(n_rows, len(pool), seed)
    resampled = counts @ ordered / n_rows
    spread = np.maximum(counts @ ordered**2 / n_rows - resampled**2, 0.0)
    resampled_errors = np.sqrt(spread / (n_rows - 1))
    ratio = np.divide(
        resampled - pool.mean(axis=0),
        resampled_errors,
        out=np.zeros_like(resampled),
        where=resampled_errors > 1e-9 * np.maximum(errors, np.finfo(float).tiny),
    )
    low, high = np.quantile(ratio, [(1 - INNER_LEVEL) / 2, (1 + INNER_LEVEL) / 2], axis=0)
    return [
        _estimate(*row)
        for row in zip(means, means - high * errors, means - low * errors, strict=True)
    ]


def _drawn(n_rows: int, n_pool: int, seed: int) -> Float:
    """Return how often each row of a pool is in each resample."""
    stream = random_stream(seed, "bootstrap")
    counts = np.empty((RESAMPLES, n_pool))
    for resample in counts:
        # Counting drawn rows takes a tenth of the time of a multinomial draw of the counts.
        resample[:] = np.bincount(stream.integers(n_pool, size=n_rows), minlength=n_pool)
    return counts


def _pooled(values: Float, others: Float) -> Float:
    """Add other errors, scaled to the same median, unless fitting made them much smaller."""
    size = np.median(values, axis=0)
    fitted = np.median(others, axis=0)
    usable = fitted > 0.5 * size
    scale = np.divide(size, fitted, out=np.zeros_like(size), where=usable & (fitted > 0))
    # Unusable errors are replaced by repeats of the rows themselves, spread evenly over their sizes
    # where there is no room for all, so that the order of the rows does not matter.
    n_rows, n_others = len(values), len(others)
    places = (2 * np.arange(n_others) + 1) * n_rows // (2 * max(n_others, 1))
    repeated = np.sort(values, axis=0)[places]
    return np.concatenate([values, np.where(scale > 0, others * scale, repeated)])


def _cluster_values(values: Float, clusters: NDArray[np.intp]) -> tuple[Float, int]:
    """Return one value per independent cluster, with the same mean as the rows."""
    pieces, place = np.unique(clusters, return_inverse=True)
    sums = np.zeros((len(pieces), values.shape[1]))
    np.add.at(sums, place, values)
    counts = np.bincount(place).astype(float)[:, None]
    mean = values.mean(axis=0)
    # Linearised: the influence of a cluster on the mean, whatever its size.
    return mean + (sums - mean * counts) / counts.mean(), len(pieces)


def summarise(errors: Float, total_squares: float, mean: Estimate | None = None) -> Errors:
    """Summarise errors; `total_squares` is the sum of squared distances to the centre."""
    return Errors(
        mean=mean or Estimate(value=float(errors.mean())),
        rms=float(np.sqrt(np.mean(errors**2))),
        q99=float(np.quantile(errors, 0.99)),
        worst=float(errors.max()),
        r2=r_squared(errors, total_squares),
    )


def r_squared(errors: Float, total_squares: float) -> float:
    """Return the fraction of the variance explained.

    Both arguments are over the diameter. Rows that are equal up to rounding have no variance to
    explain: the result is then 1 if the errors vanish too, else 0.
    """
    squares = float(np.sum(errors**2))
    rounding = _ROUNDING * len(errors)
    if total_squares > rounding:
        return 1.0 - squares / total_squares
    return 1.0 if squares <= rounding else 0.0


def average(summaries: list[Errors]) -> Errors:
    """Average summaries of repeated draws."""
    mean = float(np.mean([summary.mean.value for summary in summaries]))
    return Errors(
        mean=Estimate(value=mean),
        rms=float(np.mean([summary.rms for summary in summaries])),
        q99=float(np.mean([summary.q99 for summary in summaries])),
        worst=float(np.mean([summary.worst for summary in summaries])),
        r2=float(np.mean([summary.r2 for summary in summaries])),
    )


def histogram(errors: Float, high: float, n_bins: int = 40) -> Histogram:
    """Count errors in bins from zero to `high`; larger ones fall into the last bin."""
    high = high if high > 0 else 1.0
    counts, _ = np.histogram(np.minimum(errors, high), bins=n_bins, range=(0.0, high))
    return Histogram(low=0.0, high=high, counts=tuple(int(count) for count in counts))


def _estimate(value: float, low: float, high: float) -> Estimate:
    return Estimate(value=float(value), low=max(0.0, float(low)), high=float(high), level=LEVEL)
