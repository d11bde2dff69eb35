"""Catalogue of all similarity measures by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core import InputError
from upto.core.catalogue import Catalogue
from upto.measures import (
    alignment,
    correlations,
    dissimilarities,
    kernels,
    matching,
    neighbours,
    regression,
    udr,
    weighted_correlations,
)
from upto.measures import shape_distances as shapes
from upto.measures.kinds import Measure

if TYPE_CHECKING:
    from collections.abc import Iterable

_MODULES = (
    correlations,
    weighted_correlations,
    regression,
    shapes,
    alignment,
    kernels,
    dissimilarities,
    neighbours,
    matching,
    udr,
)
MEASURES: Catalogue[Measure] = Catalogue(
    "measure",
    (each for module in _MODULES for each in vars(module).values() if isinstance(each, Measure)),
    accepts=Measure,
)
DEFAULT_MEASURES = (
    "linear-cka",
    "mean-cca",
    "procrustes",
    "rsa-euclidean-spearman",
    "mutual-knn",
    "mcc",
)
"""One measure of each family, the most common first choices."""


def find_measures(names: Iterable[str]) -> tuple[Measure, ...]:
    """Return measures by name; ``all`` selects every measure, ``svcca:64`` sets a parameter."""
    return as_measures(names)


def find_measure(name: str) -> Measure:
    """Return the measure with this name."""
    stem, colon, number = name.partition(":")
    measure = MEASURES.find(stem)
    if not colon:
        return measure
    try:
        parameter = float(number)
    except ValueError:
        advice = (
            f"has no parameter: leave out ':{number}'"
            if measure.parameter is None
            else f"needs a number after the colon, as in {measure.name}"
        )
        message = f"the measure {name!r} {advice}."
        raise InputError(message) from None
    return measure.with_parameter(parameter)


def as_measures(measures: str | Measure | Iterable[str | Measure]) -> tuple[Measure, ...]:
    """Return measures given by name or as objects, without duplicates."""
    return MEASURES.choose(
        measures, lambda name: MEASURES.values() if name == "all" else (find_measure(name),)
    )
