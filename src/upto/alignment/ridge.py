"""Affine map by ridge or reduced-rank regression, its penalty chosen inside the fit.

Two passes over rows, for the folds and for their moments; everything else is algebra on moments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.alignment.fold_moments import fold_moments, fold_rows
from upto.alignment.maps import AffineMap
from upto.alignment.ridge_path import choose, solve
from upto.core import InputError
from upto.core.arguments import check_whole
from upto.engines import algebra_on
from upto.engines.row_keys import row_keys

if TYPE_CHECKING:
    from upto.alignment.fold_moments import FoldMoments
    from upto.engines.base import Engine

N_FOLDS = 5


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RidgeFit:
    """An affine map, its penalty over the mean eigenvalue, and its rank.

    `error` is the cross-validated squared error as a share of the variance; None if nothing was
    chosen.
    """

    map: AffineMap
    shrinkage: float
    rank: int
    error: float | None


def fit_ridge(
    engine: Engine,
    source: Any,
    target: Any,
    *,
    shrinkage: float | str = "auto",
    rank: int | str | None = None,
) -> RidgeFit:
    """Fit an affine map by ridge regression; see `RidgeAligner`.

    Parameters
    ----------
    engine
        Engine of the passes.
    source, target
        Paired rows, where the engine reads them.
    shrinkage
        Penalty over the mean eigenvalue of the scatter matrix, or ``"auto"``.
    rank
        Rank of the map, None for full, or ``"auto"``.
    """
    check_rank(rank, min(int(source.shape[1]), int(target.shape[1])))
    folds = fold_rows(row_keys(engine, source, 0), N_FOLDS)
    return ridge_of(engine, fold_moments(engine, source, target, folds), shrinkage, rank)


def ridge_of(
    engine: Engine, folds: FoldMoments, shrinkage: float | str, rank: int | str | None = None
) -> RidgeFit:
    """Fit an affine map from the moments of folds."""
    whole = folds.whole()
    width, other = whole.cross.shape
    unit = float(np.trace(whole.scatter)) / width
    with algebra_on(engine, max(width, other)):
        choice = choose(folds, shrinkage, rank, unit=unit)
        matrix = solve(whole, choice.penalty, choice.rank)
    return RidgeFit(
        map=AffineMap(
            source_mean=whole.source_mean,
            target_mean=whole.target_mean,
            scale=np.ones(other),
            matrix=matrix,
        ),
        shrinkage=choice.shrinkage,
        rank=min(width, other) if choice.rank is None else choice.rank,
        error=choice.error,
    )


def check_rank(rank: Any, most: int) -> None:
    """Refuse what is neither None, ``"auto"`` nor a rank that a map can have."""
    if rank is None or (isinstance(rank, str) and rank == "auto"):
        return
    if isinstance(rank, str):
        message = f"rank is {rank!r}: give None, 'auto' or a whole number of at least 1."
        raise InputError(message)
    check_whole(1, rank=rank)
    if rank > most:
        message = (
            f"rank is {rank}, but a map between these rows has at most rank {most}: give less."
        )
        raise InputError(message)
