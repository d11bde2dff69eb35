"""Cheaper equivalents of scores: fewer coordinates, and row kernels instead of products.

A permutation test of all pairs of layers takes a hundred thousand scores. A product of rows by
coordinates costs n·d² each time; a sum over a permuted kernel costs n².
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.measures.alignment import BIASED_LINEAR_CKA, DEBIASED_LINEAR_CKA
from upto.measures.kinds import Change, MomentMeasure, RelationMeasure
from upto.measures.relations import (
    doubly_centred,
    inner_product,
    permuted_inner_product,
    refuse_many_rows,
    unbiasedly_centred,
    unit_length,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from upto.core.array_types import Float
    from upto.measures.kinds import Measure, Relation


_MOST_ROWS = 4096
"""Size of a kernel; kernels of many runs are in memory at the same time."""


def fewer_coordinates(rows: Float, measures: Sequence[Measure], n_fit: int) -> Float:
    """Rotate wide runs to as few coordinates as the rows span, if all measures allow it.

    The first `n_fit` rows vary in the first `n_fit` coordinates only, to which fits are then
    confined.
    """
    if rows.shape[1] <= n_fit or not all(Change.ROTATION in each.ignores for each in measures):
        return rows
    return np.ascontiguousarray(np.asarray(np.linalg.qr(rows.T, mode="r")).T)


def leaner_measures(
    measures: Sequence[Measure], rows: Sequence[Float], *, apart: bool = False
) -> list[Measure]:
    """Replace measures by their kernel equivalents where these are cheaper.

    If another measure needs the products anyway, they cost nothing extra, unless the pairings of
    fitted measures are kept `apart`.
    """
    n_samples, n_features = rows[0].shape[0], max(own.shape[1] for own in rows)
    leaner = [by_kernels(each) for each in measures]
    needs_products = any(
        isinstance(each, MomentMeasure) and each.prepare is None and not (apart and each.is_fitted)
        for each in leaner
    )
    is_less = n_samples <= min(n_features**2, _MOST_ROWS)
    return leaner if is_less and not needs_products else list(measures)


def by_kernels(measure: Measure) -> Measure:
    """Return the measure that computes the same values from row kernels, if there is one."""
    return _KERNELLED.get(measure.name, measure)


def _linear_kernel(rows: Float) -> Relation:
    refuse_many_rows(len(rows))
    centred = rows - rows.mean(axis=0)
    return (centred @ centred.T,)


def _kernelled(measure: Measure, centre: Callable[[Float], Float]) -> RelationMeasure:
    return RelationMeasure(
        name=measure.name,
        title=measure.title,
        says=measure.says,
        source=measure.source,
        low=measure.low,
        high=measure.high,
        ignores=measure.ignores,
        between=_linear_kernel,
        relate=lambda kernel: unit_length(centre(kernel), kernel),
        score=inner_product,
        score_permuted=permuted_inner_product,
    )


_KERNELLED = {
    DEBIASED_LINEAR_CKA.name: _kernelled(DEBIASED_LINEAR_CKA, unbiasedly_centred),
    BIASED_LINEAR_CKA.name: _kernelled(BIASED_LINEAR_CKA, doubly_centred),
}
