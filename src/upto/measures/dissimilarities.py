"""Compare dissimilarity matrices: representational similarity and distance correlation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import squareform

from upto.measures.kinds import SCALED_SHAPE, Change, RelationMeasure
from upto.measures.notation import ROWS
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


_CORRELATIONS = (
    r"D_{ij} = 1 - \operatorname{corr}(x_i, x_j), \quad E_{ij} = 1 - \operatorname{corr}(y_i, y_j)"
)
_DISTANCES = r"D_{ij} = \lVert x_i - x_j \rVert, \quad E_{ij} = \lVert y_i - y_j \rVert"

CORRELATION_RSA_PEARSON = RelationMeasure(
    name="rsa-correlation-pearson",
    title="RSA of correlations, Pearson",
    says="The Pearson correlation, over pairs of rows, between their dissimilarities in both runs; "
    "the dissimilarity of two rows is one minus their correlation across coordinates.",
    source="Kriegeskorte et al. 2008",
    formula=r"\operatorname{corr}_{i<j}(D_{ij}, E_{ij}), \qquad " + _CORRELATIONS,
    where=ROWS
    + " The outer correlation is over pairs of rows, the inner ones are across coordinates.",
    use_when="the pattern of a row across its coordinates matters but not its mean or size, as is "
    "common in neuroscience.",
    beware="A translation or rotation of one run changes it, so runs of networks that differ "
    "only by such a map score below 1.",
    see_also=(
        "rsa-correlation-spearman",
        "rsa-euclidean-pearson",
        "linear-cka",
    ),
    note="It is invariant only to a global scale and to the order of coordinates, although ReSi "
    "declares otherwise. A row whose coordinates are all equal has correlation 0 with every "
    "other row.",
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
    formula=(
        r"\operatorname{corr}_{i<j}(\operatorname{rank} D_{ij}, \operatorname{rank} E_{ij}), "
        r"\qquad "
    )
    + _CORRELATIONS,
    where=ROWS
    + (
        " The outer correlation is over pairs of rows, the inner ones are across coordinates;"
        " tied dissimilarities share their mean rank."
    ),
    use_when="the pattern of a row across its coordinates matters, and only the order of "
    "dissimilarities should count.",
    beware="A translation or rotation of one run changes it, so runs of networks that differ "
    "only by such a map score below 1.",
    see_also=(
        "rsa-correlation-pearson",
        "rsa-euclidean-spearman",
    ),
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
    formula=r"\operatorname{corr}_{i<j}(D_{ij}, E_{ij}), \qquad " + _DISTANCES,
    where=ROWS + " The correlation is over pairs of rows.",
    use_when="the distances between samples are what the embedding is used for.",
    beware="Distant rows decide the value. Pairs share rows, so the usual p-value of a "
    "correlation of that many pairs is far too small; `upto similarity` permutes rows.",
    see_also=(
        "rsa-euclidean-spearman",
        "distance-correlation",
        "linear-cka",
    ),
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
    formula=(
        r"\operatorname{corr}_{i<j}(\operatorname{rank} D_{ij}, \operatorname{rank} E_{ij}), "
        r"\qquad "
    )
    + _DISTANCES,
    where=ROWS + " The correlation is over pairs of rows; tied distances share their mean rank.",
    use_when="only the order of the distances between samples should count.",
    beware="It does not show whether distances changed by little or by much. Pairs share rows, "
    "so the usual p-value of a correlation of that many pairs is far too small; `upto "
    "similarity` permutes rows.",
    see_also=(
        "rsa-euclidean-pearson",
        "mutual-knn",
    ),
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
    formula=(
        r"\frac{\sum_{i<j} D_{ij}^2 E_{ij}^2}{\sqrt{\sum_{i<j} D_{ij}^4 \, \sum_{i<j} "
        r"E_{ij}^4}}, \qquad "
    )
    + _DISTANCES,
    where=ROWS,
    use_when="you compare with cosine similarities of rsatoolbox.",
    beware="It is not centred, so it is high by construction, also for unrelated runs: compare "
    "it with the chance level.",
    see_also=("rsa-euclidean-pearson",),
    note="The Euclidean dissimilarity of rsatoolbox is the squared distance; this is its cosine.",
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
    formula=(
        r"\sqrt{ \frac{\operatorname{tr}(H D H E)}{\sqrt{\operatorname{tr}(H D H D) \, "
        r"\operatorname{tr}(H E H E)}} }, \qquad H = I - \tfrac{1}{n} \mathbf{1} "
        r"\mathbf{1}^\top"
        "\n"
    )
    + _DISTANCES,
    where=ROWS,
    use_when="you compare with published numbers, or want a measure that, with enough rows, is 0 "
    "only for independent runs.",
    beware="With few rows it is far above 0 for unrelated runs, and close to 1 for wide ones.",
    see_also=(
        "distance-correlation-unbiased",
        "rsa-euclidean-pearson",
    ),
    note="The biased estimate, not squared, as in dcor and ReSi.",
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
    formula=(
        r"\frac{\sum_{i \ne j} A_{ij} B_{ij}}{\sqrt{\sum_{i \ne j} A_{ij}^2 \, \sum_{i \ne j} "
        "B_{ij}^2}}"
        "\n"
        r"A_{ij} = D_{ij} - \frac{\sum_k D_{ik} + \sum_k D_{kj}}{n-2} + \frac{\sum_{kl} "
        r"D_{kl}}{(n-1)(n-2)}, \qquad D_{ij} = \lVert x_i - x_j \rVert"
    ),
    where=ROWS + " $B$ is made of the second run as $A$ of the first.",
    use_when="any dependence between the runs should count, not only linear dependence.",
    beware="It estimates the square of the distance correlation, so it is lower than "
    "distance-correlation, and it is weighted by variance.",
    see_also=(
        "distance-correlation",
        "linear-cka",
        "rsa-euclidean-pearson",
    ),
    note="It is squared, like u_distance_correlation_sqr of dcor. Fewer than four rows score 0.",
    low=-1.0,
    ignores=SCALED_SHAPE,
    between=euclidean_dissimilarities,
    relate=unbiased_distances,
    score=inner_product,
    score_permuted=permuted_inner_product,
)
