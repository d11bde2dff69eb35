"""Summaries of the batches, folds, labels and conditions of a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.batch_metrics.tasks import can_judge
from upto.core import InputError
from upto.questions.batches.parts import BatchFold, BatchSummary, Condition, Task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.batch_metrics.folds import Codes, Mask, Split
    from upto.questions.batches.evaluate import Judged
    from upto.questions.batches.screen import Screen


def describe_tasks(screen: Screen, splits: Sequence[Split]) -> tuple[Task, ...]:
    """Count the folds on which each label can be evaluated; raise if there are none."""
    found = []
    for question in screen.questions:
        n_folds = sum(can_judge(question, split) for split in splits)
        batch, side = screen.batch[question.rows], question.perturbed
        says = ""
        if n_folds < len(splits):
            says = (
                f"{_fewer_side(screen, batch, side)}, so {len(splits) - n_folds} of {len(splits)} "
                "folds lack a class to train or to test on"
            )
        found.append(
            Task(
                name=question.name,
                n_perturbed=int(side.sum()),
                n_others=int((~side).sum()),
                n_batches=len(np.intersect1d(batch[side], batch[~side])),
                n_folds=n_folds,
                says=says,
            )
        )
    if not any(task.n_folds for task in found):
        message = (
            f"no value of {screen.label_words} can be evaluated on held-out "
            f"{screen.fold_by_words}: {found[0].name!r} cannot because {found[0].says}. Provide "
            "each label and its comparison group in at least two batches, or use smaller folds."
        )
        raise InputError(message)
    return tuple(found)


def _fewer_side(screen: Screen, batch: Codes, side: Mask) -> str:
    """Describe the class of a question that occurs in fewer batches."""
    # Correcting controls are not tested, but a reader counts them.
    others = batch[~side] if screen.controls is None else screen.batch[screen.controls]
    own = batch[side]
    is_own = len(np.unique(own)) <= len(np.unique(others))
    fewer = own if is_own else others
    ending = "" if len(fewer) == 1 else "s"
    what = f"row{ending}"
    if not is_own:
        what = f"other {what}" if screen.control is None else f"control{ending} ({screen.control})"
    return (
        f"its {len(fewer)} {what} {'lies' if len(fewer) == 1 else 'lie'} in "
        f"{len(np.unique(fewer))} of {len(screen.batches)} batches"
    )


def describe_batches(screen: Screen, fold_of: Codes) -> tuple[BatchSummary, ...]:
    """Return the rows, controls and fold of every batch."""
    n_rows = np.bincount(screen.batch, minlength=len(screen.batches))
    controls = np.zeros_like(n_rows)
    if screen.controls is not None:
        controls = np.bincount(screen.batch[screen.controls], minlength=len(screen.batches))
    held = np.zeros(len(screen.batches), dtype=np.intp)
    held[screen.batch] = screen.held
    return tuple(
        BatchSummary(
            name=name,
            n_rows=int(n_rows[place]),
            n_controls=int(controls[place]),
            fold=int(fold_of[held[place]]),
        )
        for place, name in enumerate(screen.batches)
    )


def describe_fold(screen: Screen, split: Split) -> BatchFold:
    """Return the numbers of training and held-out batches and rows."""
    return BatchFold(
        n_training_batches=len(np.unique(screen.batch[split.training])),
        n_training=int(split.training.sum()),
        n_held_out_batches=len(np.unique(screen.batch[split.judging])),
        n_held_out=int(split.judging.sum()),
    )


def describe_condition(judged: Judged) -> Condition:
    """Return the description of a condition and whether its fit converged."""
    return Condition(
        name=judged.kind.name,
        title=judged.kind.title,
        says=judged.kind.says,
        needs=judged.kind.needs,
        n_components=int(judged.whole.shape[1]),
        converged=judged.converged,
        seconds=judged.seconds,
    )
