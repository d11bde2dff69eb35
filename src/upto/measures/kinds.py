"""What a similarity measure is: a declaration, and a score from moments or from relations.

Measures see rows in one of two ways. A *moment measure* sees second moments only, so it reads rows
in passes, and it is fitted on some rows and scored on others: in sample, both are the same rows. A
*relation measure* sees an n×n relation between the rows of each run, such as a kernel or who is
whose neighbour. Either way a permutation of the pairing needs no second look at the rows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from upto.core import InputError
from upto.core.arrays import Float
from upto.measures.moments import pair_moments

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from upto.measures.moments import PairMoments

    Relation = tuple[NDArray[Any], ...]
    """Arrays whose every axis is the rows of one run."""


class Change(StrEnum):
    """What may be done to one of two runs: a measure says for each whether it notices."""

    TRANSLATION = "translation"
    SCALE = "scale"
    PERMUTATION = "permutation"
    SIGNS = "signs"
    ROTATION = "rotation"
    COORDINATE_SCALES = "coordinate scales"
    LINEAR = "linear"
    MONOTONE = "monotone"


_T, _S, _P, _N, _R = (
    Change.TRANSLATION,
    Change.SCALE,
    Change.PERMUTATION,
    Change.SIGNS,
    Change.ROTATION,
)
SHAPE = frozenset({_T, _P, _N, _R})
"""What keeps the distances between rows."""
SCALED_SHAPE = SHAPE | {_S}
"""What keeps their ratios."""
AFFINE = frozenset(Change) - {Change.MONOTONE}
"""Every invertible affine map."""
MATCHING = frozenset({_T, _S, _P, _N, Change.COORDINATE_SCALES})
"""What keeps coordinates apart."""
SMALLEST, LARGEST = 1e-70, 1e70
"""Magnitudes whose fourth powers, summed over rows and columns, neither vanish nor overflow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure(ABC):
    """A similarity or distance of two runs, and what is known about it.

    Parameters
    ----------
    name
        What it is called everywhere; a parameter follows a colon, as in ``svcca:20``.
    title
        What it is called in a sentence.
    says
        Its definition in a sentence.
    source
        Where it was published.
    note
        Where implementations differ, and what else a reader of its page should know.
    low, high
        Its range; infinite where it has no end.
    closer
        Whether closer runs have a ``higher`` or a ``lower`` value.
    ignores
        Changes of one run that leave the value as it is. Of a measure that ignores every affine
        map, held-out values ignore maps that are no rotation, translation or scale only where
        there are more fitted rows than coordinates: of fewer rows, any directions that agree on
        them would do, and the shortest are taken.
    symmetric
        Whether exchanging the runs leaves the value as it is.
    metric
        Whether it is a metric between runs, up to the changes it ignores.
    parameter, parameter_name
        The number in its name and what it counts, where it has one.
    """

    name: str
    title: str
    says: str
    source: str
    note: str = ""
    low: float
    high: float
    closer: Literal["higher", "lower"] = "higher"
    ignores: frozenset[Change]
    symmetric: bool = True
    metric: bool = False
    parameter: float | None = None
    parameter_name: str = ""

    def __call__(self, first: ArrayLike, second: ArrayLike) -> float:
        """Return the value for the rows of two runs, in sample."""
        x, y = as_rows(first, "the first run"), as_rows(second, "the second run")
        if len(x) != len(y):
            message = (
                f"the first run has {len(x)} rows but the second has {len(y)}: both must describe "
                "the same samples in the same order."
            )
            raise InputError(message)
        return self.within(self._value(x, y))

    def __str__(self) -> str:
        return self.name

    @abstractmethod
    def _value(self, first: Float, second: Float) -> float: ...

    @property
    def unchanged_by(self) -> str:
        """What the measure ignores, in words: one for all that it stands for."""
        if self.ignores >= AFFINE:
            return "any invertible affine map"
        left = [change for change in Change if change in self.ignores]
        if Change.ROTATION in left:
            left = [each for each in left if each not in (Change.PERMUTATION, Change.SIGNS)]
        if Change.COORDINATE_SCALES in left:
            left.remove(Change.SCALE)
        return ", ".join(each.value for each in left) or "nothing"

    def within(self, value: float) -> float:
        """Return a value without the rounding by which it leaves the range."""
        return float(min(max(value, self.low), self.high))

    def oriented(self, value: float) -> float:
        """Return a number that is larger for closer runs."""
        return value if self.closer == "higher" else -value

    def with_parameter(self, parameter: float) -> Self:
        """Return the measure with another parameter."""
        if self.parameter is None:
            message = f"the measure {self.name} has no parameter: leave out {numeral(parameter)}."
            raise InputError(message)
        stem = self.name.split(":", maxsplit=1)[0]
        return replace(self, name=f"{stem}:{numeral(parameter)}", parameter=parameter)


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentMeasure(Measure):
    """A measure of second moments.

    ``score(fit, held)`` fits what has to be fitted on one set of rows and scores it on another;
    where nothing is fitted, `is_fitted` is false and `fit` is not looked at. With a parameter, it
    is passed last. `prepare` changes the rows of each run first, column by column.
    """

    score: Callable[..., float]
    is_fitted: bool = True
    prepare: Callable[[Float], Float] | None = None

    def prepared(self, rows: Float) -> Float:
        """Return the rows whose moments are scored."""
        return rows if self.prepare is None else self.prepare(rows)

    def scored(self, fit: PairMoments, held: PairMoments) -> float:
        """Return the value of moments."""
        options = () if self.parameter is None else (self.parameter,)
        return self.within(self.score(fit, held, *options))

    def _value(self, first: Float, second: Float) -> float:
        x, y = self.prepared(first), self.prepared(second)
        refuse_extremes(x, "the first run")
        refuse_extremes(y, "the second run")
        moments = pair_moments(x, y)
        return self.scored(moments, moments)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationMeasure(Measure):
    """A measure of relations between rows.

    ``relate(rows)`` returns arrays whose every axis is the rows, n×n or n, once for each run;
    ``score(first, second)`` compares them. With a parameter, it is passed last to both.
    """

    relate: Callable[..., Relation]
    score: Callable[..., float]

    def related(self, rows: Float) -> Relation:
        """Return what the measure sees of one run."""
        return self.relate(rows, *self._options)

    def scored(self, first: Relation, second: Relation) -> float:
        """Return the value of two relations."""
        return self.within(self.score(first, second, *self._options))

    @property
    def _options(self) -> tuple[float, ...]:
        return () if self.parameter is None else (self.parameter,)

    def _value(self, first: Float, second: Float) -> float:
        return self.scored(self.related(first), self.related(second))


def permuted(relation: Relation, order: NDArray[np.intp]) -> Relation:
    """Return the relation of the rows in another order, without relating them again."""
    # Taking leaves rows contiguous, where indexing would leave columns so.
    return tuple(
        array.take(order, 0) if array.ndim == 1 else array.take(order, 0).take(order, 1)
        for array in relation
    )


def as_rows(values: ArrayLike, what: str) -> Float:
    """Return finite rows in float64, or refuse them."""
    try:
        rows = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        message = f"{what} is not an array of numbers."
        raise InputError(message) from None
    if rows.ndim != 2 or 0 in rows.shape:
        message = f"{what} has shape {rows.shape}: give rows of numbers, one row for each sample."
        raise InputError(message)
    if not np.isfinite(rows).all():
        count = int(np.count_nonzero(~np.isfinite(rows)))
        message = f"{what} has {count} values that are not finite: drop those rows."
        raise InputError(message)
    return rows


def refuse_extremes(rows: NDArray[Any], what: str) -> None:
    """Refuse finite rows whose fourth powers overflow or vanish; rows of zeros are none of these.

    Moments are such powers. Relations need no refusal: they bring rows to a scale of one first.
    """
    # The absolute value of an array would be a copy of it.
    largest = max(float(rows.max(initial=0.0)), -float(rows.min(initial=0.0)))
    if largest and not SMALLEST <= largest <= LARGEST:
        message = (
            f"the largest magnitude of {what} is {largest:.3g}, beyond {SMALLEST:g} to "
            f"{LARGEST:g}: multiply the run by a constant."
        )
        raise InputError(message)


def as_count(number: float, asked: str, *, most: float = math.inf, up_to: str = "") -> int:
    """Return a whole number from 1 to the most there may be, or refuse what is `asked` for."""
    if not (1 <= number <= most and float(number).is_integer()):
        message = f"{numeral(number)} {asked}: ask for a whole number from 1{up_to}."
        raise InputError(message)
    return int(number)


def numeral(number: float) -> str:
    """Write a number by the fewest digits that give it back."""
    return repr(float(number)).removesuffix(".0")
