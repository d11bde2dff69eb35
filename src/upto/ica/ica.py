"""The ICA estimator."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.validation import check_array, check_is_fitted

from upto.core import refuse_scale
from upto.engines import choose_engine, survey
from upto.files.estimator_rows import rows_for_estimator, validated
from upto.ica.fit import Settings, fit_components
from upto.ica.restarts import stability_of
from upto.ica.sklearn_names import in_our_words
from upto.ica.whiten import check_width

if TYPE_CHECKING:
    from collections.abc import Callable

    from upto.core import TraceStep
    from upto.engines.base import Engine
    from upto.ica.components import Whiten
    from upto.ica.fit import Fitted
    from upto.ica.search import Solver
    from upto.ica.white_directions import Dropped


class ICA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Independent component analysis, attribute-compatible with scikit-learn's `FastICA`.

    Unlike `FastICA`, it handles dead or duplicated coordinates and any scale or mean of the data,
    makes no copy of the data, tests convergence by the gradient of the identifiable part, and
    returns components in a canonical order and sign.

    Parameters
    ----------
    n_components
        Number of components, or the fraction of the variance they must explain; by default the rank
        of the rows.
    solver
        ``fastica``, ``picard`` (Picard-O), or ``auto``: FastICA, then Picard-O once FastICA stalls.
    contrast
        ``logcosh``, ``exp``, ``cube``, or a function of ``(xp, sources)`` that returns G, g and g′;
        its derivatives are checked.
    alpha
        Parameter of ``logcosh``, between 1 and 2.
    whiten
        ``unit-variance``; ``arbitrary-variance`` (or True), scikit-learn's: the squares of each
        source sum to one; ``active``: only directions with appreciable variance; ``rotation``:
        centre and divide by one number, so that the result is a rotation of the rows; ``none`` (or
        False): rotate the raw rows.
    tolerance, max_iterations
        The search ends when every entry of the relative gradient is at most `tolerance`.
    restarts
        Number of random starts, searched at once; the least Gaussian result is kept, and
        `stability_` compares them.
    rank_tolerance
        Directions whose variance is below this fraction of the largest are dropped; by default
        those indistinguishable from rounding.
    warm_start
        Start from the components of the previous fit.
    callback
        Function called with the `TraceStep` of every step.
    engine
        Engine for the passes, an object or a name.
    random_state
        Seed of the random starts.
    fun, fun_args, tol, max_iter, w_init, algorithm, whiten_solver
        Scikit-learn's parameters, with their meaning there: `fun` (also a function of sources that
        returns g and the mean of g′) and ``fun_args={"alpha": a}`` for `contrast` and `alpha`;
        `tol`, the largest distance from one of the cosine between two steps, for `tolerance`;
        `max_iter` for `max_iterations`; `w_init`, the start in white coordinates; `algorithm`,
        ``parallel`` or ``deflation``; `whiten_solver`, which only affects a warning with ``eigh``.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features_in_)
        ``sources = (X - mean_) @ components_.T``.
    mixing_ : ndarray of shape (n_features_in_, n_components)
        ``X = sources @ mixing_.T + mean_`` on the span of the rows.
    mean_ : ndarray of shape (n_features_in_,)
        The centre; zeros with ``whiten="none"``.
    whitening_ : ndarray of shape (n_components, n_features_in_)
        The linear map applied before the rotation.
    n_iter_ : int
        Number of steps of the search.
    converged_ : bool
        Whether the search met the tolerance.
    trace_ : tuple of TraceStep
        Record of every step.
    turning_ : ndarray of bool
        Components that can rotate into each other: only their span is identifiable.
    stability_ : ndarray or None
        Icasso's index of every component over the restarts.

    See Also
    --------
    upto.unmix : The same fit, with tests of which components are identifiable.
    upto.Whitener : Whitening alone.
    upto.save_transform : Keep a fitted transform.
    upto.consensus : Components that several runs share.

    Notes
    -----
    Rows are whitened to z, and the sources are :math:`s = R z` with the rotation R that solves

    .. math::

        \min_R \sum_j \sigma_j \operatorname{E}[G(s_j)], \qquad G(s) = \log \cosh s

    where :math:`\sigma_j = \pm 1` is the sign of :math:`\operatorname{E}[g'(s_j) - g(s_j) s_j]`,
    with g the derivative of G: 1 for heavy tails, -1 for light ones. Components for which this mean
    vanishes, as for Gaussian ones, are not identifiable.

    References
    ----------
    Hyvärinen (1999). Fast and robust fixed-point algorithms for independent component
    analysis. IEEE Transactions on Neural Networks 10.

    Ablin et al. (2018). Faster ICA under orthogonal constraint. IEEE International Conference
    on Acoustics, Speech and Signal Processing.

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> sources = np.random.default_rng(0).laplace(size=(2000, 2))
    >>> rows = sources @ [[1, 2], [0, 1]]
    >>> found = upto.ICA(random_state=0).fit_transform(rows)
    >>> matched = np.abs(np.corrcoef(found.T, sources.T)[:2, 2:])
    >>> bool((matched.max(axis=1) > 0.99).all())
    True
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        solver: Solver = "auto",
        contrast: str | Callable[..., Any] = "logcosh",
        alpha: float = 1.0,
        whiten: Whiten | Literal["arbitrary-variance"] | bool = "unit-variance",
        tolerance: float = 1e-6,
        max_iterations: int = 500,
        restarts: int = 1,
        rank_tolerance: float | None = None,
        warm_start: bool = False,
        callback: Callable[[TraceStep], None] | None = None,
        engine: Engine | str | None = None,
        random_state: Any = None,
        fun: str | Callable[..., Any] | None = None,
        fun_args: dict[str, Any] | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        w_init: Any = None,
        algorithm: Literal["parallel", "deflation"] | None = None,
        whiten_solver: Literal["svd", "eigh"] | None = None,
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
        self.fun = fun
        self.fun_args = fun_args
        self.tol = tol
        self.max_iter = max_iter
        self.w_init = w_init
        self.algorithm = algorithm
        self.whiten_solver = whiten_solver

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components of the rows of `X`, anything `upto.as_embeddings` takes.

        Paths are loaded into memory; `fit_rows` reads them block by block. On an interrupt, the
        components found so far are kept before it is re-raised; with `warm_start` another fit
        continues from them.
        """
        X = validated(
            self, X, dtype=[np.float64, np.float32], ensure_min_samples=2, ensure_all_finite=False
        )
        engine = choose_engine(self.engine)
        rows = engine.place(X)
        found = survey(engine, rows)
        if found.n_not_finite:
            assert_all_finite(X, estimator_name=type(self).__name__, input_name="X")
        refuse_scale("X", found.low, found.high, X.size, what="it")
        return self._fit(engine, rows, X.dtype)

    def fit_rows(self, rows: Any) -> Self:
        """Find the components of any source of row blocks, such as a file reader."""
        engine = choose_engine(self.engine)
        return self._fit(engine, engine.place(rows), np.dtype(np.float64))

    def _fit(self, engine: Engine, rows: Any, dtype: np.dtype[Any]) -> Self:
        start = self.components_ if self.warm_start and hasattr(self, "components_") else None
        settings = self.settings()
        asked, width = settings.n_components, int(rows.shape[1])
        if asked is not None and asked > width:
            settings = replace(settings, n_components=width)
        callback = self.callback
        listener = None if callback is None else lambda step, _: callback(step)
        fitted = fit_components(engine, rows, settings, start=start, listener=listener)
        self.keep(fitted, dtype)
        if fitted.unmixing.interrupted:
            raise KeyboardInterrupt
        self._warn(fitted, asked)
        return self

    def _warn(self, fitted: Fitted, asked: int | float | None) -> None:
        """Warn as scikit-learn does: too many components, low rank, no convergence."""
        unmixing = fitted.unmixing
        found, width = unmixing.components.shape
        if asked is not None and asked > found:
            message = f"n_components is too large: it will be set to {found}"
            warnings.warn(message + _dropped(unmixing.dropped), stacklevel=4)
        if self.whiten_solver == "eigh" and unmixing.rank < width:
            message = (
                "There are some small singular values, using whiten_solver = 'svd' might lead to "
                f"more accurate results: the rows span {unmixing.rank} of {width} dimensions"
            )
            warnings.warn(message + _dropped(unmixing.dropped), stacklevel=4)
        if not self.converged_:
            message = (
                f"ICA stopped after {self.n_iter_} steps with a gradient of "
                f"{self.trace_[-1].gradient:.2g}, above {self.tolerance:g}: raise max_iterations "
                "or the tolerance."
            )
            if self.tol is not None or self.max_iter is not None:
                message = (
                    "FastICA did not converge. Consider increasing tolerance or the maximum number "
                    f"of iterations. It stopped after {self.n_iter_} steps with a gradient of "
                    f"{self.trace_[-1].gradient:.2g}."
                )
            warnings.warn(message, ConvergenceWarning, stacklevel=4)

    def settings(self) -> Settings:
        """Return the checked settings of a fit."""
        given = self.get_params(deep=False)
        return Settings(
            solver=self.solver,
            restarts=self.restarts,
            rank_tolerance=self.rank_tolerance,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            **in_our_words(given, _defaults()),
        )

    def keep(self, fitted: Fitted, dtype: Any = np.float64) -> Self:
        """Set the fitted attributes from a fit."""
        unmixing, scale = fitted.unmixing, fitted.scale
        self.components_ = (scale * unmixing.components).astype(dtype, copy=False)
        self.mixing_ = (unmixing.mixing / scale).astype(dtype, copy=False)
        self.mean_ = unmixing.mean.astype(dtype, copy=False)
        self.whitening_ = (scale * unmixing.whitening).astype(dtype, copy=False)
        # Scikit-learn requires at least one iteration, even where the start is already optimal.
        self.n_iter_ = max(1, unmixing.n_iterations)
        self.converged_ = unmixing.converged
        self.trace_ = unmixing.steps
        self.turning_ = unmixing.frozen
        self.stability_ = None
        if fitted.restarted:
            self.stability_ = stability_of(unmixing, fitted.restarted).index
        self.n_features_in_ = unmixing.components.shape[1]
        self._n_features_out = len(unmixing.components)
        return self

    # Positional flags, for compatibility with scikit-learn.
    def transform(self, X: Any, copy: bool = True) -> Any:  # noqa: FBT001, FBT002
        """Return the sources of rows; `copy` is ignored, as rows are never overwritten."""
        check_is_fitted(self)
        X = validated(self, X, dtype=[np.float64, np.float32], reset=False)
        sources = (X - self.mean_.astype(np.float64)) @ self.components_.T
        return sources.astype(X.dtype, copy=False)

    def inverse_transform(self, X: Any, copy: bool = True) -> Any:  # noqa: FBT001, FBT002
        """Map sources back to rows; `copy` is ignored, as sources are never overwritten."""
        check_is_fitted(self)
        X = check_array(rows_for_estimator(X), dtype=[np.float64, np.float32])
        check_width(X, self._n_features_out, "ICA")
        rows = X @ self.mixing_.T.astype(np.float64) + self.mean_
        return rows.astype(X.dtype, copy=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _dropped(dropped: Dropped | None) -> str:
    return "." if dropped is None else f" ({dropped.words})."


@cache
def _defaults() -> dict[str, Any]:
    # Scikit-learn inspects the signature anew for every call.
    return dict(ICA().get_params(deep=False))
