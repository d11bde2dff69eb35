"""The whitening estimator."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from upto.core import InputError, refuse_scale
from upto.engines import choose_engine, row_moments
from upto.files.estimator_rows import rows_for_estimator, validated
from upto.files.vectors import as_values
from upto.ica.white_directions import Source
from upto.ica.whiten import METHODS, check_rank_tolerance, check_width, find_whitening, shrunk

if TYPE_CHECKING:
    from upto.engines.base import Engine
    from upto.ica.whiten import Method, Shrinkage


class Whitener(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Map rows to uncorrelated coordinates of zero mean and unit variance, and back.

    Parameters
    ----------
    n_components
        Number of directions to keep, the widest first, or the fraction of the variance they must
        explain; by default the rank of the rows.
    method
        ``pca`` orders coordinates by variance, ``zca`` stays closest to the rows, ``cholesky`` is
        lower triangular and needs full rank.
    shrinkage
        Shrinkage of the covariance towards a multiple of the identity: ``ledoit-wolf``, ``oas``, a
        number between 0 and 1, or None.
    rank_tolerance
        Directions whose variance is below this fraction of the largest are dropped; by default
        those indistinguishable from rounding.
    engine
        Engine for the passes, an object or a name.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features_in_,)
        Mean of the rows.
    whitening_ : ndarray of shape (n_out, n_features_in_)
        ``white = (X - mean_) @ whitening_.T``.
    unwhitening_ : ndarray of shape (n_features_in_, n_out)
        ``X = white @ unwhitening_.T + mean_`` on the span of the kept directions.
    explained_variance_ : ndarray
        Variances of the kept directions, the widest first.
    rank_ : int
        Rank of the rows.

    See Also
    --------
    upto.ICA : Whitening followed by a rotation to independent components.
    upto.corrections.ControlSphering : Whitening by the controls.
    upto.save_transform : Keep a fitted transform.

    Notes
    -----
    With the covariance :math:`\Sigma = U \Lambda U^\top`, a row x becomes :math:`W (x - \mu)` with

    .. math::

        W_\text{pca} = \Lambda^{-1/2} U^\top, \qquad
        W_\text{zca} = U \Lambda^{-1/2} U^\top, \qquad
        W_\text{cholesky} = C^{-1}, \quad \Sigma = C C^\top

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> rows = np.random.default_rng(0).normal(size=(200, 3)) @ [[3, 1, 0], [0, 1, 0], [1, 0, 2]]
    >>> white = upto.Whitener().fit_transform(rows)
    >>> bool(np.allclose(np.cov(white, rowvar=False, ddof=0), np.eye(3)))
    True
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        method: Method = "pca",
        shrinkage: Shrinkage = None,
        rank_tolerance: float | None = None,
        engine: Engine | str | None = None,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.shrinkage = shrinkage
        self.rank_tolerance = rank_tolerance
        self.engine = engine

    def fit(self, X: Any, y: Any = None, *, subset: Any = None) -> Self:
        """Find the whitening of rows.

        Parameters
        ----------
        X
            Rows: anything `upto.as_embeddings` takes; paths are loaded into memory.
        y
            Ignored.
        subset
            Rows to fit on, e.g. controls, as a mask or positions; all by default.
        """
        if self.method not in METHODS:
            message = f"there is no method {self.method!r}: choose one of {', '.join(METHODS)}."
            raise InputError(message)
        X = validated(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        refuse_scale("X", X.min(axis=0), X.max(axis=0), X.size, what="it")
        if subset is not None:
            X = _chosen(X, subset)
        if self.n_components is not None and self.n_components > X.shape[1]:
            message = (
                f"{self.n_components} directions were requested, but rows of {X.shape[1]} "
                f"coordinates have at most {X.shape[1]}."
            )
            raise InputError(message)
        check_rank_tolerance(self.rank_tolerance)
        engine = choose_engine(self.engine)
        rows = engine.place(X)
        part = shrunk(engine, rows, row_moments(engine, rows), self.shrinkage)
        found = find_whitening(
            part,
            method=self.method,
            n_components=self.n_components,
            rank_tolerance=self.rank_tolerance,
            # A shrunk covariance is not that of the rows and has no narrow directions.
            source=Source(engine, rows) if self.shrinkage is None else None,
        )
        if self.n_components is not None and found.rank < self.n_components:
            message = (
                f"{self.n_components} directions were requested, but the rows span {found.rank}: "
                "these are kept."
            )
            warnings.warn(message, stacklevel=2)
        self.mean_ = found.mean
        self.whitening_ = found.matrix
        self.unwhitening_ = found.inverse
        self.explained_variance_ = found.variances
        self.rank_ = found.rank
        self._n_features_out = len(found.matrix)
        return self

    def transform(self, X: Any) -> Any:
        """Whiten rows."""
        check_is_fitted(self)
        X = validated(self, X, dtype=[np.float64, np.float32], reset=False)
        return ((X - self.mean_) @ self.whitening_.T).astype(X.dtype, copy=False)

    def inverse_transform(self, X: Any) -> Any:
        """Map white rows back to the original coordinates."""
        check_is_fitted(self)
        X = check_array(rows_for_estimator(X), dtype=[np.float64, np.float32])
        check_width(X, self._n_features_out, "Whitener")
        return (X @ self.unwhitening_.T + self.mean_).astype(X.dtype, copy=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _chosen(X: Any, subset: Any) -> Any:
    index = as_values(subset, "subset")
    if index.dtype == bool and index.shape != (len(X),):
        message = f"the mask of rows has shape {index.shape}, but X has {len(X)} rows."
        raise InputError(message)
    if index.ndim != 1:
        message = f"the rows to fit on have shape {index.shape}: give a mask or positions."
        raise InputError(message)
    try:
        X = X[index]
    except IndexError as error:
        message = f"the rows to fit on cannot be selected: {error}."
        raise InputError(message) from None
    if len(X) < 2:
        message = f"{len(X)} of the rows are selected: at least two are needed to whiten."
        raise InputError(message)
    return X
