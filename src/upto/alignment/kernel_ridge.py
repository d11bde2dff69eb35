"""Affine map plus Gaussian kernel ridge regression by the Nyström method, fitted by passes.

Features of a row are its coordinates, centred and divided by one number, and its kernel with the
centres, times the inverse root of the kernel among these. They are computed block by block and
only their moments are kept: `ridge_path` does the rest. Ridge regression on the Nyström features
approximates that with the kernel itself (Williams & Seeger 2001).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.alignment.fold_moments import fold_moments, fold_rows
from upto.alignment.kernel_map import KernelMap, kernel_of_block, kernel_params
from upto.alignment.maps import AffineMap
from upto.alignment.ridge import ridge_of
from upto.alignment.ridge_path import ROUNDING, choose, solve
from upto.engines import RANK_TOLERANCE, algebra_on, product, select_rows
from upto.engines.algebra import eigh
from upto.engines.row_keys import mixed_keys, row_keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from upto.alignment.fold_moments import FoldMoments
    from upto.core.array_types import Float
    from upto.engines.base import Engine

N_FOLDS = 3
"""Moments of a fold take the square of the number of features."""
WIDTHS = (0.5, 1.0, 2.0)
"""Bandwidths tried, over the median distance between rows."""
TRIAL_ROWS = 10_000
"""Rows on which bandwidths are compared; the shrinkage is chosen on all of them."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class KernelFit:
    """A map, its penalty over the mean eigenvalue, and the bandwidth.

    The map is affine and the bandwidth None if the kernel did not improve the cross-validated
    error; `error` is that error as a share of the variance, None if nothing was chosen.
    """

    map: KernelMap | AffineMap
    shrinkage: float
    bandwidth: float | None
    error: float | None


def fit_kernel(
    engine: Engine,
    source: Any,
    target: Any,
    *,
    n_centres: int = 1000,
    bandwidth: float | str = "auto",
    shrinkage: float | str = "auto",
    seed: int = 0,
) -> KernelFit:
    """Fit an affine map plus kernel ridge regression; see `KernelAligner`.

    Parameters
    ----------
    engine
        Engine of the passes.
    source, target
        Paired rows, where the engine reads them.
    n_centres
        Largest number of centres.
    bandwidth
        Standard deviation of the Gaussian function, or ``"auto"``.
    shrinkage
        Penalty over the mean eigenvalue of the features, or ``"auto"``.
    seed
        Seed of the choice of centres.
    """
    keys = row_keys(engine, source, seed)
    folds = fold_rows(keys, N_FOLDS)
    affine = fold_moments(engine, source, target, folds)
    alone = ridge_of(engine, affine, shrinkage)
    whole = affine.whole()
    spread = float(np.sqrt(whole.scatter.trace() / whole.weight))
    centres = _centres(engine, source, keys, n_centres) - whole.source_mean
    distance = _median_distance(centres)
    if spread == 0 or distance == 0:
        return KernelFit(
            map=alone.map, shrinkage=alone.shrinkage, bandwidth=None, error=alone.error
        )
    # In one BLAS thread: more of them save little here, and wait for each other on a busy machine.
    with algebra_on(engine, 1):
        made = partial(_Kernel, centres, whole.source_mean, spread)
        kernel, moments = None, None
        if isinstance(bandwidth, str):
            trial = _trial(engine, source, target, keys, folds)
            kernel, moments = _best(engine, made, distance, trial, shrinkage)
            if trial[0] is not source:
                moments = None
        else:
            kernel = made(float(bandwidth))
        if moments is None:
            moments = kernel.moments(engine, source, target, folds)
        choice = choose(moments, shrinkage, unit=kernel.unit(moments))
        if not _is_smaller(choice.error, alone.error):
            return KernelFit(
                map=alone.map, shrinkage=alone.shrinkage, bandwidth=None, error=alone.error
            )
        return KernelFit(
            map=kernel.map(moments, choice.penalty),
            shrinkage=choice.shrinkage,
            bandwidth=kernel.bandwidth,
            error=choice.error,
        )


def _is_smaller(error: float | None, other: float | None) -> bool:
    """Return whether an error is smaller by more than rounding; nothing was compared if None."""
    return error is None or other is None or error < other - ROUNDING


class _Kernel:
    """Features of one bandwidth.

    Parameters
    ----------
    centres
        Centres, about the mean.
    mean, spread
        What coordinates are centred by, and divided by.
    bandwidth
        Standard deviation of the Gaussian function.
    """

    def __init__(self, centres: Float, mean: Float, spread: float, bandwidth: float) -> None:
        self.bandwidth = bandwidth
        self._centres, self._mean, self._spread = centres, mean, spread
        self._around = kernel_params(centres, bandwidth)
        kernel = kernel_of_block(np, centres, *self._around)
        values, vectors = eigh(kernel)
        kept = values > RANK_TOLERANCE * values[-1]
        self._root: Float = vectors[:, kept] / np.sqrt(values[kept])
        self._pilot = np.append(np.zeros_like(mean), (kernel @ self._root).mean(axis=0))

    def moments(self, engine: Engine, source: Any, target: Any, folds: Any) -> FoldMoments:
        """Return the moments of the features, in one pass."""
        params = (self._mean, self._spread, self._root, *self._around)
        return fold_moments(
            engine,
            source,
            target,
            folds,
            features=_features,
            params=params,
            pilot=self._pilot,
        )

    def unit(self, moments: FoldMoments) -> float:
        """Return the mean eigenvalue of the scatter matrix of coordinates and centres."""
        n_features = len(self._mean) + len(self._centres)
        return float(moments.whole().scatter.trace()) / n_features

    def map(self, moments: FoldMoments, penalty: float) -> KernelMap:
        """Return the map of a penalty, fitted to all rows."""
        whole, width = moments.whole(), len(self._mean)
        found = solve(whole, penalty)
        return KernelMap(
            source_mean=self._mean,
            target_mean=whole.target_mean,
            constant=whole.target_mean - whole.source_mean @ found,
            matrix=found[:width] / self._spread,
            centres=self._centres + self._mean,
            coefficients=product(self._root, found[width:]),
            bandwidth=self.bandwidth,
        )


def _best(
    engine: Engine,
    made: Callable[[float], _Kernel],
    distance: float,
    trial: tuple[Any, Any, NDArray[np.int8]],
    shrinkage: float | str,
) -> tuple[_Kernel, FoldMoments]:
    """Return the features that predict one fold of some rows best, and their moments."""
    best, least = None, np.inf
    for width in WIDTHS:
        kernel = made(width * distance)
        moments = kernel.moments(engine, *trial)
        found = choose(moments, shrinkage, unit=kernel.unit(moments), only=1)
        if best is None or (found.error is not None and found.error < least):
            best, least = (kernel, moments), np.inf if found.error is None else found.error
    assert best is not None
    return best


def _trial(
    engine: Engine, source: Any, target: Any, keys: NDArray[np.uint64], folds: NDArray[np.int8]
) -> tuple[Any, Any, NDArray[np.int8]]:
    """Return at most `TRIAL_ROWS` rows, and their folds."""
    if len(keys) <= TRIAL_ROWS:
        return source, target, folds
    keep = np.zeros(len(keys), dtype=bool)
    keep[np.argpartition(mixed_keys(keys + np.uint64(2)), TRIAL_ROWS)[:TRIAL_ROWS]] = True
    some = [select_rows(engine, rows, keep) for rows in (source, target)]
    return some[0], some[1], fold_rows(keys[keep], N_FOLDS)


def _centres(engine: Engine, source: Any, keys: NDArray[np.uint64], count: int) -> Float:
    """Return the first distinct rows in the order of their mixed keys."""
    mixed = mixed_keys(keys + np.uint64(1))
    chosen = np.unique(mixed, return_index=True)[1][:count]
    keep = np.zeros(len(keys), dtype=bool)
    keep[chosen] = True
    found: Float = select_rows(engine, source, keep)[np.argsort(mixed[keep])]
    return found


def _median_distance(centres: Float) -> float:
    """Return the median distance between rows, zero if there is only one."""
    squares = (centres**2).sum(axis=1)
    between = squares[:, None] + squares - 2 * centres @ centres.T
    pairs = between[np.triu_indices(len(centres), 1)]
    return float(np.sqrt(np.median(np.maximum(pairs, 0.0)))) if len(pairs) else 0.0


def _features(
    xp: Any, x: Any, mean: Any, spread: float, root: Any, centres: Any, squares: Any, factor: float
) -> Any:
    centred = x - mean
    kernel = kernel_of_block(xp, centred, centres, squares, factor)
    return xp.concat([centred / spread, xp.matmul(kernel, root)], axis=1)
