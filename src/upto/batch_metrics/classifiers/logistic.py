"""Ridge logistic regression on standardised columns, by Newton's method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.batch_metrics.classifiers.check_task import chosen_rows, rows_of_width
from upto.core.array_types import Float
from upto.engines import ThreadsEngine, blas_threads_for

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from upto.engines.base import Arrays


STEPS = 50
TOLERANCE = 1e-20
"""Tolerance on the squared Newton step in the Hessian metric, over the total row weight."""


class PreparedLogistic:
    """Training rows with columns of mean zero and unit variance.

    Whitened rows stay unchanged, so any rotation of them gives the same scores: a rotation changes
    neither the loss nor the penalty.
    """

    def __init__(self, rows: Float, *, n_threads: int) -> None:
        self._engine = ThreadsEngine(n_threads=n_threads)
        self._mean = rows.mean(axis=0)
        varies = rows.max(axis=0) > rows.min(axis=0)
        deviations = np.where(varies, rows.std(axis=0), 1.0)
        self._scale = np.where(varies, 1.0 / np.where(deviations > 0.0, deviations, 1.0), 0.0)
        self._rows = (rows - self._mean) * self._scale

    @property
    def predictor(self) -> str:
        """Description of the classifier."""
        return "logistic regression with a ridge penalty, both classes of equal weight"

    def fit(
        self, index: ArrayLike, labels: ArrayLike, *, features: ArrayLike | None = None
    ) -> FittedLogistic:
        """Fit coefficients to a subset of rows, on all or selected features."""
        height, width = self._rows.shape
        task = chosen_rows((height, width), index, labels, features)
        found = self._newton(self._rows[np.ix_(task.index, task.features)], task.labels)
        coefficients = np.zeros(width)
        coefficients[task.features] = found[1:]
        return FittedLogistic(
            mean=self._mean, scale=self._scale, coefficients=coefficients, intercept=float(found[0])
        )

    def _newton(self, rows: Float, labels: NDArray[np.bool_]) -> Float:
        n_samples, width = rows.shape
        count = int(labels.sum())
        # Classes have equal weight; the total is the number of rows of a balanced sample that would
        # estimate the class difference equally well.
        weights = np.where(labels, 2 * (n_samples - count), 2 * count) / n_samples
        # Prior under which scores of standardised rows have unit variance.
        penalty = np.full(1 + min(n_samples, width), float(width))
        penalty[0] = 0.0
        basis = None
        if n_samples < width:
            # The optimal coefficients lie in the span of the rows.
            with blas_threads_for(0):
                basis, corner = np.linalg.qr(rows.T)
            rows = np.ascontiguousarray(corner.T)
        signs = np.where(labels, 1.0, -1.0)
        total = float(weights.sum())
        found = np.zeros(len(penalty))
        loss, gradient, hessian = self._pass(rows, signs, weights, found, penalty)
        for _ in range(STEPS):
            with blas_threads_for(0):
                step = np.linalg.solve(hessian, gradient)
            decrement = float(step @ gradient)
            if decrement <= TOLERANCE * total:
                break
            size = 1.0
            while True:
                trial = self._pass(rows, signs, weights, found - size * step, penalty)
                if trial[0] <= loss - 1e-4 * size * decrement or size < 1e-3:
                    break
                size /= 2
            if trial[0] > loss:
                # Only rounding error is left.
                break
            found = found - size * step
            loss, gradient, hessian = trial
        if basis is None:
            return found
        with blas_threads_for(0):
            return np.concatenate([found[:1], basis @ found[1:]])

    def _pass(
        self, rows: Float, signs: Float, weights: Float, found: Float, penalty: Float
    ) -> tuple[float, Float, Float]:
        loss, gradient, hessian = self._engine.reduce_blocks(
            logistic_sums, rows, signs, weights, params=(found,)
        )
        ridge = penalty * found
        return (
            float(loss) + 0.5 * float(ridge @ found),
            gradient + ridge,
            hessian + np.diag(penalty),
        )


def logistic_sums(xp: Any, rows: Any, signs: Any, weights: Any, found: Any) -> Arrays:
    """Return the loss, gradient and Hessian of weighted rows; the intercept comes first."""
    inputs = xp.concat([xp.ones((rows.shape[0], 1), dtype=rows.dtype), rows], axis=1)
    margins = signs * (inputs @ found)
    size = xp.exp(-xp.abs(margins))
    zero = xp.zeros_like(margins)
    losses = xp.log1p(size) + xp.where(margins < 0, -margins, zero)
    wrong = xp.where(margins < 0, 1 / (1 + size), size / (1 + size))
    slopes = -weights * signs * wrong
    curvatures = weights * size / (1 + size) ** 2
    return (xp.sum(weights * losses), slopes @ inputs, (inputs * curvatures[:, None]).T @ inputs)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedLogistic:
    """Coefficients of one task on standardised columns."""

    mean: Float
    scale: Float
    coefficients: Float
    intercept: float

    @property
    def splits(self) -> Float:
        """Absolute coefficients."""
        return np.abs(self.coefficients)

    def score(self, rows: ArrayLike) -> Float:
        """Return the log-odds of being labelled true, with classes of equal weight."""
        found = rows_of_width(rows, len(self.coefficients))
        return ((found - self.mean) * self.scale) @ self.coefficients + self.intercept
