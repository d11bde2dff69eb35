"""Families of measures that share one view of a run.

A family reads the rows of a run once. A random pairing only reorders the resulting view, and two
views are scored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from upto.core.array_types import Float, Index
from upto.core.cached import cached_property
from upto.measures.kernel_path import fewer_coordinates
from upto.measures.kinds import (
    Change,
    Measure,
    MomentMeasure,
    RelationMeasure,
    permuted,
    refuse_extremes,
)
from upto.measures.moments import Form, HeldOutScore, PairMoments, RowForm, RunMoments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.measures.kinds import Relation


_Key = tuple[int, bool]
"""Number of a measure, and whether the runs are exchanged."""
_SHARED = ((512, 16), (256, 8), (128, 4), (0, 1))
"""Width from which fits, whose cost grows with its cube, serve several pairings."""


class Family(Protocol):
    """Measures that share a view of a run."""

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures, in the order of their scores."""
        ...

    @property
    def is_fitted(self) -> bool:
        """Whether all measures are fitted on some rows and scored on others."""
        ...

    def prepared(self, rows: Float, n_fit: int) -> Float:
        """Return the rows after preparation; those after `n_fit` are held out."""
        ...

    def source(self, rows: Float) -> Any:
        """Return what the views of prepared rows, or of some of them, are made from."""
        ...

    def view(self, source: Any, n_fit: int, chosen: Index | None = None, like: Any = None) -> Any:
        """Return the view of all rows or of those chosen; those after `n_fit` are held out.

        `like` is a view of the same fitted rows, if there is one.
        """
        ...

    def view_bytes(self, n_samples: int, n_features: int) -> int:
        """Return the approximate memory of a view and its source."""
        ...

    def turned(self, view: Any, order: Index) -> Any:
        """Return the view of the reordered rows; held-out rows remain held out."""
        ...

    def scores(
        self, first: Any, second: Any, directions: Sequence[bool], fits: Fits | None = None
    ) -> Float:
        """Return one row of scores per direction; True marks the flipped one.

        Symmetric measures are scored once. `fits` are those of the same pairs of fitted rows.
        """
        ...


class Fits:
    """What was fitted to pairs of rows, for all held-out rows that it is scored on.

    If `reordered`, all of them are the same rows of the first run, paired differently.
    """

    def __init__(self, *, reordered: bool = False) -> None:
        self.pair: PairMoments | None = None
        self._reordered = reordered
        self._forms: dict[_Key, Form | None] = {}
        self._held: tuple[RunMoments, RunMoments] | None = None
        self._scores: dict[_Key, HeldOutScore] = {}
        self._rows: dict[_Key, Float] = {}

    def score(self, measure: MomentMeasure, rows: _PairedRows, key: _Key) -> float | None:
        """Return the held-out score of a measure, if its fit can be separated from the score."""
        _, flipped = key
        if key not in self._forms:
            fit = rows.fit
            self._forms[key] = measure.fitted(fit.flipped() if flipped else fit)
        form, x, y = self._forms[key], rows.x.held, rows.y.held
        if form is None:
            return None
        if not self._reordered and isinstance(form, RowForm) and rows.is_short:
            held = [view.rows[rows.n_fit :] for view in (rows.x, rows.y)]
            return measure.within(
                form.of_rows(y, x, *held[::-1]) if flipped else form.of_rows(x, y, *held)
            )
        if self._held is None or self._held[0] is not x or self._held[1] is not y:
            self._held, self._scores, self._rows = (x, y), {}, {}
        if key not in self._scores:
            self._scores[key] = form(y, x).flipped() if flipped else form(x, y)
        score = self._scores[key]
        if not (self._reordered or score.is_sparse):
            return measure.within(score.of(rows.held.cross))
        # The inner product with the cross-scatter, from rows: no product of all coordinates.
        if key not in self._rows:
            self._rows[key] = rows.x.rows[rows.n_fit :] @ score.weights
        inner = np.vdot(self._rows[key], rows.y.rows[rows.n_fit :])
        return measure.within(score.finish(float(inner)))


def families_of(
    measures: Sequence[Measure], *, apart: bool = False, wide: bool = False
) -> list[Family]:
    """Group moment measures by preparation; each relation measure is its own family.

    If `apart`, moment measures without fitted parameters form families of their own; if `wide`,
    those that are invariant to rotations.
    """
    groups: dict[Any, list[MomentMeasure]] = {}
    relations: list[Family] = []
    for measure in {each.name: each for each in measures}.values():
        if isinstance(measure, MomentMeasure):
            rotated = wide and Change.ROTATION in measure.ignores
            key = (measure.prepare, apart and measure.is_fitted, rotated)
            groups.setdefault(key, []).append(measure)
        elif isinstance(measure, RelationMeasure):
            relations.append(RelationFamily(measure))
    return [*(MomentFamily(tuple(each)) for each in groups.values()), *relations]


def pairings_per_fit(measures: Sequence[Measure], rows: Sequence[Float], n_held_out: int) -> int:
    """Return how many pairings should share a fit: one if runs are narrow or nothing is fitted."""
    is_fitted = any(
        isinstance(each, MomentMeasure) and each.is_fitted and each.form is not None
        for each in measures
    )
    if not is_fitted or not n_held_out:
        return 1
    width = max(own.shape[1] for own in rows)
    # With few rows, most measures are fitted in the space that these span.
    width = min(width, round((width * (len(rows[0]) - n_held_out)) ** 0.5))
    return next(shared for least, shared in _SHARED if width >= least)


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

    @property
    def is_fitted(self) -> bool:
        """Whether all measures have fitted parameters."""
        return all(each.is_fitted for each in self.measures)

    def prepared(self, rows: Float, n_fit: int) -> Float:
        """Return the rows whose moments are scored."""
        prepared = self.measures[0].prepared(rows)
        refuse_extremes(prepared, "a run")
        n_fit = n_fit if self.is_fitted else len(rows)
        return fewer_coordinates(prepared, self.measures, n_fit)

    def source(self, rows: Float) -> Float:
        """Return the rows."""
        return rows

    def view_bytes(self, n_samples: int, n_features: int) -> int:
        """Return the size of rows twice, scatters and derived arrays."""
        return 8 * n_features * (2 * n_samples + 9 * n_features)

    def view(
        self, source: Float, n_fit: int, chosen: Index | None = None, like: MomentView | None = None
    ) -> MomentView:
        """Return the moments of both parts."""
        rows = source if chosen is None else source[chosen]
        mean = rows.mean(axis=0)
        centred = rows - mean
        squares = far_squares = np.vecdot(centred, centred)
        if n_fit == len(rows):
            fit = held = whole = _moments(mean, centred)
        else:
            fit = _centred_on_itself(mean, centred[:n_fit]) if like is None else like.fit
            if like is not None:
                centred[:n_fit] = like.rows[:n_fit]
            held = _centred_on_itself(mean, centred[n_fit:])
            far_fourth = float(far_squares @ far_squares)
            whole = RunMoments(len(rows), mean, partial(_joined, fit, held), far_fourth)
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

    def scores(
        self,
        first: MomentView,
        second: MomentView,
        directions: Sequence[bool],
        fits: Fits | None = None,
    ) -> Float:
        """Score the moments of paired rows."""
        fits = fits or Fits()
        rows = _PairedRows(first, second, fits)
        found = np.empty((len(directions), len(self.measures)))
        for place, flipped in enumerate(directions):
            for number, measure in enumerate(self.measures):
                score: float | None = None
                if place and measure.symmetric:
                    score = float(found[0, number])
                elif measure.is_fitted and rows.is_held_out:
                    score = fits.score(measure, rows, (number, flipped))
                if score is None:
                    is_parted = measure.is_fitted and rows.is_held_out
                    on = (rows.fit, rows.held) if is_parted else (rows.whole, rows.whole)
                    score = measure.scored(*(each.flipped() if flipped else each for each in on))
                found[place, number] = score
        return found


def _moments(mean: Float, centred: Float) -> RunMoments:
    squares = np.vecdot(centred, centred)
    own = np.einsum("ij,ij->j", centred, centred)
    fourth = float(squares @ squares)
    return RunMoments(len(centred), mean, lambda: centred.T @ centred, fourth, own)


def _joined(fit: RunMoments, held: RunMoments) -> Float:
    """Return the scatter of both parts about their common mean."""
    shift = _shift(fit, held)
    return fit.scatter + held.scatter + np.outer(shift, shift)


def _centred_on_itself(mean: Float, centred: Float) -> RunMoments:
    """Centre a part of the rows, in place, and return its moments."""
    shift = centred.mean(axis=0)
    centred -= shift
    return _moments(mean + shift, centred)


def _shift(fit: RunMoments, held: RunMoments) -> Float:
    """Return the vector whose outer product the difference of part means adds to a scatter."""
    n_fit, n_held = fit.n_samples, held.n_samples
    shift: Float = np.sqrt(n_fit * n_held / (n_fit + n_held)) * (fit.mean - held.mean)
    return shift


class _PairedRows:
    """The moments of fitted, held-out and all pairs of rows, each computed when needed."""

    def __init__(self, x: MomentView, y: MomentView, fits: Fits) -> None:
        self.x, self.y, self.n_fit, self._fits = x, y, x.n_fit, fits

    @property
    def is_held_out(self) -> bool:
        return self.n_fit < len(self.x.rows)

    @property
    def is_short(self) -> bool:
        """Whether products of held-out rows cost less than products of coordinates."""
        n_samples, n_features = self.x.rows.shape
        return bool(n_samples - self.n_fit < 4 * n_features)

    @property
    def fit(self) -> PairMoments:
        if self._fits.pair is None:
            self._fits.pair = self._of(slice(None, self.n_fit), self.x.fit, self.y.fit)
        return self._fits.pair

    @cached_property
    def held(self) -> PairMoments:
        return self._of(slice(self.n_fit, None), self.x.held, self.y.held)

    @cached_property
    def whole(self) -> PairMoments:
        x, y = self.x, self.y
        if not self.is_held_out:
            return self._of(slice(None), x.whole, y.whole)
        between = np.outer(_shift(x.fit, x.held), _shift(y.fit, y.held))
        cross = self.fit.cross + self.held.cross + between
        return PairMoments(x.whole, y.whole, cross, float(x.far_squares @ y.far_squares))

    def _of(self, part: slice, x: RunMoments, y: RunMoments) -> PairMoments:
        fourth = float(self.x.squares[part] @ self.y.squares[part])
        return PairMoments(x, y, self.x.rows[part].T @ self.y.rows[part], fourth)


class Turned(NamedTuple):
    """A relation, and the order of the rows in it."""

    relation: Relation
    order: Index


@dataclass(frozen=True, slots=True)
class RelationFamily:
    """One relation measure; its view of a run is the relation between all rows."""

    measure: RelationMeasure

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measure."""
        return (self.measure,)

    @property
    def is_fitted(self) -> bool:
        """Nothing is fitted."""
        return False

    def prepared(self, rows: Float, _: int) -> Float:
        """Return the rows unchanged."""
        return rows

    def view_bytes(self, n_samples: int, _: int) -> int:
        """Return the size of two relations in float64."""
        return 16 * n_samples * n_samples

    def source(self, rows: Float) -> Relation:
        """Return what some rows inherit from all."""
        return self.measure.inherited(rows)

    def view(
        self, source: Relation, _: int, chosen: Index | None = None, like: Relation | None = None
    ) -> Relation:
        """Relate rows; nothing is fitted, so nothing is held out."""
        del like
        return self.measure.among(source, chosen)

    def turned(self, view: Relation, order: Index) -> Turned:
        """Keep the order beside the relation: few measures need the reordered relation itself."""
        return Turned(view, order)

    def scores(
        self,
        first: Relation,
        second: Relation | Turned,
        directions: Sequence[bool],
        fits: Fits | None = None,
    ) -> Float:
        """Score two relations."""
        del fits
        measure = self.measure
        if isinstance(second, Turned):
            if measure.symmetric:
                value = measure.scored_permuted(first, *second)
                return np.full((len(directions), 1), value)
            second = permuted(*second)
        if measure.symmetric:
            return np.full((len(directions), 1), measure.scored(first, second))
        pairs = [(second, first) if flipped else (first, second) for flipped in directions]
        return np.array([[measure.scored(*pair)] for pair in pairs])
