"""How rows follow from the rows before them: one autoregression that all runs share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from upto.core.arrays import Float


FADED, LONGEST = 0.05, 600
"""What is left of a memory that has faded, and the rows after which none is followed on."""
_EXACT = 1e-10
"""Share of its variance below which nothing is new in a series."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What a row keeps of the rows before it.

    `correlation` is the clearest one, with the row `lag` before; `coefficients` are those of the
    rows before in the expectation of the next, the same for every coordinate, so that they hold for
    any map of the rows as well.
    """

    correlation: float
    coefficients: tuple[float, ...]
    lag: int = 1

    @property
    def order(self) -> int:
        """How many rows before a row tell of it."""
        return len(self.coefficients)

    @property
    def fading(self) -> int:
        """After how many rows what was new in one has faded to a twentieth."""
        effects = np.zeros(LONGEST + self.order)
        effects[self.order - 1] = 1.0
        backwards = np.array(self.coefficients[::-1])
        for place in range(self.order, len(effects)):
            effects[place] = np.clip(backwards @ effects[place - self.order : place], -1e9, 1e9)
        return int(np.flatnonzero(np.abs(effects) >= FADED)[-1]) - self.order + 2

    def what_is_new(self, rows: Float) -> Float:
        """Return what each row has that the rows before it do not explain; the first have none."""
        found: Float = rows[self.order :].copy()
        for back, coefficient in enumerate(self.coefficients, start=1):
            found -= coefficient * rows[self.order - back : len(rows) - back]
        return found

    def known_throughout(self, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Mark the rows of `what_is_new` that are made of marked rows only."""
        found = marked[self.order :].copy()
        for back in range(1, self.order + 1):
            found &= marked[self.order - back : len(marked) - back]
        return found


def fit_coefficients(series: Sequence[Float], longest: int) -> tuple[float, ...]:
    """Regress every series on its own past, with coefficients that all have in common.

    Each counts by what is new in it: the ones that follow most closely from their past, whose
    accidents last longest, decide. Of all orders up to `longest` the one of the least Bayesian
    information criterion is taken.
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
    """Return the coefficients of so many rows before, and the sum of squares they leave."""
    with_past, past = products[1 : order + 1, 0], products[1 : order + 1, 1 : order + 1]
    coefficients = np.asarray(np.linalg.lstsq(past, with_past, rcond=None)[0], dtype=np.float64)
    return coefficients, float(products[0, 0] - coefficients @ with_past)
