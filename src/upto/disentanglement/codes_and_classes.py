"""Similarities between codes and the classes of factors, as in DRVI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.core.array_types import Float
from upto.disentanglement.predictor_tables import (
    BINS,
    Factor,
    Whole,
    as_codes,
    as_factors,
    one_of,
)
from upto.disentanglement.predictors import indicators

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from upto.disentanglement.predictor_tables import CodesLike, FactorsLike

SIMILARITIES = ("smi", "spn", "bmmi")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassSimilarities:
    """Similarity of every code (row) to every class of every factor (column), from 0 to 1.

    Parameters
    ----------
    owners
        Index of the factor of each class.
    faults
        For each factor, why classes are missing; empty if none are.
    lacking
        Why no code can be compared; empty if they can.

    See Also
    --------
    class_similarities : Returns it.
    """

    table: Float
    owners: Whole
    faults: tuple[str, ...]
    lacking: str
    similarity: str


def class_similarities(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    similarity: str = "smi",
    continuous: bool | Sequence[bool] = False,
    discrete_codes: bool = False,
    bins: int = BINS,
) -> ClassSimilarities:
    r"""Return the similarities between codes and the classes of factors.

    Parameters
    ----------
    codes, factors
        One row per sample; None and NaN mark missing labels.
    similarity
        ``smi``: mutual information of a class with a code in ten bins of equal width, as a share of
        the class's entropy; ``spn``: how often the next higher row of a code has the same class,
        rescaled from chance to 1; ``bmmi``: the same share for the best threshold of a code.
    continuous
        Whether each factor is continuous: `bins` bins of equal counts are then its classes.
    discrete_codes
        Whether codes are categorical: integers without order. Then only ``smi`` is defined, and
        uses their values without binning.

    Returns
    -------
    ClassSimilarities
        The table of codes × classes.

    See Also
    --------
    latent_matching_score : One code for each class.
    most_similar_averaging_score : The best code of each class.
    most_similar_gap_score : Its lead over the second best.

    Notes
    -----
    Every value of a factor is a class, as in DRVI's ``discrete_target``; a factor of two values is
    one class, the higher, like a column of its ``one_hot_target``. For ties in a code, ``spn`` is
    the mean over all their orders; DRVI draws one.

    With the indicator y of a class and the code c in bins,

    .. math::

        \mathrm{SMI} = \frac{I(c; y)}{H(y)}, \qquad
        \mathrm{BMMI} = \max_t \frac{I([c > t]; y)}{H(y)}, \qquad
        \mathrm{SPN} = \frac{\max(0, p - q)}{1 - q}

    where p is how often the next higher row of a row of the class is of the class too, and q is the
    fraction of rows in the class.

    References
    ----------
    Moinfar and Theis (2024). Unsupervised deep disentangled representation of single-cell omics.
    bioRxiv 2024.11.06.622266.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import class_similarities
    >>> kinds = np.arange(90) % 3
    >>> found = class_similarities(kinds[:, None] == np.arange(3), kinds[:, None])
    >>> found.table.round(2).tolist()
    [[1.0, 0.27, 0.27], [0.27, 1.0, 0.27], [0.27, 0.27, 1.0]]
    """
    one_of(similarity, SIMILARITIES, "similarity of codes and classes")
    # One-hot columns would hide which values a discrete code has.
    as_codes(codes, discrete_codes=discrete_codes)
    read = as_codes(codes)
    found = as_factors(factors, read, continuous=continuous)
    lacking = ""
    if discrete_codes and similarity != "smi":
        lacking = f"codes are discrete, and {similarity} needs ordered values"
    tables: list[Float] = [np.empty((read.count, 0))]
    owners: list[int] = []
    faults = []
    binned = np.column_stack(
        [_counted(column, discrete_codes=discrete_codes) for column in read.columns.T]
    )
    for place, factor in enumerate(found):
        classes = factor.as_classes(bins)
        fault, kept = _kept(classes, similarity)
        faults.append(fault)
        if lacking or not len(kept):
            continue
        shown = indicators(classes.values.astype(np.intp), classes.classes)[:, kept]
        columns = binned if similarity == "smi" else read.columns
        score = _SCORES[similarity]
        tables.append(np.array([score(column, shown) for column in columns[factor.rows].T]))
        owners += [place] * len(kept)
    return ClassSimilarities(
        table=np.hstack(tables),
        owners=np.array(owners, dtype=np.intp),
        faults=tuple(faults),
        lacking=lacking,
        similarity=similarity,
    )


def _kept(factor: Factor, similarity: str) -> tuple[str, Whole]:
    """Return the classes of a factor that can be scored, and why others are dropped."""
    if factor.fault:
        return factor.fault, np.empty(0, dtype=np.intp)
    classes = np.array([1]) if factor.classes == 2 else np.arange(factor.classes)
    if similarity != "spn":
        return "", classes
    # A single row has no neighbour in its class.
    kept = classes[np.bincount(factor.values, minlength=factor.classes)[classes] > 1]
    left_out = len(classes) - len(kept)
    fault = f"{left_out} of {len(classes)} classes of factor {factor.number} have one row"
    return fault if left_out else "", kept


def _counted(column: Float, *, discrete_codes: bool) -> Whole:
    if discrete_codes:
        return np.unique(column, return_inverse=True)[1]
    edges = np.linspace(column.min(), column.max(), BINS + 1)
    return np.searchsorted(edges[1:-1], column, side="right")


def _smi(binned: Whole, shown: Float) -> Float:
    """Return the plug-in information of bins about each class as a share of its entropy."""
    inside = np.array([np.bincount(binned, each) for each in shown.T])
    sizes = np.bincount(binned)
    left = _spread(inside, sizes).sum(axis=1)
    whole = _spread(shown.sum(axis=0), len(shown))
    found: Float = np.clip(1.0 - left / whole, 0.0, 1.0)
    return found


def _bmmi(column: Float, shown: Float) -> Float:
    """Return the information of the best threshold about each class as a share of its entropy."""
    order = np.argsort(column, kind="stable")
    ends = np.flatnonzero(np.diff(column[order]) > 0)
    if not len(ends):
        return np.zeros(shown.shape[1])
    below = np.cumsum(shown[order], axis=0)
    total, n_rows = below[-1], len(column)
    below, sizes = below[ends], (ends + 1)[:, None]
    left = _spread(below, sizes) + _spread(total - below, n_rows - sizes)
    found: Float = np.clip(1.0 - left.min(axis=0) / _spread(total, n_rows), 0.0, 1.0)
    return found


def _spn(column: Float, shown: Float) -> Float:
    """Return how often the next row has the same class, rescaled from chance (0) to always (1)."""
    order = np.argsort(column, kind="stable")
    starts = np.concatenate([[0], np.flatnonzero(np.diff(column[order]) > 0) + 1])
    inside = np.add.reduceat(shown[order], starts, axis=0)
    sizes = np.diff([*starts, len(column)])[:, None]
    shares = inside / sizes
    # The mean over all orders of tied rows.
    pairs = (shares * (inside - 1)).sum(axis=0) + (shares[:-1] * shares[1:]).sum(axis=0)
    counts = shown.sum(axis=0)
    common = counts / len(column)
    found: Float = np.clip(pairs / (counts - 1) - common, 0.0, None) / (1 - common)
    return found


def _spread(inside: Float, sizes: Float | Whole | int) -> Float:
    """Return the entropy of class membership times the number of rows."""
    sizes = np.asarray(sizes, dtype=np.float64)
    return _times_log(sizes) - _times_log(inside) - _times_log(sizes - inside)


def _times_log(counts: Float) -> Float:
    return counts * np.log(np.maximum(counts, 1.0))


_SCORES: dict[str, Callable[..., Float]] = {"smi": _smi, "spn": _spn, "bmmi": _bmmi}
