"""How far chance moves an area that is counted among rows of the same batch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm

from upto.batch_metrics.tasks import can_judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.batch_metrics.folds import Codes, Split
    from upto.batch_metrics.tasks import Question

_BOTH_WAYS = 2.0
"""Two batches that train for each other agree or disagree with each other at once: the variance of
their sum is up to twice that of areas that know nothing of each other."""


def chance_error(
    questions: Sequence[Question], batch: Codes, splits: Sequence[Split]
) -> float | None:
    """Return the standard error of the mean AUROC within batches if labels tell nothing.

    Rows of a batch are then exchangeable, so the area of each batch has the variance of Mann and
    Whitney's, whatever batches differ in. Labels of one batch, which may share their controls, and
    folds that judge it again count as one and the same; different batches as independent, but for
    what they train for each other.

    Parameters
    ----------
    questions
        The labels that are judged.
    batch
        The batch of every row, as numbers from 0.
    splits
        Which rows train and judge, fold by fold.

    Returns
    -------
    float or None
        The error, not smaller than it is; None where no batch that judges has both sides.
    """
    n_batches = int(batch.max()) + 1
    reach = np.zeros(n_batches)
    n_means = 0
    for split in splits:
        for question in questions:
            if not can_judge(question, split):
                continue
            judging = split.judging[question.rows]
            own, side = batch[question.rows][judging], question.perturbed[judging]
            first = np.bincount(own[side], minlength=n_batches).astype(np.float64)
            second = np.bincount(own[~side], minlength=n_batches).astype(np.float64)
            pairs = first * second
            if not pairs.any():
                continue
            n_means += 1
            reach += np.sqrt(pairs * (first + second + 1) / 12) / pairs.sum()
    if not n_means:
        return None
    return math.sqrt(_BOTH_WAYS * float(np.sum(reach**2))) / n_means


def p_above_chance(area: float, error: float) -> float:
    """Return the one-sided p-value of an area of labels that tell nothing.

    Examples
    --------
    >>> round(p_above_chance(0.7, 0.1), 3)
    0.023
    """
    return float(norm.sf((area - 0.5) / error))
