"""Compare dissimilarity matrices: representational similarity and distance correlation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import squareform

from upto.measures.kinds import SCALED_SHAPE, Change, RelationMeasure
from upto.measures.relations import (
    ROUNDING,
    about_mean,
    correlation_distances,
    doubly_centred,
    euclidean_squares,
    inner_product,
    unbiasedly_centred,
    unit_length,
)

if TYPE_CHECKING:
    from upto.core.array_types import Float
    from upto.measures.kinds import Relation


def correlation_dissimilarities(rows: Float) -> Relation:
    """Return one minus the correlation between all rows, centred, with unit norm."""
    values = correlation_distances(rows)
    return unit_length(about_mean(values), values)


def correlation_ranks(rows: Float) -> Relation:
    """Return the ranks of one minus the correlation between rows, centred, with unit norm."""
    return _centred_ranks(correlation_distances(rows))


def euclidean_dissimilarities(rows: Float) -> Relation:
    """Return the distances between all rows, centred, with unit norm."""
    values = _distances(rows)
    return unit_length(about_mean(values), values)


def euclidean_ranks(rows: Float) -> Relation:
    """Return the ranks of the distances between rows, centred, with unit norm."""
    return _centred_ranks(euclidean_squares(rows)[0])


def squared_dissimilarities(rows: Float) -> Relation:
    """Return the squared distances between all rows, with unit norm."""
    values, _ = euclidean_squares(rows)
    return unit_length(values, values)


def centred_distances(rows: Float) -> Relation:
    """Return the doubly centred distances between rows, with unit norm."""
    values = _distances(rows)
    return unit_length(doubly_centred(values), values)


def unbiased_distances(rows: Float) -> Relation:
    """Return the U-centred distances between rows, with unit norm."""
    values = _distances(rows)
    return unit_length(unbiasedly_centred(values), values)


def root_of_inner_product(first: Relation, second: Relation) -> float:
    """Return the square root of the inner product of two relations."""
    return float(np.sqrt(max(inner_product(first, second), 0.0)))


def average_ranks(values: Float) -> Float:
    """Return ranks from one; values that are equal up to rounding share their mean rank."""
    order = np.argsort(values)
    ordered = values[order]
    is_new = np.ones(len(values), dtype=np.bool_)
    is_new[1:] = np.diff(ordered) > ROUNDING * ordered[1:]
    starts = np.flatnonzero(is_new)
    counts = np.diff(starts, append=len(values))
    ranks = np.empty(len(values))
    ranks[order] = np.repeat(starts + (counts + 1) / 2, counts)
    return ranks


def _distances(rows: Float) -> Float:
    squares, _ = euclidean_squares(rows)
    return np.sqrt(squares, out=squares)


def _centred_ranks(values: Float) -> Relation:
    if len(values) > 2:
        values = squareform(average_ranks(squareform(values, checks=False)), checks=False)
    return unit_length(about_mean(values), values)


CORRELATION_RSA_PEARSON = RelationMeasure(
    name="rsa-correlation-pearson",
    title="RSA of correlations, Pearson",
    says="The Pearson correlation, over pairs of rows, between their dissimilarities in both runs; "
    "the dissimilarity of two rows is one minus their correlation across coordinates.",
    source="Kriegeskorte et al. 2008",
    note="It is invariant only to a global scale and to the order of coordinates: a translation "
    "changes the correlation between rows, although ReSi declares otherwise.",
    low=-1.0,
    ignores=frozenset({Change.SCALE, Change.PERMUTATION}),
    relate=correlation_dissimilarities,
    score=inner_product,
)
CORRELATION_RSA_SPEARMAN = RelationMeasure(
    name="rsa-correlation-spearman",
    title="RSA of correlations, Spearman",
    says="The rank correlation, over pairs of rows, between their dissimilarities in both runs; "
    "the dissimilarity of two rows is one minus their correlation across coordinates.",
    source="Kriegeskorte et al. 2008",
    note="This is the default RSA of ReSi. A row whose coordinates are all equal has correlation 0 "
    "with every other row.",
    low=-1.0,
    ignores=frozenset({Change.SCALE, Change.PERMUTATION}),
    relate=correlation_ranks,
    score=inner_product,
)
EUCLIDEAN_RSA_PEARSON = RelationMeasure(
    name="rsa-euclidean-pearson",
    title="RSA of distances, Pearson",
    says="The Pearson correlation, over pairs of rows, between their distances in both runs.",
    source="Kriegeskorte et al. 2008",
    note="The Euclidean dissimilarity of rsatoolbox is squared, so its Pearson correlation "
    "differs.",
    low=-1.0,
    ignores=SCALED_SHAPE,
    relate=euclidean_dissimilarities,
    score=inner_product,
)
EUCLIDEAN_RSA_SPEARMAN = RelationMeasure(
    name="rsa-euclidean-spearman",
    title="RSA of distances, Spearman",
    says="The rank correlation, over pairs of rows, between their distances in both runs.",
    source="Kriegeskorte et al. 2008",
    note="Squaring does not change ranks, so rsatoolbox gives the same value.",
    low=-1.0,
    ignores=SCALED_SHAPE,
    relate=euclidean_ranks,
    score=inner_product,
)
SQUARED_EUCLIDEAN_RSA_COSINE = RelationMeasure(
    name="rsa-squared-euclidean-cosine",
    title="RSA of squared distances, cosine",
    says="The cosine, over pairs of rows, between their squared distances in both runs.",
    source="Diedrichsen et al. 2021; rsatoolbox",
    note="The Euclidean dissimilarity of rsatoolbox compared by its cosine: it is not centred, so "
    "it is high by construction.",
    ignores=SCALED_SHAPE,
    relate=squared_dissimilarities,
    score=inner_product,
)
DISTANCE_CORRELATION = RelationMeasure(
    name="distance-correlation",
    title="distance correlation",
    says="The square root of the cosine between the doubly centred distances of both runs.",
    source="Székely et al. 2007",
    note="The biased estimate, not squared, as in dcor and ReSi; close to 1 on wide noise.",
    ignores=SCALED_SHAPE,
    relate=centred_distances,
    score=root_of_inner_product,
)
UNBIASED_DISTANCE_CORRELATION = RelationMeasure(
    name="distance-correlation-unbiased",
    title="squared distance correlation, unbiased",
    says="The cosine between the U-centred distances of both runs, with an unbiased estimate of "
    "each inner product; it estimates the squared distance correlation and can be negative.",
    source="Székely and Rizzo 2014",
    note="It is squared, like u_distance_correlation_sqr of dcor. Fewer than four rows score 0.",
    low=-1.0,
    ignores=SCALED_SHAPE,
    relate=unbiased_distances,
    score=inner_product,
)
