"""Folds over batches: training and test rows never share a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError, random_stream

if TYPE_CHECKING:
    from collections.abc import Sequence

Names = NDArray[np.str_]
Codes = NDArray[np.intp]
Mask = NDArray[np.bool_]
Scheme = Literal["folds", "one-trains"]
SCHEMES: tuple[Scheme, ...] = ("folds", "one-trains")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Split:
    """Training rows and test rows."""

    training: Mask
    judging: Mask


def split_batches(
    held: Codes, labels: Names, *, scheme: Scheme, n_folds: int, seed: int
) -> tuple[NDArray[np.intp], list[Split]]:
    """Split rows into folds of whole batches, with labels spread as evenly as batches allow.

    Parameters
    ----------
    held
        Code of the held-out unit of each row, in the order of unit names.
    labels
        Label of each row.
    scheme
        ``"folds"`` holds out a part of the batches in turn; ``"one-trains"`` trains on one batch
        and tests on all others.
    n_folds
        Number of folds, at most the number of batches.
    seed
        Seed of the order of batches of equal size.

    Returns
    -------
    tuple
        Fold of each batch, and split of each fold.
    """
    if scheme not in SCHEMES:
        message = f"there is no scheme {scheme!r}: choose one of {', '.join(SCHEMES)}."
        raise InputError(message)
    if n_folds < 2:
        message = f"folds is {n_folds}, but at least 2 are needed: one to train on, one to test on."
        raise InputError(message)
    n_groups = int(held.max()) + 1
    if scheme == "one-trains":
        fold = np.arange(n_groups)
        own = [held == group for group in range(n_groups)]
        return fold, [Split(training=each, judging=~each) for each in own]
    # Drawn by code, i.e. by sorted name: the folds depend neither on the order of rows nor on their
    # values, units or types.
    drawn = random_stream(seed, "folds").permutation(n_groups)
    fold = _spread(_counts(held, labels), drawn, min(n_folds, n_groups))
    judging = [fold[held] == each for each in range(int(fold.max()) + 1)]
    return fold, [Split(training=~each, judging=each) for each in judging]


def shared_by_folds(splits: Sequence[Split]) -> float:
    """Return the mean ratio of test rows to training rows over folds."""
    return float(np.mean([split.judging.sum() / split.training.sum() for split in splits]))


def _counts(held: Codes, labels: Names) -> NDArray[np.float64]:
    """Return each batch's share of the rows of every label, and of batches."""
    values, codes = np.unique(labels, return_inverse=True)
    n_groups = int(held.max()) + 1
    table = np.zeros((n_groups, len(values) + 1))
    np.add.at(table, (held, codes), 1.0)
    table[:, -1] = 1.0
    shares: NDArray[np.float64] = table / table.sum(axis=0)
    return shares


def _spread(shares: NDArray[np.float64], drawn: Codes, n_folds: int) -> NDArray[np.intp]:
    """Assign each batch, large ones first, to the fold with the least overlap in labels.

    The sum over folds of squared shares grows by 2 c·g + g·g when g joins a fold with shares c:
    the least overlap minimises it.
    """
    n_groups = len(shares)
    order = np.lexsort((drawn, -np.round((shares**2).sum(axis=1), 12)))
    held = np.zeros((n_folds, shares.shape[1]))
    fold = np.empty(n_groups, dtype=np.intp)
    for group in order:
        # An empty fold has no overlap, so none stays empty.
        overlap = held @ shares[group]
        best = int(np.argmin(np.round(overlap, 12)))
        held[best] += shares[group]
        fold[group] = best
    return fold
