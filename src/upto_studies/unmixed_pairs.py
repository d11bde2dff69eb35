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
from upto.ica.gaussianity import CLEAR, laplace_nongaussianity
from upto.ica.recurrence import found_limit
from upto.measures import ica_efficiency
from upto_studies.agreement import split_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

Rows = NDArray[np.intp]

HELD_OUT_SHARE = 0.3
LEAST_GAIN = 0.02
"""Least gain of the similarity over the permutation, as a share of the target's spread: below it an
efficiency divides by noise."""


ORDERED = ("permutation", "ICA", "rigid", "linear")
"""Columns of Table 1 of Nelson et al. 2026, from the largest error to the smallest as it claims."""


_ROUNDING = 1e-9
"""Share of the largest error below which a difference is rounding."""


def broken_order(permutation: float, ica: float, rigid: float, linear: float) -> str:
    """Return what breaks permutation > ICA > rigid ≥ linear by more than rounding, or nothing."""
    rounding = _ROUNDING * permutation
    if ica >= permutation - rounding:
        return "ICA ≥ permutation"
    if ica < rigid - rounding:
        return "ICA ≤ rigid"
    return "rigid < linear" if rigid < linear - rounding else ""


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
    n_non_gaussian
        Components that can be told from a Gaussian on held-out rows, of the run with fewer.
    recurrence
        Share of the components that disjoint halves of the fitted rows both find, of the run where
        it is smaller.
    errors
        Mean L2 errors on held-out rows up to each of `ORDERED`.
    turned
        The error of a signed permutation after the first run was rotated at random. ICA does not
        depend on the coordinates, a permutation does.
    whitened
        The error of a rotation between whitened runs, which no matching of components goes below
        on the rows that it is fitted to. A rigid motion leaves the widths of directions alone.
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
    n_non_gaussian: int
    recurrence: float
    errors: dict[str, float]
    turned: float
    whitened: float

    @property
    def failure(self) -> str:
        """What breaks permutation > ICA > rigid ≥ linear on held-out rows, or nothing."""
        return broken_order(*(self.errors[name] for name in ORDERED))

    @property
    def turned_failure(self) -> str:
        """The same after the coordinates of the first run were rotated at random."""
        return broken_order(self.turned, *(self.errors[name] for name in ORDERED[1:]))

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
    first: Float,
    second: Float,
    *,
    n_directions: int | None = None,
    groups: NDArray[np.int64] | None = None,
    seed: int = 0,
) -> UnmixedPair:
    """Compare two runs up to signed permutation, similarity and ICA, as `upto.compare` does.

    Parameters
    ----------
    first, second
        Rows of two runs; the first is mapped onto the second.
    n_directions
        Number of leading directions of each run to keep; its coordinates stay as they are. All by
        default.
    groups
        Group of each row. Whole groups are held out, and halves are of whole groups.
    seed
        Seed of the split, of ICA and of random rotations.
    """
    held, fitted = split_rows(len(first), groups, share=HELD_OUT_SHARE, seed=seed)
    halves = _halves(fitted, groups, seed)
    sides = source, target = _side(first, fitted, n_directions), _side(second, fitted, n_directions)
    whole = [_unmixed(side, fitted, seed) for side in sides]
    parts = [
        [_unmixed(side, half, seed + 1 + n) for n, half in enumerate(halves)] for side in sides
    ]
    permuted, similar, linear = (
        made(source.rows, target.rows, fitted) for made in (_permuted, _similar, _linear)
    )
    turned = _permuted(source.rows @ _rotation(source.rows.shape[1], seed), target.rows, fitted)

    def mixed(both: Sequence[_Unmixed]) -> Float:
        ours, theirs = both
        return _matched(ours.sources, target.scores, theirs.mixing, fitted) @ target.axes.T

    def efficiency(both: Sequence[_Unmixed], rows: Rows = held) -> float | None:
        found = permuted, similar, mixed(both), target.rows
        return _efficiency(*(each[rows] for each in found))

    def error(made: Float) -> float:
        return float(np.linalg.norm(made[held] - target.rows[held], axis=1).mean())

    by_group = None if groups is None else groups[held]

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
        n_non_gaussian=min(_n_non_gaussian(each.sources[held], by_group) for each in whole),
        recurrence=min(_recurring(*(part.sources for part in own)) for own in parts),
        errors={
            name: error(made)
            for name, made in zip(ORDERED, (permuted, mixed(whole), similar, linear), strict=True)
        },
        turned=error(turned),
        whitened=error(_whitened(sides, fitted)),
    )


def non_gaussianity(sources: Float) -> Float:
    """Return the distance of each column from a Gaussian, by log cosh; that of Laplace is 1."""
    contrast = LogCosh()
    value = contrast(np, sources / sources.std(axis=0))[0].mean(axis=0)
    distance = np.abs(value - gaussian_moments(contrast)[0])
    found: Float = distance / laplace_nongaussianity(contrast)
    return found


def _n_non_gaussian(sources: Float, groups: NDArray[np.int64] | None) -> int:
    """Return how many components can be told from a Gaussian; rows of a group count as one."""
    contrast = LogCosh()
    scaled = (sources - sources.mean(axis=0)) / sources.std(axis=0)
    value, score, _ = contrast(np, scaled)
    mean = value.mean(axis=0)
    # Of a component of unit variance, what its squares explain is no error.
    parts = value - mean - (scaled * score).mean(axis=0) / 2 * (scaled**2 - 1)
    units = np.arange(len(parts)) if groups is None else np.unique(groups, return_inverse=True)[1]
    sums = np.zeros((int(units.max()) + 1, parts.shape[1]))
    np.add.at(sums, units, parts)
    error = np.sqrt(np.square(sums).sum(axis=0)) / len(parts)
    return int((np.abs(mean - gaussian_moments(contrast)[0]) > CLEAR * error).sum())


def _halves(fitted: Rows, groups: NDArray[np.int64] | None, seed: int) -> tuple[Rows, Rows]:
    if groups is None:
        return fitted[: len(fitted) // 2], fitted[len(fitted) // 2 :]
    first, second = split_rows(len(fitted), groups[fitted], share=0.5, seed=seed + 1)
    return fitted[first], fitted[second]


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
    turn = np.eye(len(widths)) if seed is None else _rotation(len(widths), seed)
    return _Unmixed(side.scores / widths @ turn, widths[:, None] * turn)


def _rotation(width: int, seed: int) -> Float:
    turn: Float = np.linalg.qr(random_stream(seed, "rotation").normal(size=(width, width)))[0]
    return turn


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


def _whitened(sides: Sequence[_Side], fitted: Rows) -> Float:
    """Return the first rows, whitened, rotated and mixed as in the target."""
    ours, theirs = (_white(side, fitted, None) for side in sides)
    cross = ours.sources[fitted].T @ theirs.sources[fitted]
    left, _, right = np.linalg.svd(cross, full_matrices=False)
    made: Float = ours.sources @ left @ right @ theirs.mixing.T @ sides[1].axes.T
    return made


def _linear(first: Float, second: Float, fitted: Rows) -> Float:
    """Return the first rows after the best affine map."""
    design = np.column_stack([first, np.ones(len(first))])
    made: Float = design @ np.linalg.lstsq(design[fitted], second[fitted], rcond=None)[0]
    return made


def _explained(first: Float, second: Float, fitted: Rows, held: Rows) -> float:
    left = np.square(second[held] - _linear(first, second, fitted)[held]).sum()
    return float(1 - left / np.square(second[held] - second[held].mean(axis=0)).sum())


def _efficiency(permuted: Float, similar: Float, unmixed: Float, target: Float) -> float | None:
    permutation, similarity, ica = (
        float(np.linalg.norm(made - target, axis=1).mean()) for made in (permuted, similar, unmixed)
    )
    spread = float(np.linalg.norm(target - target.mean(axis=0), axis=1).mean())
    if permutation - similarity <= LEAST_GAIN * spread:
        return None
    return ica_efficiency(permutation, similarity, ica)
