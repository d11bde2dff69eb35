"""The ICA estimator."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from upto.core import InputError
from upto.engines import choose_engine, cross_moments
from upto.unmix.fastica import fast_ica

if TYPE_CHECKING:
    from upto.engines.base import Engine


class ICA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Independent component analysis, attribute-compatible with scikit-learn's `FastICA`.

    Unlike it, the rank is decided relative to the largest variance, so dead or duplicated
    coordinates and any scale of the data are handled, and no copy of the data is made.

    Parameters
    ----------
    n_components
        Components to find; by default as many as the rows have dimensions.
    tolerance, max_iterations
        The iteration ends when no component turns by more than `tolerance`.
    rank_tolerance
        Directions whose variance is below this fraction of the largest are taken as absent.
    engine
        Engine of the passes, as an object or by name.
    random_state
        Seed of the random start.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features_in_)
        ``sources = (X - mean_) @ components_.T``.
    mixing_ : ndarray of shape (n_features_in_, n_components)
        ``X = sources @ mixing_.T + mean_`` on the span of the rows.
    mean_ : ndarray of shape (n_features_in_,)
        The centre.
    whitening_ : ndarray of shape (n_features_in_, n_features_in_)
        The symmetric whitening matrix.
    n_iter_ : int
        Iterations run.
    converged_ : bool
        Whether they met the tolerance.
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        tolerance: float = 1e-4,
        max_iterations: int = 200,
        rank_tolerance: float = 1e-10,
        engine: Engine | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.tolerance = tolerance
        self.max_iterations = max_iterations
        self.rank_tolerance = rank_tolerance
        self.engine = engine
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components of the rows of `X`."""
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        if self.n_components is not None and not 1 <= self.n_components <= X.shape[1]:
            message = (
                f"n_components is {self.n_components}, but it must be between 1 and the "
                f"{X.shape[1]} coordinates of X."
            )
            raise InputError(message)
        engine = choose_engine(self.engine)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        moments = cross_moments(engine, X, X[:, :1]).source
        unmixing = fast_ica(
            engine,
            X,
            moments.mean,
            moments.scatter / moments.weight,
            n_components=self.n_components,
            seed=seed,
            max_iterations=self.max_iterations,
            tolerance=self.tolerance,
            rank_tolerance=self.rank_tolerance,
        )
        if not unmixing.converged:
            message = (
                f"ICA did not settle within {self.tolerance:g} in {self.max_iterations} iterations:"
                " raise max_iterations, or expect near-Gaussian components to keep turning."
            )
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        self.components_ = unmixing.components
        self.mixing_ = unmixing.mixing
        self.mean_ = unmixing.mean
        self.whitening_ = unmixing.whitening
        self.n_iter_ = unmixing.n_iterations
        self.converged_ = unmixing.converged
        self._n_features_out = len(unmixing.components)
        return self

    def transform(self, X: Any) -> Any:
        """Return the sources of rows."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        sources = (X - self.mean_) @ self.components_.T
        return sources.astype(X.dtype, copy=False)

    def inverse_transform(self, X: Any) -> Any:
        """Mix sources back into rows."""
        check_is_fitted(self)
        X = check_array(X, dtype=[np.float64, np.float32])
        return (X @ self.mixing_.T + self.mean_).astype(X.dtype, copy=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
