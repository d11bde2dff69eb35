"""Label leaks without biology: well positions, batches and repeated rows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from upto.batch_metrics.classifiers import auroc, prepare, side_by_side
from upto.batch_metrics.tasks import can_judge
from upto.core import random_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from upto.batch_metrics.classifiers import Prepared
    from upto.batch_metrics.folds import Codes, Mask, Split
    from upto.batch_metrics.tasks import Question
    from upto.core.array_types import Float
    from upto.questions.batches.conditions import Rows
    from upto.questions.batches.evaluate import Judging
    from upto.questions.batches.screen import Screen

LEAST_TOLD = 0.52
"""AUROC of the label fraction per batch below which batches cannot predict the label."""


def predict_by_well(screen: Screen, splits: Sequence[Split]) -> Float | None:
    """Return the AUROC of well positions alone, folds by questions; None without wells."""
    if screen.wells is None:
        return None
    well = np.unique(screen.wells, return_inverse=True)[1]
    found = np.full((len(splits), len(screen.questions)), np.nan)
    for number, split in enumerate(splits):
        for place, question in enumerate(screen.questions):
            if not can_judge(question, split):
                continue
            training = split.training[question.rows]
            own = well[question.rows]
            rate = _rates(own[training], question.perturbed[training], int(well.max()) + 1)
            judging = split.judging[question.rows]
            score = auroc(question.perturbed[judging], rate[own[judging]])
            found[number, place] = np.nan if score is None else score
    return found


def _rates(well: Codes, perturbed: Mask, n_wells: int) -> Float:
    """Return the perturbed fraction of each well; unseen wells have the overall mean."""
    counts = np.bincount(well, minlength=n_wells)
    hits = np.bincount(well, weights=perturbed, minlength=n_wells)
    prior = float(perturbed.mean())
    return (hits + prior) / (counts + 1)


def told_by_batches(screen: Screen, judging: Judging) -> frozenset[str]:
    """Return the probed labels whose frequency differs between batches."""
    return frozenset(
        each.name
        for each in screen.questions
        if each.name in judging.probed and can_batches_tell(each.perturbed, screen.batch[each.rows])
    )


def can_batches_tell(perturbed: Mask, batch: Codes) -> bool:
    """Return whether the frequency of a label differs enough for batches to predict it."""
    n_rows = np.bincount(batch)
    shares = np.bincount(batch, weights=perturbed) / np.maximum(n_rows, 1)
    best = auroc(perturbed, shares[batch])
    return best is not None and best >= LEAST_TOLD


def predict_by_batch(
    rows: Rows,
    screen: Screen,
    splits: Sequence[Split],
    judging: Judging,
    advance: Callable[[int], None],
) -> Float:
    """Return the AUROC of labels shuffled within batches, folds by questions.

    Shuffling makes rows of a batch exchangeable, so only differences between batches can predict
    these labels. NaN for labels that are not probed or are equally frequent in all batches.
    """
    found = np.full((len(splits), len(screen.questions)), np.nan)
    shuffled = [
        _shuffled_within(
            question.perturbed,
            screen.batch[question.rows],
            random_stream(judging.making.seed, "within batches", question.name),
        )
        for question in screen.questions
    ]
    asked_of = told_by_batches(screen, judging)
    for number, split in enumerate(splits):
        asked = [
            place
            for place, each in enumerate(screen.questions)
            if each.name in asked_of and can_judge(each, split)
        ]
        if not asked:
            continue
        prepared = prepare(
            rows[split.training],
            classifier=judging.classifier,
            seed=judging.making.seed,
            threads=judging.threads,
        )
        found[number, asked] = side_by_side(
            [
                partial(_area, prepared, rows, split, screen.questions[place], shuffled[place])
                for place in asked
            ],
            judging.threads,
            advance,
        )
    return found


def _area(
    prepared: Prepared, rows: Rows, split: Split, question: Question, shuffled: Mask
) -> float:
    """Return the AUROC of shuffled labels; NaN if training or test rows have one class."""
    training, held = split.training[question.rows], split.judging[question.rows]
    if shuffled[training].all() or not shuffled[training].any():
        return float("nan")
    place = np.cumsum(split.training) - 1
    model = prepared.fit(place[question.rows[training]], shuffled[training])
    score = auroc(shuffled[held], model.score(rows[question.rows[held]]))
    return float("nan") if score is None else score


def _shuffled_within(perturbed: Mask, batch: Codes, random: np.random.Generator) -> Mask:
    """Permute labels among rows of the same batch."""
    order = np.argsort(batch, kind="stable")
    drawn = np.lexsort((random.random(len(batch)), batch))
    shuffled = np.empty_like(perturbed)
    shuffled[order] = perturbed[drawn]
    return shuffled


def count_repeated_wells(screen: Screen) -> int:
    """Return the number of rows that repeat a well of the same batch."""
    if screen.wells is None:
        return 0
    wells = np.unique(screen.wells, return_inverse=True)[1]
    pairs = screen.batch * (int(wells.max()) + 1) + wells
    return len(pairs) - len(np.unique(pairs))


def repeated_rows(alike: Codes, held: Codes) -> Mask:
    """Mark rows whose values occur in several held-out groups."""
    pairs = np.unique(np.stack([alike, held]), axis=1)[0]
    values, counts = np.unique(pairs, return_counts=True)
    return np.isin(alike, values[counts > 1])
