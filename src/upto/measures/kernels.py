"""Centred alignment of Gaussian kernels with a bandwidth relative to the median distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import squareform

from upto.core import InputError
from upto.measures.kinds import SCALED_SHAPE, RelationMeasure
from upto.measures.notation import CENTRED_COSINE, ROWS, UNBIASED, UNBIASED_COSINE
from upto.measures.relations import (
    doubly_centred,
    euclidean_squares,
    inner_product,
    permuted_inner_product,
    unbiasedly_centred,
    unit_length,
)

if TYPE_CHECKING:
    from upto.core.array_types import Float
    from upto.measures.kinds import Relation


NARROWEST, WIDEST = 1e-3, 1e3
"""Bandwidths beyond which the kernel is, up to rounding, the identity or linear."""


def squared_distances(rows: Float) -> Relation:
    """Return the squared distances between all rows."""
    return (euclidean_squares(rows)[0],)


def gaussian_kernel(squares: Float, bandwidth: float) -> Float:
    """Return exp(−distance² / 2σ²), where σ² is bandwidth² times the median squared distance.

    The median is over pairs of different rows; the notebook of Kornblith et al. includes the n zero
    distances of rows to themselves, so its σ is smaller when rows are few. If more than half of the
    pairs are equal rows, σ is zero and only equal rows are similar.
    """
    if not NARROWEST <= bandwidth <= WIDEST:
        message = (
            f"the bandwidth is {bandwidth:g} median distances: give a bandwidth from "
            f"{NARROWEST:g} to {WIDEST:g}."
        )
        raise InputError(message)
    if len(squares) < 2:
        return np.ones_like(squares)
    width = 2.0 * bandwidth**2 * float(np.median(squareform(squares, checks=False)))
    if width == 0.0:
        return np.equal(squares, 0.0).astype(np.float64)
    return np.exp(squares / -width)


def centred_kernel(squares: Float, bandwidth: float) -> Relation:
    """Return the centred Gaussian kernel with unit norm."""
    kernel = gaussian_kernel(squares, bandwidth)
    return unit_length(doubly_centred(kernel), kernel)


def unbiased_kernel(squares: Float, bandwidth: float) -> Relation:
    """Return the U-centred Gaussian kernel with unit norm."""
    kernel = gaussian_kernel(squares, bandwidth)
    return unit_length(unbiasedly_centred(kernel), kernel)


_GAUSSIAN = (
    r"$K_{ij} = \exp(-\lVert x_i - x_j \rVert^2 / (2 b^2 m))$, where $b$ is the parameter and $m$ "
    r"the median of $\lVert x_i - x_j \rVert^2$ over pairs of different rows; likewise $L$ for the "
    "second run"
)
DEBIASED_RBF_CKA = RelationMeasure(
    name="rbf-cka:1",
    title="RBF CKA",
    says="The cosine between the centred Gaussian kernels of both runs, with an unbiased estimate "
    "of each inner product; the bandwidth is relative to the median distance.",
    source="Kornblith et al. 2019; Song et al. 2012",
    formula=UNBIASED_COSINE,
    where=ROWS + " " + _GAUSSIAN + ", both with zeros on the diagonal. " + UNBIASED,
    use_when="near rows should count more than distant ones.",
    beware="The bandwidth matters: a wide one gives nearly linear CKA, a narrow one leaves only "
    "the nearest pairs. Report it.",
    see_also=(
        "linear-cka",
        "rbf-cka-biased",
        "mutual-knn",
    ),
    note="The median is over pairs of different rows. Fewer than four rows score 0.",
    low=-1.0,
    ignores=SCALED_SHAPE,
    parameter=1,
    parameter_name="median distances",
    between=squared_distances,
    relate=unbiased_kernel,
    score=inner_product,
    score_permuted=permuted_inner_product,
)
BIASED_RBF_CKA = RelationMeasure(
    name="rbf-cka-biased:1",
    title="RBF CKA, biased",
    says="The cosine between the centred Gaussian kernels of both runs; the bandwidth is relative "
    "to the median distance.",
    source="Kornblith et al. 2019",
    formula=CENTRED_COSINE,
    where=ROWS + " " + _GAUSSIAN + ".",
    use_when="you compare with published numbers of this estimate.",
    beware="It is far above 0 on noise: use rbf-cka, or compare with the chance level. The "
    "bandwidth of published values is not always relative to the median distance.",
    see_also=(
        "rbf-cka",
        "linear-cka-biased",
    ),
    note="It is above 0.5 for 256 independent Gaussian rows of 1,024 coordinates.",
    ignores=SCALED_SHAPE,
    parameter=1,
    parameter_name="median distances",
    between=squared_distances,
    relate=centred_kernel,
    score=inner_product,
    score_permuted=permuted_inner_product,
)
