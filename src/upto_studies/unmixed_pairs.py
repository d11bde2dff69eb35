"""Efficiency of ICA between two runs, beside what could decide it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.optimize
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from upto.core import random_stream
from upto.core.array_types import Float
from upto.ica import ICA
from upto.ica.contrasts import LogCosh, gaussian_moments
from upto.ica.gaussianity import laplace_nongaussianity
from upto.ica.recurrence import found_limit
from upto.measures import ica_efficiency

if TYPE_CHECKING:
    from collections.abc import Sequence

Rows = NDArray[np.intp]

HELD_OUT_SHARE = 0.3
LEAST_GAIN = 0.02
"""Least gain of the similarity over the permutation, as a share of the target's spread: below it an
efficiency divides by noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmixedPair:
    """Efficiency of ICA on held-out rows, and what may explain it.

    An efficiency is the share of the gap between signed permutation and similarity that is closed,
    None where there is no gap.

    Parameters
    ----------
    efficiency, efficiency_in_sample
        Both runs unmixed on the same rows, as in the paper: on held-out and on fitted rows.
    halved, apart
        Held-out efficiency with half of the rows: both runs unmixed on the same half, and each on
        a half of its own. A component that is an accident of its rows is found in both runs by the
        first and not by the second.
    principal, rotated
        Held-out efficiency of principal directions and of randomly rotated ones, matched in the
        same way: what matching achieves without ICA.
    n_components, n_fitted
        Components, and rows that everything was fitted to.
    shared
        R² of the affine map on held-out rows, averaged over both directions.
    non_gaussianity
        Mean distance of held-out components from a Gaussian, of the run where it is smaller; that
        of Laplace sources is 1.
    recurrence
        Share of the components that disjoint halves of the fitted rows both find, of the run where
        it is smaller.
    """

    efficiency: float | None
    efficiency_in_sample: float | None
    halved: float | None
    apart: float | None
    principal: float | None
    rotated: float | None
    n_components: int
    n_fitted: int
    shared: float
    non_gaussianity: float
    recurrence: float

    @property
    def rows_each(self) -> float:
        """Fitted rows for each component."""
        return self.n_fitted / self.n_components


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """A run in its leading directions; `axes` leads back to its coordinates."""

    scores: Float
    axes: Float

    @property
    def rows(self) -> Float:
        return self.scores @ self.axes.T


@dataclass(frozen=True, slots=True, eq=False)
class _Unmixed:
    """Sources of a run, and the matrix that mixes them to its scores."""

    sources: Float
    mixing: Float


def unmixed_pair(
    first: Float, second: Float, *, n_directions: int | None = None, seed: int = 0
) -> UnmixedPair:
    """Compare two runs up to signed permutation, similarity and ICA, as `upto.compare` does.

    Parameters
    ----------
    first, second
        Rows of two runs; the first is mapped onto the second.
    n_directions
        Number of leading directions of each run to keep; its coordinates stay as they are. All by
        default.
    seed
        Seed of the split, of ICA and of random rotations.
    """
    order = random_stream(seed, "split").permutation(len(first))
    n_held = round(HELD_OUT_SHARE * len(first))
    held, fitted = order[:n_held], order[n_held:]
    halves = fitted[: len(fitted) // 2], fitted[len(fitted) // 2 :]
    sides = source, target = _side(first, fitted, n_directions), _side(second, fitted, n_directions)
    whole = [_unmixed(side, fitted, seed) for side in sides]
    parts = [
        [_unmixed(side, half, seed + 1 + n) for n, half in enumerate(halves)] for side in sides
    ]
    permuted, similar = (made(source.rows, target.rows, fitted) for made in (_permuted, _similar))

    def efficiency(both: Sequence[_Unmixed], rows: Rows = held) -> float | None:
        ours, theirs = both
        made = _matched(ours.sources, target.scores, theirs.mixing, fitted) @ target.axes.T
        return _efficiency(*(each[rows] for each in (permuted, similar, made, target.rows)))

    return UnmixedPair(
        efficiency=efficiency(whole),
        efficiency_in_sample=efficiency(whole, fitted),
        halved=efficiency((parts[0][0], parts[1][0])),
        apart=efficiency((parts[0][0], parts[1][1])),
        principal=efficiency([_white(side, fitted, None) for side in sides]),
        rotated=efficiency([_white(side, fitted, seed + n) for n, side in enumerate(sides)]),
        n_components=min(side.scores.shape[1] for side in sides),
        n_fitted=len(fitted),
        shared=0.5
        * (
            _explained(source.scores, target.scores, fitted, held)
            + _explained(target.scores, source.scores, fitted, held)
        ),
        non_gaussianity=min(float(non_gaussianity(each.sources[held]).mean()) for each in whole),
        recurrence=min(_recurring(*(part.sources for part in own)) for own in parts),
    )


def non_gaussianity(sources: Float) -> Float:
    """Return the distance of each column from a Gaussian, by log cosh; that of Laplace is 1."""
    contrast = LogCosh()
    value = contrast(np, sources / sources.std(axis=0))[0].mean(axis=0)
    distance = np.abs(value - gaussian_moments(contrast)[0])
    found: Float = distance / laplace_nongaussianity(contrast)
    return found


def _side(rows: Float, fitted: Rows, n_directions: int | None) -> _Side:
    centred = rows - rows[fitted].mean(axis=0)
    _, widths, directions = np.linalg.svd(centred[fitted], full_matrices=False)
    rank = int((widths > 1e-7 * widths[0]).sum())
    axes = directions[: min(rank, n_directions or rank)].T
    return _Side(centred @ axes, axes)


def _unmixed(side: _Side, fitted: Rows, seed: int) -> _Unmixed:
    ica = ICA(random_state=seed, max_iterations=200, tolerance=1e-4)
    with warnings.catch_warnings():
        # A search that does not settle is an outcome here, which recurrence shows.
        warnings.simplefilter("ignore", ConvergenceWarning)
        ica.fit(side.scores[fitted])
    return _Unmixed(np.asarray(ica.transform(side.scores)), np.asarray(ica.mixing_))


def _white(side: _Side, fitted: Rows, seed: int | None) -> _Unmixed:
    """Return principal directions of unit variance, rotated at random by a seed."""
    widths = side.scores[fitted].std(axis=0)
    turn = np.eye(len(widths))
    if seed is not None:
        turn = np.linalg.qr(random_stream(seed, "rotation").normal(size=turn.shape))[0]
    return _Unmixed(side.scores / widths @ turn, widths[:, None] * turn)


def _recurring(first: Float, second: Float) -> float:
    """Return the share of components with a counterpart that is too close for chance."""
    scaled = [(each - each.mean(axis=0)) / each.std(axis=0) for each in (first, second)]
    likeness = np.abs(scaled[0].T @ scaled[1]) / len(first)
    matched = likeness[scipy.optimize.linear_sum_assignment(likeness, maximize=True)]
    n_most = max(likeness.shape)
    return float((matched >= found_limit(n_most)).sum() / n_most)


def _permuted(first: Float, second: Float, fitted: Rows) -> Float:
    """Return the first rows in the coordinates of the second, by the best signed permutation."""
    cross = first[fitted].T @ second[fitted]
    ours, theirs = scipy.optimize.linear_sum_assignment(np.abs(cross), maximize=True)
    made = np.zeros_like(second)
    made[:, theirs] = first[:, ours] * np.where(cross[ours, theirs] < 0, -1.0, 1.0)
    return made


def _matched(sources: Float, target: Float, mixing: Float, fitted: Rows) -> Float:
    """Return sources mixed as in the target, matched so that the squared error is least."""
    gain = sources[fitted].T @ target[fitted] @ mixing / len(fitted)
    lengths = np.square(mixing).sum(axis=0)
    ours, theirs = scipy.optimize.linear_sum_assignment(2 * np.abs(gain) - lengths, maximize=True)
    signs = np.where(gain[ours, theirs] < 0, -1.0, 1.0)
    made: Float = (sources[:, ours] * signs) @ mixing[:, theirs].T
    return made


def _similar(first: Float, second: Float, fitted: Rows) -> Float:
    """Return the first rows after the best similarity."""
    left, gains, right = np.linalg.svd(first[fitted].T @ second[fitted], full_matrices=False)
    made: Float = gains.sum() / np.square(first[fitted]).sum() * first @ (left @ right)
    return made


def _explained(first: Float, second: Float, fitted: Rows, held: Rows) -> float:
    design = np.column_stack([first, np.ones(len(first))])
    weights = np.linalg.lstsq(design[fitted], second[fitted], rcond=None)[0]
    left = np.square(second[held] - design[held] @ weights).sum()
    return float(1 - left / np.square(second[held] - second[held].mean(axis=0)).sum())


def _efficiency(permuted: Float, similar: Float, unmixed: Float, target: Float) -> float | None:
    permutation, similarity, ica = (
        float(np.linalg.norm(made - target, axis=1).mean()) for made in (permuted, similar, unmixed)
    )
    spread = float(np.linalg.norm(target - target.mean(axis=0), axis=1).mean())
    if permutation - similarity <= LEAST_GAIN * spread:
        return None
    return ica_efficiency(permutation, similarity, ica)
