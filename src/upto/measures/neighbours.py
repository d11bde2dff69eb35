"""Measures of nearest neighbours.

The k nearest rows of a row are all rows no farther than its k-th nearest, so ties can make them
more than k and no value depends on the order of rows. Tied rows share the harmonic mean of the
ranks they occupy, which leaves the sum of inverse ranks unchanged.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from upto.measures.kinds import SCALED_SHAPE, Change, RelationMeasure
from upto.measures.near_rows import near_rows, places_of, rank_rows
from upto.measures.notation import ROWS, UNBIASED_PRODUCT
from upto.measures.relations import ROUNDING, cosine_distances, euclidean_squares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core.array_types import Float, Index
    from upto.measures.kinds import Relation

CONE = SCALED_SHAPE - {Change.TRANSLATION}
"""Transformations that preserve the angles between rows."""
_PLACES = 2**22


def neighbours(distances: Float, scale: Float, k: float) -> Relation:
    """Return which rows are nearest to each row, and their number."""
    is_near, _ = near_rows(distances, scale, k)
    return is_near, np.count_nonzero(is_near, axis=1)


def neighbour_ranks(distances: Float, scale: Float, k: float) -> Relation:
    """Return the ranks of the nearest rows, from one; zero for other rows."""
    is_near, slack = near_rows(distances, scale, k)
    ranks = np.zeros(distances.shape, dtype=np.float32)
    # If all rows tie, every row is a neighbour: ranks are computed in blocks to limit memory.
    block = max(1, _PLACES // len(ranks))
    for start in range(0, len(ranks), block):
        part = slice(start, start + block)
        rank_rows(ranks[part], distances[part], is_near[part], slack[part])
    return (ranks,)


def neighbour_angles(distances: Float, scale: Float, k: float) -> Relation:
    """Return which rows are nearest by angle, and one minus the cosine to every row."""
    is_near, _ = near_rows(distances, scale, k)
    return is_near, distances.astype(np.float32)


def neighbour_kernel(distances: Float, scale: Float, k: float) -> Relation:
    """Return the cosines to the nearest rows, zero for other rows, with unit self-similarity."""
    is_near, _ = near_rows(distances, scale, k)
    kernel = 1.0 - distances
    kernel[~is_near | (np.abs(kernel) <= ROUNDING)] = 0.0
    own = _local_alignment(kernel, kernel)
    # A self-similarity that is not positive has no root: the run then scores 0 with every run.
    kernel *= 1.0 / np.sqrt(own) if own > ROUNDING * np.vdot(kernel, kernel) else 0.0
    return (kernel.astype(np.float32),)


def mutual_neighbours(first: Relation, second: Relation, _: float) -> float:
    """Return the mean share of nearest rows common to both runs."""
    return _mutual(_shared(first, second), first[1], second[1])


def mutual_permuted(first: Relation, second: Relation, order: Index, _: float) -> float:
    """Return the same with the rows of the second run reordered."""
    return _mutual(_shared_permuted(first, second, order), first[1], second[1][order])


def jaccard_neighbours(first: Relation, second: Relation, _: float) -> float:
    """Return the mean ratio of shared nearest rows to those nearest in either run."""
    return _jaccard(_shared(first, second), first[1], second[1])


def jaccard_permuted(first: Relation, second: Relation, order: Index, _: float) -> float:
    """Return the same with the rows of the second run reordered."""
    return _jaccard(_shared_permuted(first, second, order), first[1], second[1][order])


def ranked_neighbours(first: Relation, second: Relation, _: float) -> float:
    """Return the mean agreement of the ranks of shared nearest rows (Wang et al. 2022).

    A shared row of ranks r and s adds 2 / ((r + s)(1 + |r − s|)); the sum is divided by its maximum
    for the same number of shared rows, and is zero if there are none.
    """
    n = len(first[0])
    row, column = places_of((first[0] > 0.0) & (second[0] > 0.0))
    own, other = (each[0][row, column].astype(np.float64) for each in (first, second))
    terms = 2.0 / ((own + other) * (1.0 + np.abs(own - other)))
    sums = np.bincount(row, weights=terms, minlength=n)
    counts = np.maximum(np.bincount(row, minlength=n), 1)
    largest = np.cumsum(1.0 / np.arange(1, counts.max() + 1))
    return float(np.mean(sums / largest[counts - 1]))


def second_order_cosine(first: Relation, second: Relation, _: float) -> float:
    """Return the mean cosine between a row's distances to the rows nearest in either run.

    Distances are one minus the cosine. A row whose distances are all zero scores 1 if they are zero
    in both runs and 0 if only in one.
    """
    row, column = places_of(first[0] | second[0])
    own, other = (each[1][row, column].astype(np.float64) for each in (first, second))
    product, own_square, other_square = (
        np.bincount(row, weights=terms, minlength=len(first[0]))
        for terms in (own * other, own * own, other * other)
    )
    lengths = np.sqrt(own_square * other_square)
    alike = (own_square + other_square == 0.0).astype(np.float64)
    return float(np.mean(np.divide(product, lengths, out=alike, where=lengths > 0.0)))


def local_alignment(first: Relation, second: Relation, _: float) -> float:
    """Return kernel alignment over rows that are nearest in both runs, as in platonic-rep.

    The kernel of cosines is not centred before entries of rows that are not nearest in both runs
    are set to zero, and the unbiased estimate of Song et al. (2012) is then applied as if the
    result were a kernel. The result is not symmetric, so exchanging the runs changes the value
    slightly, and the estimate is unbounded: with tens of rows it can exceed 1, where it is clipped.
    platonic-rep also adds 1e-6 to the denominator, which is not negligible for many rows and is
    omitted here.
    """
    return _local_alignment(first[0], second[0])


def _by_angle(rows: Float) -> Relation:
    return cosine_distances(rows), np.ones(len(rows))


def _shared(first: Relation, second: Relation) -> NDArray[np.intp]:
    shared: NDArray[np.intp] = np.count_nonzero(first[0] & second[0], axis=1)
    return shared


def _shared_permuted(first: Relation, second: Relation, order: Index) -> NDArray[np.intp]:
    row, column = places_of(first[0])
    kept = second[0][order[row], order[column]]
    return np.bincount(row[kept], minlength=len(order))


def _mutual(shared: Index, first: Index, second: Index) -> float:
    return float(np.mean(shared / np.maximum(first, second)))


def _jaccard(shared: Index, first: Index, second: Index) -> float:
    return float(np.mean(shared / (first + second - shared)))


def _local_alignment(first: Float, second: Float) -> float:
    n = len(first)
    if n < 4:
        return 0.0
    shared = (first != 0.0) & (second != 0.0)
    row, column = places_of(shared)
    own, other = (each[row, column].astype(np.float64) for each in (first, second))
    columns_of_own = np.bincount(column, weights=own, minlength=n)
    rows_of_other = np.bincount(row, weights=other, minlength=n)
    # Cosines are symmetric, but the neighbour relation is not.
    square = own @ (other * shared[column, row]) + own.sum() * other.sum() / ((n - 1) * (n - 2))
    return float(square - 2.0 * (columns_of_own @ rows_of_other) / (n - 2))


_OVERLAP = r"\frac{1}{n} \sum_{i=1}^{n} \frac{\lvert N_i \cap M_i \rvert}{k}"
_JACCARD = (
    r"\frac{1}{n} \sum_{i=1}^{n} \frac{\lvert N_i \cap M_i \rvert}{\lvert N_i \cup M_i \rvert}"
)
_RANKS = (
    r"\frac{1}{n} \sum_{i=1}^{n} \frac{1}{c_i} \sum_{j \in N_i \cap M_i} "
    r"\frac{2}{(r_{ij} + s_{ij}) (1 + \lvert r_{ij} - s_{ij} \rvert)}, "
    r"\qquad c_i = \sum_{l=1}^{\lvert N_i \cap M_i \rvert} \frac{1}{l}"
)
_NEAREST = (
    "$N_i$ and $M_i$ are the $k$ rows nearest to row $i$ in the first and in the second run, by "
    "Euclidean distance, and $n$ is the number of rows."
)
_NEAREST_BY_ANGLE = (
    "$N_i$ and $M_i$ are the $k$ rows with the largest cosine to row $i$ in the first and in the "
    "second run, and $n$ is the number of rows."
)
_TIES = "Rows tied at the $k$-th distance all count; $k$ is then the larger of both numbers."
_RANKS_WHERE = (
    "$r_{ij}$ and $s_{ij}$ are the ranks of row $j$ among the nearest of row $i$ in the two runs; "
    "a row without shared neighbours adds 0."
)

_measure = partial(RelationMeasure, parameter=10, parameter_name="neighbours")

MUTUAL_NEIGHBOURS = _measure(
    name="mutual-knn:10",
    title="mutual nearest neighbours",
    says="The share of each row's k nearest rows that are also among its k nearest in the other "
    "run.",
    source="Huh et al. 2024",
    formula=_OVERLAP,
    where=_NEAREST + " " + _TIES,
    use_when="the embedding is used for search, retrieval or clustering, where only near rows "
    "matter.",
    beware="It ignores everything beyond the nearest rows. It depends on $k$ and on the number "
    "of rows: unrelated runs of $n$ rows score about $k / (n-1)$.",
    see_also=(
        "mutual-knn-cosine",
        "jaccard-knn",
        "rank-knn",
        "rsa-euclidean-spearman",
    ),
    ignores=SCALED_SHAPE,
    between=euclidean_squares,
    relate=neighbours,
    score=mutual_neighbours,
    score_permuted=mutual_permuted,
)
MUTUAL_COSINE_NEIGHBOURS = _measure(
    name="mutual-knn-cosine:10",
    title="mutual nearest neighbours by angle",
    says="The share of each row's k nearest rows that are also among its k nearest in the other "
    "run; the nearest rows have the largest cosine.",
    source="Huh et al. 2024",
    formula=_OVERLAP,
    where=_NEAREST_BY_ANGLE + " " + _TIES,
    use_when="rows are searched by cosine.",
    beware="A translation of a run changes its angles, so centre both runs or neither. It "
    "depends on $k$ and on the number of rows.",
    see_also=(
        "mutual-knn",
        "jaccard-knn-cosine",
        "cknna",
    ),
    note="The mutual_knn of platonic-rep, which normalises features.",
    ignores=CONE,
    between=_by_angle,
    relate=neighbours,
    score=mutual_neighbours,
    score_permuted=mutual_permuted,
)
JACCARD_NEIGHBOURS = _measure(
    name="jaccard-knn:10",
    title="Jaccard similarity of nearest neighbours",
    says="The number of rows among each row's k nearest in both runs, divided by the number among "
    "its k nearest in either run.",
    source="Schumacher et al. 2021",
    formula=_JACCARD,
    where=_NEAREST,
    use_when="you compare with numbers of ReSi or of studies of node embeddings.",
    beware="It is never above mutual-knn of the same rows and says little more. It depends on "
    "$k$ and on the number of rows.",
    see_also=(
        "mutual-knn",
        "jaccard-knn-cosine",
        "rank-knn",
    ),
    ignores=SCALED_SHAPE,
    between=euclidean_squares,
    relate=neighbours,
    score=jaccard_neighbours,
    score_permuted=jaccard_permuted,
)
JACCARD_COSINE_NEIGHBOURS = _measure(
    name="jaccard-knn-cosine:10",
    title="Jaccard similarity of nearest neighbours by angle",
    says="The number of rows among each row's k nearest in both runs, divided by the number among "
    "its k nearest in either run; the nearest rows have the largest cosine.",
    source="Schumacher et al. 2021",
    formula=_JACCARD,
    where=_NEAREST_BY_ANGLE,
    use_when="rows are searched by cosine, or you compare with numbers of ReSi.",
    beware="It is never above mutual-knn-cosine of the same rows and says little more. A "
    "translation of a run changes its angles.",
    see_also=(
        "mutual-knn-cosine",
        "jaccard-knn",
    ),
    note="The default of ReSi.",
    ignores=CONE,
    between=_by_angle,
    relate=neighbours,
    score=jaccard_neighbours,
    score_permuted=jaccard_permuted,
)
RANKED_NEIGHBOURS = _measure(
    name="rank-knn:10",
    title="rank similarity of nearest neighbours",
    says="The agreement of the ranks of the rows that are among each row's k nearest in both runs.",
    source="Wang et al. 2022",
    formula=_RANKS,
    where=_NEAREST + " " + _RANKS_WHERE,
    use_when="the order of the nearest rows matters, as in a list of search results.",
    beware="Each row is compared with the best value for as many shared rows, so a single shared"
    " row that is nearest in both runs scores 1. Rows at nearly equal distances exchange "
    "ranks by chance.",
    see_also=(
        "mutual-knn",
        "jaccard-knn",
        "rank-knn-cosine",
    ),
    ignores=SCALED_SHAPE,
    between=euclidean_squares,
    relate=neighbour_ranks,
    score=ranked_neighbours,
)
RANKED_COSINE_NEIGHBOURS = _measure(
    name="rank-knn-cosine:10",
    title="rank similarity of nearest neighbours by angle",
    says="The agreement of the ranks of the rows that are among each row's k nearest in both "
    "runs; the nearest rows have the largest cosine.",
    source="Wang et al. 2022",
    formula=_RANKS,
    where=_NEAREST_BY_ANGLE + " " + _RANKS_WHERE,
    use_when="rows are searched by cosine and the order of the results matters.",
    beware="Each row is compared with the best value for as many shared rows, so a single shared"
    " row that is nearest in both runs scores 1. A translation of a run changes its "
    "angles.",
    see_also=(
        "rank-knn",
        "mutual-knn-cosine",
        "jaccard-knn-cosine",
    ),
    note="The default of ReSi.",
    ignores=CONE,
    between=_by_angle,
    relate=neighbour_ranks,
    score=ranked_neighbours,
)
SECOND_ORDER_COSINE = _measure(
    name="second-order-cosine:10",
    title="second-order cosine similarity",
    says="The cosine between each row's cosine distances in the two runs to the rows among its k "
    "nearest in either.",
    source="Hamilton et al. 2016",
    formula=r"\frac{1}{n} \sum_{i=1}^{n} \frac{d_i^\top e_i}{\lVert d_i \rVert \, \lVert e_i "
    r"\rVert}"
    "\n"
    r"d_i = \left( 1 - \cos(x_i, x_j) \right)_{j \in N_i \cup M_i}, \quad e_i = \left( 1 -"
    r" \cos(y_i, y_j) \right)_{j \in N_i \cup M_i}",
    where=_NEAREST_BY_ANGLE,
    use_when="the question is whether rows keep their distances to their neighbourhood, as for "
    "word embeddings.",
    beware="Distances are positive, so unrelated runs score close to 1: compare it with the "
    "chance level. A translation of a run changes its angles.",
    see_also=(
        "mutual-knn-cosine",
        "rsa-euclidean-pearson",
    ),
    note="As in ReSi: cosine distances, not similarities, to the union of the neighbours.",
    ignores=CONE,
    between=_by_angle,
    relate=neighbour_angles,
    score=second_order_cosine,
)
LOCAL_ALIGNMENT = _measure(
    name="cknna:10",
    title="CKNNA",
    says="Kernel alignment of the cosines between rows, restricted to pairs in which one row is "
    "among the k nearest of the other in both runs.",
    source="Huh et al. 2024, as in platonic-rep",
    formula=(
        r"\frac{h(K \odot M,\, L \odot M)}{\sqrt{h(K \odot A,\, K \odot A) \; h(L \odot B,\, L"
        r" \odot B)}}"
        "\n"
    )
    + UNBIASED_PRODUCT,
    where=ROWS
    + (
        r" $K_{ij} = \cos(x_i, x_j)$ and $L_{ij} = \cos(y_i, y_j)$; $A_{ij}$ is 1 if row $j$ "
        "is among the $k$ rows with the largest cosine to row $i$ in the first run and 0 "
        r"otherwise, $B$ likewise in the second, $M = A \odot B$, and $\odot$ multiplies entry"
        " by entry."
    ),
    use_when="you compare with numbers of platonic-rep.",
    beware="It is neither symmetric nor bounded and depends on $k$ and on the number of rows: "
    "mutual-knn-cosine asks the same and has neither fault.",
    see_also=(
        "mutual-knn-cosine",
        "linear-cka",
    ),
    note="As in the released code of platonic-rep, on rows of unit length: cosines are masked "
    "without centring. Values above 1 are clipped. The 1e-6 that the code adds to the "
    "denominator is omitted.",
    low=-1.0,
    ignores=CONE,
    symmetric=False,
    between=_by_angle,
    relate=neighbour_kernel,
    score=local_alignment,
)
