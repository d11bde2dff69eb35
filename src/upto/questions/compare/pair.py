"""Maps between two prepared runs, and their errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
import scipy.optimize

from upto.alignment import (
    AffineMap,
    MonotoneFit,
    MonotoneMap,
    SortedColumns,
    fit_maps,
    monotone_errors,
    row_errors,
)
from upto.core import Group, InputError
from upto.core.float_range import scale_limits
from upto.engines import CrossMoments, Engine, cross_scatters, rotation_of_rows, side_by_side
from upto.evidence.prepare import PreparedRun
from upto.evidence.split import Split, take_rows
from upto.questions.compare.side import MONOTONE_ROWS, Side

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from upto.core.array_types import Float
    from upto.ica import Unmixing

Map = AffineMap | MonotoneMap

ICA_ROW, SCALED_ICA_ROW = "ica", "ica-scaled"
UNMIXED = {ICA_ROW: Group.SIGNED_PERMUTATION, SCALED_ICA_ROW: Group.SCALED_PERMUTATION}
"""Group that matches the components after ICA."""
CONSTANT = "constant"
_ERROR_BYTES = 2**25


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Pair:
    """Two prepared runs; the first is mapped onto the second.

    `sides` are what was computed of each run, by its identity; pairs of the same runs share them.
    """

    engine: Engine
    source: PreparedRun
    target: PreparedRun
    split: Split
    sides: dict[int, Side] = field(default_factory=dict)
    _sorted: dict[bool, MonotoneFit] = field(default_factory=dict, init=False)
    _sorting: tuple[Lock, Lock] = field(default_factory=lambda: (Lock(), Lock()), init=False)

    def side(self, run: PreparedRun) -> Side:
        """Return what was computed of a run."""
        if id(run) not in self.sides:
            self.sides[id(run)] = Side(run, self.split)
        return self.sides[id(run)]

    @property
    def extent(self) -> float:
        """Diameter of the target: the unit of every error."""
        return self.target.summary.diameter.value

    @property
    def width(self) -> int:
        """The larger number of coordinates."""
        return max(self.source.summary.n_features, self.target.summary.n_features)

    @property
    def paired_strata(self) -> NDArray[np.intp] | None:
        """Classes of the re-paired rows, if re-pairing is restricted to classes."""
        if self.split.strata is None:
            return None
        return self.split.strata[self.split.distinct_held_out(len(self.target.paired))]

    def take(self, index: NDArray[np.intp]) -> tuple[Float, Float]:
        """Read the chosen rows of both runs into memory."""
        return (
            take_rows(self.engine, self.source.rows, index),
            take_rows(self.engine, self.target.rows, index),
        )

    def flipped(self) -> Pair:
        """Exchange source and target."""
        pair = Pair(
            engine=self.engine,
            source=self.target,
            target=self.source,
            split=self.split,
            sides=self.sides,
        )
        # Sorting is the expensive step, so sorted rows are reused.
        # A list: a step side by side may add to them meanwhile.
        known = list(self._sorted.items())
        pair._sorted.update((fitted, each.flipped()) for fitted, each in known)
        return pair

    def sample_rows(self, *, fitted: bool) -> tuple[Float, Float]:
        """Return the rows of both runs that are in memory: only the fitted ones, or all."""
        x, y = self.source.sample, self.target.sample
        if not fitted:
            return x, y
        mine = self.split.parts[self.split.first_rows(len(x))] == 0
        return x[mine], y[mine]

    def monotone_fit(self, *, fitted: bool) -> MonotoneFit:
        """Return the candidate monotone maps, from a subset of the fitted rows or of all rows."""
        # Steps side by side need the same ones.
        with self._sorting[fitted]:
            if fitted not in self._sorted:
                self._sorted[fitted] = MonotoneFit(*self._sorted_columns(fitted=fitted))
            return self._sorted[fitted]

    def _sorted_columns(self, *, fitted: bool) -> list[SortedColumns]:
        if fitted == (self.split.n_held_out > 0):
            return [self.side(run).columns() for run in (self.source, self.target)]
        rows = self.sample_rows(fitted=fitted)
        return [SortedColumns(each[:MONOTONE_ROWS]) for each in rows]

    def whiten(self) -> None:
        """Find the white directions of both runs and the inverses by them now, side by side.

        The inverse is then that of the same decomposition, whoever needs it first.
        """
        if self.split.n_held_out:
            sides = [self.side(run) for run in (self.source, self.target)]
            side_by_side([side.invert for side in sides], width=self.width)

    def forget_in_sample(self) -> None:
        """Free the memory of what only fits to all rows need, if some rows are held out."""
        if self.split.n_held_out:
            self._sorted.pop(False, None)
            for run in (self.source, self.target):
                run.everything.forget_inverse()

    def forget_sorted(self) -> None:
        """Free the memory of the sorted columns, which are sorted again if needed."""
        self._sorted.clear()
        for run in (self.source, self.target):
            self.side(run).forget_columns()

    def forget_fits(self) -> None:
        """Free the memory of what only fits need: the inverses and the sorted columns."""
        self.forget_sorted()
        for run in (self.source, self.target):
            run.fitted.forget_inverse()

    def forget_white(self) -> None:
        """Free the memory of the white directions."""
        for run in (self.source, self.target):
            self.side(run).forget_white()

    def rows_to_judge(self, *, held_out: bool) -> tuple[Any, Any, NDArray[np.bool_] | None]:
        """Return rows of both runs on which maps are evaluated, and a mask of those to keep."""
        if not held_out:
            return self.source.rows, self.target.rows, None
        if self.source.judged is not None and self.target.judged is not None:
            return self.source.judged, self.target.judged, None
        return self.source.rows, self.target.rows, self.split.parts == 1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PairMoments:
    """Cross-moments of two runs on the fitted rows and on all rows."""

    fitted: CrossMoments
    everything: CrossMoments

    def find_rotations(self) -> None:
        """Compute both rotations now, side by side."""
        calls = [partial(getattr, part, "rotation") for part in (self.fitted, self.everything)]
        side_by_side(calls, width=max(self.fitted.cross.shape))

    def flipped(self) -> PairMoments:
        """Exchange source and target."""
        return PairMoments(fitted=self.fitted.flipped(), everything=self.everything.flipped())


def pair_moments(pair: Pair) -> PairMoments:
    """Compute the cross-moments of a pair in one pass."""
    _refuse_scales(pair)
    source, target = pair.source, pair.target
    means = [(x.mean, y.mean, x.weight) for x, y in zip(source.parts, target.parts, strict=True)]
    fitted, held_out = cross_scatters(
        pair.engine, source.rows, target.rows, pair.split.parts, (source.pilot, target.pilot), means
    )
    weights = [part.weight for part in source.parts]
    between = np.outer(
        source.held_out.mean - source.fitted.mean, target.held_out.mean - target.fitted.mean
    )
    total = fitted + held_out + between * (weights[0] * weights[1] / sum(weights))
    return PairMoments(
        fitted=CrossMoments(source.fitted, target.fitted, fitted),
        everything=CrossMoments(source.everything, target.everything, total),
    )


def _refuse_scales(pair: Pair) -> None:
    """Refuse runs of so different scales that squares of errors overflow."""
    runs = (pair.source, pair.target)
    extents = [run.summary.diameter.value for run in runs]
    largest = max(*extents, *(float(np.abs(run.fitted.mean).max()) for run in runs))
    _, most = scale_limits(pair.width * len(pair.split.parts))
    if largest / most > min(extents):
        names, sizes = (
            " and ".join(each)
            for each in ([run.name for run in runs], [f"{extent:.2g}" for extent in extents])
        )
        message = (
            f"{names} have diameters of {sizes}, so that squares of errors overflow float64: "
            "rescale one of them."
        )
        raise InputError(message)


def candidate_maps(
    groups: Sequence[Group],
    moments: CrossMoments,
    unmixings: tuple[Unmixing | None, Unmixing | None],
) -> dict[str, Map]:
    """Fit every group but monotone maps, ICA if both runs were unmixed, and the constant map."""
    same_width = len(moments.source.mean) == len(moments.target.mean)
    defined = [group for group in groups if same_width or group is not Group.IDENTITY]
    by_moments = [group for group in defined if group is not Group.MONOTONE_PERMUTATION]
    fitted = fit_maps(by_moments, moments)
    maps: dict[str, Map] = {str(group): each for group, each in fitted.items()}
    if unmixings[0] is not None and unmixings[1] is not None:
        if Group.SIGNED_PERMUTATION in groups:
            maps[ICA_ROW] = ica_map(unmixings[0], unmixings[1], moments, scaled=False)
        if Group.SCALED_PERMUTATION in groups:
            maps[SCALED_ICA_ROW] = ica_map(unmixings[0], unmixings[1], moments, scaled=True)
    maps[CONSTANT] = _constant(moments)
    return maps


def ica_map(
    source: Unmixing, target: Unmixing, moments: CrossMoments, *, scaled: bool
) -> AffineMap:
    """Unmix the source, match its components to the target's, and mix them as in the target.

    Components are uncorrelated with unit variance, so the squared error is a sum over the matched
    pairs and an assignment minimises it; `scaled` fits a scale to each pair.
    """
    mixing = target.mixing
    gain = source.components @ (moments.cross / moments.weight) @ mixing
    lengths = np.sum(mixing**2, axis=0)
    slopes = gain / np.where(lengths > 0, lengths, 1.0)
    saved = gain * slopes if scaled else 2 * np.abs(gain) - lengths
    rows, columns = scipy.optimize.linear_sum_assignment(saved, maximize=True)
    own = slopes[rows, columns]
    factors = own if scaled else np.where(own < 0, -1.0, 1.0)
    matrix = (source.components[rows] * factors[:, None]).T @ mixing[:, columns].T
    return AffineMap(
        source_mean=moments.source.mean,
        target_mean=moments.target.mean,
        scale=np.ones(len(moments.target.mean)),
        matrix=matrix,
    )


def affine_from_rows(source: Float, target: Float) -> AffineMap:
    """Fit an affine map by least squares, for directions too narrow for a covariance matrix."""
    source_mean, target_mean = source.mean(axis=0), target.mean(axis=0)
    matrix = scipy.linalg.lstsq(source - source_mean, target - target_mean, cond=1e-14)[0]
    return AffineMap(
        source_mean=source_mean,
        target_mean=target_mean,
        scale=np.ones(len(target_mean)),
        # A view would keep an array of all rows.
        matrix=np.array(matrix),
    )


def keep_rotation_of_rows(pair: Pair, moments: CrossMoments, *, fitted: bool) -> None:
    """Rotate by the rows where their products are too coarse for what they show.

    So narrow are directions only where the rotation is otherwise all but exact.
    """
    x, y = (rows - rows.mean(axis=0) for rows in pair.sample_rows(fitted=fitted))
    if x.shape[1] > y.shape[1] or len(x) <= x.shape[1] < moments.weight:
        return
    left = _left_by_rotation(x, y, moments.rotation)
    if _EXACT < left < _NEARLY_EXACT:
        rotation = rotation_of_rows(x, y)
        if 2 * _left_by_rotation(x, y, rotation) < left:
            moments.keep_rotation(rotation)


_EXACT, _NEARLY_EXACT = 1e-14, 1e-4
"""Error relative to predicting the mean at the level of rounding, and where products are coarse."""


def _left_by_rotation(x: Float, y: Float, rotation: Float) -> float:
    """Return the error of a rotation at its best scale, relative to predicting the mean."""
    turned, total = x @ rotation, float(np.linalg.norm(y))
    squares = float(np.vdot(turned, turned))
    if squares == 0.0 or total == 0.0:
        return 0.0
    turned *= float(np.vdot(turned, y)) / squares
    return float(np.linalg.norm(y - turned)) / total


def source_correlations(source: Unmixing, target: Unmixing, moments: CrossMoments) -> Float:
    """Return the correlations between the components of two runs."""
    return source.components @ (moments.cross / moments.weight) @ target.components.T


def ambiguous_matches(correlation: Float) -> int:
    """Count matched components with another match within five per cent."""
    size = np.abs(correlation)
    rows, columns = scipy.optimize.linear_sum_assignment(size, maximize=True)
    matched = size[rows, columns]
    others = size.copy()
    others[rows, columns] = 0.0
    rival = np.maximum(
        others[rows].max(axis=1, initial=0.0), others[:, columns].max(axis=0, initial=0.0)
    )
    return int((rival >= 0.95 * matched).sum())


def iterate_errors(
    pair: Pair, maps: Mapping[str, Map], *, held_out: bool
) -> Iterator[tuple[str, Float]]:
    """Yield the errors of all rows, or of the held-out rows, over the diameter, map by map.

    Few error vectors exist at a time, which bounds the memory of long runs.
    """
    source, target, keep = pair.rows_to_judge(held_out=held_out)
    n_rows = pair.split.n_held_out if held_out else len(pair.split.parts)
    batch = max(1, _ERROR_BYTES // (8 * n_rows))
    affine = {name: each for name, each in maps.items() if isinstance(each, AffineMap)}
    names = list(affine)
    for start in range(0, len(names), batch):
        chosen = names[start : start + batch]
        found = row_errors(pair.engine, source, target, [affine[name] for name in chosen], keep)
        found /= pair.extent
        yield from zip(chosen, found.T, strict=True)
    for name, each in maps.items():
        if isinstance(each, MonotoneMap):
            yield name, monotone_errors(pair.engine, source, target, each, keep) / pair.extent


def _constant(moments: CrossMoments) -> AffineMap:
    width = len(moments.target.mean)
    return AffineMap(
        source_mean=moments.source.mean,
        target_mean=moments.target.mean,
        scale=np.zeros(width),
        index=np.zeros(width, dtype=np.intp),
    )
