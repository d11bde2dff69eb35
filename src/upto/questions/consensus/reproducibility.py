"""Evaluate on held-out rows how each run reproduces the common space."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from upto.core import Embeddings, Estimate, random_stream
from upto.core.array_types import Float
from upto.evidence.intervals import LEVEL as COVERAGE
from upto.evidence.intervals import MIN_ROWS
from upto.evidence.pairings import PAIRED_ROWS, Close, pairing_p_values, smallest_p_value
from upto.evidence.split import Split, take_rows
from upto.questions.compare.verdict import LEVEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.alignment.consensus import Prediction
    from upto.engines.base import Engine
    from upto.evidence.memory import Memory
    from upto.questions.consensus.spaces import Space


JUDGED_ROWS, JUDGED_BYTES = 20_000, 2**28
"""Maximum number of held-out rows, and the memory they may take."""
CHANCE = 0.99
"""Quantile of the best matches with shuffled rows that a component must exceed to appear."""
LEAST = 0.5
"""Correlation required to appear in a run, whatever the chance level: a quarter of the variance is
then shared with the others."""
WIDEST = 2.0
"""Largest ratio of the width of a run to its prediction; below half, nothing is explained."""
CHANCE_MATCHES, MIN_SHUFFLES = 2000, 3
"""Minimum number of best matches, and of shuffles, for the chance limit."""
_NORMAL_QUANTILE = 1.959963984540054


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Explained:
    """Share of a run that the others explain, with its chance level.

    `robust` is the share without the outermost rows, if smaller: one shared outlier would otherwise
    make unrelated runs belong together. `times` is the factor by which the prediction would explain
    most.
    """

    share: Estimate
    robust: float
    times: float
    chance: float
    p_value: float | None

    @property
    def belongs(self) -> bool | None:
        """Whether the others explain a positive share, above chance, and are not far narrower.

        A run predicted at more than twice its size is not explained; one predicted at less than
        half always is a little, however different the sizes.
        """
        if self.p_value is None:
            return None
        return self.p_value <= LEVEL and self.robust > 0 and not self.too_wide

    @property
    def too_wide(self) -> bool:
        """Whether the run is much wider than the others predict."""
        return self.times > WIDEST


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Reproduced:
    """Held-out correlations of each run and coordinate (runs × coordinates), NaN if missing.

    `means` are over the runs, NaN if fewer than two have the coordinate. `settled` marks the
    coordinates that are not free to rotate; others are not components, however they correlate.
    """

    correlations: Float
    settled: NDArray[np.bool_]
    means: Float
    lows: Float
    highs: Float
    limit: float

    @property
    def appears(self) -> NDArray[np.bool_]:
        """The coordinates that appear in each run."""
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
    """Read held-out rows of every run into memory, in key order; empty if they are too few.

    Rows that repeat another in every run are excluded because they add no evidence.
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
    """Predict held-out rows of a run from the others, and measure the share explained.

    `memory` describes the serial dependence of the rows, if any.
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
    """Return the centred rows of a run predicted from the others."""
    pieces = [(rows[i] - space.means[i]) @ matrix for i, matrix in prediction.maps.items()]
    predicted: Float = np.sum(pieces, axis=0) @ prediction.back
    return predicted


def explained_share(target: Float, predicted: Float) -> Estimate:
    """Return the share of the variance explained, with an interval over rows.

    The interval is computed for the logarithm of the unexplained share, so it never exceeds 1.
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
    """Return the share explained of randomly paired rows: the exact mean over all pairings."""
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
        [[Close(predicted, target)]], permutations=permutations, memory=memory, seed=seed
    )
    return value


def reproduce(
    rows: Sequence[Float], space: Space, *, memory: Memory | None = None, seed: int
) -> Reproduced:
    """Correlate the coordinates of every run with the weighted mean of the other runs'.

    Signs were fitted on other rows, so a negative correlation is a failure to appear. If components
    were estimated on two parts of the rows, those of a run from one part are correlated with those
    of the others from the other part, both ways, because runs fitted to the same rows share the
    sampling noise of these rows. With serial dependence (`memory`), the chance level comes from
    shifting one run against the others.
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
    # Each coordinate of a run is paired with its mean over the others, both at unit variance.
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
    """Return columns scaled to mean 0 and variance 1; constant columns become zero."""
    centred = values - values.mean(axis=0)
    deviation = np.sqrt(np.mean(centred**2, axis=0))
    alive = deviation > 1e-12 * np.abs(values).max(axis=0, initial=0.0)
    unit: Float = np.divide(centred, deviation, out=np.zeros_like(centred), where=alive)
    return unit


def mean_correlations(
    pairs: Sequence[tuple[Float, Float]], correlations: Float, known: NDArray[np.bool_]
) -> tuple[Float, Float, Float]:
    """Return the mean correlation over runs of each coordinate, and the ends of its interval.

    The interval comes from the influence of each row on the correlations of all runs, on Fisher's
    scale.
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
    """Return the correlation that the best match with shuffled rows rarely exceeds.

    The rows of a run are shuffled against the mean of the others, and each coordinate takes its
    best match of either sign. All runs use the same shuffles, so that the limit does not depend on
    the order of runs. Serially dependent rows are shifted (`moved`) instead.
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
