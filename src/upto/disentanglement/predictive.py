"""Linear predictability of each factor from all codes: the explicitness of InfoMEC."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from upto.core import random_stream
from upto.disentanglement.mutual_information import entropy
from upto.disentanglement.predictor_tables import (
    Factor,
    as_codes,
    as_factors,
    averaged,
    constant_codes,
    scaled,
    without_outliers,
)
from upto.disentanglement.predictors import quietly
from upto.disentanglement.softmax_regression import regression_loss

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from upto.core.array_types import Float
    from upto.disentanglement.predictor_tables import Codes, CodesLike, FactorsLike, Whole
    from upto.disentanglement.score import FactorScore

DEVIATIONS = 5.0
"""Standard deviations above the mean chance level from which a share counts."""
MOST_BY_CHANCE = 0.5
"""Largest share that chance may explain; above it, rows are too few for a score."""
MOST_CLASSES = 1_000
"""Factors with more classes are not predicted: rows per weight would be too few."""
DENSE_CELLS = 2**24
"""Largest number of cells for which the columns of discrete codes are a dense table."""


def explicitness(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    continuous: bool | Sequence[bool] = False,
    discrete_codes: bool = False,
    adjusted: bool = False,
    seed: int = 0,
) -> FactorScore:
    r"""Return the share of a factor's uncertainty removed by a linear predictor from the codes.

    Parameters
    ----------
    codes, factors
        One row per sample; None and NaN mark missing labels.
    continuous
        Whether each factor is continuous.
    discrete_codes
        Whether codes are categorical: integers without order.
    adjusted
        Whether to count only what exceeds chance, as in `predictive_shares`; otherwise the result
        is InfoE as its authors compute it.
    seed
        Seed of the permutation for the chance level.

    Returns
    -------
    FactorScore
        The mean over factors.

    See Also
    --------
    infomec : Has it as one of three scores.
    linear_probe : The held-out R² of least squares.
    ridgeway_explicitness : The area under the ROC curve instead of the loss.

    Notes
    -----
    With the mean log loss ℓ of a multinomial regression on the fitted rows, and that of the best
    constant guess, :math:`\ell_0`,

    .. math::

        \mathrm{InfoE} = \frac{\ell_0 - \ell}{\ell_0}

    where :math:`\ell_0` is the logarithm of the number of classes, which have equal weight in the
    fit. If `adjusted`, it is the entropy, rows have equal weight, and the share is rescaled so that
    0 is what a regression finds by chance. For a continuous factor it is R². All are in-sample.

    References
    ----------
    Hsu et al. (2023). Disentanglement via latent quantization. Advances in Neural Information
    Processing Systems.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import explicitness
    >>> labels = np.arange(60) % 3
    >>> codes = np.column_stack([np.cos(2 * labels), np.sin(2 * labels)])
    >>> round(explicitness(codes, labels[:, None]).value, 2)
    1.0
    """
    read = as_codes(codes, discrete_codes=discrete_codes)
    skipped = [factor.fault for factor in as_factors(factors, read, continuous=continuous)]
    parts, faults = predictive_parts(
        codes,
        factors,
        skipped=skipped,
        discrete_codes=discrete_codes,
        continuous=continuous,
        adjusted=adjusted,
        seed=seed,
    )
    name = "explicitness/adjusted" if adjusted else "explicitness/infomec"
    return averaged(name, parts, [constant_codes(read), *faults])


def predictive_parts(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    skipped: Sequence[str],
    adjusted: bool,
    seed: int,
    **kinds: Any,
) -> tuple[list[float | None], list[str]]:
    """Return `predictive_shares`, with the chance level computed if the share is adjusted."""
    chance = None
    if adjusted:
        chance = predictive_chance(codes, factors, skipped=skipped, seed=seed, **kinds)
    return predictive_shares(codes, factors, skipped=skipped, chance=chance, **kinds)


def predictive_shares(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    skipped: Sequence[str],
    discrete_codes: bool,
    continuous: bool | Sequence[bool],
    chance: Sequence[float | None] | None,
) -> tuple[list[float | None], list[str]]:
    """Return the predicted share of each factor, and why one is missing.

    Discrete factors are predicted by unpenalised multinomial regression on the fitted rows, with at
    most a hundred steps. As in the authors' code, classes have equal weight in the fit and the loss
    is compared with the logarithm of their number. With `chance`, from `predictive_chance`, rows
    have equal weight, the loss is compared with the entropy, outliers of codes are clipped, and
    what a regression may find by chance is not counted; if that may be half of all, the share is
    None. The search runs on whitened codes, where it converges, so that a rotation or another
    invertible map of the codes changes the share by at most a thousandth; it starts from Fisher's
    discriminant, which alone predicts factors of more than a hundred classes. Continuous factors
    are predicted by least squares: the share is R².
    """
    designs = _Designs(as_codes(codes), discrete_codes=discrete_codes, adjusted=chance is not None)
    columns = as_factors(factors, designs.codes, continuous=continuous)
    faults = _faults(columns, skipped)

    def share(place: int) -> float | None:
        if faults[place]:
            return None
        factor = columns[place]
        inputs = designs.of(factor)
        by_chance = chance[place] if chance is not None else None
        if factor.is_continuous:
            values = np.asarray(factor.values, np.float64)
            found = _explained(inputs, values, adjusted=chance is not None)
        elif by_chance is None:
            found = _as_authors(inputs, factor.values.astype(np.intp))
        else:
            found = _predicted(inputs, factor.values.astype(np.intp), by_chance)
        if found is None:
            faults[place] = (
                f"factor {factor.number} has {len(factor.rows)} labels, too few for "
                f"{designs.codes.count} codes: a regression may find half of it by chance"
            )
        return found

    return _of_each(share, columns), faults


def predictive_chance(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    skipped: Sequence[str],
    discrete_codes: bool,
    continuous: bool | Sequence[bool],
    seed: int,
) -> list[float | None]:
    """Return how much a regression reduces the loss for permuted labels of each discrete factor."""
    designs = _Designs(as_codes(codes), discrete_codes=discrete_codes, adjusted=True)
    columns = as_factors(factors, designs.codes, continuous=continuous)
    faults = _faults(columns, skipped)

    def gain(place: int) -> float | None:
        factor = columns[place]
        if faults[place] or factor.is_continuous:
            return None
        inputs, labels = designs.of(factor), factor.values.astype(np.intp)
        # The indicators of a discrete code sum to one.
        width = inputs.shape[1] - (designs.codes.count if discrete_codes else 0)
        stream = random_stream(seed, "factors", "explicitness", str(place))
        # For noise, 2 × rows × gain follows a chi-squared distribution, whose mean determines its
        # spread. One permutation may fall below that mean, and rare classes raise it.
        mean = float(width * labels.max() / (2 * len(labels)))
        if mean > MOST_BY_CHANCE * entropy(labels):
            # Already too much: no need to fit the permutation.
            return mean
        return max(mean, entropy(labels) - regression_loss(inputs, stream.permutation(labels)))

    return _of_each(gain, columns)


class _Designs:
    """Predictor columns; factors labelled on the same rows share them."""

    def __init__(self, codes: Codes, *, discrete_codes: bool, adjusted: bool) -> None:
        self.codes = codes
        self._discrete = discrete_codes
        self._adjusted = adjusted

    def of(self, factor: Factor) -> Any:
        """Return the columns on the labelled rows."""
        whiten = self._adjusted and not self._discrete and not factor.is_continuous
        if len(factor.rows) < len(self.codes.columns):
            return self._made(factor.rows, whiten=whiten)
        key = "design", self._discrete, self._adjusted, whiten
        return self.codes.once(key, lambda: self._made(factor.rows, whiten=whiten))

    def _made(self, rows: Whole, *, whiten: bool) -> Any:
        columns = self.codes.columns
        if self._adjusted and not self._discrete:
            columns = self.codes.once("drawn in", lambda: without_outliers(self.codes.columns))
        inputs = _inputs(columns[rows], discrete_codes=self._discrete)
        return _whitened(inputs) if whiten else inputs


def _faults(factors: Sequence[Factor], skipped: Sequence[str]) -> list[str]:
    return [fault or _many_classes(factor) for factor, fault in zip(factors, skipped, strict=True)]


def _of_each(make: Callable[[int], float | None], factors: Sequence[Factor]) -> list[float | None]:
    """Return the results for all factors, computed in threads."""
    # Warnings are silenced for all threads at once, and the regression releases Python's lock; its
    # products are too small for BLAS threads, which would wait for each other.
    n_threads = min(len(factors), os.cpu_count() or 1)
    with quietly(), threadpool_limits(1, "blas"), ThreadPoolExecutor(n_threads) as pool:
        # The longest fits start first, so that no thread waits for a late one.
        order = sorted(range(len(factors)), key=lambda place: -factors[place].classes)
        found = dict(zip(order, pool.map(make, order), strict=True))
    return [found[place] for place in range(len(factors))]


def _many_classes(factor: Factor) -> str:
    if factor.classes <= MOST_CLASSES:
        return ""
    return (
        f"factor {factor.number} has {factor.classes:,} classes and is predicted with at most "
        f"{MOST_CLASSES:,}"
    )


def _inputs(rows: Float, *, discrete_codes: bool) -> Any:
    if not discrete_codes:
        return scaled(rows, rows.mean(axis=0), rows.std(axis=0))
    from sklearn.preprocessing import OneHotEncoder

    columns = OneHotEncoder().fit_transform(rows)
    # Sums over rows round differently in a sparse table, so the authors' dense one is kept if able.
    return columns.toarray() if columns.shape[0] * columns.shape[1] <= DENSE_CELLS else columns


def _whitened(inputs: Float) -> Float:
    """Return uncorrelated columns of unit variance with the span of the centred ones."""
    turned, spreads, _ = np.linalg.svd(inputs, full_matrices=False)
    kept = spreads > spreads[0] * max(inputs.shape) * np.finfo(np.float64).eps
    return turned[:, kept] * np.sqrt(len(inputs)) if kept.any() else inputs


def _as_authors(inputs: Any, labels: Whole) -> float:
    whole = float(np.log(labels.max() + 1))
    return (whole - regression_loss(inputs, labels, as_authors=True)) / whole


def _predicted(inputs: Any, labels: Whole, by_chance: float) -> float | None:
    """Return the share of the entropy beyond chance; None if chance explains too much."""
    whole = entropy(labels)
    level = float(by_chance + DEVIATIONS * np.sqrt(by_chance / len(labels))) / whole
    if level > MOST_BY_CHANCE:
        return None
    return _beyond(1.0 - regression_loss(inputs, labels) / whole, level)


def _explained(inputs: Any, values: Float, *, adjusted: bool) -> float | None:
    from sklearn.linear_model import LinearRegression

    r2 = float(LinearRegression().fit(inputs, values).score(inputs, values))
    if not adjusted:
        return r2
    n_samples, width = inputs.shape
    # For noise, R² follows a beta distribution with this mean and about this deviation.
    level = (width + DEVIATIONS * np.sqrt(2.0 * width)) / max(n_samples - 1, 1)
    return _beyond(r2, float(level))


def _beyond(share: float, level: float) -> float | None:
    """Rescale a share from the level (or below) to 1; None if the level is too high."""
    if level > MOST_BY_CHANCE:
        return None
    return min(max((share - level) / (1.0 - level), 0.0), 1.0)
