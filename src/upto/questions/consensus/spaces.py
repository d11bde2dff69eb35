"""Fit the common space of runs, by rotating runs or matching components."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.alignment.consensus import (
    Prediction,
    Scatters,
    kept_matches,
    predict_left_out,
    principal_axes,
    synchronise,
    turn_runs,
    weights_by_spread,
)
from upto.core.array_types import Float
from upto.engines import Moments, cross_scatters, moments
from upto.evidence.identify import Judged, distinct_rows, judge
from upto.evidence.serial import effective_rows
from upto.evidence.split import take_rows
from upto.ica import find_components, nongaussianity
from upto.ica.fit import Settings
from upto.ica.gaussianity import CLEAR
from upto.ica.recurrence import affordable_part
from upto.ica.restarts import correlated
from upto.questions.consensus.turns import cannot_turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core import Embeddings
    from upto.engines import Survey
    from upto.engines.base import Arrays, Engine
    from upto.evidence.split import Split


ICA_TOLERANCE, ICA_ITERATIONS = 1e-5, 200
MIN_PART_ROWS = 32
"""Minimum number of rows in each of two parts to estimate components."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Sources:
    """The components of a run: from ICA, or its raw coordinates.

    ``(rows - mean) @ components.T`` have unit variance on the fitted rows. `parts` are the
    components estimated from each of two parts of those rows, in the order and with the signs of
    `components`, zero if missing; empty without ICA. Components that `may_turn` (rotate) cannot be
    distinguished from Gaussian, or belong to a rotationally symmetric pair; `n_near_gaussian`
    counts the former. `converged` is None without ICA.
    """

    mean: Float
    components: Float
    mixing: Float
    rank: int
    parts: tuple[Float, ...]
    may_turn: NDArray[np.bool_]
    n_near_gaussian: int
    converged: bool | None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Gathered:
    """Moments of every run and of every pair of runs, over the fitted rows."""

    fitted: tuple[Moments, ...]
    scatters: Scatters


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Space:
    """Common space of several runs.

    ``(rows - means[i]) @ matrices[i]`` are the coordinates of run i, except those missing in
    `present`; `parts` are the matrices estimated from each of two parts of the rows, with ICA.
    `settled` marks the coordinates of a run that are not free to rotate. The consensus is the mean
    of the runs that have a coordinate, times `factor`. Each run is evaluated against the others
    with its row of `weights`. `predict` returns how the others predict a run, and `consistent` the
    share of pairwise matches above a correlation that is kept.
    """

    means: tuple[Float, ...]
    matrices: tuple[Float, ...]
    parts: tuple[tuple[Float, ...], ...]
    present: NDArray[np.bool_]
    settled: NDArray[np.bool_]
    factor: Float
    variance: Float
    scales: Float
    weights: Float
    sources: tuple[Sources, ...]
    predict: Callable[[int], Prediction]
    consistent: Callable[[float], float | None]

    @property
    def weighted(self) -> tuple[Float, ...]:
        """The matrices whose products with the centred rows sum to the consensus."""
        return tuple(matrix * (self.factor / self.present.sum(axis=0)) for matrix in self.matrices)

    def arranged(self, order: NDArray[np.intp], signs: Float) -> Space:
        """Return the coordinates in another order, then with other signs."""
        return replace(
            self,
            matrices=tuple(matrix[:, order] * signs for matrix in self.matrices),
            parts=tuple(
                tuple(matrix[:, order] * signs for matrix in matrices) for matrices in self.parts
            ),
            present=self.present[:, order],
            settled=self.settled[:, order],
            factor=self.factor[order],
            variance=self.variance[order],
        )


def gather(
    engine: Engine,
    runs: Sequence[Embeddings],
    surveys: Sequence[Survey],
    split: Split,
    advance: Callable[[int], None],
) -> Gathered:
    """Compute the moments of every run and of every pair of runs."""
    parts = []
    for run, surveyed in zip(runs, surveys, strict=True):
        parts.append(moments(engine, run.rows, surveyed.mean, split.parts))
        advance(1)
    cross = {}
    for i in range(len(runs)):
        for j in range(i + 1, len(runs)):
            means = [(x.mean, y.mean, x.weight) for x, y in zip(parts[i], parts[j], strict=True)]
            pilots = (surveys[i].mean, surveys[j].mean)
            rows = (runs[i].rows, runs[j].rows)
            cross[i, j] = cross_scatters(engine, *rows, split.parts, pilots, means)[0]
            advance(1)
    fitted = tuple(part[0] for part in parts)
    own = tuple(part.scatter for part in fitted)
    return Gathered(fitted=fitted, scatters=Scatters(own=own, cross=cross))


def turned_space(gathered: Gathered, *, scaled: bool) -> Space:
    """Rotate runs onto their mean; the coordinates are its principal axes."""
    scatters = gathered.scatters
    agreement = turn_runs(scatters, scaled=scaled)
    axes, spread = principal_axes(scatters, agreement)
    count, width = len(scatters), axes.shape[1]
    return Space(
        means=tuple(part.mean for part in gathered.fitted),
        matrices=tuple(matrix @ axes for matrix in agreement.maps),
        parts=(),
        present=np.ones((count, width), dtype=np.bool_),
        settled=np.ones((count, width), dtype=np.bool_),
        factor=np.ones(width),
        variance=spread / spread.sum(),
        scales=agreement.scales,
        weights=1.0 - np.eye(count) if scaled else weights_by_spread(scatters),
        sources=(),
        predict=partial(predict_left_out, scatters, agreement, scaled=scaled),
        consistent=lambda _above: None,
    )


def unmix_runs(
    engine: Engine,
    runs: Sequence[Embeddings],
    gathered: Gathered,
    split: Split,
    components: int | float | None,
    seed: int,
    advance: Callable[[int], None],
) -> tuple[Sources, ...]:
    """Find the independent components of every run, on the fitted rows.

    Runs fitted to the same rows share their sampling noise, so components are also estimated from
    each of two parts: those of a run from one part are compared with the others from the other.
    """
    halves = _halves(split)
    return tuple(
        _unmixed(engine, run, part, split, halves, components, seed, advance)
        for run, part in zip(runs, gathered.fitted, strict=True)
    )


def _halves(split: Split) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return two halves of the fitted rows; serially dependent rows stay contiguous."""
    index = distinct_rows(split, 0)
    if split.memory is None:
        return index[::2], index[1::2]
    index = np.sort(index)
    middle = len(index) // 2
    return index[:middle], index[middle:]


def _unmixed(
    engine: Engine,
    run: Embeddings,
    part: Moments,
    split: Split,
    halves: tuple[NDArray[np.intp], NDArray[np.intp]],
    components: int | float | None,
    seed: int,
    advance: Callable[[int], None],
) -> Sources:
    unmixing = find_components(
        engine,
        run.rows,
        part=part,
        keep=split.parts == 0,
        n_components=components,
        seed=seed,
        tolerance=ICA_TOLERANCE,
        max_iterations=ICA_ITERATIONS,
    )
    if unmixing.interrupted:
        raise KeyboardInterrupt
    k, width = unmixing.components.shape
    parts: tuple[Float, ...] = (np.zeros((k, width)),) * 2
    may_turn, near = np.ones(k, dtype=np.bool_), k
    if sum(len(half) for half in halves) >= 2 * MIN_PART_ROWS:
        limit = affordable_part(k, width)
        first, second = (take_rows(engine, run.rows, half[:limit]) for half in halves)
        time = 1.0 if split.memory is None else len(first) / effective_rows(first)
        judged = judge(engine, first, second, unmixing, Settings(seed=seed), time=time)
        parts = _aligned(judged, unmixing.components, unmixing.mixing)
        may_turn = judged.may_turn
        near = int(np.count_nonzero(~(judged.nongaussianity.z >= CLEAR)))
    advance(1)
    return Sources(
        mean=part.mean,
        components=unmixing.components,
        mixing=unmixing.mixing,
        rank=unmixing.rank,
        parts=parts,
        may_turn=may_turn,
        n_near_gaussian=near,
        converged=unmixing.converged,
    )


def _aligned(judged: Judged, components: Float, mixing: Float) -> tuple[Float, ...]:
    """Return the components of each part in the order and with the signs of those of all rows."""
    aligned = []
    orders = (judged.again.first, judged.again.second)
    for unmixing, order in zip(judged.parts, orders, strict=True):
        found = np.where(order[:, None] < 0, 0.0, unmixing.components[order])
        signs = np.where(np.diag(correlated(components, found, mixing)) < 0, -1.0, 1.0)
        aligned.append(signs[:, None] * found)
    return tuple(aligned)


def given_components(
    engine: Engine, rows: Sequence[Float], runs: Sequence[Embeddings], gathered: Gathered
) -> tuple[Sources, ...]:
    """Return raw coordinates as components; `rows` are the held-out rows."""
    found = []
    for number, (run, part) in enumerate(zip(runs, gathered.fitted, strict=True)):
        deviation = np.sqrt(np.diag(part.scatter) / part.weight)
        alive = deviation > 1e-12 * max(float(deviation.max()), np.finfo(float).tiny)
        mixing = np.diag(deviation)[:, alive]
        sources = Sources(
            mean=part.mean,
            components=np.diag(1.0 / np.where(alive, deviation, 1.0))[alive],
            mixing=mixing,
            rank=run.n_features,
            parts=(),
            may_turn=np.zeros(mixing.shape[1], dtype=np.bool_),
            n_near_gaussian=0,
            converged=None,
        )
        if rows:
            z = nongaussianity(engine, rows[number], sources).z
            sources = replace(sources, n_near_gaussian=int(np.count_nonzero(~(z >= CLEAR))))
        found.append(sources)
    return tuple(found)


def matched_space(
    gathered: Gathered, sources: tuple[Sources, ...], *, turn_seed: int | None = None
) -> Space:
    """Match the components of runs; the coordinates are the means of matched components.

    Their order is arbitrary. Components have unit variance on the fitted rows, and so do the
    coordinates of the consensus. Raw coordinates may be rotated in every run: with `turn_seed`,
    they must agree better than randomly rotated ones.
    """
    weight = gathered.fitted[0].weight
    scaled = [each.components.T / np.sqrt(weight) for each in sources]
    correlations = gathered.scatters.mapped(scaled)
    synchronised = synchronise(correlations)
    elements = synchronised.elements
    present = np.stack([np.abs(element).sum(axis=0) > 0 for element in elements])
    agreement = _matched_correlations(correlations, elements)
    summed = np.maximum(agreement.sum(axis=(0, 1)), np.finfo(float).tiny)
    # Contribution of each component to the variance of a run.
    carried = [
        np.sum((each.mixing @ a) ** 2, axis=0) for each, a in zip(sources, elements, strict=True)
    ]
    shares = [v / part.total_variance for v, part in zip(carried, gathered.fitted, strict=True)]
    settled = np.stack(
        [np.abs(a).T @ ~each.may_turn > 0 for each, a in zip(sources, elements, strict=True)]
    )
    if turn_seed is not None:
        deviations = [np.linalg.norm(each.mixing, axis=0) for each in sources]
        settled &= cannot_turn(correlations, elements, deviations, seed=turn_seed)
    return Space(
        means=tuple(part.mean for part in gathered.fitted),
        matrices=tuple(each.components.T @ a for each, a in zip(sources, elements, strict=True)),
        parts=tuple(
            tuple(part.T @ a for part in each.parts)
            for each, a in zip(sources, elements, strict=True)
            if each.parts
        ),
        present=present,
        settled=settled,
        factor=present.sum(axis=0) / np.sqrt(summed),
        variance=np.sum(shares, axis=0) / len(sources),
        scales=np.ones(len(sources)),
        weights=1.0 - np.eye(len(sources)),
        sources=sources,
        predict=partial(_predict_from_components, sources, elements, present, agreement),
        consistent=partial(kept_matches, correlations, synchronised),
    )


def _matched_correlations(correlations: Scatters, elements: tuple[Float, ...]) -> Float:
    """Return the correlation of each pair of runs in each coordinate, on the fitted rows."""
    mapped = correlations.mapped(elements)
    count = len(elements)
    return np.array(
        [[np.diag(mapped.between(i, j)) for j in range(count)] for i in range(count)],
        dtype=np.float64,
    )


def _predict_from_components(
    sources: tuple[Sources, ...],
    elements: tuple[Float, ...],
    present: NDArray[np.bool_],
    agreement: Float,
    run: int,
) -> Prediction:
    """Predict each component of a run from the matched mean of the others, and remix them."""
    others = [i for i in range(len(sources)) if i != run]
    count = np.maximum(present[others].sum(axis=0), 1)
    shared = agreement[run, others].sum(axis=0) / count
    spread = agreement[np.ix_(others, others)].sum(axis=(0, 1)) / count**2
    slope = np.divide(shared, spread, out=np.zeros_like(shared), where=spread > 0)
    return Prediction(
        maps={i: sources[i].components.T @ elements[i] / count for i in others},
        back=slope[:, None] * (sources[run].mixing @ elements[run]).T,
    )


def upright(engine: Engine, runs: Sequence[Embeddings], space: Space, split: Split) -> Float:
    """Return the signs that make E[s|s|] of every coordinate positive on the fitted rows."""
    (skew,) = engine.reduce_blocks(
        partial(_signed_squares, count=len(runs)),
        *(run.rows for run in runs),
        split.parts == 0,
        params=(*space.means, *space.weighted),
    )
    return np.where(skew < 0, -1.0, 1.0)


def write_rows(engine: Engine, runs: Sequence[Embeddings], space: Space, out: Any) -> None:
    """Write the consensus of all rows."""
    engine.map_blocks(
        partial(_mean_of_runs, count=len(runs)),
        *(run.rows for run in runs),
        params=(*space.means, *space.weighted),
        out=out,
    )


def _mean_of_runs(xp: Any, *arrays: Any, count: int) -> Arrays:
    blocks, means, matrices = (arrays[count * k : count * (k + 1)] for k in range(3))
    total = xp.matmul(blocks[0] - means[0], matrices[0])
    for block, mean, matrix in zip(blocks[1:], means[1:], matrices[1:], strict=True):
        total = total + xp.matmul(block - mean, matrix)
    return (total,)


def _signed_squares(xp: Any, *arrays: Any, count: int) -> Arrays:
    keep = arrays[count]
    blocks = [block[keep] for block in arrays[:count]]
    (mean,) = _mean_of_runs(xp, *blocks, *arrays[count + 1 :], count=count)
    return (xp.sum(mean * xp.abs(mean), axis=0),)
