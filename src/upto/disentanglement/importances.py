"""Importance of each code for predicting a factor, with the predictors of DCI's sources."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import Lasso
from sklearn.metrics import r2_score
from sklearn.preprocessing import minmax_scale

from upto.core import InputError, MissingExtraError
from upto.core.array_types import Float
from upto.disentanglement.predictor_tables import parted
from upto.disentanglement.predictors import indicators, quietly

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from upto.disentanglement.predictor_tables import Factor, Mask, Whole

VARIANTS = (
    "disentanglement_lib",
    "canonical",
    "lightgbm",
    "ubisoft/lasso",
    "ubisoft/random-forest",
)
ALPHAS = (0.0001, 0.001, 0.01, 0.1, 0.2, 0.4, 0.8, 1.0)
DEPTHS = (8, 16, 32, 64, 128)
SHARES = (0.2, 0.4, 0.8, 1.0)
TREES = 10
FOLDS = 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Importance:
    """Column weights of a fitted predictor, and its accuracy."""

    weights: Float
    held: float
    fitted: float
    predictor: str


def fitted_importance(
    columns: Float, factor: Factor, held_out: Mask, *, variant: str, seed: int
) -> Importance:
    """Return the weights of columns for a factor that varies on the fitted rows."""
    if variant.startswith("ubisoft/"):
        return _chosen(columns, factor, variant=variant, seed=seed)
    part = parted(factor, held_out)
    n_columns = columns.shape[1]
    places = np.arange(n_columns)
    if variant == "canonical":
        columns, places = _canonical(columns)
    if columns.shape[1] == 0:
        columns, places = np.zeros((len(columns), 1)), places[:1]
    if variant == "lightgbm":
        model, words = _lightgbm(factor, seed)
    elif factor.is_continuous:
        model, words = GradientBoostingRegressor(random_state=seed), "scikit-learn"
    else:
        model, words = GradientBoostingClassifier(random_state=seed), "scikit-learn"
    model.fit(columns[part.fit], part.fit_values)
    score = _r_squared if factor.is_continuous else _share_right
    weights = np.zeros(n_columns)
    weights[places] = np.abs(model.feature_importances_[: len(places)])
    total = float(weights.sum())
    return Importance(
        weights=weights / total if total else weights,
        held=score(model.predict(columns[part.held]), part.held_values),
        fitted=score(model.predict(columns[part.fit]), part.fit_values),
        predictor=f"gradient-boosted trees of {words}",
    )


def _canonical(columns: Float) -> tuple[Float, Whole]:
    """Return ranks of the varying columns, and the indices of these columns.

    Their signs and order are derived from their values: trees break ties between splits by both.
    """
    places = np.flatnonzero(columns.max(axis=0) > columns.min(axis=0))
    kept = columns[:, places] - columns[:, places].mean(axis=0)
    ranks = rankdata(np.where((kept * np.abs(kept)).sum(axis=0) < 0, -kept, kept), axis=0)
    order = sorted(range(len(places)), key=lambda place: ranks[:, place].tolist())
    return ranks[:, order], places[order]


def _chosen(columns: Float, factor: Factor, *, variant: str, seed: int) -> Importance:
    """Fit the predictor with the smallest ten-fold error to all rows, as Ubisoft does."""
    inputs = minmax_scale(columns[factor.rows])
    is_lasso = variant == "ubisoft/lasso"
    if len(inputs) < FOLDS:
        message = (
            f"factor {factor.number} has {len(inputs)} labels: {variant} needs at least {FOLDS} "
            "for its cross-validation."
        )
        raise InputError(message)
    targets = factor.values
    if factor.is_continuous:
        targets = minmax_scale(factor.values.astype(np.float64)[:, None])[:, 0]
    fit: Callable[..., Any] = _lassos if is_lasso else _forest
    settings: list[tuple[float, ...]] = [(alpha,) for alpha in ALPHAS]
    if not is_lasso:
        settings = [(depth, share) for depth in DEPTHS for share in SHARES]
    losses = [_cross_validated(fit, inputs, targets, factor, each, seed) for each in settings]
    best = settings[int(np.argmin(losses))]
    predict, weights = fit(inputs, targets, factor, best, seed, final=True)
    found = predict(inputs)
    if factor.is_continuous:
        # The squared error of guessing a uniform number by another is 1/6, by the mean 1/12.
        value = max(1 - 12 * float(np.mean((found - targets) ** 2)), 0.0)
    else:
        value = _share_right(found, targets)
    words = "a Lasso" if is_lasso else f"a random forest of {TREES} trees"
    return Importance(
        weights=weights,
        held=value,
        fitted=value,
        predictor=f"{words} of scikit-learn, chosen by {FOLDS}-fold cross-validation",
    )


def _cross_validated(
    fit: Callable[..., Any],
    inputs: Float,
    targets: Float | Whole,
    factor: Factor,
    setting: Sequence[float],
    seed: int,
) -> float:
    losses = []
    for left in _folds(targets, factor):
        kept = np.setdiff1d(np.arange(len(inputs)), left)
        predict, _ = fit(inputs[kept], targets[kept], factor, setting, seed)
        found = predict(inputs[left])
        if factor.is_continuous:
            losses.append(float(np.mean((found - targets[left]) ** 2)))
        else:
            losses.append(float(np.mean(found != targets[left])))
    return float(np.mean(losses))


def _folds(targets: Float | Whole, factor: Factor) -> list[Whole]:
    """Return the rows of each fold: contiguous as in Ubisoft's code, or stratified by class."""
    if factor.is_continuous:
        return np.array_split(np.arange(len(targets)), FOLDS)
    order = np.argsort(targets, kind="stable")
    return [np.sort(order[fold::FOLDS]) for fold in range(FOLDS)]


def _lassos(
    inputs: Float,
    targets: Float | Whole,
    factor: Factor,
    setting: Sequence[float],
    _seed: int,
    *,
    final: bool = False,
) -> tuple[Callable[[Float], Float], Float]:
    """Return one Lasso, or one per class indicator, and the sum of their weights."""
    columns = targets.astype(np.float64)[:, None]
    if not factor.is_continuous:
        columns = indicators(targets.astype(np.intp), factor.classes)
    models = []
    for column in columns.T:
        # Ubisoft's final fit has fewer steps than the fits that selected it.
        model = Lasso(alpha=setting[0], max_iter=1000 if final else 5000)
        with quietly():
            models.append(model.fit(inputs, column))
    weights = np.sum([np.abs(model.coef_) for model in models], axis=0)

    def predict(rows: Float) -> Float:
        found: Float = np.column_stack([model.predict(rows) for model in models])
        return found[:, 0] if factor.is_continuous else found.argmax(axis=1)

    return predict, weights


def _forest(
    inputs: Float,
    targets: Float | Whole,
    factor: Factor,
    setting: Sequence[float],
    seed: int,
    *,
    final: bool = False,
) -> tuple[Callable[[Float], Float], Float]:
    kind = RandomForestRegressor if factor.is_continuous else RandomForestClassifier
    depth, share = setting
    model = kind(
        n_estimators=TREES, max_depth=int(depth), max_features=float(share), random_state=seed
    )
    model.fit(inputs, targets)
    return model.predict, np.asarray(model.feature_importances_, dtype=np.float64)


def _lightgbm(factor: Factor, seed: int) -> tuple[Any, str]:
    try:
        library = import_module("lightgbm")
    except ImportError:
        what = "the variant lightgbm of DCI"
        raise MissingExtraError(what, package="lightgbm", extra="boost") from None
    kind = library.LGBMRegressor if factor.is_continuous else library.LGBMClassifier
    model = kind(
        importance_type="gain",
        random_state=seed,
        deterministic=True,
        force_row_wise=True,
        n_jobs=1,
        verbose=-1,
    )
    return model, f"LightGBM {library.__version__}, by gain"


def _share_right(found: Any, values: Any) -> float:
    return float(np.mean(np.asarray(found) == values))


def _r_squared(found: Any, values: Any) -> float:
    return float(r2_score(values, found))
