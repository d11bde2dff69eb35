"""Serial dependence of rows: one autoregression shared by all runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from upto.core.array_types import Float


FADED, LONGEST = 0.05, 600
"""Remaining effect at which a memory has faded, and the largest number of rows followed."""
_EXACT = 1e-10
"""Fraction of the variance below which innovations of a series count as zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Autoregression of rows on the rows before them.

    `correlation` is the clearest autocorrelation, at `lag`; `coefficients` are the same for every
    coordinate, so they hold for any linear map of the rows as well.
    """

    correlation: float
    coefficients: tuple[float, ...]
    lag: int = 1

    @property
    def order(self) -> int:
        """Order of the autoregression."""
        return len(self.coefficients)

    @property
    def fading(self) -> int:
        """Number of rows after which an innovation has decayed to a twentieth."""
        effects = np.zeros(LONGEST + self.order)
        effects[self.order - 1] = 1.0
        backwards = np.array(self.coefficients[::-1])
        for place in range(self.order, len(effects)):
            effects[place] = np.clip(backwards @ effects[place - self.order : place], -1e9, 1e9)
        return int(np.flatnonzero(np.abs(effects) >= FADED)[-1]) - self.order + 2

    def what_is_new(self, rows: Float) -> Float:
        """Return the innovations: rows minus their prediction; the first `order` rows have none."""
        found: Float = rows[self.order :].copy()
        for back, coefficient in enumerate(self.coefficients, start=1):
            found -= coefficient * rows[self.order - back : len(rows) - back]
        return found

    def known_throughout(self, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Mark the innovations that are computed from marked rows only."""
        found = marked[self.order :].copy()
        for back in range(1, self.order + 1):
            found &= marked[self.order - back : len(marked) - back]
        return found


def fit_coefficients(series: Sequence[Float], longest: int) -> tuple[float, ...]:
    """Regress every series on its own past, with coefficients shared by all.

    Series are weighted by the inverse variance of their innovations, so the most predictable,
    whose innovations last longest, dominate. The order, up to `longest`, minimises the Bayesian
    information criterion.
    """
    pooled, n_terms = np.zeros((longest + 1, longest + 1)), 0
    for each in series:
        past = np.lib.stride_tricks.sliding_window_view(each, longest + 1)[:, ::-1]
        products = past.T @ past
        _, left = _regression(products, longest)
        pooled += products / max(left, _EXACT * products[0, 0], np.finfo(float).tiny)
        n_terms += len(past)
    best, chosen = np.inf, np.zeros(1)
    for order in range(1, longest + 1):
        coefficients, left = _regression(pooled, order)
        criterion = n_terms * np.log(max(left, _EXACT)) + order * np.log(n_terms)
        if criterion < best:
            best, chosen = criterion, coefficients
    return tuple(float(each) for each in chosen)


def _regression(products: Float, order: int) -> tuple[Float, float]:
    """Return the coefficients of an autoregression, and its residual sum of squares."""
    with_past, past = products[1 : order + 1, 0], products[1 : order + 1, 1 : order + 1]
    coefficients = np.asarray(np.linalg.lstsq(past, with_past, rcond=None)[0], dtype=np.float64)
    return coefficients, float(products[0, 0] - coefficients @ with_past)
