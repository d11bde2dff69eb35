"""Rows that depend on their neighbours: how strongly, how many they are worth, and blocks of them.

Rows of a time series or a trajectory repeat each other. Parts that are drawn at random from them
share their accidents, and standard errors that count every row are too small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]

AXES = 8
"""Leading principal components that are looked at."""
CLEAR, NOTABLE = 4.0, 0.05
"""Standard errors, and correlation of neighbours, above which rows count as dependent."""
WINDOW = 5.0
"""Lags that are summed, in units of the time they sum to (Sokal)."""
BLOCK = 10.0
"""Length of a block of rows, in units of that time: what its ends share is then small."""
MIN_WORTH = 30
"""Independent rows that rows must be worth to judge by: any fewer share their trend."""
_FLAT = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class SerialDependence:
    """The largest correlation of neighbouring rows, and how many rows are worth one.

    `time` is the integrated autocorrelation time: 1 for independent rows.
    """

    correlation: float
    time: float
    is_clear: bool


def serial_dependence(rows: Float) -> SerialDependence:
    """Look for dependence between rows in the order in which they are given."""
    if len(rows) < 3:
        return SerialDependence(correlation=0.0, time=1.0, is_clear=False)
    found, error = autocorrelation(rows)
    clear = np.where(found > CLEAR * error, found, 0.0)
    largest = float(clear.max(initial=0.0))
    if largest <= NOTABLE:
        return SerialDependence(correlation=largest, time=1.0, is_clear=False)
    return SerialDependence(
        correlation=largest, time=len(rows) / effective_rows(rows), is_clear=True
    )


def autocorrelation(rows: Float) -> tuple[Float, Float]:
    """Return the correlation of rows with the next, along leading principal components.

    Beside it is its standard error for independent rows, which holds for any tails: where few far
    rows make up the variance, it is theirs.
    """
    scores = _leading(rows)
    spread = np.sum(scores**2, axis=0)
    products = scores[1:] * scores[:-1]
    found: Float = np.sum(products, axis=0) / spread
    return found, np.sqrt(np.sum(products**2, axis=0)) / spread


def effective_rows(rows: Float) -> float:
    """Return how many independent rows have means as accurate as these.

    The leading principal component with the longest memory decides. Its autocorrelations are summed
    up to a window of five times their sum, beyond which they are noise.
    """
    scores = _leading(rows)
    n_rows = len(scores)
    longest = 1.0
    for score in scores.T:
        # Padded with zeros, or the end would be correlated with the beginning.
        spectrum = np.abs(np.fft.rfft(score, 2 * n_rows)) ** 2
        products = np.fft.irfft(spectrum)[:n_rows]
        times = 2.0 * np.cumsum(products / products[0]) - 1.0
        wide = np.flatnonzero(np.arange(n_rows) >= WINDOW * times)
        longest = max(longest, float(times[wide[0]] if len(wide) else times.max()))
    return max(n_rows / longest, 1.0)


def alternating_blocks(n_rows: int, time: float, share: float) -> NDArray[np.int8]:
    """Divide rows into two parts made of contiguous blocks, `share` of them in part 1.

    Blocks are long beside the memory of the rows; where there are too few of those, each part is
    one block.
    """
    parts = np.zeros(n_rows, dtype=np.int8)
    count = int(n_rows / (BLOCK * time))
    if count * min(share, 1 - share) < 1:
        parts[n_rows - round(share * n_rows) :] = 1
        return parts
    edges = np.floor(np.arange(count + 1) * share)
    block = np.arange(n_rows) * count // n_rows
    parts[np.diff(edges)[block] > 0] = 1
    return parts


def _leading(rows: Float) -> Float:
    """Return the scores of leading principal components that vary."""
    centred = rows - rows.mean(axis=0)
    # Sums of squares of their squares would overflow long before those of the rows do.
    centred = centred / max(float(np.abs(centred).max(initial=0.0)), np.finfo(float).tiny)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    kept = values > _FLAT * max(float(values[-1]), np.finfo(float).tiny)
    leading: Float = centred @ vectors[:, kept][:, ::-1][:, :AXES]
    return leading
