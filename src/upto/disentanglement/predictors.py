"""Helpers of the scores that fit scikit-learn's predictors."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

if TYPE_CHECKING:
    from collections.abc import Iterator

    from upto.core.array_types import Float
    from upto.disentanglement.predictor_tables import Whole


@contextmanager
def quietly() -> Iterator[None]:
    """Silence convergence warnings: searches stop at their step limit, as in the scores' sources.

    Also silence the warning that a factor with many values could be continuous.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        yield


def fitted_logistic(columns: Float, labels: Whole, **settings: Any) -> LogisticRegression:
    """Fit a logistic regression with scikit-learn's settings."""
    model = LogisticRegression(**settings)
    with quietly():
        model.fit(columns, labels)
    return model


def indicators(labels: Whole, classes: int) -> Float:
    """Return one-hot columns."""
    found: Float = (labels[:, None] == np.arange(classes)).astype(np.float64)
    return found
