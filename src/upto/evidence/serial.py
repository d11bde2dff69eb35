"""Rows that depend on their neighbours: how strongly, how many they are worth, and blocks of them.

Rows of a time series or a trajectory repeat each other. Parts that are drawn at random from them
share their accidents, and standard errors that count every row are too small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.fft

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core.arrays import Float

AXES = 8
"""Leading principal components that are looked at."""
LAGS = 30
"""Rows before a row that are looked at; of few rows, a quarter of them."""
CLEAR, CLEAR_OF_MANY, NOTABLE = 4.0, 5.0, 0.05
"""Standard errors above which rows count as dependent, of neighbours and of rows further apart,
of which there are many; and correlation."""
FEW, CLEAR_OF_FEW = 100, 2.8
"""Fewer rows than this cannot show more than a few standard errors, however much they depend."""
WINDOW = 5.0
"""Lags that are summed, in units of the time they sum to (Sokal)."""
BLOCK = 10.0
"""Length of a block of rows, in units of that time: what its ends share is then small."""
MIN_WORTH = 30
"""Independent rows that rows must be worth to judge by: any fewer share their trend."""
_FLAT = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class SerialDependence:
    """The clearest correlation of rows with the row `lag` before, and how many are worth one.

    `time` is the integrated autocorrelation time: 1 for independent rows.
    """

    correlation: float
    time: float
    is_clear: bool
    lag: int = 1

    @property
    def length(self) -> float:
        """How many rows apart rows still depend on each other."""
        return self.time * self.lag


def serial_dependence(rows: Float) -> SerialDependence:
    """Look for dependence between rows in the order in which they are given."""
    correlation, lag = clearest(clear_autocorrelation(leading(rows)))
    if correlation == 0.0:
        return SerialDependence(correlation=0.0, time=1.0, is_clear=False)
    return SerialDependence(
        correlation=correlation, time=len(rows) / effective_rows(rows), is_clear=True, lag=lag
    )


def clear_autocorrelation(scores: Float) -> Float:
    """Return autocorrelations of every lag (rows) and column that are clear, and 0 for others."""
    lags = min(LAGS, len(scores) // 4)
    if lags == 0:
        return np.zeros((1, scores.shape[1]))
    found, error = autocorrelation(scores, lags)
    of_neighbours = CLEAR_OF_FEW if len(scores) < FEW else CLEAR
    limit = np.where(np.arange(lags)[:, None] == 0, of_neighbours, CLEAR_OF_MANY) * error
    return np.where(np.abs(found) > np.maximum(limit, NOTABLE), found, 0.0)


def clearest(clear: Float) -> tuple[float, int]:
    """Return the largest of clear autocorrelations with its lag; 0 where there is none."""
    largest = np.abs(clear).max(axis=1, initial=0.0)
    place = int(np.argmax(largest))
    row = clear[place]
    return (float(row[np.argmax(np.abs(row))]) if len(row) else 0.0), place + 1


def autocorrelation(scores: Float, lags: int) -> tuple[Float, Float]:
    """Return the correlation of centred rows with those 1, 2, … rows before, in every column.

    Beside it is its standard error for independent rows, which holds for any tails: where few far
    rows make up the variance, it is theirs, and never less than that of Gaussian ones.
    """
    spread = np.maximum(np.sum(scores**2, axis=0), np.finfo(float).tiny)
    products = _lagged_products(scores, lags)
    squares = np.maximum(_lagged_products(scores**2, lags), 0.0)
    error = np.maximum(np.sqrt(squares[1:]) / spread, 1.0 / np.sqrt(len(scores)))
    return products[1:] / spread, error


def effective_rows(rows: Float) -> float:
    """Return how many independent rows have means, and mean squares, as accurate as these.

    The leading principal component with the longest memory decides. Its autocorrelations, or their
    squares where these say more, are summed up to a window of five times their sum, beyond which
    they are noise.
    """
    scores = leading(rows)
    n_rows = len(scores)
    if n_rows < 2 or scores.shape[1] == 0:
        return float(max(n_rows, 1))
    lag = clearest(clear_autocorrelation(scores))[1]
    products = _lagged_products(scores, n_rows - 1)
    found = products / products[0]
    longest = max(_summed(found, lag), _summed(found**2, lag))
    return max(n_rows / longest, 1.0)


def _summed(correlations: Float, lag: int) -> float:
    """Return the longest autocorrelation time of some columns, whose memory comes at a lag."""
    longest = 1.0
    times = 2.0 * np.cumsum(correlations, axis=0) - 1.0
    for own in times.T:
        wide = np.flatnonzero(np.arange(len(own)) >= WINDOW * lag * own)
        longest = max(longest, float(own[wide[0]] if len(wide) else own.max()))
    return longest


def _lagged_products(scores: Float, lags: int) -> Float:
    """Return the sum of products with the row 0, 1, … before, in every column."""
    # Padded with zeros, or the end would be correlated with the beginning.
    length = scipy.fft.next_fast_len(len(scores) + lags, real=True)
    spectrum = np.abs(scipy.fft.rfft(np.ascontiguousarray(scores.T), length)) ** 2
    found: Float = scipy.fft.irfft(spectrum, length)[:, : lags + 1].T
    return found


def alternating_blocks(n_rows: int, length: float, share: float) -> NDArray[np.int8]:
    """Divide rows into two parts made of contiguous blocks, `share` of them in part 1.

    Blocks are long beside the memory of the rows; where there are too few of those, each part is
    one block.
    """
    parts = np.zeros(n_rows, dtype=np.int8)
    count = int(n_rows / (BLOCK * length))
    if count * min(share, 1 - share) < 1:
        parts[n_rows - round(share * n_rows) :] = 1
        return parts
    edges = np.floor(np.arange(count + 1) * share)
    block = np.arange(n_rows) * count // n_rows
    parts[np.diff(edges)[block] > 0] = 1
    return parts


def leading(rows: Float) -> Float:
    """Return the scores of leading principal components that vary."""
    centred = rows - rows.mean(axis=0)
    # Sums of squares of their squares would overflow long before those of the rows do.
    centred = centred / max(float(np.abs(centred).max(initial=0.0)), np.finfo(float).tiny)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    kept = values > _FLAT * max(float(values[-1]), np.finfo(float).tiny)
    leading: Float = centred @ vectors[:, kept][:, ::-1][:, :AXES]
    return leading
