"""Families of measures that share one view of a run.

A family reads the rows of a run once. A random pairing only reorders the resulting view, and two
views are scored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from upto.core.array_types import Float, Index
from upto.measures.kinds import Measure, MomentMeasure, RelationMeasure, permuted, refuse_extremes
from upto.measures.moments import PairMoments, RunMoments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.measures.kinds import Relation


class Family(Protocol):
    """Measures that share a view of a run."""

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures, in the order of their scores."""
        ...

    def prepared(self, rows: Float) -> Float:
        """Return the rows after preparation."""
        ...

    def view(self, rows: Float, n_fit: int) -> Any:
        """Return the view of prepared rows; rows after the first `n_fit` are held out."""
        ...

    def view_bytes(self, n_samples: int, n_features: int) -> int:
        """Return the approximate memory of a view."""
        ...

    def turned(self, view: Any, order: Index) -> Any:
        """Return the view of the reordered rows; held-out rows remain held out."""
        ...

    def scores(self, first: Any, second: Any, directions: Sequence[bool]) -> Float:
        """Return one row of scores per direction; True marks the flipped one.

        Symmetric measures are scored once.
        """
        ...


def families_of(measures: Sequence[Measure]) -> list[Family]:
    """Group moment measures by preparation; each relation measure is its own family."""
    by_preparation: dict[Any, list[MomentMeasure]] = {}
    relations: list[Family] = []
    for measure in {each.name: each for each in measures}.values():
        if isinstance(measure, MomentMeasure):
            by_preparation.setdefault(measure.prepare, []).append(measure)
        elif isinstance(measure, RelationMeasure):
            relations.append(RelationFamily(measure))
    return [*(MomentFamily(tuple(each)) for each in by_preparation.values()), *relations]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MomentView:
    """A run centred on the means of its parts, with the moments of both parts and of the whole.

    `squares` are the squared norms of rows centred on the means of their parts, `far_squares` of
    rows centred on the overall mean.
    """

    rows: Float
    n_fit: int
    fit: RunMoments
    held: RunMoments
    whole: RunMoments
    squares: Float
    far_squares: Float


@dataclass(frozen=True, slots=True)
class MomentFamily:
    """Moment measures with the same preparation, which share one product of rows."""

    measures: tuple[MomentMeasure, ...]

    def prepared(self, rows: Float) -> Float:
        """Return the rows whose moments are scored."""
        prepared = self.measures[0].prepared(rows)
        refuse_extremes(prepared, "a run")
        return prepared

    def view_bytes(self, n_samples: int, n_features: int) -> int:
        """Return the size of rows, scatters and derived arrays."""
        return 8 * n_features * (n_samples + 9 * n_features)

    def view(self, rows: Float, n_fit: int) -> MomentView:
        """Return the moments of both parts."""
        mean = rows.mean(axis=0)
        centred = rows - mean
        squares = far_squares = np.vecdot(centred, centred)
        if n_fit == len(rows):
            fit = held = whole = _moments(mean, centred)
        else:
            sides = []
            for part in (slice(None, n_fit), slice(n_fit, None)):
                shift = centred[part].mean(axis=0)
                centred[part] -= shift
                sides.append(_moments(mean + shift, centred[part]))
            fit, held = sides
            shift = _shift(fit, held)
            whole = RunMoments(
                len(rows),
                mean,
                fit.scatter + held.scatter + np.outer(shift, shift),
                float(far_squares @ far_squares),
            )
            squares = np.vecdot(centred, centred)
        return MomentView(
            rows=centred,
            n_fit=n_fit,
            fit=fit,
            held=held,
            whole=whole,
            squares=squares,
            far_squares=far_squares,
        )

    def turned(self, view: MomentView, order: Index) -> MomentView:
        """Reorder rows within their parts, which does not change the moments."""
        return replace(
            view,
            rows=view.rows[order],
            squares=view.squares[order],
            far_squares=view.far_squares[order],
        )

    def scores(self, first: MomentView, second: MomentView, directions: Sequence[bool]) -> Float:
        """Score the moments of paired rows."""
        sides = _paired(first, second)
        found = np.empty((len(directions), len(self.measures)))
        for place, flipped in enumerate(directions):
            fit, held, whole = (each.flipped() for each in sides) if flipped else sides
            for number, measure in enumerate(self.measures):
                if place and measure.symmetric:
                    found[place, number] = found[0, number]
                else:
                    on = (fit, held) if measure.is_fitted else (whole, whole)
                    found[place, number] = measure.scored(*on)
        return found


def _moments(mean: Float, centred: Float) -> RunMoments:
    squares = np.vecdot(centred, centred)
    return RunMoments(len(centred), mean, centred.T @ centred, float(squares @ squares))


def _shift(fit: RunMoments, held: RunMoments) -> Float:
    """Return the vector whose outer product the difference of part means adds to a scatter."""
    n_fit, n_held = fit.n_samples, held.n_samples
    shift: Float = np.sqrt(n_fit * n_held / (n_fit + n_held)) * (fit.mean - held.mean)
    return shift


def _paired(x: MomentView, y: MomentView) -> tuple[PairMoments, PairMoments, PairMoments]:
    n_fit = x.n_fit
    if n_fit == len(x.rows):
        whole = PairMoments(x.whole, y.whole, x.rows.T @ y.rows, float(x.squares @ y.squares))
        return whole, whole, whole
    cross = [x.rows[part].T @ y.rows[part] for part in (slice(None, n_fit), slice(n_fit, None))]
    fourth = [
        float(x.squares[part] @ y.squares[part])
        for part in (slice(None, n_fit), slice(n_fit, None))
    ]
    between = np.outer(_shift(x.fit, x.held), _shift(y.fit, y.held))
    return (
        PairMoments(x.fit, y.fit, cross[0], fourth[0]),
        PairMoments(x.held, y.held, cross[1], fourth[1]),
        PairMoments(
            x.whole, y.whole, cross[0] + cross[1] + between, float(x.far_squares @ y.far_squares)
        ),
    )


@dataclass(frozen=True, slots=True)
class RelationFamily:
    """One relation measure; its view of a run is the relation between all rows."""

    measure: RelationMeasure

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measure."""
        return (self.measure,)

    def prepared(self, rows: Float) -> Float:
        """Return the rows unchanged."""
        return rows

    def view_bytes(self, n_samples: int, _: int) -> int:
        """Return the size of two relations in float64."""
        return 16 * n_samples * n_samples

    def view(self, rows: Float, _: int) -> Relation:
        """Relate all rows; nothing is fitted, so nothing is held out."""
        return self.measure.related(rows)

    def turned(self, view: Relation, order: Index) -> Relation:
        """Reorder the relation, which is cheaper than recomputing it."""
        return permuted(view, order)

    def scores(self, first: Relation, second: Relation, directions: Sequence[bool]) -> Float:
        """Score two relations."""
        if self.measure.symmetric:
            return np.full((len(directions), 1), self.measure.scored(first, second))
        pairs = [(second, first) if flipped else (first, second) for flipped in directions]
        return np.array([[self.measure.scored(*pair)] for pair in pairs])
