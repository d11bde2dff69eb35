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
    shapes,
    udr,
)
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
