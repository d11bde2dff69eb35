"""Corrections that shift and scale each column of each batch."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin

from upto.core import InputError
from upto.core.array_types import Float
from upto.corrections.base import Correction, new_batches
from upto.corrections.batch_groups import find_batches, listed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.corrections.batch_groups import Batches


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BatchMoments:
    """Number of rows, means and mean squares about the mean, one line per batch."""

    counts: Float
    means: Float
    variances: Float

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Mask of columns that vary within a batch by no more than rounding error."""
        rounding = self.counts[:, None] * np.finfo(float).eps * np.abs(self.means)
        constant: NDArray[np.bool_] = np.sqrt(self.variances) <= rounding
        return constant


def moments_of(rows: Any, positions: list[NDArray[np.intp]]) -> BatchMoments:
    """Return the moments of parts of the rows, in double precision about each part's mean."""
    width = rows.shape[1]
    means, variances = np.empty((len(positions), width)), np.empty((len(positions), width))
    for place, part in enumerate(positions):
        values = rows[part].astype(np.float64, copy=False)
        means[place] = values.mean(axis=0)
        variances[place] = values.var(axis=0, mean=means[place][None])
    counts = np.array([len(part) for part in positions], dtype=np.float64)
    return BatchMoments(counts=counts, means=means, variances=variances)


class ColumnCorrection(OneToOneFeatureMixin, Correction):
    """``(x - shift) / scale + offset`` with a shift and a scale for each column of each batch."""

    shift_: Float
    scale_: Float
    offset_: Float

    @abstractmethod
    def _of_new(self, rows: Any, batches: Batches) -> tuple[Float, Float]:
        """Return the shifts and scales of unseen batches."""

    def _transform(self, rows: Any, batches: Batches) -> Any:
        places = self._places(batches)
        self._refuse_unmarked(batches, places)
        new = new_batches(batches, places)
        shifts, scales = self._of_new(rows, new) if len(new) else (None, None)
        corrected = np.empty_like(rows, order="C")
        at = iter(range(len(new)))
        for batch, place in zip(batches, places, strict=True):
            source = (self.shift_, self.scale_) if place is not None else (shifts, scales)
            line = place if place is not None else next(at)
            shift, scale = (each[line] for each in source)  # type: ignore[index]
            values = rows[batch.rows].astype(np.float64, copy=False) - shift
            values /= scale
            values += self.offset_
            corrected[batch.rows] = values
        return corrected

    def inverse_transform(self, X: Any, *, groups: Any = None) -> Any:
        """Undo the correction of rows of training batches.

        Parameters
        ----------
        X
            Corrected rows.
        groups
            Batch of each row; required if the correction was fitted with batches.
        """
        rows = self._rows_to_bring_back(X)
        batches = find_batches(len(rows), groups, None)
        places = self._places(batches)
        unknown = [b.name for b, place in zip(batches, places, strict=True) if place is None]
        if unknown:
            message = (
                f"{len(unknown)} of {len(batches)} batches are not training batches "
                f"({listed(unknown)}), so their correction cannot be undone: leave them out."
            )
            raise InputError(message)
        back = np.empty_like(rows, order="C")
        for batch, place in zip(batches, places, strict=True):
            values = (rows[batch.rows] - self.offset_) * self.scale_[place] + self.shift_[place]
            back[batch.rows] = values
        return back
