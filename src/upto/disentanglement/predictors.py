"""What the scores that fit scikit-learn's predictors share."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

if TYPE_CHECKING:
    from collections.abc import Iterator

    from upto.core.arrays import Float
    from upto.disentanglement.predictor_tables import Whole


@contextmanager
def quietly() -> Iterator[None]:
    """Leave a search where its number of steps ends it, as the sources of these scores do.

    Nor does anyone have to hear that a factor with many values could be a number.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        yield


def fitted_logistic(columns: Float, labels: Whole, **settings: Any) -> LogisticRegression:
    """Return a logistic regression; its settings are scikit-learn's."""
    model = LogisticRegression(**settings)
    with quietly():
        model.fit(columns, labels)
    return model


def indicators(labels: Whole, classes: int) -> Float:
    """Return a column of zeros and ones for each class."""
    found: Float = (labels[:, None] == np.arange(classes)).astype(np.float64)
    return found
