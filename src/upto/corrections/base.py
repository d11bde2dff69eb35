"""Base class of corrections, which checks rows and batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from upto.core import InputError
from upto.corrections.batch_groups import Batches, find_batches
from upto.files.estimator_rows import rows_for_estimator, validated

if TYPE_CHECKING:
    from collections.abc import Sequence

TYPES = [np.float64, np.float32]
_BLOCK_ROWS = 8192


class Correction(TransformerMixin, BaseEstimator, ABC):
    """A transformer of rows that accepts batches and controls.

    A training batch is corrected with its fitted parameters, any other batch from its own rows or
    controls. Labels are never used.
    """

    # Pipelines route what is requested here; a subclass that uses less overrides it.
    __metadata_request__fit = {"groups": True, "controls": True}  # noqa: RUF012
    __metadata_request__transform = {"groups": True, "controls": True}  # noqa: RUF012

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, controls: Any = None) -> Self:
        """Fit the correction.

        Parameters
        ----------
        X
            Rows of training batches: anything `upto.as_embeddings` takes, loaded into memory.
        y
            Ignored.
        groups
            Batch of each row; by default all rows form one batch.
        controls
            Mask of control rows; by default every row is a control.
        """
        rows = validated(self, X, dtype=TYPES, ensure_min_samples=2)
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
            Batch of each row; required if the correction was fitted with batches.
        controls
            Mask of control rows, for unseen batches.
        """
        check_is_fitted(self)
        rows = validated(self, X, dtype=TYPES, reset=False)
        return self._transform(rows, find_batches(len(rows), groups, controls))

    def fit_transform(
        self, X: Any, y: Any = None, *, groups: Any = None, controls: Any = None
    ) -> Any:
        """Fit the correction and correct the same rows.

        Parameters
        ----------
        X
            Rows of training batches.
        y
            Ignored.
        groups
            Batch of each row; by default all rows form one batch.
        controls
            Mask of control rows; by default every row is a control.
        """
        fitted = self.fit(X, y, groups=groups, controls=controls)
        return fitted.transform(X, groups=groups, controls=controls)

    @abstractmethod
    def _fit(self, rows: Any, batches: Batches) -> None:
        """Fit the correction to checked rows."""

    @abstractmethod
    def _transform(self, rows: Any, batches: Batches) -> Any:
        """Correct checked rows."""

    def _places(self, batches: Batches) -> list[int | None]:
        """Return the position of each batch among the training batches."""
        if self._is_named and not batches.is_named:
            message = (
                f"the correction was fitted to {len(self.batches_)} named batches, but these "
                "rows have no batch names: pass groups."
            )
            raise InputError(message)
        known = {name: place for place, name in enumerate(self.batches_.tolist())}
        return [known.get(batch.name) for batch in batches]

    def _refuse_unmarked(self, batches: Batches, places: Sequence[int | None]) -> None:
        new = sum(place is None for place in places)
        if new and self._has_controls and not batches.has_controls:
            message = (
                f"{new} of {len(batches)} batches were not in the training rows and have no "
                "marked controls: pass controls."
            )
            raise InputError(message)

    def _rows_to_bring_back(self, X: Any) -> Any:
        check_is_fitted(self)
        rows = check_array(rows_for_estimator(X), dtype=TYPES)
        if rows.shape[1] != self.n_features_in_:
            message = (
                f"X has {rows.shape[1]} columns, but the training rows had {self.n_features_in_}."
            )
            raise InputError(message)
        return rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def new_batches(batches: Batches, places: Sequence[int | None]) -> Batches:
    """Return the batches that are not training batches."""
    return Batches(
        members=tuple(b for b, place in zip(batches, places, strict=True) if place is None),
        is_named=batches.is_named,
        has_controls=batches.has_controls,
    )


def mapped(rows: Any, mean: Any, matrix: Any, offset: Any = 0.0) -> Any:
    """Return ``(rows - mean) @ matrix + offset`` in the dtype of the rows.

    It is computed in double precision, one block of rows at a time.
    """
    found = np.empty((len(rows), matrix.shape[1]), dtype=rows.dtype)
    for start in range(0, len(rows), _BLOCK_ROWS):
        part = slice(start, start + _BLOCK_ROWS)
        found[part] = (rows[part] - mean) @ matrix + offset
    return found


def signs_of(axes: Any) -> Any:
    """Return one sign per column that makes its largest entry positive.

    The sign of an axis must not depend on the order of the rows.
    """
    ends = np.take_along_axis(axes, np.abs(axes).argmax(axis=0)[None], axis=0)
    return np.where(ends < 0, -1.0, 1.0)
