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
    permuted_inner_product,
    unbiasedly_centred,
    unit_length,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core.array_types import Float, Index
    from upto.measures.kinds import Relation


def correlation_dissimilarities(rows: Float) -> Relation:
    """Return one minus the correlation between all rows."""
    return (correlation_distances(rows),)


def correlation_places(rows: Float) -> Relation:
    """Return the places of one minus the correlation between rows in their order."""
    return (places(correlation_distances(rows)),)


def euclidean_dissimilarities(rows: Float) -> Relation:
    """Return the distances between all rows."""
    squares, _ = euclidean_squares(rows)
    return (np.sqrt(squares, out=squares),)


def euclidean_places(rows: Float) -> Relation:
    """Return the places of the distances between rows in their order."""
    return (places(euclidean_squares(rows)[0]),)


def squared_dissimilarities(rows: Float) -> Relation:
    """Return the squared distances between all rows."""
    return (euclidean_squares(rows)[0],)


def centred(values: Float) -> Relation:
    """Return dissimilarities centred over pairs of different rows, with unit norm."""
    return unit_length(about_mean(values), values)


def uncentred(values: Float) -> Relation:
    """Return dissimilarities with unit norm."""
    return unit_length(values, values)


def ranked(places: NDArray[np.int32]) -> Relation:
    """Return the ranks of dissimilarities, centred, with unit norm; equal ones share their mean."""
    if len(places) < 2:
        return (np.zeros(places.shape, dtype=np.float32),)
    pairs = squareform(places, checks=False)
    counts = np.bincount(pairs)
    # Twice the mean rank is a whole number. Half the memory is half the time: it is read at random.
    ranks = np.cumsum(counts, dtype=np.int32)
    ranks *= 2
    np.subtract(ranks, counts, out=ranks, casting="same_kind")
    values = ranks.take(pairs).astype(np.float64)
    # The mean of these numbers over all pairs.
    values -= len(pairs)
    # Each pair occurs twice in the relation.
    values /= (np.sqrt(2.0) * np.linalg.norm(values)) or 1.0
    return (squareform(values.astype(np.float32), checks=False),)


def centred_distances(distances: Float) -> Relation:
    """Return doubly centred distances with unit norm."""
    return unit_length(doubly_centred(distances), distances)


def unbiased_distances(distances: Float) -> Relation:
    """Return U-centred distances with unit norm."""
    return unit_length(unbiasedly_centred(distances), distances)


def root_of_inner_product(first: Relation, second: Relation) -> float:
    """Return the square root of the inner product of two relations."""
    return float(np.sqrt(max(inner_product(first, second), 0.0)))


def root_of_permuted(first: Relation, second: Relation, order: Index) -> float:
    """Return the same with the rows of the second reordered."""
    return float(np.sqrt(max(permuted_inner_product(first, second, order), 0.0)))


def places(values: Float) -> NDArray[np.int32]:
    """Return the place of each off-diagonal value among the distinct ones, from one.

    Values that are equal up to rounding share a place.
    """
    if len(values) < 2:
        return np.zeros(values.shape, dtype=np.int32)
    pairs = squareform(values, checks=False)
    order = np.argsort(pairs)
    ordered = pairs[order]
    is_new = np.ones(len(pairs), dtype=np.bool_)
    is_new[1:] = np.diff(ordered) > ROUNDING * ordered[1:]
    places = np.empty(len(pairs), dtype=np.int32)
    places[order] = np.cumsum(is_new, dtype=np.int32)
    return np.asarray(squareform(places, checks=False))


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
    between=correlation_dissimilarities,
    relate=centred,
    score=inner_product,
    score_permuted=permuted_inner_product,
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
    between=correlation_places,
    relate=ranked,
    score=inner_product,
    score_permuted=permuted_inner_product,
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
    between=euclidean_dissimilarities,
    relate=centred,
    score=inner_product,
    score_permuted=permuted_inner_product,
)
EUCLIDEAN_RSA_SPEARMAN = RelationMeasure(
    name="rsa-euclidean-spearman",
    title="RSA of distances, Spearman",
    says="The rank correlation, over pairs of rows, between their distances in both runs.",
    source="Kriegeskorte et al. 2008",
    note="Squaring does not change ranks, so rsatoolbox gives the same value.",
    low=-1.0,
    ignores=SCALED_SHAPE,
    between=euclidean_places,
    relate=ranked,
    score=inner_product,
    score_permuted=permuted_inner_product,
)
SQUARED_EUCLIDEAN_RSA_COSINE = RelationMeasure(
    name="rsa-squared-euclidean-cosine",
    title="RSA of squared distances, cosine",
    says="The cosine, over pairs of rows, between their squared distances in both runs.",
    source="Diedrichsen et al. 2021; rsatoolbox",
    note="The Euclidean dissimilarity of rsatoolbox compared by its cosine: it is not centred, so "
    "it is high by construction.",
    ignores=SCALED_SHAPE,
    between=squared_dissimilarities,
    relate=uncentred,
    score=inner_product,
    score_permuted=permuted_inner_product,
)
DISTANCE_CORRELATION = RelationMeasure(
    name="distance-correlation",
    title="distance correlation",
    says="The square root of the cosine between the doubly centred distances of both runs.",
    source="Székely et al. 2007",
    note="The biased estimate, not squared, as in dcor and ReSi; close to 1 on wide noise.",
    ignores=SCALED_SHAPE,
    between=euclidean_dissimilarities,
    relate=centred_distances,
    score=root_of_inner_product,
    score_permuted=root_of_permuted,
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
    between=euclidean_dissimilarities,
    relate=unbiased_distances,
    score=inner_product,
    score_permuted=permuted_inner_product,
)
