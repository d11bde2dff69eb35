"""Stability of codes while one factor is fixed: the interventional robustness score."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from upto.core import InputError
from upto.core.array_types import Float
from upto.disentanglement.predictor_tables import (
    BINS,
    Codes,
    Factor,
    Whole,
    as_codes,
    as_factors,
    constant_codes,
    one_of,
    sentences,
    without_outliers,
)
from upto.disentanglement.score import FactorScore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.disentanglement.predictor_tables import CodesLike, FactorsLike

VARIANTS = ("disentanglement_lib", "robust")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Irs:
    """The interventional robustness score.

    Parameters
    ----------
    score
        The score, with one part per code: its stability while its best factor is fixed.
    matrix
        Codes × factors; NaN for excluded factors and constant codes.
    """

    score: FactorScore
    matrix: Float


def irs_score(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    continuous: bool | Sequence[bool] = False,
    discrete_codes: bool = False,
    variant: str = "disentanglement_lib",
    quantile: float = 0.99,
    bins: int = BINS,
) -> Irs:
    r"""Return the stability of codes while the factor that determines them most is fixed.

    Parameters
    ----------
    codes, factors, continuous, discrete_codes
        As in `beta_vae_score`.
    variant
        ``disentanglement_lib``: deviations are relative to the largest, and codes are weighted by
        theirs; ``robust``: codes have unit variance and no outliers, deviations are relative to
        the same quantile, and values that occur only once are ignored.
    quantile
        Quantile of the deviations from the mean while a factor is fixed; 1 is the paper's version.
    bins
        As in `beta_vae_score`.

    Returns
    -------
    Irs
        With the ``score``, and the ``matrix`` of codes × factors behind it.

    See Also
    --------
    factor_vae_score : The code that varies least while a factor is fixed.
    beta_vae_score : A classifier of such variation.

    Notes
    -----
    With the quantile Q of deviations from the mean while factor k has value v, averaged over its
    values, and :math:`D_j` the largest deviation of code j over all rows,

    .. math::

        \mathrm{IRS}_{jk} = 1 - \frac{1}{D_j} \operatorname{mean}_v
        Q\left( | c_j - \mathrm{E}[c_j \mid v_k = v] | \right), \qquad
        \mathrm{IRS} = \frac{\sum_j D_j \max_k \mathrm{IRS}_{jk}}{\sum_j D_j}

    In the variant ``robust`` :math:`D_j` is the same quantile, and codes have equal weight.

    References
    ----------
    Suter et al. (2019). Robustly disentangled causal mechanisms: Validating deep representations
    for interventional robustness. International Conference on Machine Learning.

    Locatello et al. (2019). Challenging common assumptions in the unsupervised learning of
    disentangled representations. International Conference on Machine Learning.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import irs_score
    >>> factors = np.random.default_rng(0).integers(4, size=(400, 2))
    >>> irs_score(factors, factors).score.value
    1.0
    """
    if not 0.0 < quantile <= 1.0:
        message = f"the quantile of deviations is {quantile:g}: give one above 0 and at most 1."
        raise InputError(message)
    read, found, faults = read_robustly(
        codes, factors, variant, continuous=continuous, discrete_codes=discrete_codes
    )
    is_robust = variant == "robust"
    if is_robust:
        read = replace(read, columns=read.standardised())
    alive = ~read.is_constant
    overall = _deviations(read, np.arange(len(read.columns)))
    largest = np.quantile(overall, quantile, axis=0) if is_robust else overall.max(axis=0)
    matrix = np.full((read.count, len(found)), np.nan)
    for place, factor in enumerate(found):
        if factor.fault:
            faults.append(factor.fault)
            continue
        classes = factor.as_classes(bins)
        groups = [classes.rows[classes.values == value] for value in range(classes.classes)]
        if is_robust:
            groups = [rows for rows in groups if len(rows) > 1]
        if not groups:
            faults.append(f"factor {factor.number} has no repeated value")
            continue
        inner = [np.quantile(_deviations(read, rows), quantile, axis=0) for rows in groups]
        left = np.mean(inner, axis=0)[alive]
        matrix[alive, place] = 1.0 - left / largest[alive]
    name = f"irs/{variant}"
    if np.isnan(matrix).all():
        value = None if alive.any() else 0.0
        parts: tuple[float | None, ...] = (0.0 if value == 0.0 else None,) * read.count
        score = FactorScore(name=name, value=value, per_code=parts, says=sentences(faults))
        return Irs(score=score, matrix=matrix)
    best = np.nanmax(matrix[alive], axis=1)
    weights = np.ones_like(best) if is_robust else largest[alive]
    per_code = np.zeros(read.count)
    per_code[alive] = best
    score = FactorScore(
        name=name,
        value=float(np.average(best, weights=weights)),
        per_code=tuple(float(part) for part in per_code),
        says=sentences(faults),
    )
    return Irs(score=score, matrix=matrix)


def read_robustly(
    codes: CodesLike,
    factors: FactorsLike,
    variant: str,
    *,
    continuous: bool | Sequence[bool],
    discrete_codes: bool,
) -> tuple[Codes, tuple[Factor, ...], list[str]]:
    """Return codes, without outliers in the variant ``robust``, and factors with their faults."""
    one_of(variant, VARIANTS, "variant of this score")
    read = as_codes(codes, discrete_codes=discrete_codes)
    if variant == "robust" and not discrete_codes:
        read = replace(read, columns=without_outliers(read.columns))
    found = as_factors(factors, read, continuous=continuous)
    return read, found, [constant_codes(read)]


def _deviations(codes: Codes, rows: Whole) -> Float:
    columns = codes.columns[rows]
    return codes.gathered(np.abs(columns - columns.mean(axis=0)))
