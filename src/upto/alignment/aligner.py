"""The estimator that maps one run onto another."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_array, check_is_fitted

from upto.alignment.maps import fit_map, needs_full_scatter
from upto.alignment.monotone import MonotoneFit, monotone_errors
from upto.alignment.residuals import row_errors
from upto.alignment.supremum import smallest_worst_error
from upto.core import Group, InputError
from upto.engines import RANK_TOLERANCE, choose_engine, cross_moments
from upto.files.estimator_rows import named_rows, validated, with_target

if TYPE_CHECKING:
    from upto.alignment.maps import AffineMap
    from upto.alignment.monotone import MonotoneMap
    from upto.engines.base import Engine

# Rows in single precision are converted block by block.
_FLOATS = [np.float64, np.float32]


class Aligner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Map a source run onto a target run by the best element of a group.

    Parameters
    ----------
    up_to
        The group: ``"identity"``, ``"signed-permutation"``, ``"signed-similarity"``,
        ``"scaled-permutation"``, ``"rigid"``, ``"similarity"``, ``"affine"`` or
        ``"monotone-permutation"``.
    norm
        Error to minimise: ``"least-squares"`` has a closed form; ``"supremum"`` refines it by
        Lawson's reweighting towards the smallest worst error, the ε of Definition 1.
    rank_tolerance
        Directions whose variance is below this fraction of the largest count as absent.
    engine
        Engine of the passes, as an object or a name.

    Attributes
    ----------
    map_ : AffineMap or MonotoneMap
        The fitted map.
    linear_ : ndarray of shape (n_features_in_, n_features_out_) or None
        Its linear part; maps act on the right. None for monotone functions.
    worst_error_ : float or None
        Largest error of a row in sample; None if `compare` fitted the map.
    target_names_ : tuple of str or None
        Names of the target's coordinates, if it had any.

    Examples
    --------
    >>> import numpy as np
    >>> source = np.random.default_rng(0).normal(size=(100, 3))
    >>> target = source[:, [2, 0, 1]] * [1, -1, 1] + 5
    >>> aligner = Aligner("signed-permutation").fit(source, target)
    >>> bool(np.allclose(aligner.transform(source), target))
    True
    """

    def __init__(
        self,
        up_to: Group | str = "rigid",
        *,
        norm: str = "least-squares",
        rank_tolerance: float = RANK_TOLERANCE,
        engine: Engine | str | None = None,
    ) -> None:
        self.up_to = up_to
        self.norm = norm
        self.rank_tolerance = rank_tolerance
        self.engine = engine

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the map from the rows of `X` (source) to the rows of `y` (target).

        Both are anything `upto.as_embeddings` takes; paths are loaded into memory. Rows are matched
        by ids if both have ids, and by position otherwise.

        Warns
        -----
        UserWarning
            If the rows are too few for the group, so the map does not generalise.
        """
        group = _group(self.up_to)
        if self.norm not in ("least-squares", "supremum"):
            message = f"norm is {self.norm!r}: choose 'least-squares' or 'supremum'."
            raise InputError(message)
        X, y, names = with_target(X, y)
        X, y = validated(self, X, y, dtype=_FLOATS, multi_output=True, y_numeric=True)
        target = y.reshape(len(X), -1)
        if target.dtype not in _FLOATS:
            target = target.astype(np.float64)
        engine = choose_engine(self.engine)
        if group is Group.MONOTONE_PERMUTATION:
            if self.norm == "supremum":
                message = "monotone functions are fitted by least squares only: omit norm."
                raise InputError(message)
            monotone = MonotoneFit(X.astype(np.float64), target.astype(np.float64)).fit()
            worst = float(monotone_errors(engine, X, target, monotone).max())
            return self.keep(monotone, X.shape[1], worst, names)
        _warn_of_few_rows(group, *X.shape)
        moments = cross_moments(engine, X, target, full=needs_full_scatter(group, X, target))
        start = fit_map(group, moments, rank_tolerance=self.rank_tolerance)
        if self.norm == "supremum":
            refined = smallest_worst_error(
                group, X, target, start, rank_tolerance=self.rank_tolerance, engine=engine
            )
            return self.keep(refined.map, X.shape[1], refined.worst, names)
        worst = float(row_errors(engine, X, target, [start]).max())
        return self.keep(start, X.shape[1], worst, names)

    def keep(
        self,
        fitted: AffineMap | MonotoneMap,
        n_features: int,
        worst: float | None = None,
        target_names: tuple[str, ...] = (),
    ) -> Self:
        """Set the fitted attributes from a map of rows with `n_features` coordinates.

        `worst` is its largest error of a fitted row and `target_names` are the names of the
        target's coordinates, if known.
        """
        self.map_ = fitted
        self.worst_error_: Any = worst
        self.n_features_in_ = n_features
        self.target_names_ = target_names or None
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
        """Return R² of the mapped rows of `X` for the rows of `y`, e.g. to select a group.

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


def _warn_of_few_rows(group: Group, n_samples: int, n_features: int) -> None:
    needed = {Group.RIGID: 1, Group.SIMILARITY: 1, Group.AFFINE: 2}.get(group, 0) * n_features
    if n_samples <= needed:
        message = (
            f"{n_samples} rows of {n_features} coordinates are too few for the group {group}: the "
            f"map does not generalise. Use more than {needed} rows, a stricter group or fewer "
            "coordinates."
        )
        warnings.warn(message, stacklevel=3)


def _group(up_to: Group | str) -> Group:
    try:
        return Group(up_to)
    except ValueError:
        message = f"there is no group {up_to!r}: choose one of {', '.join(Group)}."
        raise InputError(message) from None
