"""Cross-tabulation of batches and labels, and sums of squares over its cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from upto.core.array_types import Float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Crossing:
    """Batch × label cells.

    `batch` and `cell` are the batch and cell codes of every row; `cell_batch`, `cell_label` and
    `count` are the batch, label and number of rows of every cell.
    """

    batch: NDArray[np.intp]
    cell: NDArray[np.intp]
    cell_batch: NDArray[np.intp]
    cell_label: NDArray[np.intp]
    count: NDArray[np.float64]
    n_batches: int
    n_labels: int

    @classmethod
    def of(cls, batches: NDArray[Any], labels: NDArray[Any]) -> Self:
        """Assign rows to cells."""
        batch_names, batch = np.unique(batches, return_inverse=True)
        label_names, label = np.unique(labels, return_inverse=True)
        key = batch.astype(np.int64) * len(label_names) + label
        keys, cell, count = np.unique(key, return_inverse=True, return_counts=True)
        return cls(
            batch=batch,
            cell=cell,
            cell_batch=(keys // len(label_names)).astype(np.intp),
            cell_label=(keys % len(label_names)).astype(np.intp),
            count=count.astype(np.float64),
            n_batches=len(batch_names),
            n_labels=len(label_names),
        )

    @property
    def n_cells(self) -> int:
        """Number of non-empty cells."""
        return len(self.count)

    def kept_cells(self) -> NDArray[np.bool_]:
        """Mark cells of labels that occur in two or more batches, each with another such label."""
        kept = np.ones(self.n_cells, dtype=np.bool_)
        while True:
            beside = np.bincount(self.cell_batch[kept], minlength=self.n_batches) > 1
            again = np.bincount(self.cell_label[kept], minlength=self.n_labels) > 1
            fewer = kept & beside[self.cell_batch] & again[self.cell_label]
            if np.array_equal(fewer, kept):
                return kept
            kept = fewer

    def part(self, kept: NDArray[np.bool_]) -> Crossing:
        """Return a subset of the cells, renumbered and without their rows."""
        batch_names, cell_batch = np.unique(self.cell_batch[kept], return_inverse=True)
        label_names, cell_label = np.unique(self.cell_label[kept], return_inverse=True)
        nothing = np.empty(0, dtype=np.intp)
        return Crossing(
            batch=nothing,
            cell=nothing,
            cell_batch=cell_batch,
            cell_label=cell_label,
            count=self.count[kept],
            n_batches=len(batch_names),
            n_labels=len(label_names),
        )

    def over_batches(self, values: Float) -> Float:
        """Sum values of cells over the labels of each batch."""
        return _grouped(self.cell_batch, self.n_batches, values)

    def over_labels(self, values: Float) -> Float:
        """Sum values of cells over the batches of each label."""
        return _grouped(self.cell_label, self.n_labels, values)

    def batch_means(self, means: Float) -> Float:
        """Return for each cell the unweighted mean of the cells of its batch."""
        sizes = np.bincount(self.cell_batch, minlength=self.n_batches)
        return (self.over_batches(means) / sizes[:, None])[self.cell_batch]

    def label_moments(self, values: Float) -> tuple[Float, Float]:
        """Return each label's mean over batches and variance between batches."""
        m = np.bincount(self.cell_label, minlength=self.n_labels)[:, None].astype(np.float64)
        mean = self.over_labels(values) / m
        spread = values - mean[self.cell_label]
        spread *= spread
        return mean, self.over_labels(spread) / (m - 1)

    def degrees_of_freedom(self) -> tuple[float, float]:
        """Return the degrees of freedom of squared label means and of between-batch variances.

        Both are sums over labels of values centred by batch. If cells have equal variance, each sum
        is a quadratic form, and its mean and variance give the degrees of freedom (Satterthwaite):
        L - 1 and (L - 1)(B - 1) on a complete table of L labels and B batches.
        """
        m = np.bincount(self.cell_label, minlength=self.n_labels).astype(np.float64)
        k = np.bincount(self.cell_batch, minlength=self.n_batches).astype(np.float64)
        cell_m, cell_k = m[self.cell_label], k[self.cell_batch]
        lost = float((1 / (cell_m * cell_k)).sum())
        trace = self.n_labels - lost
        both = self.matrix(1 / np.sqrt(cell_m * cell_k))
        gram = both.T @ both if self.n_labels <= self.n_batches else both @ both.T
        squared = self.n_labels - 2 * lost + float((gram.data**2).sum())
        # Variances within labels, minus their covariance through the batch means.
        pairs = 1 / (cell_m * (cell_m - 1))
        shared = self.matrix(np.sqrt(pairs / cell_k))
        between = -(shared @ shared.T).tolil()
        within = self.over_batches((1 / (cell_m - 1))[:, None])[:, 0] / k
        between.setdiag(between.diagonal() + within)
        squared_rest = (
            float((1 / (m - 1)).sum())
            - 2 * float((pairs / cell_k).sum())
            + float((between.tocsr().data ** 2).sum())
        )
        return trace**2 / squared, trace**2 / squared_rest

    def matrix(self, values: Float) -> Any:
        """Return cell values as a sparse batches × labels matrix."""
        from scipy.sparse import csr_array

        shape = (self.n_batches, self.n_labels)
        return csr_array((values, (self.cell_batch, self.cell_label)), shape)


def adjusted_squares(crossing: Crossing, sums: Float) -> tuple[Float, int]:
    """Return the sum of squares of batches adjusted for labels, and its degrees of freedom.

    Parameters
    ----------
    crossing
        The cells.
    sums
        Sums of the rows of each cell.
    """
    from scipy.sparse import block_array
    from scipy.sparse.csgraph import connected_components

    counts = crossing.matrix(crossing.count)
    graph = block_array([[None, counts], [counts.T, None]])
    n_parts, part = connected_components(graph, directed=False)
    df = crossing.n_batches - int(n_parts)
    n_batch, n_label = np.asarray(counts.sum(axis=1)), np.asarray(counts.sum(axis=0))
    of_batch, of_label = crossing.over_batches(sums), crossing.over_labels(sums)
    if crossing.n_batches <= crossing.n_labels:
        free = _all_but_one(part[: crossing.n_batches])
        return _beyond(counts, n_batch, n_label, of_batch, of_label, free), df
    free = _all_but_one(part[crossing.n_batches :])
    labels_beyond = _beyond(counts.T.tocsr(), n_label, n_batch, of_label, of_batch, free)
    by_batch = (of_batch**2 / n_batch[:, None]).sum(axis=0)
    by_label = (of_label**2 / n_label[:, None]).sum(axis=0)
    return labels_beyond + by_batch - by_label, df


def add_rows(sums: Float, codes: NDArray[np.intp], block: Float) -> None:
    """Add rows to the sums of their groups, in place."""
    from scipy.sparse import csr_array

    order = np.argsort(codes, kind="stable")
    groups, counts = np.unique(codes, return_counts=True)
    starts = np.concatenate([[0], np.cumsum(counts)])
    sums[groups] += (
        csr_array((np.ones(len(codes)), order, starts), (len(groups), len(codes))) @ block
    )


def _beyond(
    counts: Any, n_own: Float, n_other: Float, own: Float, other: Float, free: NDArray[np.bool_]
) -> Float:
    """Return the adjusted squares of one factor; one level per connected part is not free."""
    if not free.any():
        return np.zeros(own.shape[1])
    from scipy.linalg import cho_factor, cho_solve

    weighted = counts / n_other[None, :]
    information = np.diag(n_own) - (weighted @ counts.T).toarray()
    score = (own - weighted @ other)[free]
    solved = cho_solve(cho_factor(information[np.ix_(free, free)]), score)
    squares: Float = (score * solved).sum(axis=0)
    return squares


def _all_but_one(parts: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark all but the first member of each connected part."""
    free = np.ones(len(parts), dtype=np.bool_)
    free[np.unique(parts, return_index=True)[1]] = False
    return free


def _grouped(codes: NDArray[np.intp], n_groups: int, values: Float) -> Float:
    if values.ndim == 1:
        return np.bincount(codes, values, n_groups).astype(np.float64)
    from scipy.sparse import csr_array

    cells = np.arange(len(codes))
    matrix = csr_array((np.ones(len(codes)), (codes, cells)), (n_groups, len(codes)))
    return np.asarray(matrix @ values)
