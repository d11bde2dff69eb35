"""Scores of folds added up: of every task and of all, one condition beside another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from upto.assess.batches.averaging import compare_conditions, mean_over_folds, standard_error
from upto.core import Concentration, ConditionDifference, ConditionScore, Estimate
from upto.measure.classifiers import (
    concentration_difference,
    concentration_ratio,
    normalised_concentration,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from upto.assess.batches.folds import Scheme, Split
    from upto.assess.batches.judging import Judged, Judging
    from upto.core.batch_scores import Measure, Reading

Float = NDArray[np.float64]

READINGS: dict[Reading, Callable[[float | None, float | None], float | None]] = {
    "difference": concentration_difference,
    "ratio": concentration_ratio,
    "normalised": normalised_concentration,
}


def _shared_by_folds(splits: Sequence[Split]) -> float:
    return float(np.mean([split.judging.sum() / split.training.sum() for split in splits]))


def _shared_by_pairs(splits: Sequence[Split]) -> float:
    """Return what makes the variance of a mean over k batches that train 4 s²/k.

    Folds share no row that trains, but nearly all that judge: what is averaged are pairs of a batch
    that trains and one that judges, and every batch is in both places (Hoeffding's U-statistics).
    """
    return 3 / len(splits)


SHARED: dict[Scheme, Callable[[Sequence[Split]], float]] = {
    "folds": _shared_by_folds,
    "one-trains": _shared_by_pairs,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Summed:
    """Everything that is a mean over folds."""

    scores: tuple[ConditionScore, ...]
    concentrations: tuple[Concentration, ...]
    differences: tuple[ConditionDifference, ...]


def add_up(
    judged: Sequence[Judged],
    splits: Sequence[Split],
    tasks: Sequence[str],
    judging: Judging,
    shared: float,
) -> Summed:
    """Add up the folds of all conditions."""
    shape = (len(splits), len(tasks))
    place = {task: number for number, task in enumerate(tasks)}
    tables = {
        name: {
            each.kind.name: _table(
                [(score.fold, place[score.task], getattr(score, name)) for score in each.scores],
                shape,
            )
            for each in judged
        }
        for name in ("auroc", "within", "shuffled", "sparsity", "shuffled_sparsity")
    }
    measures: tuple[Measure, ...] = ("auroc", "within", "sparsity")
    names = [each.kind.name for each in judged]
    return Summed(
        scores=tuple(
            _score(condition, task, number, tables, shared)
            for condition in names
            for number, task in [(None, None), *((place[task], task) for task in tasks)]
        ),
        concentrations=tuple(
            _concentration(each, percent, reading, place, shape, shared)
            for each in judged
            for percent in judging.percents
            for reading in READINGS
        ),
        differences=tuple(
            difference
            for measure in measures
            for start, against in enumerate(names[:-1])
            for difference in compare_conditions(
                {name: tables[measure][name] for name in names[start:]},
                against,
                measure,
                shared=shared,
            )
        ),
    )


def estimate(values: Float, shared: float) -> Estimate | None:
    """Return the mean of folds by tasks, held to the range of an AUROC."""
    found = mean_over_folds(values, shared=shared)
    if found is None or found.low is None or found.high is None:
        return found
    return Estimate(
        value=found.value, low=max(found.low, 0.0), high=min(found.high, 1.0), level=found.level
    )


def _score(
    condition: str,
    task: str | None,
    number: int | None,
    tables: dict[str, dict[str, Float]],
    shared: float,
) -> ConditionScore:
    chosen = slice(None) if number is None else slice(number, number + 1)
    own = {name: table[condition][:, chosen] for name, table in tables.items()}
    return ConditionScore(
        condition=condition,
        task=task,
        n_folds=int(np.isfinite(own["auroc"]).any(axis=1).sum()),
        auroc=estimate(own["auroc"], shared),
        standard_error=standard_error(own["auroc"]),
        within=estimate(own["within"], shared),
        shuffled=estimate(own["shuffled"], shared),
        sparsity=estimate(own["sparsity"], shared),
        shuffled_sparsity=estimate(own["shuffled_sparsity"], shared),
    )


def _concentration(
    judged: Judged,
    percent: float,
    reading: Reading,
    place: dict[str, int],
    shape: tuple[int, int],
    shared: float,
) -> Concentration:
    read = READINGS[reading]
    own = [score for score in judged.tops if score.percent == percent]
    table = _table(
        [(score.fold, place[score.task], read(score.top, score.rest)) for score in own], shape
    )
    return Concentration(
        condition=judged.kind.name,
        percent=percent,
        reading=reading,
        value=mean_over_folds(table, shared=shared),
    )


def _table(entries: Sequence[tuple[int, int, float | None]], shape: tuple[int, int]) -> Float:
    table = np.full(shape, np.nan)
    for fold, task, value in entries:
        if value is not None:
            table[fold, task] = value
    return table
