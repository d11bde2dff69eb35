"""Prediction of a factor from all codes together: Ridgeway's explicitness, R² and other probes."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegressionCV, RidgeCV
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import KFold

from upto.core import InputError, random_stream
from upto.disentanglement.predictor_tables import (
    BINS,
    Codes,
    Factor,
    Part,
    as_codes,
    as_factors,
    averaged,
    constant_codes,
    held_out_mask,
    one_of,
    parted,
    scaled,
    without_outliers,
)
from upto.disentanglement.predictors import fitted_logistic, indicators

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from upto.core.array_types import Float
    from upto.disentanglement.predictor_tables import CodesLike, FactorsLike, Whole
    from upto.disentanglement.score import FactorScore

RIDGEWAY = ("disentanglement_lib", "ubisoft")
PREDICTORS = ("linear", "boosted-trees")
PENALTIES = tuple(np.logspace(-4, 4, 10))
FOLDS = 5


def ridgeway_explicitness(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    continuous: bool | Sequence[bool] = False,
    discrete_codes: bool = False,
    variant: str = "disentanglement_lib",
    held_out: ArrayLike | None = None,
    bins: int = BINS,
    seed: int = 0,
) -> FactorScore:
    r"""Return the area under the ROC curve for each class of a factor against all others.

    Parameters
    ----------
    codes, factors, continuous, discrete_codes
        One row per sample; None and NaN mark missing labels. Continuous factors are cut into
        classes by `bins` bins.
    variant
        ``disentanglement_lib``: one logistic regression per factor, standardised codes, held-out
        rows, guessing scores 0.5; ``ubisoft``: one balanced regression per class, codes scaled to
        [0, 1], in sample, guessing scores 0 (their second implementation, with bins of equal
        widths).
    held_out
        Mask of the rows to score; by default a third, drawn with `seed`.
    bins
        Number of bins of a continuous factor.
    seed
        Seed of the rows to score.

    Returns
    -------
    FactorScore
        The mean over factors.

    See Also
    --------
    ridgeway_modularity : The other score of these authors.
    explicitness : The loss instead of the area.
    linear_probe : R² instead of the area.

    Notes
    -----
    With the area :math:`A_{kc}` of the ROC curve of class c of factor k, of :math:`C_k` classes,

    .. math::

        \frac{1}{K} \sum_k \frac{1}{C_k} \sum_c A_{kc}

    and in the variant ``ubisoft`` :math:`2 A_{kc} - 1` in its place.

    References
    ----------
    Ridgeway and Mozer (2018). Learning deep disentangled embeddings with the F-statistic loss.
    Advances in Neural Information Processing Systems.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import ridgeway_explicitness
    >>> factors = np.random.default_rng(0).integers(3, size=(300, 1))
    >>> codes = np.hstack([np.cos(2 * factors), np.sin(2 * factors)])
    >>> round(ridgeway_explicitness(codes, factors).value, 2)
    1.0
    """
    one_of(variant, RIDGEWAY, "variant of Ridgeway's explicitness")
    read = as_codes(codes, discrete_codes=discrete_codes)
    found = as_factors(factors, read, continuous=continuous)
    mask = held_out_mask(len(read.columns), held_out, seed)
    is_ubisoft = variant == "ubisoft"
    parts: list[float | None] = []
    faults = [constant_codes(read)]
    for factor in found:
        classes = factor.as_classes(bins, equal_widths=is_ubisoft)
        part = parted(classes, mask)
        fault = classes.fault if is_ubisoft else part.fault
        area = None
        if not fault:
            area = _areas_one_by_one(read, classes) if is_ubisoft else _areas(read, part)
            if area is None:
                fault = f"factor {factor.number} has one value on held-out rows"
        parts.append(area)
        faults.append(fault)
    return averaged(f"ridgeway-explicitness/{variant}", parts, faults)


def linear_probe(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    continuous: bool | Sequence[bool] = False,
    discrete_codes: bool = False,
    held_out: ArrayLike | None = None,
    seed: int = 0,
) -> FactorScore:
    r"""Return held-out R² of least squares; for a discrete factor, of its class indicators.

    Outliers of codes are clipped. Noise scores below zero.

    Parameters
    ----------
    codes, factors, continuous, discrete_codes, held_out, seed
        As for `ridgeway_explicitness`; continuous factors are not cut into bins.

    Returns
    -------
    FactorScore
        The mean over factors, at most 1.

    See Also
    --------
    explicitness : The same question in-sample, relative to chance.
    downstream_probe : Accuracy of other predictors.

    Notes
    -----
    On the held-out rows, with predictions :math:`\hat v`,

    .. math::

        R^2 = 1 - \frac{\sum_i \lVert v_i - \hat v_i \rVert^2}{\sum_i \lVert v_i - \bar v \rVert^2}

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import linear_probe
    >>> factors = np.random.default_rng(0).normal(size=(300, 2))
    >>> codes = factors @ [[1.0, 2.0], [-1.0, 1.0]]
    >>> round(linear_probe(codes, factors, continuous=True).value, 2)
    1.0
    """
    read = as_codes(codes, discrete_codes=discrete_codes)
    found = as_factors(factors, read, continuous=continuous)
    mask = held_out_mask(len(read.columns), held_out, seed)
    parts: list[float | None] = []
    faults = [constant_codes(read)]
    # Factors labelled on the same rows are predicted from the same columns.
    designs: dict[bytes, tuple[Float, Float]] = {}
    for factor in found:
        part = parted(factor, mask)
        fault = part.fault
        if not fault and part.held_values.max() == part.held_values.min():
            fault = f"factor {factor.number} has one value on held-out rows"
        faults.append(fault)
        if fault:
            parts.append(None)
            continue
        labelled = factor.rows.tobytes()
        if labelled not in designs:
            designs[labelled] = _standardised(read, part, is_robust=not discrete_codes)
        fit, held = designs[labelled]
        targets, truth = part.fit_values, part.held_values
        if not factor.is_continuous:
            targets, truth = (
                indicators(each.astype(np.intp), factor.classes) for each in (targets, truth)
            )
        missed = truth - LinearRegression().fit(fit, targets).predict(held)
        parts.append(1.0 - float((missed**2).sum() / ((truth - truth.mean(axis=0)) ** 2).sum()))
    return averaged("linear-probe/held-out r2", parts, faults)


def downstream_probe(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    predictor: str = "linear",
    train_rows: int | None = None,
    continuous: bool | Sequence[bool] = False,
    discrete_codes: bool = False,
    held_out: ArrayLike | None = None,
    seed: int = 0,
) -> FactorScore:
    """Return the accuracy or R² on held-out rows after fitting on some or all other rows.

    Parameters
    ----------
    codes, factors
        As in `ridgeway_explicitness`.
    predictor
        ``linear``: logistic regression with a penalty selected by five-fold cross-validation, as
        in disentanglement_lib (ridge regression for a continuous factor); ``boosted-trees``:
        scikit-learn's gradient-boosted trees.
    train_rows
        Number of rows to fit on, drawn with `seed` from those not held out; by default all.
    continuous, discrete_codes, held_out, seed
        As in `ridgeway_explicitness`.

    Returns
    -------
    FactorScore
        The mean over factors.

    See Also
    --------
    linear_probe : Least squares, without a penalty to choose.
    dci_scores : Has the accuracy of its predictor as informativeness.

    References
    ----------
    Locatello et al. (2019). Challenging common assumptions in the unsupervised learning of
    disentangled representations. International Conference on Machine Learning.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import downstream_probe
    >>> factors = np.random.default_rng(0).normal(size=(300, 1))
    >>> codes = np.hstack([factors, -factors])
    >>> round(downstream_probe(codes, factors, continuous=True).value, 2)
    1.0
    """
    one_of(predictor, PREDICTORS, "predictor")
    if train_rows is not None and train_rows < 2:
        message = f"train_rows is {train_rows}: give 2 or more."
        raise InputError(message)
    read = as_codes(codes, discrete_codes=discrete_codes)
    found = as_factors(factors, read, continuous=continuous)
    mask = held_out_mask(len(read.columns), held_out, seed)
    parts: list[float | None] = []
    faults = [constant_codes(read)]
    for factor in found:
        part = _fewer(parted(factor, mask), factor, train_rows, seed)
        needs_folds = predictor == "linear" and not factor.is_continuous and not part.fault
        if needs_folds and not _has_folds(part.fit_values.astype(np.intp)):
            fault = f"factor {factor.number} has too few labels for {FOLDS} folds of two classes"
            part = replace(part, fault=fault)
        faults.append(part.fault)
        parts.append(None if part.fault else _predicted(read, factor, part, predictor, seed))
    rows = "" if train_rows is None else f"/{train_rows} rows"
    return averaged(f"downstream/{predictor}{rows}", parts, faults)


def _standardised(codes: Codes, part: Part, *, is_robust: bool) -> tuple[Float, Float]:
    fit, held = codes.columns[part.fit], codes.columns[part.held]
    if is_robust:
        # A line is unbounded: one distant code among held-out rows would determine their R².
        fit, held = without_outliers(fit), without_outliers(held, like=fit)
    centre, spread = fit.mean(axis=0), fit.std(axis=0)
    return scaled(fit, centre, spread), scaled(held, centre, spread)


def _areas(codes: Codes, part: Part) -> float | None:
    fit, held = _standardised(codes, part, is_robust=False)
    model = fitted_logistic(fit, part.fit_values.astype(np.intp))
    shares = model.predict_proba(held)
    areas = []
    for place, label in enumerate(model.classes_):
        is_class = part.held_values == label
        if is_class.any() and not is_class.all():
            areas.append(float(roc_auc_score(is_class, shares[:, place])))
    return float(np.mean(areas)) if areas else None


def _areas_one_by_one(codes: Codes, factor: Factor) -> float:
    columns = codes.columns[factor.rows]
    low = columns.min(axis=0)
    columns = scaled(columns, low, columns.max(axis=0) - low)
    areas = []
    for label in range(factor.classes):
        is_class = (factor.values == label).astype(np.intp)
        model = fitted_logistic(columns, is_class, class_weight="balanced")
        areas.append(float(roc_auc_score(is_class, model.predict_proba(columns)[:, 1])))
    return 2 * (float(np.mean(areas)) - 0.5)


def _fewer(part: Part, factor: Factor, train_rows: int | None, seed: int) -> Part:
    if part.fault or train_rows is None or train_rows >= len(part.fit):
        return part
    order = random_stream(seed, "factors", "train rows").permutation(len(part.fit))[:train_rows]
    values = part.fit_values[order]
    fault = ""
    if values.max() == values.min():
        fault = f"factor {factor.number} has one value on the {train_rows} rows to fit on"
    return replace(part, fit=part.fit[order], fit_values=values, fault=fault)


def _predicted(codes: Codes, factor: Factor, part: Part, predictor: str, seed: int) -> float:
    fit, held = codes.columns[part.fit], codes.columns[part.held]
    if factor.is_continuous:
        model = GradientBoostingRegressor(random_state=seed)
        if predictor == "linear":
            model = RidgeCV(alphas=PENALTIES)
            fit, held = _standardised(codes, part, is_robust=True)
        model.fit(fit, part.fit_values)
        return float(r2_score(part.held_values, model.predict(held)))
    labels = part.fit_values.astype(np.intp)
    if predictor == "linear":
        model = _cross_validated(fit, labels)
    else:
        model = GradientBoostingClassifier(random_state=seed).fit(fit, labels)
    return float(np.mean(model.predict(held) == part.held_values))


def _cross_validated(columns: Float, labels: Whole) -> LogisticRegressionCV:
    with warnings.catch_warnings():
        # These warnings announce changes of defaults that are set here or do not matter.
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegressionCV(Cs=10, cv=KFold(FOLDS), scoring="accuracy")
        return model.fit(columns, labels)


def _has_folds(labels: Whole) -> bool:
    """Return whether the rows outside each fold have two classes."""
    if len(labels) < FOLDS:
        return False
    folds = KFold(FOLDS).split(labels)
    return all(labels[kept].max() > labels[kept].min() for kept, _ in folds)
