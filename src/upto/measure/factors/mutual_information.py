"""Estimates of mutual information and entropy of two columns, in nats, safe where values tie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Float = NDArray[np.float64]
    Integer = NDArray[np.intp]

# A table of counts larger than this is made of the cells that occur.
_MOST_CELLS = 1 << 22
_ROUNDING = 1e-13


def digammas(count: int) -> Float:
    """Return the digamma function of 0 to `count`, which counts of rows are looked up in."""
    # It takes longer to import than most estimates to make.
    import scipy.special

    table: Float = scipy.special.digamma(np.arange(count + 1, dtype=np.float64))
    return table


def entropy(labels: Integer) -> float:
    """Return the plug-in entropy of labels."""
    return _entropy_of_counts(np.bincount(labels))


def discrete_information(first: Integer, second: Integer) -> float:
    """Return the plug-in mutual information of two columns of labels; never negative."""
    n_first, n_second = int(first.max()) + 1, int(second.max()) + 1
    cells = first * n_second + second
    if n_first * n_second > _MOST_CELLS:
        cells = np.unique(cells, return_inverse=True)[1]
    found = entropy(first) + entropy(second) - entropy(cells)
    # Rounding of three entropies is no information.
    return found if found > _ROUNDING else 0.0


def mixed_information(values: Float, labels: Integer, neighbours: int, table: Float) -> float:
    """Return Ross's estimate of the information between values and labels.

    It is that of scikit-learn's ``mutual_info_classif`` before negative estimates are set to 0, on
    values that do not tie. Rows at the very distance of the last neighbour are counted, among the
    rows of the label and among all alike; so ties, which scikit-learn breaks by chance, give one
    answer, and none beyond what the labels have to tell.

    Parameters
    ----------
    values
        Ascending.
    labels
        Those of the same rows; rows with a label of their own do not count.
    neighbours
        At most this many rows of the same label make a neighbourhood.
    table
        Digammas of counts up to the number of rows.
    """
    counts = np.bincount(labels)
    repeated = counts[labels] > 1
    if not repeated.all():
        values, labels = values[repeated], labels[repeated]
        counts = np.bincount(labels) if len(labels) else counts
    n_samples = len(values)
    if not n_samples:
        return 0.0
    order = _grouped(labels)
    groups = labels[order]
    sizes = counts[groups]
    starts = (np.cumsum(counts) - counts)[groups]
    near = np.minimum(neighbours, sizes - 1)
    grouped = values[order]
    radii, extended = _radii(grouped, starts, starts + sizes, near)
    # Neighbourhoods of ascending values are found fastest.
    ascending = np.empty_like(radii)
    ascending[order] = radii
    first, last = _within(values, ascending)
    if extended:
        keys = groups * n_samples + order
        offsets = groups * n_samples
        near = np.searchsorted(keys, offsets + last[order])
        near = near - np.searchsorted(keys, offsets + first[order]) - 1
    all_near = last - first - 1
    return float(
        table[n_samples] + table[near].mean() - table[sizes].mean() - table[all_near].mean()
    )


def continuous_information(first: Float, second: Float, neighbours: int, table: Float) -> float:
    """Return the estimate of Kraskov, Stögbauer and Grassberger for two columns of values.

    It is that of scikit-learn's ``mutual_info_regression`` before negative estimates are set to 0,
    on values that do not tie. Where the neighbourhood of a row is a point, the rows in it are
    counted, as by Gao and others (2017).
    """
    # It takes longer to import than most estimates to make.
    import scipy.spatial

    n_samples = len(first)
    neighbours = min(neighbours, n_samples - 1)
    columns = [column / (column.std() or 1.0) for column in (first, second)]
    both = np.column_stack(columns)
    distances = scipy.spatial.KDTree(both).query(both, k=neighbours + 1, p=np.inf)[0][:, 1:]
    radii = distances[:, -1]
    inside = np.nextafter(radii, 0.0)
    near = 1 + np.count_nonzero(distances < radii[:, None], axis=1)
    tied = radii == 0.0
    if tied.any():
        _, cells, counts = np.unique(both, axis=0, return_inverse=True, return_counts=True)
        near[tied] = counts[cells.ravel()][tied]
    total = table[n_samples] + table[near].mean()
    for column in columns:
        order = np.argsort(column, kind="stable")
        first_within, last_within = _within(column[order], np.maximum(inside[order], 0.0))
        total -= table[last_within - first_within].mean()
    return float(total)


def most_continuous(n_samples: int, neighbours: int, table: Float) -> float:
    """Return the information of values with themselves by the estimate for two columns of values.

    It can say no more, and no less where one column determines the other and none ties: what
    takes the place of an entropy.
    """
    return float(table[n_samples] - table[min(neighbours, n_samples - 1)])


def histogram_bins(values: Float, bins: int) -> Integer:
    """Return the bin of every value as disentanglement_lib finds it: equal widths, from 0."""
    edges = np.histogram(values, bins)[1][:-1]
    found: Integer = np.digitize(values, edges) - 1
    return found


def unit_bins(values: Float, bins: int) -> Integer:
    """Return the bin of every value as Ubisoft's package finds it: scaled to 0 … 1 first."""
    span = values.max() - values.min()
    scale = 1.0 / (span or 1.0)
    scaled = values * scale + (0.0 - values.min() * scale)
    found: Integer = np.digitize(scaled, np.linspace(0.0, 1.0, bins + 1)[:-1]) - 1
    return found


def count_bins(values: Float, bins: int) -> Integer:
    """Return the bin of every value, of about equal counts; equal values share one."""
    edges = np.unique(np.quantile(values, np.arange(1, bins) / bins))
    found = np.searchsorted(edges, values, side="right")
    return np.unique(found, return_inverse=True)[1]


def _entropy_of_counts(counts: Integer) -> float:
    present = counts[counts > 0].astype(np.float64)
    total = present.sum()
    return float(np.log(total) - np.dot(present, np.log(present)) / total)


def _grouped(labels: Integer) -> Integer:
    # Small integers are sorted in linear time.
    small = labels.astype(np.uint16) if labels.max() < 1 << 16 else labels
    return np.argsort(small, kind="stable")


def _radii(values: Float, starts: Integer, ends: Integer, near: Integer) -> tuple[Float, bool]:
    """Return the distance of every value to its last neighbour, and whether more are as close.

    The neighbours of a value are a window of its group, in which values ascend: the first window
    that reaches further above than below, or the one before.
    """
    own = np.arange(len(values))
    lowest = np.maximum(starts, own - near)
    low, high = lowest, np.minimum(own, ends - 1 - near)
    for _ in range(int(near.max()).bit_length()):
        middle = (low + high) >> 1
        above = values[middle + near] - values >= values - values[middle]
        high = np.where(above, middle, high)
        low = np.where(above, low, np.minimum(middle + 1, high))
    before = np.maximum(low - 1, lowest)
    reach = np.maximum(values - values[low], values[low + near] - values)
    reach_before = np.maximum(values - values[before], values[before + near] - values)
    radii = np.minimum(reach, reach_before)
    window = np.where(reach_before < reach, before, low)
    below, above_it = np.maximum(window - 1, 0), np.minimum(window + near + 1, len(values) - 1)
    extended = (window > starts) & (values - values[below] <= radii)
    extended |= (window + near + 1 < ends) & (values[above_it] - values <= radii)
    return radii, bool(extended.any())


def _within(values: Float, radii: Float) -> tuple[Integer, Integer]:
    """Return where the values within a radius of every ascending value start and end."""
    first = _first_within(values, radii)
    # The end is the start of the values turned round.
    last = len(values) - _first_within(-values[::-1], radii[::-1])[::-1]
    return first, last


def _first_within(values: Float, radii: Float) -> Integer:
    first = np.searchsorted(values, values - radii)
    while True:
        # The sum of a value and a radius is rounded; their difference decides, as for neighbours.
        left = np.maximum(first - 1, 0)
        wider = np.flatnonzero((first > 0) & (values - values[left] <= radii))
        narrower = np.flatnonzero(values - values[first] > radii)
        if not len(wider) and not len(narrower):
            return first
        first[wider] = np.searchsorted(values, values[left[wider]])
        first[narrower] = np.searchsorted(values, values[first[narrower]], side="right")
