"""Every measure by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core import InputError
from upto.measures import (
    alignment,
    correlations,
    dissimilarities,
    kernels,
    matching,
    neighbours,
    regression,
    udr,
)
from upto.measures import shape_distances as shapes
from upto.measures.kinds import Measure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_MODULES = (
    correlations,
    regression,
    shapes,
    alignment,
    kernels,
    dissimilarities,
    neighbours,
    matching,
    udr,
)
MEASURES: Mapping[str, Measure] = {
    each.name.split(":")[0]: each
    for module in _MODULES
    for each in vars(module).values()
    if isinstance(each, Measure)
}
DEFAULT_MEASURES = (
    "linear-cka",
    "mean-cca",
    "procrustes",
    "rsa-euclidean-spearman",
    "mutual-knn",
    "mcc",
)
"""One of each family: what people look at first."""


def find_measures(names: Iterable[str]) -> tuple[Measure, ...]:
    """Return measures by name; ``all`` means every one of them, ``svcca:64`` sets a parameter."""
    found: dict[str, Measure] = {}
    for name in names:
        for each in MEASURES.values() if name == "all" else (find_measure(name),):
            found[each.name] = each
    return tuple(found.values())


def find_measure(name: str) -> Measure:
    """Return the measure of a name."""
    stem, colon, number = name.partition(":")
    if stem not in MEASURES:
        message = f"there is no measure {name!r}: choose from {', '.join(MEASURES)}."
        raise InputError(message)
    measure = MEASURES[stem]
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
    """Return the measures meant by names and by themselves, each once."""
    if isinstance(measures, str | Measure):
        measures = (measures,)
    found: dict[str, Measure] = {}
    for each in measures:
        for measure in (each,) if isinstance(each, Measure) else find_measures([each]):
            found[measure.name] = measure
    if not found:
        message = "no measure is asked for: name at least one."
        raise InputError(message)
    return tuple(found.values())
