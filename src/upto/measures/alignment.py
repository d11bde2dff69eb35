"""Linear centred kernel alignment, from d×d products."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from upto.core import InputError
from upto.measures.kinds import SCALED_SHAPE, MomentMeasure, as_rows, refuse_extremes
from upto.measures.moments import pair_moments

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

    from upto.measures.moments import PairMoments, RunMoments

MIN_BATCH = 4
"""Fewer rows have no unbiased estimate of a product."""


def biased_linear_cka(_: PairMoments, held: PairMoments) -> float:
    """Return the cosine between the two covariances of rows."""
    lengths = np.linalg.norm(held.x.scatter) * np.linalg.norm(held.y.scatter)
    return float(np.vdot(held.cross, held.cross) / lengths) if lengths > 0 else 0.0


def debiased_linear_cka(_: PairMoments, held: PairMoments) -> float:
    """Return the same cosine with unbiased estimates of each product (Song et al. 2012)."""
    return _ratio(*_products(held))


def minibatch_linear_cka(batches: Iterable[tuple[ArrayLike, ArrayLike]]) -> float:
    """Return linear CKA from batches of rows, each seen once and then forgotten.

    Unbiased estimates of each product are averaged over the batches before their ratio is taken, so
    the value approaches that of all rows whatever the size of a batch. Every batch counts alike:
    batches of one size, drawn at random, are meant.

    Parameters
    ----------
    batches
        Rows of the first and of the second run for the same samples, batch after batch.

    Returns
    -------
    float
        Between -1 and 1; 0 where a run shows no covariance of rows at all.

    Raises
    ------
    InputError
        If a batch has fewer than four rows or the runs differ in their number, or without batches.

    Notes
    -----
    Nguyen, Raghu and Kornblith 2021. torch-cka computes the same and divides by zero on a batch of
    three rows.
    """
    total, count = np.zeros(3), 0
    for first, second in batches:
        x, y = as_rows(first, "the first run"), as_rows(second, "the second run")
        if len(x) != len(y) or len(x) < MIN_BATCH:
            message = (
                f"batch {count} has {len(x)} rows of the first run and {len(y)} of the second: "
                f"give as many of both, at least {MIN_BATCH}, and drop a shorter last batch."
            )
            raise InputError(message)
        refuse_extremes(x, "the first run")
        refuse_extremes(y, "the second run")
        total += _products(pair_moments(x, y))
        count += 1
    if not count:
        message = "there are 0 batches: give at least one pair of blocks of rows."
        raise InputError(message)
    return DEBIASED_LINEAR_CKA.within(_ratio(*(total / count)))


def _products(held: PairMoments) -> tuple[float, float, float]:
    """Return unbiased estimates of the product of both runs and of the squares of each."""
    both = _unbiased(held, float(np.vdot(held.cross, held.cross)), held.cross_fourth)
    return both, _unbiased_own(held.n_samples, held.x), _unbiased_own(held.n_samples, held.y)


def _ratio(both: float, first: float, second: float) -> float:
    # An estimate of a square may be negative: then the run shows no covariance of rows at all.
    return both / (math.sqrt(first) * math.sqrt(second)) if min(first, second) > 0 else 0.0


def _unbiased_own(n: int, run: RunMoments) -> float:
    square, trace = float(np.vdot(run.scatter, run.scatter)), float(np.trace(run.scatter))
    return _estimate(n, square, run.fourth, trace * trace)


def _unbiased(held: PairMoments, square: float, fourth: float) -> float:
    traces = float(np.trace(held.x.scatter) * np.trace(held.y.scatter))
    return _estimate(held.n_samples, square, fourth, traces)


def _estimate(n: int, square: float, fourth: float, traces: float) -> float:
    # About the means, rows of a kernel without its diagonal sum to minus the diagonal.
    if n < MIN_BATCH:
        return 0.0
    inner = square - fourth + traces / ((n - 1) * (n - 2)) - 2.0 * fourth / (n - 2)
    return inner / (n * (n - 3))


DEBIASED_LINEAR_CKA = MomentMeasure(
    name="linear-cka",
    title="linear CKA",
    says="The cosine between the centred linear kernels of both runs, each inner product "
    "estimated without bias.",
    source="Kornblith et al. 2019; Song et al. 2012",
    note="Unrelated runs score about 0 and may score less; fewer than four rows score 0, and so "
    "does a run without variance. platonic-rep adds 1e-6 to what it divides by. torch-cka averages "
    "over batches: that is minibatch_linear_cka of upto.measures.",
    low=-1.0,
    high=1.0,
    ignores=SCALED_SHAPE,
    score=debiased_linear_cka,
    is_fitted=False,
)
BIASED_LINEAR_CKA = MomentMeasure(
    name="linear-cka-biased",
    title="linear CKA, biased",
    says="The cosine between the centred linear kernels of both runs.",
    source="Kornblith et al. 2019",
    note="It grows with the number of coordinates over that of rows, whatever the runs: two runs "
    "of independent noise of 256 rows and 1024 coordinates score 0.80. A run without variance "
    "scores 0.",
    low=0.0,
    high=1.0,
    ignores=SCALED_SHAPE,
    score=biased_linear_cka,
    is_fitted=False,
)
