"""Upper limits on how far a label shifts a component.

A non-significant label effect is not evidence of absence: batches may be too few. An upper limit on
how far each label is from the other rows of its batches is. Every batch gives one difference, so
the limit is that of Student's t over the batches of the label; the largest over labels counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.batch_metrics.crossings import Crossing
    from upto.core.array_types import Float


CONFIDENCE = 0.95
"""Confidence of each label's limit; all labels must pass, so none is corrected."""
_BLOCK_BYTES = 2**25


def largest_shifts(
    sums: Float, squares: Float, crossing: Crossing, is_named: NDArray[np.bool_]
) -> tuple[Float, str]:
    """Return the upper limit on how far any label shifts each component, or why there is none.

    Parameters
    ----------
    sums
        Row sums of each cell, one column per component.
    squares
        Sum of squares of each component about its mean.
    crossing
        The cells.
    is_named
        Mask of the labels that are not empty.

    Returns
    -------
    tuple
        Limits in standard deviations within batches, NaN if a label occurs with other rows on fewer
        than two batches, and the reason for that.
    """
    n_batch, of_batch = crossing.over_batches(crossing.count), crossing.over_batches(sums)
    others = n_batch[crossing.cell_batch] - crossing.count
    used = (others > 0) & is_named[crossing.cell_label]
    met = np.bincount(crossing.cell_label[used], minlength=crossing.n_labels)[is_named]
    few = int((met < 2).sum())
    if few or not len(met):
        reason = (
            f"{few} of {len(met)} labels occur with other labels on fewer than two batches, so how "
            "far they shift components is unknown."
        )
        return np.full(sums.shape[1], np.nan), reason
    label = (np.cumsum(is_named) - 1)[crossing.cell_label[used]]
    count, rest = crossing.count[used, None], others[used, None]
    limits = np.empty(sums.shape[1])
    # A few components at a time: with small cells, tables of cells are as large as the rows.
    size = max(1, _BLOCK_BYTES // (16 * crossing.n_cells))
    for start in range(0, sums.shape[1], size):
        some = slice(start, start + size)
        own = sums[used, some]
        apart = own / count - (of_batch[crossing.cell_batch[used], some] - own) / rest
        limits[some] = _upper(apart, label, met.astype(np.float64)).max(axis=0)
    between = (of_batch**2 / n_batch[:, None]).sum(axis=0) - sums.sum(axis=0) ** 2 / n_batch.sum()
    within = np.maximum(squares - between, 0.0) / max(n_batch.sum() - len(n_batch), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return limits / np.sqrt(within), ""


def _upper(apart: Float, label: NDArray[np.intp], met: Float) -> Float:
    """Return the limit on each label's absolute mean difference, labels by components."""
    found = np.empty((len(met), apart.shape[1]))
    for column, values in enumerate(apart.T):
        mean = np.bincount(label, values, len(met)) / met
        variance = np.bincount(label, (values - mean[label]) ** 2, len(met)) / (met - 1)
        reach = stdtrit(met - 1, CONFIDENCE) * np.sqrt(variance / met)
        found[:, column] = np.abs(mean) + reach
    return found
