"""Does a row find the other rows of its label before controls: average precision and its tests.

Rows that are equally similar to a row come in every order alike: the average precision is the mean
over these orders. A row's own label is searched among rows of another label, or among controls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from upto.batch_metrics.mixing.points import as_codes, as_rows
from upto.batch_metrics.retrieval_nulls import (
    NULL_SIZE,
    RandomOrders,
    average_precision_of,
    chance_precision,
)
from upto.batch_metrics.value_names import as_names
from upto.core import InputError
from upto.core.array_types import Float, Index
from upto.measures.tails import q_values

Names = Sequence[Any] | NDArray[Any]
Similarity = Literal["cosine", "absolute-cosine", "correlation", "euclidean"]
SIMILARITIES: tuple[Similarity, ...] = ("cosine", "absolute-cosine", "correlation", "euclidean")
Positives = Literal["all", "other-batches"]
Negatives = Literal["all", "same-batch"]

LEVEL = 0.05
"""Of the corrected p-values of labels that are called retrieved."""
_BLOCK_VALUES = 2**22


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AveragePrecision:
    """How early each row finds the rows of its label.

    Parameters
    ----------
    values
        Average precision; NaN for a row without positives or negatives.
    chance
        Its mean over random orders.
    n_positives, n_pairs
        How many rows are to be found, and among how many.
    """

    values: Float
    chance: Float
    n_positives: Index
    n_pairs: Index

    @property
    def normalised(self) -> Float:
        """Average precision such that chance is 0 and the best is 1."""
        room = np.maximum(1.0 - self.chance, 1e-10)
        return np.clip((self.values - self.chance) / room, -1.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievedLabel:
    """How well the rows of one label find each other.

    Parameters
    ----------
    label
        Its name.
    n_samples
        Its rows that have something to find; the means are over these.
    value, normalised, chance
        Mean average precision, the same such that chance is 0, and chance; None without rows.
    p_value, q_value
        Of the mean under random orders, and corrected by Benjamini and Hochberg.
    exact
        Whether all orders were counted and not drawn.
    says
        Why there is no value; empty where there is.
    """

    label: str
    n_samples: int
    value: float | None
    normalised: float | None
    chance: float | None
    p_value: float | None
    q_value: float | None
    exact: bool
    says: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """How well the rows of every label find each other.

    Parameters
    ----------
    labels
        Every label but the control, by name.
    value, normalised, chance
        Means over the labels that have one; None if none has.
    fraction_retrieved
        The share of those labels whose corrected p-value is below `level`.
    level
        The false discovery rate.
    """

    labels: tuple[RetrievedLabel, ...]
    value: float | None
    normalised: float | None
    chance: float | None
    fraction_retrieved: float | None
    level: float


def average_precision(
    rows: Float,
    labels: Names,
    *,
    batches: Names | None = None,
    control: str | None = None,
    positives: Positives = "all",
    negatives: Negatives = "all",
    similarity: Similarity = "cosine",
) -> AveragePrecision:
    """Return how early each row finds the rows of its label.

    Parameters
    ----------
    rows
        Samples in rows.
    labels
        The label of each row: what rows have in common that are to be found.
    batches
        The batch of each row, for `positives` and `negatives`.
    control
        The label of controls: rows are searched among these, and controls search nothing. Without
        it rows are searched among all rows of other labels.
    positives
        ``other-batches``: rows of the own batch need not be found (copairs' pos_diffby).
    negatives
        ``same-batch``: only rows of the own batch stand in between (copairs' neg_sameby).
    similarity
        What ranks rows. A row of zeros has no direction; its cosine to every row is 0.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[1.0, 0.1], [1.0, 0.2], [0.1, 1.0], [0.2, 1.0]])
    >>> average_precision(rows, ["a", "a", "b", "b"]).values
    array([1., 1., 1., 1.])
    """
    values = as_rows(rows)
    names = as_names(labels)
    codes = as_codes(names, len(values), what="labels")
    places = _places(len(values), batches, positives, negatives)
    is_control = np.zeros(len(values), dtype=bool)
    if control is not None:
        is_control = names == str(control)
        if not is_control.any():
            message = f"none of {len(values)} rows has the label {control!r} of controls."
            raise InputError(message)
    sides = _prepare(values, similarity)
    found = np.full(len(values), np.nan)
    n_positives = np.zeros(len(values), dtype=np.intp)
    n_pairs = np.zeros(len(values), dtype=np.intp)
    for code in np.unique(codes[~is_control]):
        own = np.flatnonzero(codes == code)
        others = np.flatnonzero(is_control if control is not None else codes != code)
        block = max(1, _BLOCK_VALUES // (len(own) + len(others)))
        for start in range(0, len(own), block):
            some = own[start : start + block]
            to_own = _similarities(sides, some, own, similarity)
            to_others = _similarities(sides, some, others, similarity)
            for place, row in enumerate(some):
                sought = own != row
                if positives == "other-batches":
                    sought &= places[own] != places[row]
                between = to_others[place]
                if negatives == "same-batch":
                    between = between[places[others] == places[row]]
                n_positives[row] = np.count_nonzero(sought)
                n_pairs[row] = n_positives[row] + len(between)
                if n_positives[row] and len(between):
                    found[row] = average_precision_of(to_own[place][sought], between)
    return AveragePrecision(
        values=found,
        chance=chance_precision(n_positives, n_pairs),
        n_positives=n_positives,
        n_pairs=n_pairs,
    )


def mean_average_precision(
    rows: Float,
    labels: Names,
    *,
    batches: Names | None = None,
    control: str | None = None,
    positives: Positives = "all",
    negatives: Negatives = "all",
    similarity: Similarity = "cosine",
    null_size: int = NULL_SIZE,
    level: float = LEVEL,
    seed: int = 0,
) -> Retrieval:
    """Return the mean average precision of every label, and whether it is beyond chance.

    Parameters
    ----------
    rows, labels, batches, control, positives, negatives, similarity
        As of `average_precision`.
    null_size
        Random orders that are drawn. Where there are no more orders than that, all are counted
        and the p-value is exact; with 0 there are no p-values.
    level
        The false discovery rate at which a label is called retrieved.
    seed
        Of the random orders.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[1.0, 0.1], [1.0, 0.2], [0.1, 1.0], [0.2, 1.0]])
    >>> found = mean_average_precision(rows, ["a", "a", "c", "c"], control="c")
    >>> found.labels[0].value, round(found.labels[0].p_value, 4)
    (1.0, 0.3333)
    """
    single = average_precision(
        rows,
        labels,
        batches=batches,
        control=control,
        positives=positives,
        negatives=negatives,
        similarity=similarity,
    )
    names = as_names(labels)
    orders = RandomOrders(null_size=null_size, seed=seed)
    scored = [
        _score_label(str(name), np.flatnonzero(names == name), single, orders)
        for name in np.unique(names)
        if control is None or name != str(control)
    ]
    p_values = [np.nan if each.p_value is None else each.p_value for each in scored]
    complete = tuple(
        each if each.p_value is None else replace(each, q_value=float(q_value))
        for each, q_value in zip(scored, q_values(np.array(p_values)), strict=True)
    )
    below = [each.q_value < level for each in complete if each.q_value is not None]
    return Retrieval(
        labels=complete,
        value=_mean([each.value for each in complete]),
        normalised=_mean([each.normalised for each in complete]),
        chance=_mean([each.chance for each in complete]),
        fraction_retrieved=float(np.mean(below)) if below else None,
        level=level,
    )


def _score_label(
    name: str, index: Index, single: AveragePrecision, orders: RandomOrders
) -> RetrievedLabel:
    usable = index[~np.isnan(single.values[index])]
    if not len(usable):
        lacks = "other row to find" if not single.n_positives[index].any() else "row in between"
        return RetrievedLabel(
            label=name,
            n_samples=0,
            value=None,
            normalised=None,
            chance=None,
            p_value=None,
            q_value=None,
            exact=False,
            says=f"No row of {name} has a {lacks}.",
        )
    value = float(single.values[usable].mean())
    p_value, exact = None, False
    if orders.null_size:
        p_value, exact = orders.p_value(value, single.n_positives[usable], single.n_pairs[usable])
    return RetrievedLabel(
        label=name,
        n_samples=len(usable),
        value=value,
        normalised=float(single.normalised[usable].mean()),
        chance=float(single.chance[usable].mean()),
        p_value=p_value,
        q_value=None,
        exact=exact,
    )


def _places(
    n_samples: int, batches: Names | None, positives: Positives, negatives: Negatives
) -> Index:
    if positives not in ("all", "other-batches"):
        message = f"there are no positives {positives!r}: they are all or other-batches."
        raise InputError(message)
    if negatives not in ("all", "same-batch"):
        message = f"there are no negatives {negatives!r}: they are all or same-batch."
        raise InputError(message)
    if batches is None:
        if (positives, negatives) != ("all", "all"):
            message = "there are no batches to choose pairs by: give one for each row."
            raise InputError(message)
        return np.zeros(n_samples, dtype=np.intp)
    return as_codes(batches, n_samples, what="batches")


def _prepare(values: Float, similarity: Similarity) -> Float:
    if similarity not in SIMILARITIES:
        message = f"there is no similarity {similarity!r}: it is one of {', '.join(SIMILARITIES)}."
        raise InputError(message)
    if similarity == "euclidean":
        centred: Float = values - values.mean(axis=0)
        return centred
    if similarity == "correlation":
        values = values - values.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(values, axis=1, keepdims=True)
    unit: Float = np.divide(values, norms, out=np.zeros_like(values), where=norms > 0.0)
    return unit


def _similarities(sides: Float, some: Index, others: Index, similarity: Similarity) -> Float:
    inner: Float = sides[some] @ sides[others].T
    if similarity == "absolute-cosine":
        np.abs(inner, out=inner)
    if similarity != "euclidean":
        return inner
    squares = np.einsum("ij,ij->i", sides, sides)
    squared = squares[some, None] + squares[others] - 2.0 * inner
    distances = np.sqrt(np.maximum(squared, 0.0))
    near: Float = 1.0 / (1.0 + distances)
    return near


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
