"""Result of comparing transforms of an embedding on held-out batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from upto.core.errors import MissingPartError
from upto.core.finding import Finding
from upto.core.provenance import Provenance
from upto.core.result import Result, pick
from upto.core.table import Cell, Table, columns
from upto.questions.batches.parts import (
    BatchFold,
    BatchMap,
    BatchScore,
    BatchSummary,
    ComponentCarries,
    Concentration,
    Condition,
    ConditionDifference,
    ConditionScore,
    FoldScore,
    Leak,
    Measure,
    Reading,
    Task,
    TopScore,
)

if TYPE_CHECKING:
    from upto.core.estimate import Estimate

BASE = "base"
"""Reference condition: the unmodified embedding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchesResult(Result):
    """Labels predicted on held-out batches, under several conditions.

    `batch`, `label` and `fold_by` are columns of the run; training and held-out rows never share a
    value of `fold_by`. `scheme` is ``"folds"`` (parts of the batches are held out in turn) or
    ``"one-trains"`` (train on one batch, test on all others). Conditions were fitted to the rows in
    `fit`: ``"training"``, or ``"all"`` as in the paper. `mixing`, `components` and `maps` come from
    fits to all rows (in sample).

    See Also
    --------
    upto.batches : Returns it.
    upto.core.Result : Its other methods.
    """

    kind: ClassVar[str] = "batches"
    schema: ClassVar[int] = 1

    name: str
    n_samples: int
    n_features: int
    batch: str
    label: str
    control: str | None
    fold_by: str
    scheme: Literal["folds", "one-trains"]
    fit: Literal["training", "all"]
    classifier: str
    batches: tuple[BatchSummary, ...]
    labels: tuple[str, ...]
    folds: tuple[BatchFold, ...]
    tasks: tuple[Task, ...]
    conditions: tuple[Condition, ...]
    fold_scores: tuple[FoldScore, ...]
    top_scores: tuple[TopScore, ...]
    scores: tuple[ConditionScore, ...]
    concentrations: tuple[Concentration, ...]
    differences: tuple[ConditionDifference, ...]
    mixing: tuple[BatchScore, ...]
    components: tuple[ComponentCarries, ...]
    maps: tuple[BatchMap, ...]
    leak: Leak
    verdict: str
    findings: tuple[Finding, ...]
    provenance: Provenance

    def condition(self, name: str) -> Condition:
        """Return a condition by name, e.g. ``"base"`` or ``"ica"``."""
        return pick(self.conditions, name, "this result has no condition {!r}; it has {}.")

    def score(self, condition: str, task: str | None = None) -> ConditionScore:
        """Return the scores of a condition, for one task or averaged over all."""
        self.condition(condition)
        for score in self.scores:
            if (score.condition, score.task) == (condition, task):
                return score
        message = f"this result has no task {task!r}; it has {', '.join(self.judged)}."
        raise MissingPartError(message)

    def difference(
        self, condition: str, against: str = BASE, measure: Measure = "auroc"
    ) -> ConditionDifference:
        """Return the difference between two conditions."""
        for found in self.differences:
            if (found.condition, found.against, found.measure) == (condition, against, measure):
                return found
        message = f"this result has no comparison of {condition!r} with {against!r} by {measure}."
        raise MissingPartError(message)

    def concentration(
        self, condition: str, percent: float, reading: Reading = "ratio"
    ) -> Concentration:
        """Return the concentration of a condition at a percentage of the columns."""
        for found in self.concentrations:
            if (found.condition, found.percent, found.reading) == (condition, percent, reading):
                return found
        message = f"this result has no concentration of {condition!r} at {percent:g} %."
        raise MissingPartError(message)

    @property
    def judged(self) -> tuple[str, ...]:
        """Names of the tasks evaluated in at least one fold."""
        return tuple(task.name for task in self.tasks if task.n_folds)

    @property
    def best(self) -> str:
        """Condition with the largest AUROC on held-out batches."""
        known = [score for score in self.scores if score.task is None and score.auroc is not None]
        return max(known, key=_auroc).condition if known else self.conditions[0].name

    def tables(self) -> tuple[Table, ...]:
        """Return all tables, conditions first."""
        return (
            self._conditions(),
            *((self._tasks(),) if len(self.judged) > 1 else ()),
            *((self._concentrations(),) if self.concentrations else ()),
            *((self._mixing(),) if self.mixing else ()),
            self._uses(),
            *((self._components(),) if self.components else ()),
            self._asked(),
            self._batches(),
            self.data_table(),
        )

    def brief_tables(self) -> tuple[Table, ...]:
        """Return the tables of conditions and, if there are several, of tasks."""
        return self.tables()[: 2 if 1 < len(self.judged) <= 24 else 1]

    def data_table(self) -> Table:
        """Return one row per condition, task and fold."""
        heads = ("condition", "task", "fold", "AUROC", "within batches", "shuffled", "sparsity")
        return Table(
            title="Every fold",
            columns=columns(*heads),
            rows=tuple(
                (
                    each.condition,
                    each.task,
                    each.fold,
                    each.auroc,
                    each.within,
                    each.shuffled,
                    each.sparsity,
                )
                for each in self.fold_scores
            ),
        )

    def _conditions(self) -> Table:
        rows: list[tuple[Cell, ...]] = []
        by_condition = {
            found.condition: found
            for found in self.differences
            if found.against == BASE and found.measure == "auroc"
        }
        for condition in self.conditions:
            score = self.score(condition.name)
            against = by_condition.get(condition.name)
            rows.append(
                (
                    condition.title,
                    score.auroc,
                    None if against is None else _difference_text(against),
                    _value(score.within),
                    _value(score.shuffled),
                )
            )
        # With both intervals, these columns fill a terminal of 100 characters.
        heads = ("condition", "AUROC", "minus base", "within", "shuffled")
        return Table(
            title=f"{self.name}: {self.label} predicted on held-out {self.fold_by}",
            columns=columns(*heads, spec=".3f"),
            rows=tuple(rows),
            caption=self._said(),
        )

    def _said(self) -> str:
        judged = f"{len(self.judged)} of {len(self.tasks)} labels"
        way = (
            f"{len(self.folds)} folds" if self.scheme == "folds" else "one training batch at a time"
        )
        fitted = "training rows" if self.fit == "training" else "all rows"
        return (
            f"{judged}, {len(self.batches)} batches, {way}; conditions fitted to {fitted}; AUROC: "
            "mean and 95 % interval (chance 0.5); minus base: difference to the unmodified "
            "embedding, called a gain or a loss if it exceeds the variation between folds after "
            "correction for the number of conditions; within: AUROC among rows of the same batch; "
            "shuffled: trained on shuffled labels, expected near 0.5"
        )

    def _uses(self) -> Table:
        scores = [(each.title, self.score(each.name)) for each in self.conditions]
        heads = ("condition", "standard error", "sparsity", "sparsity, shuffled labels")
        return Table(
            title="Standard errors and sparsity, as reported in papers",
            columns=columns(*heads, spec=".3f"),
            rows=tuple(
                (
                    title,
                    score.standard_error,
                    _value(score.sparsity),
                    _value(score.shuffled_sparsity),
                )
                for title, score in scores
            ),
            caption="standard error: of the AUROC, too small because it treats folds and labels as "
            "independent; sparsity: Hoyer's, of column use, 1 if one column is used and 0 if all "
            "are used equally",
        )

    def _tasks(self) -> Table:
        heads = ["label", *(condition.title for condition in self.conditions)]
        by_task = {(score.condition, score.task): score for score in self.scores}
        rows: list[tuple[Cell, ...]] = [
            (task, *(_value(by_task[condition.name, task].auroc) for condition in self.conditions))
            for task in self.judged
        ]
        errors = [
            score.standard_error
            for score in self.scores
            if score.task is not None and score.standard_error is not None
        ]
        said = f"largest standard error over folds: {max(errors):.3f}" if errors else ""
        return Table(
            title=f"AUROC of each {self.label}",
            columns=columns(*heads, spec=".3f"),
            rows=tuple(rows),
            caption=said,
        )

    def _concentrations(self) -> Table:
        percents = list(dict.fromkeys(found.percent for found in self.concentrations))
        readings: tuple[Reading, ...] = ("ratio", "difference", "normalised")
        heads = [f"{reading}, {percent:g} %" for percent in percents for reading in readings]
        rows: list[tuple[Cell, ...]] = []
        for condition in self.conditions:
            own = [
                self.concentration(condition.name, percent, reading).value
                for percent in percents
                for reading in readings
            ]
            rows.append((condition.title, *(None if each is None else each.value for each in own)))
        return Table(
            title="Concentration: predictive advantage of the most used columns over the rest",
            columns=columns("condition", *heads, spec=".3f"),
            rows=tuple(rows),
            caption="ratio: AUROC of the top divided by that of the rest, minus 1; normalised: "
            "1 − (rest − 0.5) / (top − 0.5); columns ranked on training rows only",
        )

    def _mixing(self) -> Table:
        titles = {found.name: found.title for found in self.mixing}
        by_name = {(found.condition, found.name): found.value for found in self.mixing}
        rows: list[tuple[Cell, ...]] = [
            (condition.title, *(by_name.get((condition.name, name)) for name in titles))
            for condition in self.conditions
        ]
        return Table(
            title="Batch mixing and label separation, in sample, as scored by other tools",
            columns=columns("condition", *titles.values(), spec=".3f"),
            rows=tuple(rows),
            caption="an embedding of noise mixes batches perfectly: see also the held-out AUROC",
        )

    def _components(self) -> Table:
        return Table(
            title="Batch and label information of each component, in sample",
            columns=columns("component", "carries", "share of batch", "share of label", spec=".3f"),
            rows=tuple(
                (each.component, each.carries, each.batch_share, each.label_share)
                for each in self.components
            ),
            caption="components of PCA + ICA fitted to all rows; fraction of variance explained by "
            "batches beyond labels and by labels beyond batches",
        )

    def _asked(self) -> Table:
        heads = ("label", "rows", "others", "batches with both", "folds", "note")
        return Table(
            title="Labels",
            columns=columns(*heads),
            rows=tuple(
                (
                    task.name,
                    task.n_perturbed,
                    task.n_others,
                    task.n_batches,
                    task.n_folds,
                    task.says,
                )
                for task in self.tasks
            ),
        )

    def _batches(self) -> Table:
        heads = ("batch", "rows", "controls", "fold")
        return Table(
            title="Batches",
            columns=columns(*heads),
            rows=tuple(
                (batch.name, batch.n_rows, batch.n_controls, batch.fold) for batch in self.batches
            ),
        )


def _auroc(score: ConditionScore) -> float:
    return 0.0 if score.auroc is None else score.auroc.value


def _value(found: Estimate | None) -> float | None:
    return None if found is None else found.value


def _difference_text(found: ConditionDifference) -> str:
    # Spelled out, because every difference has a sign.
    mark = " gain" if found.is_gain else " loss" if found.is_loss else ""
    return f"{found.value:+.3f}{mark}"
