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
