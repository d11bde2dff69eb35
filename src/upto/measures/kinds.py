"""Similarity measures: their declarations, and scores from moments or from relations.

A *moment measure* uses second moments only, so it reads rows in passes; it is fitted on some rows
and scored on others (in sample, on the same rows). A *relation measure* uses an n×n relation
between the rows of each run, such as a kernel or a neighbour graph. In both cases a permutation of
the pairing does not require another pass over the rows.
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
from upto.core.array_types import Float, Index
from upto.measures.moments import Form, pair_moments

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from upto.measures.moments import PairMoments

    Relation = tuple[NDArray[Any], ...]
    """Arrays in which every axis indexes the rows of one run."""


class Change(StrEnum):
    """A transformation of one of two runs to which a measure may be invariant."""

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
"""Transformations that preserve the distances between rows."""
SCALED_SHAPE = SHAPE | {_S}
"""Transformations that preserve the ratios of distances."""
AFFINE = frozenset(Change) - {Change.MONOTONE}
"""Every invertible affine map."""
MATCHING = frozenset({_T, _S, _P, _N, Change.COORDINATE_SCALES})
"""Transformations that do not mix coordinates."""
SMALLEST, LARGEST = 1e-70, 1e70
"""Range of magnitudes whose summed fourth powers neither underflow nor overflow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure(ABC):
    """A similarity or distance between two runs, and its properties.

    Parameters
    ----------
    name
        Name in the catalogue; a parameter follows a colon, as in ``svcca:20``.
    title
        Name in running text.
    says
        Definition.
    source
        Publications, by authors and year; `upto.core.references` has their entries.
    formula, where
        Value in sample as LaTeX, and the meaning of its symbols.
    use_when, beware
        When to choose it, and what it hides.
    see_also
        Names of related measures, without parameters.
    note
        Differences between implementations and other notes for the reference page.
    low, high
        Range, 0 to 1 by default; infinite where unbounded.
    closer
        Whether closer runs have a ``higher`` or a ``lower`` value.
    ignores
        Changes of one run to which the value is invariant. For a measure that is invariant to every
        affine map, held-out values are invariant to maps other than rotation, translation and scale
        only if there are more fitted rows than coordinates: with fewer, the fitted directions are
        not unique and those of minimum norm are used.
    symmetric
        Whether exchanging the runs leaves the value unchanged.
    metric
        Whether it is a metric between runs, up to the changes it ignores.
    parameter, parameter_name
        The number in the name and its meaning, if the measure has one.
    """

    name: str
    title: str
    says: str
    source: str
    formula: str = ""
    where: str = ""
    use_when: str = ""
    beware: str = ""
    see_also: tuple[str, ...] = ()
    note: str = ""
    low: float = 0.0
    high: float = 1.0
    closer: Literal["higher", "lower"] = "higher"
    ignores: frozenset[Change]
    symmetric: bool = True
    metric: bool = False
    parameter: float | None = None
    parameter_name: str = ""

    def __call__(self, first: ArrayLike, second: ArrayLike) -> float:
        """Return the in-sample value for the rows of two runs."""
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
        """Invariances of the measure as text, without those implied by others."""
        if self.ignores >= AFFINE:
            return "any invertible affine map"
        left = [change for change in Change if change in self.ignores]
        if Change.ROTATION in left:
            left = [each for each in left if each not in (Change.PERMUTATION, Change.SIGNS)]
        if Change.COORDINATE_SCALES in left:
            left.remove(Change.SCALE)
        return ", ".join(each.value for each in left) or "nothing"

    def within(self, value: float) -> float:
        """Clip a value to the range, which rounding may exceed."""
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

    ``score(fit, held)`` fits on one set of rows and scores on another; if `is_fitted` is false,
    nothing is fitted and `fit` is not used. If ``form(fit)`` is given, it returns the fit, which
    many sets of held-out rows share, and `score` is for the same rows twice. A parameter is passed
    last. `prepare` transforms the rows of each run first, column by column. `held_out` says what is
    fitted and what is computed on the held-out rows.
    """

    score: Callable[..., float]
    held_out: str = ""
    form: Callable[..., Form] | None = None
    is_fitted: bool = True
    prepare: Callable[[Float], Float] | None = None

    def prepared(self, rows: Float) -> Float:
        """Return the rows after preparation."""
        return rows if self.prepare is None else self.prepare(rows)

    def scored(self, fit: PairMoments, held: PairMoments) -> float:
        """Return the value from moments."""
        fitted = None if fit is held else self.fitted(fit)
        if fitted is not None:
            return self.within(fitted(held.x, held.y).of(held.cross))
        return self.within(self.score(fit, held, *self._options))

    def fitted(self, fit: PairMoments) -> Form | None:
        """Return the fit, if it can be separated from the score."""
        return None if self.form is None else self.form(fit, *self._options)

    @property
    def _options(self) -> tuple[float, ...]:
        return () if self.parameter is None else (self.parameter,)

    def _value(self, first: Float, second: Float) -> float:
        x, y = self.prepared(first), self.prepared(second)
        refuse_extremes(x, "the first run")
        refuse_extremes(y, "the second run")
        moments = pair_moments(x, y)
        return self.scored(moments, moments)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationMeasure(Measure):
    """A measure of relations between rows.

    ``between(rows)``, if given, and ``relate(rows)`` return arrays in which every axis indexes
    rows, n×n or n, once per run; ``score(first, second)`` compares those of two runs. `between` is
    for what some rows inherit from all, such as distances: `relate` is then called with its arrays
    instead of the rows. ``score_permuted(first, second, order)``, if given, is the score with the
    rows of the second run reordered. A parameter is passed last to `relate` and the scores.
    """

    relate: Callable[..., Relation]
    score: Callable[..., float]
    between: Callable[[Float], Relation] | None = None
    score_permuted: Callable[..., float] | None = None

    def inherited(self, rows: Float) -> Relation:
        """Return what `relate` is called with."""
        return (rows,) if self.between is None else self.between(rows)

    def among(self, inherited: Relation, chosen: Index | None = None) -> Relation:
        """Return the relation between all rows, or between some of them."""
        if chosen is not None:
            by_rows = self.between is None
            inherited = (inherited[0][chosen],) if by_rows else permuted(inherited, chosen)
        return self.relate(*inherited, *self._options)

    def related(self, rows: Float) -> Relation:
        """Return the relation between the rows of one run."""
        return self.among(self.inherited(rows))

    def scored(self, first: Relation, second: Relation) -> float:
        """Return the value from two relations."""
        return self.within(self.score(first, second, *self._options))

    def scored_permuted(self, first: Relation, second: Relation, order: Index) -> float:
        """Return the value with the rows of the second run reordered."""
        if self.score_permuted is None:
            return self.scored(first, permuted(second, order))
        return self.within(self.score_permuted(first, second, order, *self._options))

    @property
    def _options(self) -> tuple[float, ...]:
        return () if self.parameter is None else (self.parameter,)

    def _value(self, first: Float, second: Float) -> float:
        return self.scored(self.related(first), self.related(second))


def permuted(relation: Relation, order: Index) -> Relation:
    """Return the relation of reordered rows, or of some rows, without recomputing it."""
    # `take` leaves rows contiguous; indexing would leave columns contiguous.
    return tuple(
        array.take(order, 0) if array.ndim == 1 else array.take(order, 0).take(order, 1)
        for array in relation
    )


def as_rows(values: ArrayLike, what: str) -> Float:
    """Return finite rows in float64; raise if they are not."""
    try:
        rows = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        message = f"{what} is not an array of numbers: give rows of numbers."
        raise InputError(message) from None
    if rows.ndim != 2 or 0 in rows.shape:
        message = f"{what} has shape {rows.shape}: give a 2-D array with one row per sample."
        raise InputError(message)
    if not np.isfinite(rows).all():
        count = int(np.count_nonzero(~np.isfinite(rows)))
        message = f"{what} contains {count} non-finite values: drop those rows."
        raise InputError(message)
    return rows


def refuse_extremes(rows: NDArray[Any], what: str) -> None:
    """Raise if fourth powers of finite, nonzero rows overflow or underflow.

    Moments are such powers. Relations need no such check: they scale rows to one first.
    """
    # `np.abs(rows)` would copy the array.
    largest = max(float(rows.max(initial=0.0)), -float(rows.min(initial=0.0)))
    if largest and not SMALLEST <= largest <= LARGEST:
        message = (
            f"the largest magnitude of {what} is {largest:.3g}, outside {SMALLEST:g} to "
            f"{LARGEST:g}: multiply the run by a constant."
        )
        raise InputError(message)


def as_count(number: float, asked: str, *, most: float = math.inf, up_to: str = "") -> int:
    """Return the number as an integer from 1 to `most`; raise otherwise."""
    if not (1 <= number <= most and float(number).is_integer()):
        message = f"{numeral(number)} {asked}: give a whole number from 1{up_to}."
        raise InputError(message)
    return int(number)


def numeral(number: float) -> str:
    """Return the shortest text that reads back as the same number."""
    return repr(float(number)).removesuffix(".0")
