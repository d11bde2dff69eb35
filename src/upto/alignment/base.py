"""Base of the estimators that map one run onto another: the contract of scikit-learn, once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_array, check_is_fitted

from upto.alignment.row_lengths import check_length, with_length
from upto.core import InputError
from upto.files.estimator_rows import named_rows, validated, with_target

if TYPE_CHECKING:
    from upto.alignment.row_lengths import FittedMap

# Rows in single precision are converted block by block.
_FLOATS = [np.float64, np.float32]


class MapEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """An estimator whose `fit` finds a map of the rows of a source onto those of a target."""

    length: float | str | None
    map_: FittedMap

    def paired(self, X: Any, y: Any) -> tuple[Any, Any, tuple[str, ...]]:
        """Check the rows of a fit; return source, target, and the names of its coordinates.

        Rows are matched by ids if both have ids, and by position otherwise.

        Parameters
        ----------
        X, y
            Anything `upto.as_embeddings` takes; paths are loaded into memory.
        """
        check_length(self.length)
        X, y, names = with_target(X, y)
        X, y = validated(self, X, y, dtype=_FLOATS, multi_output=True, y_numeric=True)
        target = y.reshape(len(X), -1)
        return X, target if target.dtype in _FLOATS else target.astype(np.float64), names

    def keep(
        self,
        fitted: FittedMap,
        n_features: int,
        *,
        target_names: tuple[str, ...] = (),
        length: float | None = None,
    ) -> Self:
        """Set the fitted attributes from a map of rows with `n_features` coordinates.

        `target_names` are the names of the target's coordinates, if known, and `length` is the one
        that images are scaled to, if any.
        """
        self.map_ = with_length(fitted, length)
        self.length_ = length
        self.n_features_in_ = n_features
        self.target_names_ = target_names or None
        self.source_name_: str | None = None
        self.target_name_: str | None = None
        self._n_features_out = len(fitted.target_mean)
        return self

    @property
    def linear_(self) -> Any:
        """The linear part of the fitted map."""
        return self.map_.linear()

    def transform(self, X: Any) -> Any:
        """Map rows of the source into the target's coordinates."""
        check_is_fitted(self)
        X = validated(self, X, dtype=_FLOATS, reset=False)
        return self.map_.predict(X).astype(X.dtype, copy=False)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² of the mapped rows of `X` for the rows of `y`, e.g. to select a map.

        This is the R² of `compare`: the share of the variance of all coordinates together, as in
        scikit-learn's ``r2_score(..., multioutput="variance_weighted")``. Rows are matched as by
        `fit`, and the coordinates of `y` by name if the target's had names.
        """
        check_is_fitted(self)
        X, y, _ = with_target(X, y, self.target_names_ or ())
        predicted = self.map_.predict(validated(self, X, dtype=_FLOATS, reset=False))
        target = check_array(y, dtype=_FLOATS, ensure_2d=False, input_name="y")
        self._check_width(target, "y")
        return float(
            r2_score(
                target, predicted, sample_weight=sample_weight, multioutput="variance_weighted"
            )
        )

    def inverse_transform(self, X: Any) -> Any:
        """Map rows of the target back into the source's coordinates.

        Columns are matched by name if the target's had names.

        Raises
        ------
        InputError
            If the fitted map is not invertible.
        """
        check_is_fitted(self)
        X = check_array(named_rows(X, "X", self.target_names_ or ()), dtype=_FLOATS)
        self._check_width(X, "X")
        return self.map_.exact_inverse().predict(X).astype(X.dtype, copy=False)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the target's coordinates, or numbered names if it had none.

        Parameters
        ----------
        input_features
            Ignored.
        """
        check_is_fitted(self)
        if self.target_names_ is None:
            return super().get_feature_names_out(input_features)
        return np.array(self.target_names_, dtype=object)

    def _check_width(self, rows: Any, name: str) -> None:
        width = 1 if rows.ndim == 1 else rows.shape[1]
        if width != self._n_features_out:
            message = (
                f"{name} has {width} coordinates but the target has {self._n_features_out}: pass "
                "rows of the target."
            )
            raise InputError(message)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.two_d_labels = False
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
