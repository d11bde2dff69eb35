"""Fit a condition to training batches and evaluate it on held-out ones, fold by fold."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from upto.batch_metrics.classifiers import (
    Prepared,
    auroc,
    auroc_within,
    hoyer_sparsity,
    prepare,
    side_by_side,
    top_features,
)
from upto.batch_metrics.folds import Codes, Mask, Split
from upto.batch_metrics.tasks import can_judge, places_of
from upto.core import random_stream
from upto.corrections.cost_of_dropping import DroppingCost
from upto.questions.batches.conditions import ConditionKind, Making, Rows, fit_condition
from upto.questions.batches.parts import FoldScore, TopScore

if TYPE_CHECKING:
    from collections.abc import Callable

    from upto.batch_metrics.tasks import Question
    from upto.questions.batches.screen import Screen

PROBED = 60
"""Default number of labels that are also shuffled and tested on subsets of columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """Options of the evaluation."""

    classifier: str
    fit: Literal["training", "all"]
    percents: Sequence[float]
    shuffled: bool
    making: Making
    threads: int | None
    probed: frozenset[str] = frozenset()
    """Labels that are also shuffled and tested on subsets of columns."""

    def n_trainings(self, name: str) -> int:
        """Return the number of classifiers trained for a label in a fold."""
        return 1 + (self.shuffled + 2 * len(self.percents)) * (name in self.probed)


@dataclass(slots=True, kw_only=True)
class Judged:
    """Scores of one condition, and all rows transformed by its fit to all rows."""

    kind: ConditionKind
    scores: list[FoldScore] = field(default_factory=list)
    tops: list[TopScore] = field(default_factory=list)
    converged: bool | None = None
    n_dropped: list[int | None] = field(default_factory=list)
    costs: list[DroppingCost] = field(default_factory=list)
    seconds: float = 0.0
    whole: Rows


def probed_labels(
    questions: Sequence[Question], splits: Sequence[Split], most: int | None, seed: int
) -> frozenset[str]:
    """Draw labels from those that can be evaluated; means over labels need no more."""
    names = [each.name for each in questions if any(can_judge(each, split) for split in splits)]
    if most is None or len(names) <= most:
        return frozenset(names)
    drawn = random_stream(seed, "probed labels").permutation(len(names))[:most]
    return frozenset(names[place] for place in drawn)


def count_trainings(screen: Screen, splits: Sequence[Split], judging: Judging) -> int:
    """Return the number of classifiers trained for a condition."""
    return sum(
        judging.n_trainings(question.name)
        for split in splits
        for question in screen.questions
        if can_judge(question, split)
    )


def judge_condition(
    kind: ConditionKind,
    rows: Rows,
    screen: Screen,
    splits: Sequence[Split],
    judging: Judging,
    advance: Callable[[int], None],
) -> Judged:
    """Fit a condition in every fold and predict every label on the held-out batches."""
    started = time.perf_counter()
    whole_fit, whole = fit_condition(kind, judging.making, rows, screen)
    found = Judged(kind=kind, whole=whole, converged=whole_fit.converged)
    found.n_dropped.append(whole_fit.n_dropped)
    found.costs.extend(whole_fit.costs)
    for number, split in enumerate(splits):
        asked = [question for question in screen.questions if can_judge(question, split)]
        if asked:
            train, held = _transformed(kind, rows, whole, screen, split, judging, found)
            fold = _Fold(
                number=number,
                prepared=prepare(
                    train,
                    classifier=judging.classifier,
                    seed=judging.making.seed,
                    threads=judging.threads,
                ),
                held=held,
                split=split,
            )
            _judge(found, fold, asked, screen, judging, advance)
    found.seconds = time.perf_counter() - started
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fold:
    number: int
    prepared: Prepared
    held: Rows
    split: Split


def _transformed(
    kind: ConditionKind,
    rows: Rows,
    whole: Rows,
    screen: Screen,
    split: Split,
    judging: Judging,
    found: Judged,
) -> tuple[Rows, Rows]:
    """Return training and held-out rows under a condition."""
    if judging.fit == "all" or kind.is_transductive:
        return whole[split.training], whole[split.judging]
    controls = screen.references
    fitted, train = fit_condition(kind, judging.making, rows, screen, split.training)
    found.n_dropped.append(fitted.n_dropped)
    found.costs.extend(fitted.costs)
    if fitted.converged is False:
        found.converged = False
    held = fitted.transform(
        rows[split.judging],
        groups=screen.batch_names[split.judging],
        controls=None if controls is None else controls[split.judging],
    )
    return train, held


def _judge(
    found: Judged,
    fold: _Fold,
    asked: Sequence[Question],
    screen: Screen,
    judging: Judging,
    advance: Callable[[int], None],
) -> None:
    """Train classifiers with true labels, with shuffled ones, and on subsets of columns."""
    parts = [_Part.of(question, fold.split) for question in asked]
    probed = [part for part in parts if part.name in judging.probed]
    mixed = probed if judging.shuffled else []
    trained = side_by_side(
        [
            *(partial(_train, fold, part, part.labels, None) for part in parts),
            *(partial(_train, fold, part, _shuffled(part, fold, judging), None) for part in mixed),
        ],
        judging.threads,
        advance,
    )
    by_name = {part.name: own for part, own in zip(parts, trained[: len(parts)], strict=True)}
    by_chance = {part.name: own for part, own in zip(mixed, trained[len(parts) :], strict=True)}
    batches = screen.batch[fold.split.judging]
    for part in parts:
        own, chance = by_name[part.name], by_chance.get(part.name)
        found.scores.append(
            FoldScore(
                condition=found.kind.name,
                task=part.name,
                fold=fold.number,
                auroc=auroc(part.truth, own.scores),
                within=auroc_within(part.truth, own.scores, batches[part.held]),
                shuffled=None if chance is None else auroc(part.truth, chance.scores),
                sparsity=hoyer_sparsity(own.splits),
                shuffled_sparsity=None if chance is None else hoyer_sparsity(chance.splits),
            )
        )
    if fold.held.shape[1] > 1:
        used = [by_name[part.name].splits for part in probed]
        _judge_tops(found, fold, probed, used, judging, advance)
    else:
        advance(len(probed) * 2 * len(judging.percents))


def _judge_tops(
    found: Judged,
    fold: _Fold,
    parts: Sequence[_Part],
    used: Sequence[NDArray[np.float64]],
    judging: Judging,
    advance: Callable[[int], None],
) -> None:
    """Train on the most used columns, and on all others."""
    wanted = [
        (part, percent, top, np.setdiff1d(np.arange(len(splits)), top))
        for part, splits in zip(parts, used, strict=True)
        for percent in judging.percents
        for top in (_top(splits, percent, part, fold, judging),)
    ]
    scored = iter(
        side_by_side(
            [
                partial(_train, fold, part, part.labels, columns)
                for part, _, top, rest in wanted
                for columns in (top, rest)
            ],
            judging.threads,
            advance,
        )
    )
    for part, percent, _, _ in wanted:
        top, rest = next(scored), next(scored)
        found.tops.append(
            TopScore(
                condition=found.kind.name,
                task=part.name,
                fold=fold.number,
                percent=percent,
                top=auroc(part.truth, top.scores),
                rest=auroc(part.truth, rest.scores),
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Rows of a question in a fold, and their classes."""

    name: str
    train: Codes
    labels: Mask
    held: Codes
    truth: Mask

    @classmethod
    def of(cls, question: Question, split: Split) -> _Part:
        train, labels = places_of(question, split.training)
        held, truth = places_of(question, split.judging)
        return cls(name=question.name, train=train, labels=labels, held=held, truth=truth)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trained:
    splits: NDArray[np.float64]
    scores: NDArray[np.float64]


def _train(fold: _Fold, part: _Part, labels: Mask, features: Codes | None) -> _Trained:
    model = fold.prepared.fit(part.train, labels, features=features)
    return _Trained(splits=model.splits, scores=model.score(fold.held[part.held]))


def _shuffled(part: _Part, fold: _Fold, judging: Judging) -> Mask:
    random = random_stream(judging.making.seed, "shuffled", part.name, str(fold.number))
    return random.permutation(part.labels)


def _top(
    splits: NDArray[np.float64], percent: float, part: _Part, fold: _Fold, judging: Judging
) -> Codes:
    """Return the columns with most splits; ties are broken at random.

    With few rows most columns have no split, and taking the first of them would favour the leading
    principal components, whose biology is not due to the trees.
    """
    random = random_stream(judging.making.seed, "equal splits", part.name, str(fold.number))
    drawn = random.permutation(len(splits))
    return np.sort(drawn[top_features(splits[drawn], percent)])
