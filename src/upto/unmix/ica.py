"""The ICA estimator."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from upto.engines import choose_engine
from upto.unmix.contrasts import choose_contrast
from upto.unmix.fitting import Settings, fit_components
from upto.unmix.restarts import stability_of
from upto.unmix.whitening import check_width

if TYPE_CHECKING:
    from collections.abc import Callable

    from upto.core import TraceStep
    from upto.engines.base import Engine
    from upto.unmix.components import Whiten
    from upto.unmix.fitting import Fitted
    from upto.unmix.searching import Solver


class ICA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Independent component analysis, attribute-compatible with scikit-learn's `FastICA`.

    Unlike it, dead or duplicated coordinates and any scale or mean of the data are handled, no copy
    of the data is made, convergence is a small gradient on the part that is identifiable, and the
    components come in one order and sign.

    Parameters
    ----------
    n_components
        Components to find: a number, or the share of the variance they shall reach; by default as
        many as the rows have dimensions.
    solver
        ``fastica``, ``picard`` (Picard-O), or ``auto``: the first, and the second where it stops
        making progress.
    contrast
        ``logcosh``, ``exp``, ``cube``, or a function of ``(xp, sources)`` that returns G, g and g′;
        its derivatives are checked.
    alpha
        Parameter of ``logcosh``, between 1 and 2.
    whiten
        ``unit-variance``; ``active``, directions of some variance only; ``rotation``, centre and
        divide by one number, so that the result is a rotation of the rows; ``none`` (or False),
        rotate the rows as they are.
    tolerance, max_iterations
        The search ends when no entry of the relative gradient is above `tolerance`.
    restarts
        Starts, searched at once; the least Gaussian result is kept and `stability_` compares them.
    rank_tolerance
        Directions whose variance is below this fraction of the largest are taken as absent; by
        default those that cannot be told from rounding.
    warm_start
        Start from the components of the last fit.
    callback
        Called with every `TraceStep` while the search runs.
    engine
        Engine of the passes, as an object or by name.
    random_state
        Seed of the random starts.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features_in_)
        ``sources = (X - mean_) @ components_.T``.
    mixing_ : ndarray of shape (n_features_in_, n_components)
        ``X = sources @ mixing_.T + mean_`` on the span of the rows.
    mean_ : ndarray of shape (n_features_in_,)
        The centre; zeros with ``whiten="none"``.
    whitening_ : ndarray of shape (n_components, n_features_in_)
        The map before the rotation.
    n_iter_ : int
        Steps of the search.
    converged_ : bool
        Whether it met the tolerance.
    trace_ : tuple of TraceStep
        What every step found.
    turning_ : ndarray of bool
        Components between which the search saw nothing to choose: only their span is identifiable.
    stability_ : ndarray or None
        Icasso's index of every component over the restarts.
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        solver: Solver = "auto",
        contrast: str | Callable[..., Any] = "logcosh",
        alpha: float = 1.0,
        whiten: Whiten | bool = "unit-variance",
        tolerance: float = 1e-6,
        max_iterations: int = 500,
        restarts: int = 1,
        rank_tolerance: float | None = None,
        warm_start: bool = False,
        callback: Callable[[TraceStep], None] | None = None,
        engine: Engine | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.contrast = contrast
        self.alpha = alpha
        self.whiten = whiten
        self.tolerance = tolerance
        self.max_iterations = max_iterations
        self.restarts = restarts
        self.rank_tolerance = rank_tolerance
        self.warm_start = warm_start
        self.callback = callback
        self.engine = engine
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components of the rows of `X`.

        An interrupt keeps the components found so far before it is raised again; with `warm_start`
        another fit goes on from them.
        """
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        return self.fit_rows(X)

    def fit_rows(self, rows: Any) -> Self:
        """Find the components of anything that gives blocks of rows, such as a file's reader."""
        engine = choose_engine(self.engine)
        start = self.components_ if self.warm_start and hasattr(self, "components_") else None
        fitted = fit_components(
            engine, engine.place(rows), self.settings(), start=start, listener=self._tell
        )
        self.keep(fitted)
        if fitted.unmixing.interrupted:
            raise KeyboardInterrupt
        if not self.converged_:
            message = (
                f"ICA stopped after {self.n_iter_} steps with a gradient of "
                f"{self.trace_[-1].gradient:.2g}, above {self.tolerance:g}: raise max_iterations "
                "or the tolerance."
            )
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        return self

    def settings(self) -> Settings:
        """Return the parameters as a fit takes them, checked."""
        return Settings(
            n_components=self.n_components,
            solver=self.solver,
            contrast=choose_contrast(self.contrast, self.alpha),
            whiten="none" if self.whiten is False else self.whiten,  # type: ignore[arg-type]
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            restarts=self.restarts,
            rank_tolerance=self.rank_tolerance,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )

    def keep(self, fitted: Fitted) -> Self:
        """Take the components of a fit as this estimator's own."""
        unmixing = fitted.unmixing
        self.components_ = unmixing.components
        self.mixing_ = unmixing.mixing
        self.mean_ = unmixing.mean
        self.whitening_ = unmixing.whitening
        self.n_iter_ = unmixing.n_iterations
        self.converged_ = unmixing.converged
        self.trace_ = unmixing.steps
        self.turning_ = unmixing.frozen
        self.stability_ = None
        if fitted.restarted:
            self.stability_ = stability_of(unmixing, fitted.restarted).index
        self.n_features_in_ = unmixing.components.shape[1]
        self._n_features_out = len(unmixing.components)
        return self

    def _tell(self, step: TraceStep, _: Any) -> None:
        if self.callback is not None:
            self.callback(step)

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
