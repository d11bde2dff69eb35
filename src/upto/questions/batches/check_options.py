"""Validate options before anything is read or trained."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from upto.batch_metrics.classifiers import CLASSIFIERS
from upto.core import InputError
from upto.core.arguments import check_whole
from upto.core.errors import ArgumentError
from upto.core.extras import check_extra

if TYPE_CHECKING:
    from upto.core import Embeddings

WHOLE = (int, np.integer)
NUMBER = (int, float, np.integer, np.floating)


def check_options(
    *, classifier: object, fit: object, probe_labels: object, folds: object, seed: object
) -> None:
    """Check names and numbers.

    Raises
    ------
    InputError
        If an option is invalid.
    """
    if probe_labels is not None and not (isinstance(probe_labels, WHOLE) and probe_labels >= 1):
        message = f"probe_labels is {probe_labels}: choose 1 or more, or None for all."
        raise InputError(message)
    if classifier not in CLASSIFIERS:
        message = f"unknown classifier {classifier!r}: choose one of {', '.join(CLASSIFIERS)}."
        raise InputError(message)
    if classifier != "linear":
        check_extra("boost", f"the classifier {classifier}")
    if fit not in ("training", "all"):
        message = f"fit is {fit!r}: choose 'training' or 'all'."
        raise InputError(message)
    if not isinstance(folds, WHOLE):
        message = f"folds={folds!r} is not an integer: choose 2 or more."
        raise ArgumentError(message, folds=folds)
    check_whole(seed=seed)


def check_components(components: object, run: Embeddings) -> None:
    """Check that components are a possible number or a fraction of the variance."""
    if components is None:
        return
    number = float(components) if isinstance(components, NUMBER) else 0.0
    if not 0 < number < 1 and not (number >= 1 and number.is_integer()):
        message = (
            f"n_components={components!r} is neither a number of components, e.g. 20, nor a "
            "fraction of the variance between 0 and 1, e.g. 0.95."
        )
        raise ArgumentError(message, n_components=components)
    if number > run.n_features:
        message = (
            f"n_components={components!r} exceeds the {run.n_features} columns of {run.name}: "
            f"choose {run.n_features} or fewer, or a fraction of the variance, e.g. 0.95."
        )
        raise ArgumentError(message, n_components=components)


def as_percents(given: object) -> tuple[float, ...]:
    """Return percentages of columns without duplicates; a single number is accepted."""
    asked = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    found: dict[float, None] = {}
    for percent in asked:
        if not isinstance(percent, NUMBER):
            message = (
                f"concentration={given!r} is not a list of percentages: use numbers, e.g. (25.0,)."
            )
            raise ArgumentError(message, concentration=given)
        if not 0 < percent < 100:
            message = f"concentration is {percent:g} %: choose percentages between 0 and 100."
            raise InputError(message)
        found[float(percent)] = None
    return tuple(found)
