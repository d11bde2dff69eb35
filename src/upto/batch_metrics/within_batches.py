"""Chance variation of the AUROC within batches."""

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
"""Areas of two batches that train for each other are dependent: the variance of their sum is up to
twice that of independent areas."""


def chance_error(
    questions: Sequence[Question], batch: Codes, splits: Sequence[Split]
) -> float | None:
    """Return the standard error of the mean AUROC within batches under exchangeable labels.

    Rows of a batch are then exchangeable, so the area of each batch has the Mann-Whitney variance,
    whatever the differences between batches. Labels of one batch, which may share controls, and
    folds that test it repeatedly count as fully dependent; different batches as independent, except
    that they train for each other.

    Parameters
    ----------
    questions
        The tasks evaluated.
    batch
        Batch code of each row, from 0.
    splits
        Training and test rows of each fold.

    Returns
    -------
    float or None
        An upper bound on the error; None if no test batch has both sides.
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
    """Return the one-sided p-value of an AUROC under exchangeable labels.

    Examples
    --------
    >>> round(p_above_chance(0.7, 0.1), 3)
    0.023
    """
    return float(norm.sf((area - 0.5) / error))
