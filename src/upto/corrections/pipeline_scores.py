"""Scorers for pipelines whose steps need the batches of the test rows."""

from __future__ import annotations

from functools import partial, update_wrapper
from typing import Any

from sklearn.metrics import get_scorer
from sklearn.utils.metadata_routing import MetadataRequest

_PREDICTIONS = ("predict", "predict_proba", "decision_function", "predict_log_proba")


class BatchScorer:
    """A scorer for cross-validation that passes batches and controls to predictions.

    scikit-learn's own scorers predict without them, so corrections could not distinguish the
    held-out batches.

    Parameters
    ----------
    scoring
        Name of a scikit-learn score, or a scorer.

    See Also
    --------
    BatchScaler : A step that needs the batches of the test rows.
    upto.batches : Held-out batches without a pipeline of your own.

    Examples
    --------
    >>> import numpy as np
    >>> import sklearn
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import LeaveOneGroupOut, cross_validate
    >>> from sklearn.pipeline import make_pipeline
    >>> from upto.corrections import BatchScaler, BatchScorer
    >>> rng = np.random.default_rng(0)
    >>> plates, labels = np.repeat(np.arange(4), 50), np.tile([0, 1], 100)
    >>> rows = rng.normal(size=(200, 3)) + 3.0 * labels[:, None] + 10.0 * plates[:, None]
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     found = cross_validate(
    ...         make_pipeline(BatchScaler(), LogisticRegression()),
    ...         rows,
    ...         labels,
    ...         cv=LeaveOneGroupOut(),
    ...         scoring=BatchScorer("roc_auc"),
    ...         params={"groups": plates},
    ...     )
    >>> bool(found["test_score"].min() > 0.99)
    True
    """

    def __init__(self, scoring: Any = "roc_auc") -> None:
        self.scoring = scoring

    def __call__(
        self, estimator: Any, X: Any, y: Any, *, groups: Any = None, controls: Any = None
    ) -> float:
        """Score an estimator on rows of known batches."""
        given = {"groups": groups, "controls": controls}
        known = {name: value for name, value in given.items() if value is not None}
        return float(get_scorer(self.scoring)(_Informed(estimator, known), X, y))

    def get_metadata_routing(self) -> MetadataRequest:
        """Request batches and controls."""
        request = MetadataRequest(owner=type(self).__name__)
        request.score.add_request(param="groups", alias=True)
        request.score.add_request(param="controls", alias=True)
        return request


class _Informed:
    """An estimator that always predicts with the same metadata."""

    def __init__(self, estimator: Any, known: dict[str, Any]) -> None:
        self._estimator = estimator
        self._known = known

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._estimator, name)
        if name not in _PREDICTIONS:
            return found
        # scikit-learn reads the name of the method.
        return update_wrapper(partial(found, **self._known), found)
