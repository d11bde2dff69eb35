"""Average scores over folds and tasks, and compare conditions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from upto.batch_metrics.classifiers import (
    concentration_difference,
    concentration_ratio,
    normalised_concentration,
)
from upto.batch_metrics.fold_means import LEVEL, holm, mean_over_folds, p_of_mean, standard_error
from upto.batch_metrics.folds import shared_by_folds
from upto.core import Estimate
from upto.core.array_types import Float
from upto.questions.batches.confounded import are_mostly, is_partly_told, is_untold
from upto.questions.batches.parts import Concentration, ConditionDifference, ConditionScore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from upto.batch_metrics.folds import Scheme, Split
    from upto.batch_metrics.tasks import Question
    from upto.questions.batches.evaluate import Judged, Judging
    from upto.questions.batches.parts import Measure, Reading, Task


READINGS: dict[Reading, Callable[[float | None, float | None], float | None]] = {
    "difference": concentration_difference,
    "ratio": concentration_ratio,
    "normalised": normalised_concentration,
}


def _shared_by_pairs(splits: Sequence[Split]) -> float:
    """Return the `shared` under which a mean over k training batches has variance 4 s²/k.

    Folds share no training rows but nearly all test rows: the mean is over pairs of a training and
    a test batch, and every batch takes both roles (Hoeffding's U-statistics).
    """
    return 3 / len(splits)


SHARED: dict[Scheme, Callable[[Sequence[Split]], float]] = {
    "folds": shared_by_folds,
    "one-trains": _shared_by_pairs,
}


_HALF_A_ROW = 0.5
"""Lower bound on the spread of folds, in rows of the smaller class.

Near an AUROC of 1 folds agree by chance. Intervals near 1 need this bound to reach their coverage
(`checks/batch_intervals.py`); others are unaffected.
"""


_MORE_SHARED = 3.0
"""Factor on `shared` for labels that some batches lack.

Differences between batches then enter every comparison, in all folds alike.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldOut:
    """Held-out rows, as needed for intervals.

    `shared` is that of `mean_over_folds`; `n_rows` are rows of the smaller class, folds by tasks;
    `partly_told` marks tasks of which some batches lack a class, whose intervals are wider, and
    `untold` those inseparable from batches, which have no interval.
    """

    shared: float
    n_rows: Float
    partly_told: NDArray[np.bool_]
    untold: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        splits: Sequence[Split],
        questions: Sequence[Question],
        tasks: Sequence[Task],
        n_batches: int,
        scheme: Scheme,
    ) -> Self:
        """Count the held-out rows of every question in every fold."""
        sides = [
            [
                (np.sum(own & each.perturbed), np.sum(own & ~each.perturbed))
                for each in questions
                for own in (split.judging[each.rows],)
            ]
            for split in splits
        ]
        return cls(
            shared=SHARED[scheme](splits),
            n_rows=np.array(sides, dtype=np.float64).min(axis=2),
            partly_told=np.array([is_partly_told(task, n_batches) for task in tasks]),
            untold=np.array([is_untold(task, n_batches) for task in tasks]),
        )

    def widened(self, values: Float, chosen: slice) -> float:
        """Return `shared`, larger where rows of different batches are compared."""
        partly = self.partly_told[chosen][np.isfinite(values).any(axis=0)].mean()
        return float(self.shared * (1 + (_MORE_SHARED - 1) * partly))

    def has_interval(self, values: Float, chosen: slice) -> bool:
        """Return whether most evaluated tasks are separable from batches."""
        return not are_mostly(self.untold[chosen][np.isfinite(values).any(axis=0)].tolist())

    def least_spread(self, values: Float, chosen: slice) -> float:
        """Return the effect of half a row on the mean over tasks in a typical fold."""
        known = np.isfinite(values)
        n_tasks = known.sum(axis=1)
        rows = np.maximum(self.n_rows[:, chosen], 1.0)
        moved = np.sqrt(np.where(known, (_HALF_A_ROW / rows) ** 2, 0.0).sum(axis=1))
        judged = n_tasks > 0
        return float((moved[judged] / n_tasks[judged]).mean())


def add_up(
    judged: Sequence[Judged],
    splits: Sequence[Split],
    tasks: Sequence[str],
    judging: Judging,
    held: HeldOut,
) -> tuple[list[ConditionScore], list[Concentration], list[ConditionDifference]]:
    """Average the folds of all conditions; return scores, concentrations and differences."""
    shared = held.shared
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
    scores = [
        _score(condition, task, number, tables, held)
        for condition in names
        for number, task in [(None, None), *((place[task], task) for task in tasks)]
    ]
    concentrations = [
        _concentration(each, percent, reading, place, shape, shared)
        for each in judged
        for percent in judging.percents
        for reading in READINGS
    ]
    differences: list[ConditionDifference] = []
    for measure in measures:
        for start, against in enumerate(names[:-1]):
            own = {name: tables[measure][name] for name in names[start:]}
            differences += compare_conditions(own, against, measure, shared=shared)
    return scores, concentrations, differences


def estimate(values: Float, held: HeldOut, chosen: slice = slice(None)) -> Estimate | None:
    """Return the mean over folds and tasks, with its interval clipped to [0, 1].

    Parameters
    ----------
    values
        AUROCs, one row per fold and one column per chosen task.
    held
        Held-out rows of all tasks.
    chosen
        Tasks that the columns stand for.
    """
    if not np.isfinite(values).any():
        return None
    if not held.has_interval(values, chosen):
        return Estimate(value=float(np.nanmean(values)), level=LEVEL)
    least = held.least_spread(values, chosen)
    return _clipped(mean_over_folds(values, shared=held.widened(values, chosen), least=least))


def _score(
    condition: str,
    task: str | None,
    number: int | None,
    tables: dict[str, dict[str, Float]],
    held: HeldOut,
) -> ConditionScore:
    chosen = slice(None) if number is None else slice(number, number + 1)
    own = {name: table[condition][:, chosen] for name, table in tables.items()}
    return ConditionScore(
        condition=condition,
        task=task,
        n_folds=int(np.isfinite(own["auroc"]).any(axis=1).sum()),
        auroc=estimate(own["auroc"], held, chosen),
        standard_error=standard_error(own["auroc"]),
        within=estimate(own["within"], held, chosen),
        shuffled=estimate(own["shuffled"], held, chosen),
        sparsity=_clipped(mean_over_folds(own["sparsity"], shared=held.shared)),
        shuffled_sparsity=_clipped(mean_over_folds(own["shuffled_sparsity"], shared=held.shared)),
    )


def _clipped(found: Estimate | None) -> Estimate | None:
    """Return an estimate with its interval clipped to [0, 1]."""
    if found is None or found.low is None or found.high is None:
        return found
    return replace(found, low=max(found.low, 0.0), high=min(found.high, 1.0))


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


def compare_conditions(
    tables: Mapping[str, Float], against: str, measure: Measure, *, shared: float
) -> list[ConditionDifference]:
    """Compare conditions with `against` on the same folds; p-values are Holm-adjusted."""
    others = [name for name in tables if name != against]
    differences = {name: tables[name] - tables[against] for name in others}
    known = {name: table for name, table in differences.items() if np.isfinite(table).any()}
    adjusted = holm([p_of_mean(table, 0.0, shared=shared) for table in known.values()])
    found = []
    for (name, table), p_value in zip(known.items(), adjusted, strict=True):
        value = mean_over_folds(table, shared=shared)
        assert value is not None
        found.append(
            ConditionDifference(
                condition=name, against=against, measure=measure, value=value, p_value=p_value
            )
        )
    return found
