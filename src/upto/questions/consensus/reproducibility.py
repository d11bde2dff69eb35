"""What of a common space each run shows, judged on rows that it was not fitted to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from upto.core import Embeddings, Estimate, random_stream
from upto.core.arrays import Float
from upto.evidence.intervals import LEVEL as COVERAGE
from upto.evidence.intervals import MIN_ROWS
from upto.evidence.pairings import PAIRED_ROWS, pairing_p_values, smallest_p_value
from upto.evidence.split import Split, take_rows
from upto.questions.compare.verdict import LEVEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.alignment.consensus import Prediction
    from upto.engines.base import Engine
    from upto.evidence.memory import Memory
    from upto.questions.consensus.spaces import Space


JUDGED_ROWS, JUDGED_BYTES = 20_000, 2**28
"""Held-out rows of all runs that are judged on: how many, and the memory they may take."""
CHANCE = 0.99
"""Quantile of the best matches with shuffled rows above which a component appears in a run."""
LEAST = 0.5
"""Correlation that a component needs to appear in a run, however small chance is: a quarter of its
variance is then that of the others."""
WIDEST = 2.0
"""Times what the others predict that a run may be; below half of it they explain nothing."""
CHANCE_MATCHES, MIN_SHUFFLES = 2000, 3
"""Best matches behind the chance limit at least, and shuffles of the rows at least."""
_NORMAL_QUANTILE = 1.959963984540054


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Explained:
    """How much of a run the others explain, beside what they explain of rows drawn at random.

    `robust` is the share without the outermost rows, if that is smaller: one far row that runs
    share would otherwise make unrelated ones belong together. `times` is what the prediction would
    have to be multiplied by to explain most.
    """

    share: Estimate
    robust: float
    times: float
    chance: float
    p_value: float | None

    @property
    def belongs(self) -> bool | None:
        """Whether the others explain anything, more than chance does, and are not far narrower.

        What is predicted at more than double its size is not explained; at less than half of it,
        a little always is, however far apart the sizes are.
        """
        if self.p_value is None:
            return None
        return self.p_value <= LEVEL and self.robust > 0 and not self.too_wide

    @property
    def too_wide(self) -> bool:
        """Whether the run is much wider than the others say."""
        return self.times > WIDEST


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Reproduced:
    """How each run shows each coordinate: runs by coordinates, NaN where a run has none.

    `means` are over the runs, NaN where no two have the coordinate. `settled` says where it cannot
    turn: a direction that can is no component, whatever it correlates with.
    """

    correlations: Float
    settled: NDArray[np.bool_]
    means: Float
    lows: Float
    highs: Float
    limit: float

    @property
    def appears(self) -> NDArray[np.bool_]:
        """Which runs show which coordinates."""
        return self.settled & (np.nan_to_num(self.correlations) > max(self.limit, LEAST))

    def arranged(self, order: NDArray[np.intp]) -> Reproduced:
        """Return the coordinates in another order."""
        return replace(
            self,
            correlations=self.correlations[:, order],
            settled=self.settled[:, order],
            means=self.means[order],
            lows=self.lows[order],
            highs=self.highs[order],
        )

    def estimate(self, coordinate: int) -> Estimate | None:
        """Return the mean correlation of a coordinate with its interval."""
        value, low, high = (
            float(values[coordinate]) for values in (self.means, self.lows, self.highs)
        )
        return None if np.isnan(value) else Estimate(value=value, low=low, high=high)


def judged_rows(engine: Engine, runs: Sequence[Embeddings], split: Split) -> tuple[Float, ...]:
    """Bring held-out rows of every run into memory, in key order; none where they are too few.

    Rows that repeat another in every run are left out: they are no new evidence.
    """
    width = sum(run.n_features for run in runs)
    index = split.distinct_held_out(min(JUDGED_ROWS, max(JUDGED_BYTES // (8 * width), 400)))
    if len(index) < MIN_ROWS:
        return ()
    return tuple(take_rows(engine, run.rows, index) for run in runs)


def explain(
    rows: Sequence[Float],
    space: Space,
    run: int,
    *,
    permutations: int,
    memory: Memory | None = None,
    seed: int,
) -> Explained:
    """Predict the rows of a run by the others, by maps that were fitted to other rows.

    `memory` is what rows keep of those before them, where they depend on each other.
    """
    target = rows[run] - space.means[run]
    predicted = predict(rows, space, space.predict(run))
    share = explained_share(target, predicted)
    away = np.linalg.norm(target - np.median(target, axis=0), axis=1)
    inner = np.argsort(away, kind="stable")[: len(target) - -(-len(target) // 100)]
    return Explained(
        share=share,
        robust=min(share.value, explained_share(target[inner], predicted[inner]).value),
        times=_best_factor(target, predicted),
        chance=chance_share(target, predicted),
        p_value=_p_value(target, predicted, permutations, memory, seed),
    )


def predict(rows: Sequence[Float], space: Space, prediction: Prediction) -> Float:
    """Return the rows of a run, less their mean, as the others predict them."""
    pieces = [(rows[i] - space.means[i]) @ matrix for i, matrix in prediction.maps.items()]
    predicted: Float = np.sum(pieces, axis=0) @ prediction.back
    return predicted


def explained_share(target: Float, predicted: Float) -> Estimate:
    """Return the share of the variance of rows that is explained, with an interval over rows.

    The interval is that of the logarithm of what is left, so it never reaches beyond 1.
    """
    left = np.sum((target - predicted) ** 2, axis=1)
    spread = np.sum((target - target.mean(axis=0)) ** 2, axis=1)
    total = float(spread.sum())
    if total <= 0:
        return Estimate(value=0.0)
    share = float(left.sum()) / total
    if share <= 0:
        return Estimate(value=1.0, low=1.0, high=1.0, level=COVERAGE)
    influence = (left - share * spread) / (spread.mean() * share)
    half = _NORMAL_QUANTILE * float(influence.std(ddof=1)) / np.sqrt(len(target))
    low, high = 1 - share * np.exp(half), 1 - share * np.exp(-half)
    return Estimate(value=1 - share, low=float(low), high=float(high), level=COVERAGE)


def _best_factor(target: Float, predicted: Float) -> float:
    own = predicted - predicted.mean(axis=0)
    spread = float(np.vdot(own, own))
    return float(np.vdot(own, target)) / spread if spread > 0 else 1.0


def chance_share(target: Float, predicted: Float) -> float:
    """Return what is explained of rows drawn at random: the mean over all pairings, exactly."""
    centred = target - target.mean(axis=0)
    total = float(np.vdot(centred, centred))
    off = target.mean(axis=0) - predicted.mean(axis=0)
    own = predicted - predicted.mean(axis=0)
    left = total + float(np.vdot(own, own)) + len(target) * float(np.vdot(off, off))
    return 1 - left / total if total > 0 else 0.0


def _p_value(
    target: Float, predicted: Float, permutations: int, memory: Memory | None, seed: int
) -> float | None:
    target, predicted = target[:PAIRED_ROWS], predicted[:PAIRED_ROWS]
    if smallest_p_value(len(target), permutations, memory=memory) > LEVEL:
        return None
    (value,) = pairing_p_values(
        [[(predicted, target)]], permutations=permutations, memory=memory, seed=seed
    )
    return value


def reproduce(
    rows: Sequence[Float], space: Space, *, memory: Memory | None = None, seed: int
) -> Reproduced:
    """Correlate the coordinates of every run with the mean of the other runs', by their weights.

    Their signs were fitted on other rows, so a correlation below zero is a failure to appear. Where
    components were searched for in two parts of the rows, those of a run in one part are correlated
    with those of the others in the other part, both ways: on rows that they share, runs share what
    is an accident of these rows. Where rows depend on their neighbours (`memory`), chance is what
    runs have in common when one is moved along the others.
    """
    n_runs = len(rows)
    count = space.present.sum(axis=0)
    maps = [(own, own) for own in space.matrices]
    if space.parts:
        maps = [(first, second) for first, second in space.parts]
    scores = [
        [(own - mean) @ matrix for matrix in both]
        for own, mean, both in zip(rows, space.means, maps, strict=True)
    ]
    known = space.present & (count > 1)
    # Every coordinate of a run beside its mean over the others, both of unit variance.
    pairs = []
    for ours, theirs in ((0, 1), (1, 0)) if space.parts else ((0, 0),):
        stacked = np.stack([both[theirs] for both in scores])
        for both, weights in zip(scores, space.weights, strict=True):
            others = np.tensordot(weights, stacked, axes=1)
            pairs.append((standardised(both[ours]), standardised(others)))
    correlations = np.stack([np.mean(own * others, axis=0) for own, others in pairs])
    times = len(pairs) // n_runs
    every = np.tile(known, (times, 1))
    means, lows, highs = mean_correlations(pairs, correlations, every)
    of_runs = correlations.reshape(times, n_runs, -1).mean(axis=0)
    return Reproduced(
        correlations=np.where(known, of_runs, np.nan),
        settled=space.settled,
        means=means,
        lows=lows,
        highs=highs,
        limit=chance_limit(pairs, every, seed, moved=memory is not None),
    )


def standardised(values: Float) -> Float:
    """Return columns of mean 0 and variance 1; those that do not vary are all zero."""
    centred = values - values.mean(axis=0)
    deviation = np.sqrt(np.mean(centred**2, axis=0))
    alive = deviation > 1e-12 * np.abs(values).max(axis=0, initial=0.0)
    unit: Float = np.divide(centred, deviation, out=np.zeros_like(centred), where=alive)
    return unit


def mean_correlations(
    pairs: Sequence[tuple[Float, Float]], correlations: Float, known: NDArray[np.bool_]
) -> tuple[Float, Float, Float]:
    """Return the mean correlation over runs of each coordinate, and the ends of its interval.

    The interval follows from the influence of each row on the correlations of all runs together,
    on Fisher's scale.
    """
    n_rows = len(pairs[0][0])
    n_known = np.maximum(known.sum(axis=0), 1)
    influence = np.zeros_like(pairs[0][0])
    for (own, others), r, has in zip(pairs, correlations, known, strict=True):
        influence += has * (own * others - r * (own**2 + others**2) / 2)
    error = np.sqrt(np.mean((influence / n_known) ** 2, axis=0) / n_rows)
    mean = np.sum(correlations * known, axis=0) / n_known
    within = np.clip(mean, -1 + 1e-12, 1 - 1e-12)
    half = _NORMAL_QUANTILE * error / (1 - within**2)
    low = np.minimum(np.tanh(np.arctanh(within) - half), mean)
    high = np.maximum(np.tanh(np.arctanh(within) + half), mean)
    none = known.sum(axis=0) == 0
    mean[none] = np.nan
    return mean, low, high


def chance_limit(
    pairs: Sequence[tuple[Float, Float]],
    known: NDArray[np.bool_],
    seed: int,
    *,
    moved: bool = False,
) -> float:
    """Return the correlation that the best of all matches with shuffled rows seldom exceeds.

    The rows of a run are shuffled against the mean of the others, and each of its coordinates may
    choose the best match of all and its sign. Every run has the same shuffles, so that the limit
    does not depend on the order of runs. Rows that follow each other are `moved` along instead.
    """
    n_rows = len(pairs[0][0])
    matches = max(int(known.sum()), 1)
    shuffles = max(MIN_SHUFFLES, -(-CHANCE_MATCHES // matches))
    rng = random_stream(seed, "shuffled components")
    best = []
    for _ in range(shuffles):
        order = rng.permutation(n_rows)
        if moved:
            order = np.roll(np.arange(n_rows), order[0])
        for (own, others), has in zip(pairs, known, strict=True):
            if has.any():
                correlation = np.abs(own[order][:, has].T @ others[:, has]) / n_rows
                best.append(correlation.max(axis=1))
    return float(np.quantile(np.concatenate(best), CHANCE)) if best else 1.0
