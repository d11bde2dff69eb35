"""Linear centred kernel alignment, from d×d products."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from upto.core import InputError
from upto.measures.kinds import SCALED_SHAPE, MomentMeasure, as_rows, refuse_extremes
from upto.measures.moments import pair_moments
from upto.measures.notation import CENTRED, UNBIASED, UNBIASED_COSINE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

    from upto.measures.moments import PairMoments, RunMoments

MIN_BATCH = 4
"""Fewest rows for which a product has an unbiased estimate."""


def biased_linear_cka(_: PairMoments, held: PairMoments) -> float:
    """Return the cosine between the row covariances of two runs."""
    lengths = np.linalg.norm(held.x.scatter) * np.linalg.norm(held.y.scatter)
    return float(np.vdot(held.cross, held.cross) / lengths) if lengths > 0 else 0.0


def debiased_linear_cka(_: PairMoments, held: PairMoments) -> float:
    """Return the same cosine from unbiased estimates of each product (Song et al. 2012)."""
    return _ratio(*_products(held))


def minibatch_linear_cka(batches: Iterable[tuple[ArrayLike, ArrayLike]]) -> float:
    """Return linear CKA from batches of rows, each read once.

    Unbiased estimates of each product are averaged over the batches before their ratio is taken, so
    the value converges to that of all rows for any batch size. Batches are weighted equally: draw
    them at random, with equal sizes.

    Parameters
    ----------
    batches
        Pairs of row blocks: the same samples in the first and in the second run.

    Returns
    -------
    float
        Between -1 and 1; 0 where a run has no covariance between rows.

    Raises
    ------
    InputError
        If there are no batches, or a batch has fewer than four or unequal numbers of rows.

    Notes
    -----
    Nguyen, Raghu and Kornblith 2021. torch-cka computes the same value but divides by zero on a
    batch of three rows.
    """
    total, count = np.zeros(3), 0
    for first, second in batches:
        x, y = as_rows(first, "the first run"), as_rows(second, "the second run")
        if len(x) != len(y) or len(x) < MIN_BATCH:
            message = (
                f"batch {count} has {len(x)} rows of the first run and {len(y)} of the second: "
                f"give equal numbers, at least {MIN_BATCH}, and drop a shorter last batch."
            )
            raise InputError(message)
        refuse_extremes(x, "the first run")
        refuse_extremes(y, "the second run")
        total += _products(pair_moments(x, y))
        count += 1
    if not count:
        message = "no batches were given: give at least one pair of row blocks."
        raise InputError(message)
    return DEBIASED_LINEAR_CKA.within(_ratio(*(total / count)))


def _products(held: PairMoments) -> tuple[float, float, float]:
    """Return unbiased estimates of the cross product and of each run's own product."""
    both = _unbiased(held, float(np.vdot(held.cross, held.cross)), held.cross_fourth)
    return both, _unbiased_own(held.n_samples, held.x), _unbiased_own(held.n_samples, held.y)


def _ratio(both: float, first: float, second: float) -> float:
    # An unbiased estimate of a square can be negative: the run then has no covariance of rows.
    return both / (math.sqrt(first) * math.sqrt(second)) if min(first, second) > 0 else 0.0


def _unbiased_own(n: int, run: RunMoments) -> float:
    square, trace = float(np.vdot(run.scatter, run.scatter)), float(np.trace(run.scatter))
    return _estimate(n, square, run.fourth, trace * trace)


def _unbiased(held: PairMoments, square: float, fourth: float) -> float:
    traces = float(np.trace(held.x.scatter) * np.trace(held.y.scatter))
    return _estimate(held.n_samples, square, fourth, traces)


def _estimate(n: int, square: float, fourth: float, traces: float) -> float:
    # After centring, each row of a kernel without its diagonal sums to minus the diagonal.
    if n < MIN_BATCH:
        return 0.0
    inner = square - fourth + traces / ((n - 1) * (n - 2)) - 2.0 * fourth / (n - 2)
    return inner / (n * (n - 3))


DEBIASED_LINEAR_CKA = MomentMeasure(
    name="linear-cka",
    title="linear CKA",
    says="The cosine between the centred linear kernels of both runs, with an unbiased estimate of "
    "each inner product.",
    source="Kornblith et al. 2019; Song et al. 2012",
    formula=UNBIASED_COSINE,
    where=CENTRED
    + (
        r" $K$ and $L$ are $X X^\top$ and $Y Y^\top$ with zeros on the diagonal and $n$ is the"
        " number of rows. "
    )
    + UNBIASED,
    use_when="the question is whether the same samples are similar in both runs, weighted by "
    "variance; it is the usual first choice for layers of networks.",
    beware="One wide direction or a few distant rows can decide the value, so runs that differ "
    "in all other directions can score high.",
    see_also=(
        "linear-cka-biased",
        "rbf-cka",
        "procrustes",
        "distance-correlation-unbiased",
    ),
    note="Unrelated runs score about 0 and can score below 0; fewer than four rows, or a run "
    "without variance, score 0. platonic-rep adds 1e-6 to the denominator. torch-cka averages over "
    "batches, as `upto.measures.minibatch_linear_cka` does.",
    low=-1.0,
    ignores=SCALED_SHAPE,
    score=debiased_linear_cka,
    is_fitted=False,
)
BIASED_LINEAR_CKA = MomentMeasure(
    name="linear-cka-biased",
    title="linear CKA, biased",
    says="The cosine between the centred linear kernels of both runs.",
    source="Kornblith et al. 2019",
    formula=r"\frac{\lVert X^\top Y \rVert_F^2}{\lVert X^\top X \rVert_F \, \lVert Y^\top Y "
    r"\rVert_F}",
    where=CENTRED + r" $\lVert\cdot\rVert_F$ is the root of the sum of all squares.",
    use_when="you compare with published numbers, most of which are of this estimate.",
    beware="It grows with the ratio of coordinates to rows, even for unrelated runs: use "
    "linear-cka, or compare with the chance level.",
    see_also=(
        "linear-cka",
        "rbf-cka-biased",
    ),
    note="Two runs of independent noise with 256 rows and 1024 coordinates score 0.80. A run "
    "without variance scores 0.",
    ignores=SCALED_SHAPE,
    score=biased_linear_cka,
    is_fitted=False,
)
