"""Prepare the rows of a fold once, for all tasks and sets of features."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

from upto.batch_metrics.classifiers.boosting import FAST, TABLE_6, PreparedTrees
from upto.batch_metrics.classifiers.logistic import PreparedLogistic
from upto.core import InputError
from upto.measures.kinds import as_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

CLASSIFIERS = ("boosted", "boosted-fast", "linear")


class Fitted(Protocol):
    """A classifier of one task."""

    @property
    def splits(self) -> NDArray[np.float64]:
        """How much each of all features was used: splits of trees, or sizes of coefficients."""

    def score(self, rows: ArrayLike) -> NDArray[np.float64]:
        """Return a number for each row, higher for those more like the rows labelled true."""


class Prepared(Protocol):
    """Training rows, as all tasks share them."""

    @property
    def predictor(self) -> str:
        """What is fitted, in words."""

    def fit(
        self, index: ArrayLike, labels: ArrayLike, *, features: ArrayLike | None = None
    ) -> Fitted:
        """Fit one task; the order of rows and of features does not matter.

        Parameters
        ----------
        index
            Positions of the rows of this task.
        labels
            Whether each of them is of the class to be found.
        features
            Positions of the columns to use; all by default.

        Raises
        ------
        InputError
            If there is one class only, or a row or column that is not there.
        """


def prepare(
    training_rows: ArrayLike,
    *,
    classifier: str = "boosted",
    seed: int = 0,
    threads: int | None = None,
) -> Prepared:
    """Prepare rows to fit classifiers of many tasks to some of them each.

    Parameters
    ----------
    training_rows
        All rows that any task of this fold is fitted to.
    classifier
        ``boosted``: LightGBM with the settings of the paper's Table 6; ``boosted-fast``: the same
        trees with fewer bins, features and rows each, for a fraction of the time; ``linear``:
        logistic regression on standardised columns, which no rotation of whitened rows changes.
    seed
        Seeds the features that LightGBM draws for each tree.
    threads
        Threads that prepare rows, and fit ``linear``; all cores by default. Trees are fitted by the
        thread that asks, so fits may run side by side. Their number changes no bit of a result.

    Raises
    ------
    InputError
        If rows are not finite numbers, or there is no such classifier.
    MissingExtraError
        If LightGBM is needed and not installed.
    """
    if classifier not in CLASSIFIERS:
        message = f"there is no classifier {classifier!r}: choose one of {', '.join(CLASSIFIERS)}."
        raise InputError(message)
    if threads is not None and threads < 1:
        message = f"{threads} threads: give 1 or more."
        raise InputError(message)
    rows = as_rows(training_rows, "the training rows")
    n_threads = threads or n_cores()
    if classifier == "linear":
        return PreparedLogistic(rows, n_threads=n_threads)
    settings = TABLE_6 if classifier == "boosted" else FAST
    return PreparedTrees(rows, settings=settings, seed=seed, n_threads=n_threads)


def n_cores() -> int:
    """Return the cores that this process may use."""
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    # The cores this process may use can be fewer than there are.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
