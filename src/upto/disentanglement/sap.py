"""SAP score: the gap between the best and the second-best single code in predicting a factor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from sklearn.svm import LinearSVC

from upto.core.array_types import Float
from upto.disentanglement.predictor_tables import (
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
from upto.disentanglement.predictors import quietly
from upto.disentanglement.score import FactorScore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from upto.disentanglement.predictor_tables import CodesLike, Factor, FactorsLike, Part

VARIANTS = ("disentanglement_lib", "robust")
PENALTY = 0.01
"""C of the support vector machine in disentanglement_lib."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sap:
    """The score, and the accuracy of each code for each factor.

    Parameters
    ----------
    score
        Mean over factors of the gap between the two best codes.
    matrix
        Codes × factors: held-out accuracy for a discrete factor, squared correlation for a
        continuous one; NaN for excluded factors.
    """

    score: FactorScore
    matrix: Float


def sap_score(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    continuous: bool | Sequence[bool] = False,
    discrete_codes: bool = False,
    variant: str = "disentanglement_lib",
    held_out: ArrayLike | None = None,
    seed: int = 0,
) -> Sap:
    r"""Return the mean gap over factors between the best and the second-best code.

    Parameters
    ----------
    codes, factors
        One row per sample; None and NaN mark missing labels.
    continuous
        Whether each factor is continuous.
    discrete_codes
        Whether codes are categorical: integers without order. A continuous factor is then predicted
        by its mean for each value of a code.
    variant
        ``disentanglement_lib``: a linear support vector machine with C = 0.01 on the raw codes,
        which depends on their scale; ``robust``: the same on codes of unit variance, with outliers
        clipped.
    held_out
        Mask of the rows that test the classifiers of discrete factors; by default a third, drawn
        with `seed`. Correlations use all rows.

    Returns
    -------
    Sap
        With the ``score``, and the ``matrix`` of codes × factors behind it.

    See Also
    --------
    mig : The same gap of information.
    dci_scores : Prediction from all codes together.
    evaluate_scores : The same with chance levels and intervals.

    Notes
    -----
    With the score :math:`S_{jk}` of code j for factor k, held-out accuracy or squared correlation,
    and :math:`S_{(1)k}`, :math:`S_{(2)k}` the two largest,

    .. math::

        \mathrm{SAP} = \frac{1}{K} \sum_k \left( S_{(1)k} - S_{(2)k} \right)

    References
    ----------
    Kumar et al. (2018). Variational inference of disentangled latent concepts from unlabeled
    observations. International Conference on Learning Representations.

    Locatello et al. (2019). Challenging common assumptions in the unsupervised learning of
    disentangled representations. International Conference on Machine Learning.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import sap_score
    >>> factors = np.random.default_rng(0).normal(size=(500, 2))
    >>> round(sap_score(factors, factors, continuous=True).score.value, 1)
    1.0
    """
    one_of(variant, VARIANTS, "variant of SAP")
    read = as_codes(codes, discrete_codes=discrete_codes)
    found = as_factors(factors, read, continuous=continuous)
    mask = held_out_mask(len(read.columns), held_out, seed)
    is_robust = variant == "robust"
    if is_robust:
        read = replace(read, columns=without_outliers(read.columns))
    dead = read.is_constant
    matrix = np.full((read.count, len(found)), np.nan)
    faults = [constant_codes(read)]
    if read.count == 1:
        faults.append("there is only one code, so no second one to compare with")
    gaps: list[float | None] = []
    for place, factor in enumerate(found):
        part = parted(factor, mask)
        fault = factor.fault if factor.is_continuous else part.fault
        faults.append(fault)
        if fault:
            gaps.append(None)
            continue
        for code in range(read.count):
            columns = read.of(code)
            if factor.is_continuous:
                matrix[code, place] = 0.0 if dead[code] else _determined(columns, factor)
            else:
                matrix[code, place] = _accuracy(columns, part, standardise=is_robust)
        best = np.sort(matrix[:, place])
        gaps.append(float(best[-1] - best[-2]) if read.count > 1 else None)
    return Sap(score=averaged(f"sap/{variant}", gaps, faults), matrix=matrix)


def _determined(columns: Float, factor: Factor) -> float:
    centred = columns[factor.rows] - columns[factor.rows].mean(axis=0)
    values = factor.values - factor.values.mean()
    if columns.shape[1] == 1:
        code = centred[:, 0]
        spread = float(code @ code)
        return float(code @ values) ** 2 / (spread * float(values @ values)) if spread else 0.0
    predicted = centred @ np.linalg.lstsq(centred, values, rcond=None)[0]
    return float(predicted @ predicted) / float(values @ values)


def _accuracy(columns: Float, part: Part, *, standardise: bool) -> float:
    fit, held = columns[part.fit], columns[part.held]
    if standardise:
        centre, spread = fit.mean(axis=0), fit.std(axis=0)
        fit, held = scaled(fit, centre, spread), scaled(held, centre, spread)
    machine = LinearSVC(C=PENALTY, class_weight="balanced", dual=False)
    with quietly():
        machine.fit(fit, part.fit_values)
    return float(np.mean(machine.predict(held) == part.held_values))
