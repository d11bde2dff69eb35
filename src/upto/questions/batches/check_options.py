"""Options that cannot be used, refused before anything is read or trained."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from upto.batch_metrics.classifiers import CLASSIFIERS
from upto.core import InputError
from upto.core.errors import ArgumentError

if TYPE_CHECKING:
    from upto.core import Embeddings

WHOLE = (int, np.integer)
NUMBER = (int, float, np.integer, np.floating)


def check_options(
    *, classifier: object, fit: object, probe_labels: object, folds: object, seed: object
) -> None:
    """Refuse names there are none of, and numbers that count nothing.

    Raises
    ------
    InputError
        If an option cannot be used; one sentence says which and what to give.
    """
    if probe_labels is not None and not (isinstance(probe_labels, WHOLE) and probe_labels >= 1):
        message = f"{probe_labels} labels are probed: choose 1 or more, or None for all."
        raise InputError(message)
    if classifier not in CLASSIFIERS:
        message = f"there is no classifier {classifier!r}: choose one of {', '.join(CLASSIFIERS)}."
        raise InputError(message)
    if fit not in ("training", "all"):
        message = f"fit is {fit!r}: conditions are fitted to training rows or to all."
        raise InputError(message)
    if not isinstance(folds, WHOLE):
        message = f"folds={folds!r} is no whole number: give one of 2 or more."
        raise ArgumentError(message, folds=folds)
    if not isinstance(seed, WHOLE) or seed < 0:
        message = f"seed={seed!r} is no whole number of 0 or more: give one."
        raise ArgumentError(message, seed=seed)


def check_components(components: object, run: Embeddings) -> None:
    """Refuse what is neither a number of directions that rows have nor a share of the variance."""
    if components is None:
        return
    number = float(components) if isinstance(components, NUMBER) else 0.0
    if not 0 < number < 1 and not (number >= 1 and number.is_integer()):
        message = (
            f"n_components={components!r} is neither a number of directions, as 20, nor a share of "
            "the variance between 0 and 1, as 0.95."
        )
        raise ArgumentError(message, n_components=components)
    if number > run.n_features:
        message = (
            f"n_components={components!r} is more than the {run.n_features} columns of {run.name}: "
            f"choose {run.n_features} or fewer, or a share of the variance, as 0.95."
        )
        raise ArgumentError(message, n_components=components)


def as_percents(given: object) -> tuple[float, ...]:
    """Return percentages of columns, each once; one alone may stand for a list of it."""
    asked = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    found: dict[float, None] = {}
    for percent in asked:
        if not isinstance(percent, NUMBER):
            message = (
                f"concentration={given!r} is no list of percentages: give numbers, as (25.0,)."
            )
            raise ArgumentError(message, concentration=given)
        if not 0 < percent < 100:
            message = f"concentration is asked at {percent:g} %: choose percentages below 100."
            raise InputError(message)
        found[float(percent)] = None
    return tuple(found)
