"""Serial dependence: autocorrelation, effective number of rows, and splits into blocks.

Rows of a time series or a trajectory repeat each other. Parts drawn at random from them are not
independent, and standard errors that count every row are too small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.fft

from upto.engines import leading_eigenvectors, product

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core.array_types import Float

AXES = 8
"""Number of leading principal components tested."""
LAGS = 30
"""Largest lag tested; with few rows, a quarter of their number."""
CLEAR, CLEAR_OF_MANY, NOTABLE = 4.0, 5.0, 0.05
"""Standard errors above which rows are dependent, for neighbours and for the many larger lags, and
the smallest correlation."""
FEW, CLEAR_OF_FEW = 100, 2.8
"""With fewer rows than this, even strong dependence is only a few standard errors."""
WINDOW = 5.0
"""Window of lags summed, in units of the resulting autocorrelation time (Sokal)."""
BLOCK = 10.0
"""Length of a block of rows, in autocorrelation times: adjacent blocks then share little."""
MIN_WORTH = 30
"""Smallest effective number of rows for a test: fewer share their trend."""
_FLAT = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class SerialDependence:
    """The clearest autocorrelation of rows, at `lag`, and their autocorrelation time.

    `time` is integrated: the number of rows worth one independent row.
    """

    correlation: float
    time: float
    is_clear: bool
    lag: int = 1

    @property
    def length(self) -> float:
        """Distance in rows at which rows still depend on each other."""
        return self.time * self.lag


def serial_dependence(rows: Float) -> SerialDependence:
    """Test for serial dependence of rows, in their order."""
    correlation, lag = clearest(clear_autocorrelation(leading(rows)))
    if correlation == 0.0:
        return SerialDependence(correlation=0.0, time=1.0, is_clear=False)
    return SerialDependence(
        correlation=correlation, time=len(rows) / effective_rows(rows), is_clear=True, lag=lag
    )


def clear_autocorrelation(scores: Float) -> Float:
    """Return the clear autocorrelations by lag (rows) and column, 0 for the others."""
    lags = min(LAGS, len(scores) // 4)
    if lags == 0:
        return np.zeros((1, scores.shape[1]))
    found, error = autocorrelation(scores, lags)
    of_neighbours = CLEAR_OF_FEW if len(scores) < FEW else CLEAR
    limit = np.where(np.arange(lags)[:, None] == 0, of_neighbours, CLEAR_OF_MANY) * error
    return np.where(np.abs(found) > np.maximum(limit, NOTABLE), found, 0.0)


def clearest(clear: Float) -> tuple[float, int]:
    """Return the largest clear autocorrelation and its lag; 0 if there is none."""
    largest = np.abs(clear).max(axis=1, initial=0.0)
    place = int(np.argmax(largest))
    row = clear[place]
    return (float(row[np.argmax(np.abs(row))]) if len(row) else 0.0), place + 1


def autocorrelation(scores: Float, lags: int) -> tuple[Float, Float]:
    """Return the autocorrelation of centred rows at lags 1, 2, …, in every column.

    Also return its standard error for independent rows with any tails: if a few outliers dominate
    the variance, it is theirs, and it is never smaller than for Gaussian rows.
    """
    spread = np.maximum(np.sum(scores**2, axis=0), np.finfo(float).tiny)
    products = _lagged_products(scores, lags)
    squares = np.maximum(_lagged_products(scores**2, lags), 0.0)
    error = np.maximum(np.sqrt(squares[1:]) / spread, 1.0 / np.sqrt(len(scores)))
    return products[1:] / spread, error


def effective_rows(rows: Float) -> float:
    """Return the effective number of rows, for means and mean squares.

    The leading principal component with the longest memory decides. Its autocorrelations, or their
    squares if these give a longer time, are summed up to a window of five times their sum, beyond
    which they are noise.
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
    """Return the longest autocorrelation time over columns whose memory is at a lag."""
    longest = 1.0
    times = 2.0 * np.cumsum(correlations, axis=0) - 1.0
    for own in times.T:
        wide = np.flatnonzero(np.arange(len(own)) >= WINDOW * lag * own)
        longest = max(longest, float(own[wide[0]] if len(wide) else own.max()))
    return longest


def _lagged_products(scores: Float, lags: int) -> Float:
    """Return the sums of products at lags 0, 1, …, in every column."""
    # Zero-padded, or the end would be correlated with the beginning.
    length = scipy.fft.next_fast_len(len(scores) + lags, real=True)
    spectrum = np.abs(scipy.fft.rfft(np.ascontiguousarray(scores.T), length)) ** 2
    found: Float = scipy.fft.irfft(spectrum, length)[:, : lags + 1].T
    return found


def alternating_blocks(n_rows: int, length: float, share: float) -> NDArray[np.int8]:
    """Divide rows into two parts made of contiguous blocks, a fraction `share` in part 1.

    Blocks are long compared with the memory of the rows; if that leaves too few, each part is one
    block.
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
    """Return the scores of the leading principal components with non-zero variance."""
    centred = rows - rows.mean(axis=0)
    # Fourth powers would overflow long before the squares of the rows do.
    centred = centred / max(float(np.abs(centred).max(initial=0.0)), np.finfo(float).tiny)
    if centred.shape[0] < centred.shape[1]:
        values, vectors = leading_eigenvectors(product(centred, centred.T), AXES)
        scores: Float = vectors * np.sqrt(np.maximum(values, 0.0))
    else:
        values, vectors = leading_eigenvectors(product(centred.T, centred), AXES)
        scores = centred @ vectors
    kept = values > _FLAT * max(float(values.max(initial=0.0)), np.finfo(float).tiny)
    return scores[:, kept][:, ::-1]
