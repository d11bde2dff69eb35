"""Evaluate a run on unseen batches in several ways, for a study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import upto
from upto.core import Embeddings, Estimate, random_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from upto.questions.batches.parts import ConditionScore, Measure
    from upto.questions.batches.result import BatchesResult

FOUR = ("base", "pca", "ica", "random")
"""The conditions of the paper."""
TURNED = ("pca", "ica", "random")
"""Conditions that depend on the number of directions kept."""

PAPER_AUROC = {"base": 0.717, "pca": 0.738, "ica": 0.750, "random": 0.723}
"""Means of Table 3 of Nelson et al. 2026 over its 16 guides."""
PAPER_SPARSITY = {"base": 0.200, "pca": 0.244, "ica": 0.263, "random": 0.215}
PAPER_CONCENTRATION = {"base": 0.163, "pca": 0.332, "ica": 0.386, "random": 0.287}
"""Table 4 of Nelson et al. 2026."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Question:
    """A label to predict, what it is compared with, and what is held out.

    Parameters
    ----------
    name, says
        Short name for quantities, and description.
    run
        The rows.
    batch, label, control
        See `batches`.
    fold_by
        Column whose values are held out; by default the batches.
    folds
        Number of parts held out in turn.
    """

    name: str
    says: str
    run: Embeddings
    batch: str | tuple[str, ...]
    label: str
    control: str | None = None
    tasks: tuple[str, ...] = ()
    fold_by: str | None = None
    folds: int = 5

    def judge(self, conditions: Sequence[str], *, seed: int, **options: Any) -> BatchesResult:
        """Evaluate conditions on held-out batches only, unless more is requested."""
        asked: dict[str, Any] = {
            "n_components": None,
            "classifier": "boosted",
            "fit": "training",
            "concentration": (),
            "shuffled": False,
        }
        return upto.batches(
            self.run,
            batch=self.batch,
            label=self.label,
            control=self.control,
            tasks=self.tasks,
            fold_by=self.fold_by,
            folds=self.folds,
            conditions=conditions,
            mixing=False,
            maps=False,
            seed=seed,
            **(asked | options),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One point of a sweep over ways to evaluate conditions."""

    components: int | None
    classifier: Literal["boosted", "linear"]
    fit: Literal["training", "all"]


USUAL = Setup(components=None, classifier="boosted", fit="training")
"""All directions, the paper's trees, transforms fitted to training batches."""


def sweep(
    question: Question,
    setups: Sequence[Setup],
    *,
    seed: int,
    known: BatchesResult | None,
    advance: Callable[[int], None],
) -> dict[Setup, BatchesResult]:
    """Evaluate the paper's conditions in every setup; `known` is the result of the usual one."""
    found = {}
    for setup in setups:
        found[setup] = (
            known
            if known is not None and setup == USUAL
            else question.judge(
                FOUR,
                seed=seed,
                n_components=setup.components,
                classifier=setup.classifier,
                fit=setup.fit,
            )
        )
        advance(1)
    return found


def difference(one: Estimate | None, other: Estimate | None) -> Estimate | None:
    """Return the difference of two values, without an interval, because they are not paired."""
    return None if one is None or other is None else Estimate(value=one.value - other.value)


def turn_rows(run: Embeddings, *, seed: int) -> Embeddings:
    """Return the rows rotated at random, not whitened: the same distances on other axes."""
    rows = np.asarray(run.rows[:], dtype=np.float64)
    stream = random_stream(seed, "turned rows")
    turn, upper = np.linalg.qr(stream.normal(size=(rows.shape[1], rows.shape[1])))
    turn *= np.sign(np.diag(upper))
    return Embeddings(
        rows=(rows - rows.mean(axis=0)) @ turn, name="turned", columns=dict(run.columns)
    )


def gain(
    result: BatchesResult, condition: str, against: str, measure: Measure = "auroc"
) -> Estimate:
    """Return one condition minus another, regardless of the order in which they were compared."""
    names = [each.name for each in result.conditions]
    if names.index(condition) > names.index(against):
        return result.difference(condition, against, measure).value
    found = result.difference(against, condition, measure).value
    if found.low is None or found.high is None:
        return Estimate(value=-found.value)
    return Estimate(value=-found.value, low=-found.high, high=-found.low, level=found.level)


def auroc(result: BatchesResult, condition: str, task: str | None = None) -> Estimate | None:
    """Return the AUROC of a condition on held-out batches."""
    return result.score(condition, task).auroc


def gaining(results: Mapping[str, BatchesResult]) -> list[tuple[str, str, Estimate]]:
    """Return every condition that improves on base by more than folds vary."""
    return [
        (name, found.condition, found.value)
        for name, result in results.items()
        for found in result.differences
        if found.against == "base" and found.measure == "auroc" and found.is_gain
    ]


def furthest_from_chance(results: Mapping[str, BatchesResult]) -> Estimate | None:
    """Return the mean AUROC of shuffled labels that is furthest from 0.5."""
    found = [
        each.shuffled
        for result in results.values()
        for each in _whole(result)
        if each.shuffled is not None
    ]
    return max(found, key=lambda each: abs(each.value - 0.5), default=None)


def largest_turn(results: Mapping[Setup, BatchesResult]) -> Estimate | None:
    """Return the largest change of a linear classifier when whitened rows are rotated."""
    moved = [
        abs(gain(result, condition, "pca").value)
        for setup, result in results.items()
        if setup.classifier == "linear"
        for condition in ("ica", "random")
    ]
    return Estimate(value=max(moved)) if moved else None


def _whole(result: BatchesResult) -> list[ConditionScore]:
    return [score for score in result.scores if score.task is None]
