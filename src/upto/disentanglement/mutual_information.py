"""Estimates of mutual information and entropy of two columns, in nats, robust to ties."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.disentanglement.sorted_counts import Ascending

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core.array_types import Float

    Integer = NDArray[np.intp]

# For larger contingency tables only the occupied cells are stored.
_MOST_CELLS = 1 << 22
_ROUNDING = 1e-13


def digammas(count: int) -> Float:
    """Return the digamma function of 0 to `count`, as a lookup table."""
    # The import takes longer than most estimates.
    import scipy.special

    table: Float = scipy.special.digamma(np.arange(count + 1, dtype=np.float64))
    return table


def entropy(labels: Integer) -> float:
    """Return the plug-in entropy of labels."""
    return _entropy_of_counts(np.bincount(labels))


def discrete_information(first: Integer, second: Integer) -> float:
    """Return the plug-in mutual information of two columns of labels, which is never negative."""
    n_first, n_second = int(first.max()) + 1, int(second.max()) + 1
    cells = first * n_second + second
    if n_first * n_second > _MOST_CELLS:
        cells = np.unique(cells, return_inverse=True)[1]
    found = entropy(first) + entropy(second) - entropy(cells)
    # Rounding of the three entropies must not make it negative.
    return found if found > _ROUNDING else 0.0


def mixed_information(line: Ascending, labels: Integer, neighbours: int, table: Float) -> float:
    """Return Ross's estimate of the information between values and labels.

    For values without ties it equals scikit-learn's ``mutual_info_classif`` before negative
    estimates are set to 0. Rows exactly at the distance of the last neighbour are counted, both
    among the rows of the label and among all; so ties, which scikit-learn breaks at random, give a
    unique result. For a label with at most twice as many rows as neighbours, scikit-learn computes
    distances as matrix products, and rounding decides whether the last neighbour counts: results
    then differ in the fourth decimal.

    Parameters
    ----------
    line
        Ascending values.
    labels
        Labels of the same rows; rows with a unique label are ignored.
    neighbours
        Largest number of rows of the same label in a neighbourhood.
    table
        Digamma function of counts up to the number of rows.
    """
    counts = np.bincount(labels)
    if (counts == 1).any():
        repeated = counts[labels] > 1
        if not repeated.any():
            return 0.0
        line, labels = Ascending.of(line.values[repeated]), labels[repeated]
        counts = np.bincount(labels)
    counts = counts[counts > 0]
    n_samples = len(labels)
    order = _grouped(labels)
    centres = line.values[order]
    radii, near, extended = _radii(centres, counts, neighbours)
    first, last = line.within(centres, radii)
    if len(extended):
        # Within groups, positions in the order of values are ascending.
        offsets = n_samples * np.repeat(np.arange(len(counts)), counts)
        keys, offsets = offsets + order, offsets[extended]
        near[extended] = np.searchsorted(keys, offsets + last[extended])
        near[extended] -= np.searchsorted(keys, offsets + first[extended]) + 1
    total = table[n_samples] + table[near].mean() - table[last - first - 1].mean()
    return float(total - np.dot(counts, table[counts]) / n_samples)


def continuous_information(first: Float, second: Float, neighbours: int, table: Float) -> float:
    """Return the estimate of Kraskov, Stögbauer and Grassberger for two columns of values.

    For values without ties it equals scikit-learn's ``mutual_info_regression`` before negative
    estimates are set to 0. If the neighbourhood of a row is a single point, the rows at it are
    counted, as in Gao et al. (2017).
    """
    # The import takes longer than most estimates.
    import scipy.spatial

    n_samples = len(first)
    neighbours = min(neighbours, n_samples - 1)
    columns = [column / (column.std() or 1.0) for column in (first, second)]
    both = np.column_stack(columns)
    distances = scipy.spatial.KDTree(both).query(both, k=neighbours + 1, p=np.inf)[0][:, 1:]
    radii = distances[:, -1]
    inside = np.maximum(np.nextafter(radii, 0.0), 0.0)
    near = 1 + np.count_nonzero(distances < radii[:, None], axis=1)
    tied = radii == 0.0
    if tied.any():
        _, cells, counts = np.unique(both, axis=0, return_inverse=True, return_counts=True)
        near[tied] = counts[cells.ravel()][tied]
    total = table[n_samples] + table[near].mean()
    for column in columns:
        first_within, last_within = Ascending.of(np.sort(column)).within(column, inside)
        total -= table[last_within - first_within].mean()
    return float(total)


def most_continuous(n_samples: int, neighbours: int, table: Float) -> float:
    """Return the estimated information of continuous values with themselves.

    It is the maximum of the estimate, reached if one column determines the other without ties, and
    replaces the entropy.
    """
    return float(table[n_samples] - table[min(neighbours, n_samples - 1)])


def histogram_bins(values: Float, bins: int) -> Integer:
    """Return the bin of every value as in disentanglement_lib: equal widths, from 0."""
    edges = np.histogram(values, bins)[1][:-1]
    return np.digitize(values, edges) - 1


def unit_bins(values: Float, bins: int) -> Integer:
    """Return the bin of every value as in Ubisoft's package: values are first scaled to [0, 1]."""
    span = values.max() - values.min()
    scale = 1.0 / (span or 1.0)
    scaled = values * scale + (0.0 - values.min() * scale)
    found: Integer = np.digitize(scaled, np.linspace(0.0, 1.0, bins + 1)[:-1]) - 1
    return found


def count_bins(values: Float, bins: int) -> Integer:
    """Return the bin of every value, with about equal counts; equal values share a bin."""
    edges = np.unique(np.quantile(values, np.arange(1, bins) / bins))
    found = np.searchsorted(edges, values, side="right")
    if found.min() == found.max():
        # Nearly all rows have the smallest value; the others form one bin.
        found = (values > values.min()).astype(np.intp)
    return np.unique(found, return_inverse=True)[1]


def _entropy_of_counts(counts: Integer) -> float:
    present = counts[counts > 0].astype(np.float64)
    total = present.sum()
    return float(np.log(total) - np.dot(present, np.log(present)) / total)


def _grouped(labels: Integer) -> Integer:
    # Integers of one or two bytes are sorted in linear time.
    kind = np.min_scalar_type(labels.max())
    return np.argsort(labels.astype(kind) if kind.itemsize <= 2 else labels, kind="stable")


def _radii(values: Float, counts: Integer, neighbours: int) -> tuple[Float, Integer, Integer]:
    """Return the distance of every value to its last neighbour, and its number of neighbours.

    Values ascend within groups of `counts`. If more values of a group are as close as the last
    neighbour, they are not counted yet: the third array contains the positions of such values.
    """
    most = int(min(neighbours, counts.max() - 1))
    # Infinite padding around each group is never a neighbour.
    shifts = most * (2 * np.arange(len(counts)) + 1)
    places = np.arange(len(values)) + np.repeat(shifts, counts)
    padded = np.full(len(values) + 2 * most * len(counts), np.inf)
    ahead = np.cumsum(counts) - counts + shifts
    padded[(ahead[:, None] - np.arange(1, most + 1)).ravel()] = -np.inf
    padded[places] = values
    below = _nearer_below(padded, most)[places - most].astype(np.intp)
    near = np.full(len(values), most)
    if counts.min() <= most:
        # In a group that is no larger, all values are neighbours.
        sizes = np.repeat(counts, counts)
        near = np.minimum(most, sizes - 1)
        below = np.where(sizes <= most, places - np.repeat(ahead, counts), below)
    low = places - below
    high = low + near
    radii = np.maximum(values - padded[low], padded[high] - values)
    extended = (values - padded[low - 1] <= radii) | (padded[high + 1] - values <= radii)
    return radii, near, np.flatnonzero(extended)


def _nearer_below(padded: Float, most: int) -> NDArray[np.unsignedinteger]:
    """Return how many of the nearest `most` values lie below each; the ends are padding.

    The value j places below is among them if it is nearer than the value `most` + 1 - j places
    above.
    """
    inner = len(padded) - 2 * most
    found = np.zeros(inner, dtype=np.min_scalar_type(most))
    with np.errstate(invalid="ignore"):
        for lag in range(1, most // 2 + most % 2 + 1):
            other = most + 1 - lag
            near, far = padded[lag:] - padded[:-lag], padded[other:] - padded[:-other]
            found += near[most - lag :][:inner] <= far[most:][:inner]
            if other != lag:
                found += far[most - other :][:inner] <= near[most:][:inner]
    return found
