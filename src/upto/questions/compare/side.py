"""One run of many pairs: everything that its pairs need, computed once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.alignment import SortedColumns
from upto.core.array_types import Float
from upto.core.cached import cached_property
from upto.engines.algebra import product, whitening_by_factor, whitening_of
from upto.engines.directions import COVARIANCE, centred_rows
from upto.evidence.pairings import are_near
from upto.measures.distances import distances_to_median

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core.array_types import Index
    from upto.engines import Moments
    from upto.evidence.prepare import PreparedRun
    from upto.evidence.split import Split

MONOTONE_ROWS = 1250
"""Maximum number of rows that monotone functions are fitted to."""


EVEN = 1e6
"""Ratio of the widest to the narrowest direction up to which one decomposition serves."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class White:
    """Directions along which fitted rows have unit variance and are uncorrelated.

    `explained` is the variance of all fitted rows along all directions, `total` what shares of it
    are shares of, and `paired` are the re-paired rows along them.
    """

    directions: Float
    explained: float
    total: float
    paired: Float


class Side:
    """One run of a pair.

    Parameters
    ----------
    run
        The prepared run.
    split
        Its fitted and held-out rows.
    """

    def __init__(self, run: PreparedRun, split: Split) -> None:
        self.run, self.split = run, split
        rows = run.paired
        away = distances_to_median(rows)
        self.near, self.inner = are_near(away), _are_inner(away)
        index = split.distinct_held_out(len(rows))
        self.among_held_out: Index = np.searchsorted(np.flatnonzero(split.parts == 1), index)
        self.places: NDArray[np.uint8] | None = None
        self._columns: SortedColumns | None = None
        self._white: White | None = None

    @cached_property
    def along(self) -> Float:
        """The re-paired rows along the principal directions."""
        return product(self.run.paired - self.run.fitted.mean, self.run.axes)

    @cached_property
    def along_total(self) -> Float:
        """Their squared lengths along each direction, about their mean."""
        spread = self.along - self.along.mean(axis=0) if len(self.along) else self.along
        total: Float = np.einsum("ij,ij->j", spread, spread)
        return total

    def prepare(self, *, monotone: bool) -> None:
        """Compute now what would be computed when it is first used."""
        _ = self.along_total
        if self.split.n_held_out:
            self.white()
            self.invert()
        if monotone and self.split.n_held_out:
            columns = self.columns()
            if self.run.judged is not None:
                self.places = columns.places_of(self.run.judged)

    def r2_along(self, images: Float, directions: slice = slice(None)) -> Float:
        """Return R² of images of the re-paired rows, given along some principal directions."""
        return self.r2_left(self.along[:, directions] - images, directions)

    @property
    def is_even(self) -> bool:
        """Whether rows along the narrowest direction keep their digits beside the widest."""
        widths = self.run.span.widths
        return len(widths) == 0 or bool(widths[0] < EVEN * widths[-1])

    def r2_left(self, residual: Float, directions: slice = slice(None)) -> Float:
        """Return R² from what is left of the re-paired rows along some principal directions."""
        left = np.einsum("ij,ij->j", residual, residual)
        total = self.along_total[directions]
        share = np.divide(left, total, out=np.ones_like(left), where=total > 0)
        found: Float = 1.0 - share
        return found

    def columns(self) -> SortedColumns:
        """Return the sorted columns of the rows that monotone functions are fitted to."""
        if self._columns is None:
            rows = self.sample_rows(fitted=self.split.n_held_out > 0)
            self._columns = SortedColumns(rows[:MONOTONE_ROWS])
        return self._columns

    def sample_rows(self, *, fitted: bool) -> Float:
        """Return the rows in memory: only the fitted ones, or all."""
        rows = self.run.sample
        return rows[self.split.parts[self.split.first_rows(len(rows))] == 0] if fitted else rows

    def white(self, *, from_rows: bool = False) -> White:
        """Whiten the fitted rows, by their moments or, if these are too coarse, by the rows."""
        if from_rows:
            directions = self._directions(self._sample_product())
            explained = _explained(self.run.fitted, directions)
            # White in a sample, directions that explain everything do so only about.
            return self._white_along(directions, explained, total=explained)
        if self._white is None:
            part, found = self.run.fitted, None
            if self.run.span.rank == len(part.mean):
                found = whitening_by_factor(part.scatter / part.weight)
            if found is None:
                basis = self.run.span.whitening
                inner = product(basis.T, product(part.scatter, basis))
                del basis
                inner /= part.weight
                found = self._directions(inner)
            total = part.total_variance
            # As many directions as coordinates explain everything.
            is_all = found.shape[0] == found.shape[1]
            explained = total if is_all else _explained(part, found)
            self._white = self._white_along(found, explained, total=total)
        return self._white

    def invert(self) -> None:
        """Give the moments of the fitted rows the inverse by their white directions.

        It is that of the same decomposition, unless coordinates are of such different scales that
        the decomposition leaves some out.
        """
        part = self.run.fitted
        if part.has_inverse or self.run.is_thin or not self.is_even:
            return
        directions = self.white().directions
        if directions.shape[0] == directions.shape[1]:
            inverse = product(directions, directions.T)
            inverse /= part.weight
            part.keep_inverse(inverse)

    def forget_white(self) -> None:
        """Free the memory of the white directions, which are computed again if needed."""
        self._white = None

    def forget_columns(self) -> None:
        """Free the memory of the sorted columns, which are sorted again if needed."""
        self._columns = None

    def sample_along(self, white: White) -> Float:
        """Return the rows in memory along white directions."""
        return product(centred_rows(self._sample(), self.run.fitted.mean), white.directions)

    def _sample_product(self) -> Float:
        # Narrow directions are lost in squared sums, but not in the rows themselves.
        rows = centred_rows(self._sample(), self.run.fitted.mean) @ self.run.span.whitening
        return np.asarray(rows.T @ rows / len(rows))

    def _sample(self) -> Float:
        return self.sample_rows(fitted=self.split.n_held_out > 0)

    def _directions(self, covariance: Float) -> Float:
        """Return white directions from the covariance of rows along those that the span whitens."""
        return product(self.run.span.whitening, whitening_of(covariance, COVARIANCE))

    def _white_along(self, directions: Float, explained: float, *, total: float) -> White:
        return White(
            directions=directions,
            explained=explained,
            total=total,
            paired=product(self.run.paired - self.run.fitted.mean, directions),
        )


def explained_variance(
    part: Moments, white: White, turn: Float, agreeing: NDArray[np.bool_]
) -> float:
    """Return the share of the variance along some columns of a rotation of white directions."""
    is_most = turn.shape[0] == turn.shape[1] and 2 * agreeing.sum() > len(agreeing)
    # All columns explain what the directions do, so the fewer are enough.
    some = product(white.directions, turn[:, ~agreeing if is_most else agreeing])
    explained = _explained(part, some)
    if is_most:
        explained = white.explained - explained
    return float(np.clip(explained / white.total, 0.0, 1.0)) if white.total > 0 else 0.0


def covariances(part: Moments, directions: Float) -> Float:
    """Return the covariances of the coordinates with rows along directions."""
    found = product(part.scatter, directions)
    found /= part.weight
    return found


def _explained(part: Moments, directions: Float) -> float:
    """Return the variance of rows along uncorrelated directions of unit variance."""
    found = covariances(part, directions)
    return float(np.vdot(found, found))


def _are_inner(away: Float) -> NDArray[np.bool_]:
    """Mark all rows but the outermost one in a hundred, given by their distances to the median."""
    inner = np.zeros(len(away), dtype=bool)
    inner[np.argsort(away, kind="stable")[: len(away) - -(-len(away) // 100)]] = True
    return inner
