"""Disentanglement, completeness and informativeness from the importance of codes for factors."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.core import InputError
from upto.core.array_types import Float
from upto.disentanglement.importances import VARIANTS, fitted_importance
from upto.disentanglement.predictor_tables import (
    as_codes,
    as_factors,
    averaged,
    constant_codes,
    held_out_mask,
    one_of,
    parted,
    sentences,
)
from upto.disentanglement.score import FactorScore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from upto.disentanglement.importances import Importance
    from upto.disentanglement.predictor_tables import CodesLike, Factor, FactorsLike, Mask

FLOOR = 1e-11
"""Added to importances by disentanglement_lib, so that a code without any has uniform shares."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dci:
    """The three scores, and the importances behind two of them.

    Parameters
    ----------
    disentanglement
        Whether each code is important for one factor only; its parts are per code.
    completeness
        Whether one code only is important for each factor; its parts are per factor.
    informativeness
        Held-out prediction of the labels: accuracy for a discrete factor, R² for a continuous one.
    fitted
        The same in sample.
    importance
        Codes × factors; NaN for excluded factors.
    predictor
        Description of the fitted predictor.

    See Also
    --------
    dci_scores : Returns it.
    """

    disentanglement: FactorScore
    completeness: FactorScore
    informativeness: FactorScore
    fitted: FactorScore
    importance: Float
    predictor: str


def dci_scores(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    continuous: bool | Sequence[bool] = False,
    discrete_codes: bool = False,
    variant: str = "disentanglement_lib",
    held_out: ArrayLike | None = None,
    seed: int = 0,
) -> Dci:
    r"""Score how codes share the prediction of factors.

    Parameters
    ----------
    codes, factors
        One row per sample; None and NaN mark missing labels.
    continuous
        Whether each factor is continuous.
    discrete_codes
        Whether codes are categorical: integers without order. Each value is then a column, and the
        importance of a code is the sum over its columns.
    variant
        ``disentanglement_lib``: scikit-learn's gradient-boosted trees; ``canonical``: the same on
        ranks of the varying codes, with order and signs derived from their values, so that neither
        matters; ``lightgbm``: the same protocol with LightGBM (extra ``boost``), several times as
        fast;
        ``ubisoft/lasso`` and ``ubisoft/random-forest``: a predictor selected by ten-fold
        cross-validation, fitted and tested on all rows, with factors and codes scaled to [0, 1],
        1 - 12 times the squared error as informativeness, and a plain mean over factors as
        completeness.
    held_out
        Mask of the rows that test the predictor; by default a third, drawn with `seed`. Ubisoft's
        variants hold out no rows.
    seed
        Seed of the predictor and of the split.

    Returns
    -------
    Dci
        The scores, and the importances.

    Raises
    ------
    InputError
        If the variant is unknown, codes and factors do not fit each other, or labels are too few
        for ten folds.
    MissingExtraError
        If LightGBM is needed and not installed.

    See Also
    --------
    importance_disentanglement : The first score of any importances.
    importance_completeness : The second score of any importances.
    infomec : The same idea with information instead of importances.
    sap_score : Prediction from single codes.

    Notes
    -----
    Predictors of discrete factors in Ubisoft's variants and of continuous ones in the others
    are ours: their sources have none. Ubisoft's own code gives no disentanglement to codes that
    come after the first one without importance; here they keep theirs. Trees break ties between
    splits by the order of columns: with few rows, another order can change the second decimal of
    all variants but ``canonical``.

    With the importance :math:`R_{jk}` of code j for factor k, of J codes and K factors,

    .. math::

        P_{jk} = \frac{R_{jk}}{\sum_k R_{jk}}, \qquad D_j = 1 + \sum_k P_{jk} \log_K P_{jk}, \qquad
        D = \sum_j \frac{\sum_k R_{jk}}{\sum_{jk} R_{jk}} D_j

    Completeness is the same with codes and factors exchanged.

    References
    ----------
    Eastwood and Williams (2018). A framework for the quantitative evaluation of disentangled
    representations. International Conference on Learning Representations.

    Locatello et al. (2019). Challenging common assumptions in the unsupervised learning of
    disentangled representations. International Conference on Machine Learning.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import dci_scores
    >>> factors = np.random.default_rng(0).integers(3, size=(90, 2))
    >>> found = dci_scores(factors * [1.0, 2.0], factors)
    >>> round(found.disentanglement.value, 2), round(found.informativeness.value, 2)
    (1.0, 1.0)
    """
    one_of(variant, VARIANTS, "variant of DCI")
    read = as_codes(codes, discrete_codes=discrete_codes)
    found = as_factors(factors, read, continuous=continuous)
    is_ubisoft = variant.startswith("ubisoft/")
    mask = held_out_mask(len(read.columns), held_out, seed)
    importance = np.full((read.count, len(found)), np.nan)
    held: list[float | None] = []
    fitted: list[float | None] = []
    faults = [constant_codes(read)]
    predictor = ""
    faults += [factor.fault if is_ubisoft else parted(factor, mask).fault for factor in found]

    def fit(place: int) -> Importance | None:
        if faults[place + 1]:
            return None
        return fitted_importance(read.columns, found[place], mask, variant=variant, seed=seed)

    for place, one in enumerate(_each_fitted(fit, found, alone=is_ubisoft)):
        held.append(one.held if one else None)
        fitted.append(one.fitted if one else None)
        if one:
            importance[:, place] = read.gathered(one.weights)
            predictor = one.predictor
    known = ~np.isnan(importance).any(axis=0)
    return Dci(
        disentanglement=_disentanglement(importance, known, f"dci/{variant}", faults),
        completeness=_completeness(
            importance, known, f"dci/{variant}", faults, weighted=not is_ubisoft
        ),
        informativeness=averaged(f"dci/{variant}/informativeness", held, faults),
        fitted=averaged(f"dci/{variant}/informativeness, fitted rows", fitted, faults),
        importance=importance,
        predictor=predictor,
    )


def _each_fitted(
    fit: Callable[[int], Importance | None], factors: Sequence[Factor], *, alone: bool
) -> list[Importance | None]:
    """Fit all factors, in threads unless they must be alone: trees release Python's lock."""
    # The longest fits start first, so that no thread waits for a late one.
    order = sorted(range(len(factors)), key=lambda place: -factors[place].classes)
    with ThreadPoolExecutor(1 if alone else min(len(factors), os.cpu_count() or 1)) as pool:
        found = dict(zip(order, pool.map(fit, order), strict=True))
    return [found[place] for place in range(len(factors))]


def importance_disentanglement(importance: ArrayLike) -> FactorScore:
    """Return the disentanglement of an importance matrix, codes × factors.

    Parameters
    ----------
    importance
        Non-negative importances.

    Returns
    -------
    FactorScore
        The mean over codes, weighted by their total importance; None for one factor.

    See Also
    --------
    importance_completeness : The same over factors.
    dci_scores : Importances of fitted predictors, with the formula.

    References
    ----------
    Eastwood and Williams (2018). A framework for the quantitative evaluation of disentangled
    representations. International Conference on Learning Representations.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import importance_disentanglement
    >>> round(importance_disentanglement(np.eye(4)[[2, 0, 3, 1]]).value, 6)
    1.0
    >>> abs(round(importance_disentanglement(np.ones((4, 4))).value, 6))
    0.0
    """
    matrix = _as_importance(importance)
    return _disentanglement(matrix, np.ones(matrix.shape[1], dtype=bool), "dci", [])


def importance_completeness(importance: ArrayLike, *, weighted: bool = True) -> FactorScore:
    """Return the completeness of an importance matrix, codes × factors.

    Parameters
    ----------
    importance
        Non-negative importances.
    weighted
        Whether to weight factors by their total importance, as in disentanglement_lib, or equally.

    Returns
    -------
    FactorScore
        The mean over factors; None for one code.

    See Also
    --------
    importance_disentanglement : The same over codes.
    dci_scores : Importances of fitted predictors, with the formula.

    References
    ----------
    Eastwood and Williams (2018). A framework for the quantitative evaluation of disentangled
    representations. International Conference on Learning Representations.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import importance_completeness
    >>> round(importance_completeness(np.eye(3)).value, 6)
    1.0
    >>> abs(round(importance_completeness(np.ones((3, 3))).value, 6))
    0.0
    """
    matrix = _as_importance(importance)
    every = np.ones(matrix.shape[1], dtype=bool)
    return _completeness(matrix, every, "dci", [], weighted=weighted)


def _disentanglement(
    importance: Float, known: Mask, name: str, faults: Sequence[str]
) -> FactorScore:
    kept = importance[:, known]
    name = f"{name}/disentanglement"
    if kept.shape[1] < 2:
        lacking = f"disentanglement needs two factors and there are {kept.shape[1]}"
        return FactorScore(name=name, value=None, says=sentences([*faults, lacking]))
    parts = _concentration(kept)
    return FactorScore(
        name=name,
        value=_weighted(parts, kept.sum(axis=1)),
        per_code=tuple(float(part) for part in parts),
        says=sentences(faults),
    )


def _completeness(
    importance: Float, known: Mask, name: str, faults: Sequence[str], *, weighted: bool
) -> FactorScore:
    kept = importance[:, known]
    name = f"{name}/completeness"
    if len(kept) < 2 or not known.any():
        lacking = f"completeness needs two codes and there are {len(kept)}" if len(kept) < 2 else ""
        return FactorScore(name=name, value=None, says=sentences([*faults, lacking]))
    parts = _concentration(kept.T)
    places = iter(parts)
    totals = kept.sum(axis=0)
    return FactorScore(
        name=name,
        value=_weighted(parts, totals if weighted else np.ones_like(totals)),
        per_factor=tuple(float(next(places)) if is_known else None for is_known in known),
        says=sentences(faults),
    )


def _concentration(rows: Float) -> Float:
    """Return one minus the entropy of each row relative to a uniform row."""
    shares = rows + FLOOR
    shares = shares / shares.sum(axis=1, keepdims=True)
    found: Float = 1.0 + (shares * np.log(shares)).sum(axis=1) / np.log(rows.shape[1])
    return np.clip(found, 0.0, 1.0)


def _weighted(parts: Float, weights: Float) -> float:
    total = float(weights.sum())
    return float(parts @ weights) / total if total else float(parts.mean())


def _as_importance(importance: ArrayLike) -> Float:
    matrix = np.asarray(importance, dtype=np.float64)
    if matrix.ndim != 2 or 0 in matrix.shape or not np.isfinite(matrix).all() or matrix.min() < 0:
        message = (
            f"importances of shape {matrix.shape} are not a finite, non-negative codes × factors "
            "table: give one number per code and factor."
        )
        raise InputError(message)
    return matrix
