"""Loss of a multinomial regression in sample, by a fast search or by scikit-learn's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.disentanglement.predictors import fitted_logistic

if TYPE_CHECKING:
    from upto.core.array_types import Float
    from upto.disentanglement.predictor_tables import Whole

STEPS, GRADIENT = 100, 1e-4
"""Limits of the regression's search: scikit-learn's defaults, which the authors use."""
SEARCHED_CLASSES = 100
"""Factors with more classes are predicted by the discriminant from which the search starts."""
LEAST_WITHIN = 1e-8
"""Variance assigned to classes that never vary, relative to that of a whitened code."""
SURE_STEPS = 30
"""Steps after which a search that must match the authors' is left to scikit-learn."""


def regression_loss(inputs: Any, labels: Whole, *, as_authors: bool = False) -> float:
    """Return the mean log loss of the regression in sample."""
    chosen = None
    if labels.max() > 1 and isinstance(inputs, np.ndarray):
        counts = np.bincount(labels)
        weights = 1.0 / counts[labels] if as_authors else np.ones(len(labels))
        chosen = _softmax(inputs, labels, weights / weights.sum(), as_authors=as_authors)
    if chosen is None:
        model = fitted_logistic(
            inputs,
            labels,
            C=np.inf,
            tol=GRADIENT,
            max_iter=STEPS,
            class_weight="balanced" if as_authors else None,
        )
        chosen = model.predict_proba(inputs)[np.arange(len(labels)), labels]
    least = np.finfo(np.float64).eps
    return float(-np.log(np.clip(chosen, least, 1.0 - least)).mean())


def _softmax(inputs: Float, labels: Whole, weights: Float, *, as_authors: bool) -> Float | None:
    """Return the probability of each label by a regression that follows scikit-learn's steps.

    Classes are rows here, which is three times as fast. The two differ by rounding, which vanishes
    if the search converges. Otherwise rounding grows to 1e-7, and only scikit-learn's own search
    ends where the authors' does: None if it must match theirs.
    """
    # The import takes longer than many regressions.
    from scipy.optimize import minimize

    n_samples, width = inputs.shape
    rows = np.column_stack([inputs, np.ones(n_samples)])
    columns = np.ascontiguousarray(rows.T)
    classes = int(labels.max()) + 1
    chances = np.empty((classes, n_samples))
    own = labels * n_samples + np.arange(n_samples)

    def fill(weight: Float) -> tuple[Float, Float]:
        np.matmul(weight.reshape(classes, width + 1), columns, out=chances)
        np.subtract(chances, chances.max(axis=0), out=chances)
        margins = chances.ravel()[own]
        np.exp(chances, out=chances)
        return margins, chances.sum(axis=0)

    def loss(weight: Float) -> tuple[float, Float]:
        margins, sums = fill(weight)
        np.multiply(chances, weights / sums, out=chances)
        chances.ravel()[own] -= weights
        return float(weights @ (np.log(sums) - margins)), (chances @ rows).ravel()

    start = np.zeros(classes * (width + 1))
    if not as_authors:
        # The loss is convex: a better start reaches the same optimum in fewer steps.
        start = min(start, _discriminant(inputs, labels), key=lambda weight: loss(weight)[0])
        if classes > SEARCHED_CLASSES:
            margins, sums = fill(start)
            return np.exp(margins) / sums
    found = minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        options={
            "maxiter": SURE_STEPS if as_authors else STEPS,
            "maxls": 50,
            "gtol": GRADIENT,
            "ftol": 64 * np.finfo(np.float64).eps,
        },
    )
    if as_authors and not found.success:
        return None
    margins, sums = fill(found.x)
    return np.exp(margins) / sums


def _discriminant(inputs: Float, labels: Whole) -> Float:
    """Return the weights of Fisher's linear discriminant."""
    counts = np.bincount(labels)
    order = np.argsort(labels, kind="stable")
    means = np.add.reduceat(inputs[order], np.cumsum(counts) - counts) / counts[:, None]
    left = inputs - means[labels]
    within = left.T @ left / len(labels) + LEAST_WITHIN * np.eye(inputs.shape[1])
    slopes = np.linalg.solve(within, means.T).T
    offsets = np.log(counts / len(labels)) - 0.5 * (slopes * means).sum(axis=1)
    return np.column_stack([slopes, offsets]).ravel()
