"""Prepare the rows of a fold once for all tasks and feature sets."""

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
    """A classifier of one task.

    See Also
    --------
    Prepared : Its ``fit`` returns it.
    auroc : How well its scores rank rows.
    """

    @property
    def splits(self) -> NDArray[np.float64]:
        """Use of each feature: number of tree splits, or absolute coefficient."""

    def score(self, rows: ArrayLike) -> NDArray[np.float64]:
        """Return one score per row, higher for the class labelled true."""


class Prepared(Protocol):
    """Training rows shared by all tasks.

    See Also
    --------
    prepare : Returns it.
    """

    @property
    def predictor(self) -> str:
        """Description of the classifier."""

    def fit(
        self, index: ArrayLike, labels: ArrayLike, *, features: ArrayLike | None = None
    ) -> Fitted:
        """Fit one task; the order of rows and of features does not matter.

        Parameters
        ----------
        index
            Positions of the rows of this task.
        labels
            True for each of these rows in the positive class.
        features
            Positions of the columns to use; all by default.

        Raises
        ------
        InputError
            If there is only one class, or a row or column does not exist.
        """


def prepare(
    training_rows: ArrayLike,
    *,
    classifier: str = "boosted",
    seed: int = 0,
    threads: int | None = None,
) -> Prepared:
    r"""Prepare training rows once, for classifiers of many tasks on subsets of them.

    Parameters
    ----------
    training_rows
        Training rows of all tasks of this fold.
    classifier
        ``boosted``: LightGBM with the settings of the paper's Table 6; ``boosted-fast``: the same
        trees with fewer bins, features and rows each, in a fraction of the time; ``linear``:
        logistic regression on standardised columns, invariant to rotations of whitened rows.
    seed
        Seed of the features that LightGBM samples for each tree.
    threads
        Threads that prepare rows and fit ``linear``; all cores by default. Trees are fitted in the
        calling thread, so fits can run in parallel. Results are bitwise independent of this number.

    Returns
    -------
    Prepared
        Its ``fit(index, labels)`` fits one task and returns an object with ``score(rows)``.

    Raises
    ------
    InputError
        If rows are not finite, or the classifier is unknown.
    MissingExtraError
        If LightGBM is needed and not installed.

    See Also
    --------
    auroc : How well scores rank rows.
    top_features : The features that a fitted classifier uses most.
    upto.batches : Held-out batches, all labels and conditions at once.

    Notes
    -----
    ``linear`` minimises, over weights w and an intercept on standardised columns,

    .. math::

        \sum_i c_i \log \left( 1 + e^{-y_i s_i} \right) + \frac{d}{2} \lVert w \rVert^2

    with scores :math:`s_i`, classes :math:`y_i = \pm 1`, weights :math:`c_i` that give both classes
    the same total, and d columns: under this prior scores have variance one.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.batch_metrics.classifiers import prepare
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(200) % 2 == 0
    >>> rows = rng.normal(size=(200, 3)) + 3.0 * labels[:, None]
    >>> fitted = prepare(rows, classifier="linear").fit(np.arange(200), labels)
    >>> bool(((fitted.score(rows) > 0) == labels).mean() > 0.95)
    True
    """
    if classifier not in CLASSIFIERS:
        message = f"there is no classifier {classifier!r}: choose one of {', '.join(CLASSIFIERS)}."
        raise InputError(message)
    if threads is not None and threads < 1:
        message = f"threads is {threads}: give 1 or more."
        raise InputError(message)
    rows = as_rows(training_rows, "the training rows")
    n_threads = threads or n_cores()
    if classifier == "linear":
        return PreparedLogistic(rows, n_threads=n_threads)
    settings = TABLE_6 if classifier == "boosted" else FAST
    return PreparedTrees(rows, settings=settings, seed=seed, n_threads=n_threads)


def n_cores() -> int:
    """Return the number of cores available to this process."""
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    # Fewer cores may be available to this process than exist.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
