"""Ridge and reduced-rank regression from moments: every penalty and rank, and the best of them.

A penalty is added to the eigenvalues of the source's scatter matrix, so one decomposition of it
serves all penalties. Of rank r, the ridge regression is the one of full rank projected onto the
first r principal directions of its fitted values (Mukherjee & Zhu 2011).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.core.arguments import check_not_negative
from upto.engines import RANK_TOLERANCE, product
from upto.engines.algebra import eigh

if TYPE_CHECKING:
    from upto.alignment.fold_moments import FoldMoments, PairMoments
    from upto.core.array_types import Float

GRID = (0.0, *(10.0 ** (step / 2) for step in range(-16, 9)))
"""Penalties tried, relative to the mean eigenvalue."""
COARSE = (0.0, *(10.0**step for step in range(-8, 5)))
"""Those tried with every rank, each of which takes a decomposition."""
ROUNDING = 1e-12
"""Errors that differ by less than this share of the target's variance are equal."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Choice:
    """A penalty and a rank, and their cross-validated squared error as a share of the variance.

    The error is None if nothing was chosen, and `shrinkage` is the penalty over its unit.
    """

    penalty: float
    shrinkage: float
    rank: int | None = None
    error: float | None = None


def check_penalty(shrinkage: Any) -> None:
    """Refuse what is neither ``"auto"`` nor a finite number of at least 0."""
    if isinstance(shrinkage, str):
        if shrinkage == "auto":
            return
        message = f"shrinkage is {shrinkage!r}: give 'auto' or a number of at least 0."
        raise InputError(message)
    check_not_negative(shrinkage=shrinkage)


def choose(
    folds: FoldMoments,
    shrinkage: float | str,
    rank: int | str | None = None,
    *,
    unit: float,
    only: int | None = None,
) -> Choice:
    """Choose penalty and rank by the squared error of the folds, each predicted from the others.

    Parameters
    ----------
    folds
        Moments of the folds.
    shrinkage
        Penalty in multiples of `unit`, or ``"auto"``.
    rank
        Rank, None for full, or ``"auto"``.
    unit
        The mean eigenvalue of the scatter matrix of all rows.
    only
        Number of folds to leave out, one after another; all by default. The error of a given
        penalty is found only if this is set.
    """
    auto_rank = isinstance(rank, str)
    known = None if rank is None or isinstance(rank, str) else int(rank)
    if not isinstance(shrinkage, str) and not auto_rank and only is None:
        return _choice(float(shrinkage), unit, known)
    grid = GRID if rank is None else COARSE
    relative = np.array(grid if isinstance(shrinkage, str) else [float(shrinkage)])
    if folds.n_folds < 2:
        return _choice(float(relative[-1]), unit, known)
    total: Float = np.zeros(())
    variance = 0.0
    for number, (fitted, left_out) in enumerate(folds.pairs()):
        if only is not None and number >= only:
            break
        path = _Path(fitted, left_out)
        errors = [path.errors(each * unit, by_rank=rank is not None) for each in relative]
        total = total + np.array(errors)
        variance += left_out.target_scatter
    # One row for each penalty, one column for each rank if ranks matter.
    if known is not None:
        total = total[:, [known - 1]]
    # Of errors that differ by rounding alone, that of the smallest penalty and rank.
    close = np.argwhere(total <= total.min() + ROUNDING * variance)[0]
    error = float(total[tuple(close)]) / variance if variance > 0 else 0.0
    return _choice(
        float(relative[close[0]]), unit, int(close[1]) + 1 if auto_rank else known, error
    )


def _choice(relative: float, unit: float, rank: int | None, error: float | None = None) -> Choice:
    return Choice(penalty=relative * unit, shrinkage=relative, rank=rank, error=error)


def solve(moments: PairMoments, penalty: float, rank: int | None = None) -> Float:
    """Return the coefficients of the ridge regression, one row for each coordinate of the source.

    Parameters
    ----------
    moments
        Moments of source and target.
    penalty
        What is added to the eigenvalues of the scatter matrix. Without a penalty, directions whose
        eigenvalue is below a share of the largest count as absent.
    rank
        Rank of the coefficients, full by default.
    """
    values, vectors = eigh(moments.scatter)
    turned = product(vectors.T, moments.cross)
    found = product(vectors * _inverted(values, penalty), turned)
    if rank is None or rank >= min(found.shape):
        return found
    kept = eigh(product(moments.cross.T, found))[1][:, -rank:]
    return product(product(found, kept), kept.T)


class _Path:
    """The errors of all penalties on one fold, from one decomposition.

    Parameters
    ----------
    fitted
        Moments of the rows of the fit.
    left_out
        Moments of the rows left out, about the means of the fit.
    """

    def __init__(self, fitted: PairMoments, left_out: PairMoments) -> None:
        self._values, vectors = eigh(fitted.scatter)
        self._cross = product(vectors.T, fitted.cross)
        self._other_cross = product(vectors.T, left_out.cross)
        self._other_scatter = product(product(vectors.T, left_out.scatter), vectors)
        self._start = left_out.target_scatter
        self._products = product(self._cross, self._cross.T) * self._other_scatter
        self._gains = (self._cross * self._other_cross).sum(axis=1)

    def errors(self, penalty: float, *, by_rank: bool) -> Float:
        """Return the squared error, or that of every rank."""
        inverted = _inverted(self._values, penalty)
        if not by_rank:
            error = self._start - 2 * inverted @ self._gains + inverted @ self._products @ inverted
            return np.array([error])
        coefficients = self._cross * inverted[:, None]
        vectors = eigh(product(self._cross.T, coefficients))[1][:, ::-1]
        vectors = vectors[:, : min(coefficients.shape)]
        turned = product(coefficients, vectors)
        gains = (turned * product(self._other_cross, vectors)).sum(axis=0)
        squares = (turned * product(self._other_scatter, turned)).sum(axis=0)
        found: Float = self._start + np.cumsum(squares - 2 * gains)
        return found


def _inverted(values: Float, penalty: float) -> Float:
    raised = values + penalty
    # Rounding leaves eigenvalues a little below zero.
    kept = raised > RANK_TOLERANCE * max(float(raised[-1]), np.finfo(float).tiny)
    return np.divide(1.0, raised, out=np.zeros_like(raised), where=kept)
