"""Scores of pipelines whose steps must know the batches of the rows they are judged on."""

from __future__ import annotations

from functools import partial, update_wrapper
from typing import Any

from sklearn.metrics import get_scorer
from sklearn.utils.metadata_routing import MetadataRequest

_PREDICTIONS = ("predict", "predict_proba", "decision_function", "predict_log_proba")


class BatchScorer:
    """A scorer for cross-validation that hands batches and controls on to predictions.

    scikit-learn's own scorers predict without them, so that corrections could not tell the
    held-out batches apart.

    Parameters
    ----------
    scoring
        Name of a score of scikit-learn, or a scorer.
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
        """Ask for batches and controls."""
        request = MetadataRequest(owner=type(self).__name__)
        request.score.add_request(param="groups", alias=True)
        request.score.add_request(param="controls", alias=True)
        return request


class _Informed:
    """An estimator whose predictions are given the same metadata every time."""

    def __init__(self, estimator: Any, known: dict[str, Any]) -> None:
        self._estimator = estimator
        self._known = known

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._estimator, name)
        if name not in _PREDICTIONS:
            return found
        # scikit-learn asks the method for its name.
        return update_wrapper(partial(found, **self._known), found)
