"""Retrieval of rows with the same label: average precision and its tests.

Average precision is averaged over all orders of rows that tie in similarity. Rows of the query's
label are ranked among rows of other labels, or among controls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from upto.batch_metrics.mixing.points import as_codes, as_rows
from upto.batch_metrics.retrieval_nulls import (
    NULL_SIZE,
    RandomOrders,
    average_precision_of,
    chance_precision,
)
from upto.batch_metrics.retrieved import AveragePrecision, Retrieval, RetrievedLabel
from upto.batch_metrics.value_names import as_names
from upto.core import InputError
from upto.measures.tails import q_values

if TYPE_CHECKING:
    from upto.core.array_types import Float, Index

Names = Sequence[Any] | NDArray[Any]
Similarity = Literal["cosine", "absolute-cosine", "correlation", "euclidean"]
SIMILARITIES: tuple[Similarity, ...] = ("cosine", "absolute-cosine", "correlation", "euclidean")
Positives = Literal["all", "other-batches"]
Negatives = Literal["all", "same-batch"]

LEVEL = 0.05
"""Corrected p-value below which a label counts as retrieved."""
_BLOCK_VALUES = 2**22


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
    r"""Return the average precision of each row in retrieving the rows of its label.

    Parameters
    ----------
    rows
        Array of shape (n_samples, n_features).
    labels
        Label of each row; rows with the same label are to be retrieved.
    batches
        Batch of each row, for `positives` and `negatives`.
    control
        Label of controls: rows are ranked among these, and controls are not queries. By default
        rows are ranked among all rows of other labels.
    positives
        ``other-batches``: only rows of other batches count as positives (copairs' pos_diffby).
    negatives
        ``same-batch``: only rows of the same batch count as negatives (copairs' neg_sameby).
    similarity
        Similarity by which rows are ranked. The cosine of a row of zeros to every row is 0.

    Returns
    -------
    AveragePrecision
        One value for each row, with its chance level.

    Raises
    ------
    InputError
        If an option is unknown, no row is a control, or batches are needed and missing.

    See Also
    --------
    mean_average_precision : Means over the rows of a label, with p-values.
    upto.batch_metrics.mixing.evaluate_mixing : Other scores of batches and labels.

    Notes
    -----
    If the k-th of P positives of a row has rank :math:`r_k` among all N ranked rows,

    .. math::

        \mathrm{AP} = \frac{1}{P} \sum_{k=1}^{P} \frac{k}{r_k}, \qquad
        \mathrm{E}[\mathrm{AP}] = \frac{1}{N} \left( \frac{P - 1}{N - 1} (N - H_N) + H_N \right)

    where the expectation is over random orders and :math:`H_N = \sum_{i=1}^{N} 1/i`. Rows that tie
    are averaged over their orders.

    References
    ----------
    Kalinin et al. (2025). A versatile information retrieval framework for evaluating profile
    strength and similarity. Nature Communications 16.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.batch_metrics.retrieval import average_precision
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
            message = f"none of {len(values)} rows has the control label {control!r}."
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
    """Return the mean average precision of every label, tested against chance.

    Parameters
    ----------
    rows, labels, batches, control, positives, negatives, similarity
        See `average_precision`.
    null_size
        Number of random orders. If there are no more orders than this, all are enumerated and the
        p-value is exact; with 0 there are no p-values.
    level
        False discovery rate at which a label counts as retrieved.
    seed
        Seed of the random orders.

    Returns
    -------
    Retrieval
        The labels with their p-values, and means over them.

    See Also
    --------
    average_precision : The values of single rows, with the formula.
    upto.batches : Whether labels can be predicted in unseen batches.

    Notes
    -----
    The p-value of a label is (1 + number of random orders with a mean at least as high) / (1 +
    number of orders), or the exact fraction if all orders are enumerated. The normalised value of a
    row is (AP - chance) / (1 - chance).

    References
    ----------
    Kalinin et al. (2025). A versatile information retrieval framework for evaluating profile
    strength and similarity. Nature Communications 16.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.batch_metrics.retrieval import mean_average_precision
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
        lacks = "positive row" if not single.n_positives[index].any() else "negative row"
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
        message = f"there are no positives {positives!r}: choose all or other-batches."
        raise InputError(message)
    if negatives not in ("all", "same-batch"):
        message = f"there are no negatives {negatives!r}: choose all or same-batch."
        raise InputError(message)
    if batches is None:
        if (positives, negatives) != ("all", "all"):
            message = "batches are needed to choose pairs: give one per row."
            raise InputError(message)
        return np.zeros(n_samples, dtype=np.intp)
    return as_codes(batches, n_samples, what="batches")


def _prepare(values: Float, similarity: Similarity) -> Float:
    if similarity not in SIMILARITIES:
        message = f"there is no similarity {similarity!r}: choose one of {', '.join(SIMILARITIES)}."
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
