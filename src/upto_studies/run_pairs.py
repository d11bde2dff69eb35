"""All pairs of several runs of one model: their agreement, and that of their clusters."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from upto.core import Column, Table
from upto_studies.agreement import Agreement, agreement_of, over_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from upto.core import Cell, Estimate
    from upto.core.array_types import Float

STRONG, WEAK = "mcc", "weak-mcc-20"
Pairs = dict[tuple[int, int], Agreement]
"""Agreement of runs, by their numbers."""

COLUMNS: dict[str, Callable[[Agreement], float]] = {
    "strong MCC": lambda each: each.measures[STRONG],
    "strong, in sample": lambda each: each.measures_in_sample[STRONG],
    "weak MCC": lambda each: each.measures[WEAK],
    "weak, in sample": lambda each: each.measures_in_sample[WEAK],
    "strong, chance in sample": lambda each: each.measures_chance_in_sample[STRONG],
    "weak, chance in sample": lambda each: each.measures_chance_in_sample[WEAK],
    "ε scaled permutation": lambda each: each.held_out["scaled-permutation"],
    "ε affine": lambda each: each.held_out["affine"],
    "ε affine, chance": lambda each: each.chance["affine"],
    "R² scaled permutation": lambda each: each.r2["scaled-permutation"],
    "R² affine": lambda each: each.r2["affine"],
}
"""Numbers of a pair in tables; held out where not said otherwise."""


def limits_of(name: str) -> dict[str, float]:
    """Return the range of one of `COLUMNS`, to which its interval is clipped."""
    return {"low": 0.0} if name.startswith("ε") else {"high": 1.0}


def compared_runs(
    codes: Float, *, seed: int, advance: Callable[[int], None] | None = None
) -> Pairs:
    """Compare every two runs.

    Parameters
    ----------
    codes
        Runs × rows × values.
    seed
        Seed of splits and chance levels.
    advance
        Told of every pair.
    """
    found = {}
    for first, second in combinations(range(len(codes)), 2):
        found[first, second] = compared(codes[first], codes[second], seed=seed)
        if advance is not None:
            advance(1)
    return found


def compared(first: Float, second: Float, *, seed: int) -> Agreement:
    """Compare two runs, or a run with the truth."""
    return agreement_of(first, second, measures=(STRONG, WEAK), seed=seed)


def mean_of_pairs(pairs: Pairs, name: str) -> Estimate:
    """Return one of `COLUMNS`, the mean over pairs with an interval over runs."""
    values = ((pair, COLUMNS[name](each)) for pair, each in pairs.items())
    return over_runs(values, **limits_of(name))


def agreement_table(title: str, groups: Mapping[str, Pairs], caption: str) -> Table:
    """Return the numbers of every group of runs."""
    rows: list[tuple[Cell, ...]] = [
        (group, len(pairs), *(mean_of_pairs(pairs, name) for name in COLUMNS))
        for group, pairs in groups.items()
    ]
    heads = (Column(name="runs"), Column(name="pairs"))
    return Table(
        title=title,
        columns=(*heads, *(Column(name=name, spec=".3f") for name in COLUMNS)),
        rows=tuple(rows),
        caption=caption,
    )


def matched_accuracy(
    clusters: NDArray[Any],
    labels: NDArray[Any],
    fitted: tuple[NDArray[Any], NDArray[Any]] | None = None,
) -> float:
    """Return the share of rows in the cluster that is matched with their label.

    Clusters and labels are matched one to one so that most rows are right.

    Parameters
    ----------
    clusters, labels
        Cluster and label of each row, as numbers from 0.
    fitted
        Clusters and labels of the rows that decide the matching; those above by default.

    Examples
    --------
    >>> import numpy as np
    >>> matched_accuracy(np.array([1, 1, 0, 0]), np.array([0, 0, 1, 0]))
    0.75
    """
    known = (clusters, labels) if fitted is None else fitted
    size = 1 + max(int(each.max()) for each in (clusters, labels, *known))
    counts = np.zeros((size, size))
    np.add.at(counts, known, 1)
    matched = linear_sum_assignment(counts, maximize=True)[1]
    return float((matched[clusters] == labels).mean())


def cluster_agreement(clusters: NDArray[Any] | Sequence[NDArray[Any]]) -> Estimate:
    """Return the adjusted Rand index of the clusters of every two runs; 0 by chance."""
    from sklearn.metrics import adjusted_rand_score

    values = (
        (pair, float(adjusted_rand_score(clusters[pair[0]], clusters[pair[1]])))
        for pair in combinations(range(len(clusters)), 2)
    )
    return over_runs(values, high=1.0)
