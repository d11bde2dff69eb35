"""The maps between two prepared runs and their errors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from upto.align import AffineMap, fit_maps, row_errors
from upto.assess.intervals import r_squared
from upto.assess.nulls import pairing_p_values
from upto.assess.prepare import PreparedRun
from upto.assess.split import Split, take_rows
from upto.core import Group
from upto.engines import CrossMoments, Engine, cross_scatters

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from upto.unmix import Unmixing

Float = NDArray[np.float64]

ICA_ROW = "ica"
CONSTANT = "constant"
_ERROR_BYTES = 2**25


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Pair:
    """Two prepared runs, the first to be mapped onto the second."""

    engine: Engine
    source: PreparedRun
    target: PreparedRun
    split: Split

    @property
    def extent(self) -> float:
        """Diameter of the target: the unit of every error."""
        return self.target.summary.diameter.value

    @property
    def width(self) -> int:
        """The larger number of coordinates."""
        return max(self.source.summary.n_features, self.target.summary.n_features)

    def take(self, index: NDArray[np.intp]) -> tuple[Float, Float]:
        """Bring chosen rows of both runs into memory."""
        return (
            take_rows(self.engine, self.source.rows, index),
            take_rows(self.engine, self.target.rows, index),
        )

    def flipped(self) -> Pair:
        """Exchange source and target."""
        return replace(self, source=self.target, target=self.source)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PairMoments:
    """Cross-moments of two runs on the fitted rows and on all rows."""

    fitted: CrossMoments
    everything: CrossMoments

    def flipped(self) -> PairMoments:
        """Exchange source and target."""
        return PairMoments(fitted=self.fitted.flipped(), everything=self.everything.flipped())


def pair_moments(pair: Pair) -> PairMoments:
    """Form the cross-moments of a pair in one pass."""
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


def candidate_maps(
    groups: Sequence[Group],
    moments: CrossMoments,
    unmixings: tuple[Unmixing | None, Unmixing | None],
) -> dict[str, AffineMap]:
    """Fit every group, the ICA row where both runs were unmixed, and the constant map."""
    same_width = len(moments.source.mean) == len(moments.target.mean)
    defined = [group for group in groups if same_width or group is not Group.IDENTITY]
    maps = {str(group): fitted for group, fitted in fit_maps(defined, moments).items()}
    matching = Group.SIGNED_PERMUTATION in groups
    if matching and unmixings[0] is not None and unmixings[1] is not None:
        maps[ICA_ROW] = ica_map(unmixings[0], unmixings[1], moments)
    maps[CONSTANT] = _constant(moments)
    return maps


def ica_map(source: Unmixing, target: Unmixing, moments: CrossMoments) -> AffineMap:
    """Unmix the source, match its components to the target's, and mix them as the target does."""
    correlation = source_correlations(source, target, moments)
    rows, columns = scipy.optimize.linear_sum_assignment(np.abs(correlation), maximize=True)
    signs = np.where(correlation[rows, columns] < 0, -1.0, 1.0)
    matrix = (source.components[rows] * signs[:, None]).T @ target.mixing[:, columns].T
    return AffineMap(
        source_mean=moments.source.mean,
        target_mean=moments.target.mean,
        scale=np.ones(len(moments.target.mean)),
        matrix=matrix,
    )


def source_correlations(source: Unmixing, target: Unmixing, moments: CrossMoments) -> Float:
    """Return the correlations between the components of two runs."""
    correlation: Float = source.components @ (moments.cross / moments.weight) @ target.components.T
    return correlation


def ambiguous_matches(correlation: Float) -> int:
    """Count matched components that another one matches almost as well, within five per cent."""
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
    pair: Pair, maps: Mapping[str, AffineMap], *, held_out: bool
) -> Iterator[tuple[str, Float]]:
    """Yield the error of every row, or of every held-out row, over the diameter, map by map.

    Few vectors exist at a time, so long runs can be summarised in little memory.
    """
    source, target, keep = pair.source.rows, pair.target.rows, None
    n_rows = pair.split.n_held_out if held_out else len(pair.split.parts)
    if held_out and pair.source.judged is not None and pair.target.judged is not None:
        source, target = pair.source.judged, pair.target.judged
    elif held_out:
        keep = pair.split.parts == 1
    batch = max(1, _ERROR_BYTES // (8 * n_rows))
    names = list(maps)
    for start in range(0, len(names), batch):
        chosen = names[start : start + batch]
        found = row_errors(pair.engine, source, target, [maps[name] for name in chosen], keep)
        found /= pair.extent
        yield from zip(chosen, found.T, strict=True)


def held_out_p_values(
    pair: Pair, maps: dict[str, AffineMap], *, permutations: int, seed: int
) -> dict[str, float]:
    """Test every map but the constant one on held-out rows."""
    source, target = pair.source.paired, pair.target.paired
    names = [name for name in maps if name != CONSTANT]
    values = pairing_p_values(
        [maps[name] for name in names], source, target, permutations=permutations, seed=seed
    )
    return dict(zip(names, values, strict=True))


def bulk_r2(pair: Pair, maps: Mapping[str, AffineMap]) -> dict[str, float]:
    """Return every map's R² on held-out rows without the outermost; none where too few are left.

    One far row that the runs share would otherwise make unrelated runs agree.
    """
    x, y = pair.source.paired, pair.target.paired
    if len(y) < 3:
        return {}
    away = np.linalg.norm(y - np.median(y, axis=0), axis=1)
    kept = np.argsort(away, kind="stable")[: len(y) - -(-len(y) // 100)]
    x, y = x[kept], y[kept]
    total = float(np.vdot(centred := y - y.mean(axis=0), centred))
    return {
        name: r_squared(np.linalg.norm(y - affine_map.predict(x), axis=1), total)
        for name, affine_map in maps.items()
    }


def r2_per_direction(pair: Pair, affine_map: AffineMap) -> float | None:
    """Average R² over the target's principal directions, none counted below zero."""
    x, y, axes = pair.source.paired, pair.target.paired, pair.target.axes
    if len(y) == 0:
        return None
    residual = (y - affine_map.predict(x)) @ axes
    spread = (y - y.mean(axis=0)) @ axes
    total = np.einsum("ij,ij->j", spread, spread)
    left = np.einsum("ij,ij->j", residual, residual)
    share = np.divide(left, total, out=np.ones_like(left), where=total > 0)
    return float(np.mean(np.clip(1.0 - share, 0.0, 1.0)))


def _constant(moments: CrossMoments) -> AffineMap:
    width = len(moments.target.mean)
    return AffineMap(
        source_mean=moments.source.mean,
        target_mean=moments.target.mean,
        scale=np.zeros(width),
        index=np.zeros(width, dtype=np.intp),
    )
