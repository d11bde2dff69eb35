"""The space that runs share, fitted to some of the rows: turned runs, or matched components."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.align.consensus import (
    Prediction,
    Scatters,
    generalised_procrustes,
    kept_matches,
    predict_left_out,
    principal_axes,
    synchronise,
)
from upto.engines import Moments, cross_scatters, moments
from upto.unmix import Unmixing, find_components

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.assess.split import Split
    from upto.core import Embeddings
    from upto.engines import Survey
    from upto.engines.base import Arrays, Engine

Float = NDArray[np.float64]

ICA_TOLERANCE, ICA_ITERATIONS = 1e-5, 200


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Gathered:
    """The moments of every run and of every two of them, over the fitted rows."""

    fitted: tuple[Moments, ...]
    scatters: Scatters


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Space:
    """One space for many runs.

    The rows of run i, less ``means[i]`` and times ``matrices[i]``, are its coordinates there, but
    for those that `present` says it has not. The consensus is the mean of the runs that have a
    coordinate, times `factor`. `predict` tells how the others predict a run, `consistent` which
    share of pairwise matches above a correlation is kept.
    """

    means: tuple[Float, ...]
    matrices: tuple[Float, ...]
    present: NDArray[np.bool_]
    factor: Float
    variance: Float
    scales: Float
    unmixings: tuple[Unmixing, ...]
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
            present=self.present[:, order],
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
    """Pass over every run, and over every two of them."""
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
    """Turn runs onto their mean; the coordinates are the principal axes of that."""
    scatters = gathered.scatters
    agreement = generalised_procrustes(scatters, scaled=scaled)
    axes, spread = principal_axes(scatters, agreement)
    count, width = len(scatters), axes.shape[1]
    return Space(
        means=tuple(part.mean for part in gathered.fitted),
        matrices=tuple(matrix @ axes for matrix in agreement.maps),
        present=np.ones((count, width), dtype=np.bool_),
        factor=np.ones(width),
        variance=spread / spread.sum(),
        scales=agreement.scales,
        unmixings=(),
        predict=partial(predict_left_out, scatters, agreement, scaled=scaled),
        consistent=_nothing_matched,
    )


def _nothing_matched(_above: float) -> None:
    return None


def unmix_runs(
    engine: Engine,
    runs: Sequence[Embeddings],
    gathered: Gathered,
    split: Split,
    components: int | float | None,
    seed: int,
    advance: Callable[[int], None],
) -> tuple[Unmixing, ...]:
    """Find the independent components of every run by itself, on the fitted rows."""
    found = []
    for run, part in zip(runs, gathered.fitted, strict=True):
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
        found.append(unmixing)
        advance(1)
    return tuple(found)


def matched_space(gathered: Gathered, unmixings: tuple[Unmixing, ...]) -> Space:
    """Match the components of runs; the coordinates are the means of matched components.

    They are in no particular order. Components have unit variance on the fitted rows, and so have
    the coordinates of the consensus.
    """
    weight = gathered.fitted[0].weight
    sources = [unmixing.components.T / np.sqrt(weight) for unmixing in unmixings]
    correlations = gathered.scatters.mapped(sources)
    synchronised = synchronise(correlations)
    elements = synchronised.elements
    present = np.stack([np.abs(element).sum(axis=0) > 0 for element in elements])
    agreement = _matched_correlations(correlations, elements)
    summed = np.maximum(agreement.sum(axis=(0, 1)), np.finfo(float).tiny)
    # Component by component, what a run's variance is made of.
    carried = [
        np.sum((u.mixing @ a) ** 2, axis=0) for u, a in zip(unmixings, elements, strict=True)
    ]
    shares = [v / part.total_variance for v, part in zip(carried, gathered.fitted, strict=True)]
    return Space(
        means=tuple(part.mean for part in gathered.fitted),
        matrices=tuple(u.components.T @ a for u, a in zip(unmixings, elements, strict=True)),
        present=present,
        factor=present.sum(axis=0) / np.sqrt(summed),
        variance=np.sum(shares, axis=0) / len(unmixings),
        scales=np.ones(len(unmixings)),
        unmixings=unmixings,
        predict=partial(_predict_from_components, unmixings, elements, present, agreement),
        consistent=partial(kept_matches, correlations, synchronised),
    )


def _matched_correlations(correlations: Scatters, elements: tuple[Float, ...]) -> Float:
    """Return the correlation of every two runs in each coordinate, on the fitted rows."""
    mapped = correlations.mapped(elements)
    count = len(elements)
    return np.array(
        [[np.diag(mapped.between(i, j)) for j in range(count)] for i in range(count)],
        dtype=np.float64,
    )


def _predict_from_components(
    unmixings: tuple[Unmixing, ...],
    elements: tuple[Float, ...],
    present: NDArray[np.bool_],
    agreement: Float,
    run: int,
) -> Prediction:
    """Predict each component of a run by the matched mean of the others, and mix them."""
    others = [i for i in range(len(unmixings)) if i != run]
    count = np.maximum(present[others].sum(axis=0), 1)
    shared = agreement[run, others].sum(axis=0) / count
    spread = agreement[np.ix_(others, others)].sum(axis=(0, 1)) / count**2
    slope = np.divide(shared, spread, out=np.zeros_like(shared), where=spread > 0)
    return Prediction(
        maps={i: unmixings[i].components.T @ elements[i] / count for i in others},
        back=slope[:, None] * (unmixings[run].mixing @ elements[run]).T,
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
    """Write the consensus of every row."""
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
