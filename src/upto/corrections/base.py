"""What all corrections share: rows and batches are checked in one way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from upto.core import InputError
from upto.corrections.batch_groups import Batches, find_batches

if TYPE_CHECKING:
    from collections.abc import Sequence

TYPES = [np.float64, np.float32]
_BLOCK_ROWS = 8192


class Correction(TransformerMixin, BaseEstimator, ABC):
    """A transformer of rows that may be given their batches and controls.

    A batch that was seen in training is corrected by what was learned then; any other by its own
    rows or controls. Labels are never used.
    """

    # Pipelines pass on what is asked for here; a subclass that uses less says so.
    __metadata_request__fit = {"groups": True, "controls": True}  # noqa: RUF012
    __metadata_request__transform = {"groups": True, "controls": True}  # noqa: RUF012

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, controls: Any = None) -> Self:
        """Learn the correction from rows.

        Parameters
        ----------
        X
            Rows of training batches.
        y
            Ignored.
        groups
            The batch of each row; by default all rows are one batch.
        controls
            Mask of the rows that are controls; by default every row is one.
        """
        rows = validate_data(self, X, dtype=TYPES, ensure_min_samples=2)
        batches = find_batches(len(rows), groups, controls)
        self._fit(rows, batches)
        self.batches_ = np.array([batch.name for batch in batches])
        self._is_named = batches.is_named
        self._has_controls = batches.has_controls
        return self

    def transform(self, X: Any, *, groups: Any = None, controls: Any = None) -> Any:
        """Correct rows.

        Parameters
        ----------
        X
            Rows of any batches.
        groups
            The batch of each row; needed if the fit had it.
        controls
            Mask of the rows that are controls, for batches that were not seen in training.
        """
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=TYPES, reset=False)
        return self._transform(rows, find_batches(len(rows), groups, controls))

    def fit_transform(
        self, X: Any, y: Any = None, *, groups: Any = None, controls: Any = None
    ) -> Any:
        """Learn the correction from rows and correct them.

        Parameters
        ----------
        X
            Rows of training batches.
        y
            Ignored.
        groups
            The batch of each row; by default all rows are one batch.
        controls
            Mask of the rows that are controls; by default every row is one.
        """
        fitted = self.fit(X, y, groups=groups, controls=controls)
        return fitted.transform(X, groups=groups, controls=controls)

    @abstractmethod
    def _fit(self, rows: Any, batches: Batches) -> None:
        """Learn the correction from checked rows."""

    @abstractmethod
    def _transform(self, rows: Any, batches: Batches) -> Any:
        """Correct checked rows."""

    def _places(self, batches: Batches) -> list[int | None]:
        """Return where each batch stands among those of training."""
        if self._is_named and not batches.is_named:
            message = (
                f"the correction was learned from {len(self.batches_)} named batches, but these "
                "rows come without batch names: pass groups."
            )
            raise InputError(message)
        known = {name: place for place, name in enumerate(self.batches_.tolist())}
        return [known.get(batch.name) for batch in batches]

    def _refuse_unmarked(self, batches: Batches, places: Sequence[int | None]) -> None:
        new = sum(place is None for place in places)
        if new and self._has_controls and not batches.has_controls:
            message = (
                f"{new} of {len(batches)} batches were not seen in training and come without "
                "marked controls: pass controls."
            )
            raise InputError(message)

    def _rows_to_bring_back(self, X: Any) -> Any:
        check_is_fitted(self)
        rows = check_array(X, dtype=TYPES)
        if rows.shape[1] != self.n_features_in_:
            message = f"X has {rows.shape[1]} columns, but the fit had {self.n_features_in_}."
            raise InputError(message)
        return rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def new_batches(batches: Batches, places: Sequence[int | None]) -> Batches:
    """Return the batches that were not seen in training."""
    return Batches(
        members=tuple(b for b, place in zip(batches, places, strict=True) if place is None),
        is_named=batches.is_named,
        has_controls=batches.has_controls,
    )


def mapped(rows: Any, mean: Any, matrix: Any, offset: Any = 0.0) -> Any:
    """Return ``(rows - mean) @ matrix + offset`` in the type of the rows.

    It is computed in double precision, of which only a block of rows is held.
    """
    found = np.empty((len(rows), matrix.shape[1]), dtype=rows.dtype)
    for start in range(0, len(rows), _BLOCK_ROWS):
        part = slice(start, start + _BLOCK_ROWS)
        found[part] = (rows[part] - mean) @ matrix + offset
    return found


def signs_of(axes: Any) -> Any:
    """Return a sign for each column, with which its largest entry is positive.

    Which end of an axis is its positive one must not follow from the order of the rows.
    """
    ends = np.take_along_axis(axes, np.abs(axes).argmax(axis=0)[None], axis=0)
    return np.where(ends < 0, -1.0, 1.0)
