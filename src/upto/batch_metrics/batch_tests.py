"""Tests of batch effects, on controls or beyond labels by least squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.batch_metrics.crossings import adjusted_squares
from upto.core.array_types import Float
from upto.measures.tails import permutation_tail, upper_tail

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.batch_metrics.crossings import Crossing


_FEW = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectTest:
    """Shares and p-values of all components, NaN where missing, and the reason."""

    share: Float
    p: Float
    says: str = ""


def control_test(sums: Float, powers: Float, batches: NDArray[np.intp]) -> EffectTest:
    """Test whether controls differ between batches, given sums of them and of their powers."""
    counts = np.bincount(batches, minlength=len(sums)).astype(np.float64)
    there = counts > 0
    counts, sums = counts[there], sums[there]
    n_rows, n_batches = counts.sum(), len(counts)
    if n_batches < 2 or n_rows <= n_batches:
        reason = (
            f"{n_rows:.0f} controls in {n_batches} batches are too few to test for a batch effect: "
            "two batches of two controls are needed"
        )
        return untold(sums.shape[1], reason)
    mean = sums.sum(axis=0) / n_rows
    between = (sums**2 / counts[:, None]).sum(axis=0) - n_rows * mean**2
    squares = np.maximum(powers[0] - n_rows * mean**2, 0.0)
    fourth = powers[2] - 4 * mean * powers[1] + 6 * mean**2 * powers[0] - 3 * n_rows * mean**4
    plain = _f_test(between, squares - between, n_batches - 1, n_rows - n_batches, n_rows)
    if n_rows < _FEW:
        return plain
    with np.errstate(divide="ignore", invalid="ignore"):
        tail = fourth / squares**2
    return EffectTest(share=plain.share, p=permutation_tail(between / squares, tail, counts))


def batch_test(sums: Float, total: Float, crossing: Crossing) -> EffectTest:
    """Test whether batches explain variance beyond labels."""
    beyond, df = adjusted_squares(crossing, sums)
    by_label = crossing.over_labels(sums)
    n_of_label = crossing.over_labels(crossing.count)
    explained = (by_label**2 / n_of_label[:, None]).sum(axis=0) - sums.sum(axis=0) ** 2 / (
        n_of_label.sum()
    )
    df_rest = n_of_label.sum() - crossing.n_labels - df
    if crossing.n_batches < 2:
        return untold(sums.shape[1], "there is 1 batch: a test of batches needs two")
    if df == 0 or df_rest <= 0:
        reason = (
            f"no two of {crossing.n_batches} batches share a label, so batches cannot be separated "
            "from labels: mark the control rows"
            if df == 0
            else f"{n_of_label.sum():.0f} rows leave no degrees of freedom to test batches"
        )
        return untold(sums.shape[1], reason)
    return _f_test(beyond, total - explained - beyond, df, df_rest, n_of_label.sum())


def _f_test(between: Float, within: Float, df: float, df_rest: float, n_rows: float) -> EffectTest:
    """Run an F-test of a sum of squares; its share is the partial omega squared."""
    between, within = np.maximum(between, 0.0), np.maximum(within, 0.0)
    error = within / df_rest
    surplus = between - df * error
    whole = surplus + n_rows * error
    with np.errstate(divide="ignore", invalid="ignore"):
        return EffectTest(share=surplus / whole, p=upper_tail(between / df / error, df, df_rest))


def untold(width: int, reason: str) -> EffectTest:
    """Return an empty test of all components, with the reason."""
    nothing = np.full(width, np.nan)
    return EffectTest(share=nothing, p=nothing, says=f"{reason}.")
