"""Pairs of autoencoders with facets: agreement of all facets and of each, and named clusters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import scipy.optimize

from upto.core import random_stream
from upto_studies.agreement import Agreement, agreement_of, over_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from upto.core import Estimate
    from upto.core.array_types import Float
    from upto_studies.train.mixtures.facet_training import FacetCodes

TOGETHER = "all facets"
"""Name of the view with the coordinates of all facets."""
MEASURES = {"strong MCC": "mcc", "weak MCC": "weak-mcc-20", "strong MCC, RDC": "mcc-rdc-20"}
"""Measures by the names of the paper; RDC is the default of the code that introduced weak MCC."""
KINDS: dict[str, Callable[[Agreement], dict[str, float]]] = {
    "in sample": lambda each: each.measures_in_sample,
    "held out": lambda each: each.measures,
    "in sample, shuffled rows": lambda each: each.measures_chance_in_sample,
    "held out, shuffled rows": lambda each: each.measures_chance,
}
"""Where the measures of a pair are from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetPair:
    """Agreement of two runs.

    Parameters
    ----------
    runs
        The two runs.
    order
        Facet of the second run that is most like each facet of the first.
    views
        Agreement of all facets and of each facet with its partner, by the facet of the first run.
    """

    runs: tuple[int, int]
    order: tuple[int, ...]
    views: dict[str, Agreement]

    @property
    def in_depth_order(self) -> bool:
        """Whether facets are most alike at the same depth."""
        return self.order == tuple(range(len(self.order)))


def facet_name(facet: int) -> str:
    """Return the name of a facet counted from 0, the shallowest."""
    return f"facet {facet + 1}"


def view_names(n_facets: int) -> tuple[str, ...]:
    """Return the names of all views."""
    return (TOGETHER, *map(facet_name, range(n_facets)))


def compared_runs(
    codes: FacetCodes,
    runs: Sequence[int],
    *,
    n_rows: int,
    seed: int,
    advance: Callable[[int], None],
) -> list[FacetPair]:
    """Compare all unordered pairs of runs on the same random rows.

    Files may sort their images, and rows in order do not count as independent.

    Parameters
    ----------
    codes
        Codes of all members.
    runs
        Members to compare.
    n_rows
        The most rows.
    seed
        Seed of the choice of rows, of splits and of chance levels.
    advance
        Called after each pair.
    """
    chosen = random_stream(seed, "compared rows").permutation(codes.means[0].shape[1])[:n_rows]
    pairs = []
    for first, second in combinations(runs, 2):
        ours, theirs = (
            [np.asarray(facet[run][chosen], dtype=np.float64) for facet in codes.means]
            for run in (first, second)
        )
        order = matched_facets(ours, theirs)
        sides = {TOGETHER: (np.hstack(ours), np.hstack(theirs))}
        for facet, partner in enumerate(order):
            sides[facet_name(facet)] = (ours[facet], theirs[partner])
        pairs.append(
            FacetPair(
                runs=(first, second),
                order=order,
                views={
                    name: agreement_of(*both, measures=tuple(MEASURES.values()), seed=seed)
                    for name, both in sides.items()
                },
            )
        )
        advance(1)
    return pairs


def measured_by(name: str, kind: str = "held out") -> Callable[[Agreement], float | None]:
    """Return a function of a pair: one of its measures, of one of the `KINDS`."""
    return entry_of(KINDS[kind], name)


def entry_of(
    numbers: Callable[[Agreement], dict[str, float]], name: str
) -> Callable[[Agreement], float | None]:
    """Return a function of a pair: one of its numbers by name, None where it has none."""
    return lambda each: numbers(each).get(name)


def mean_over_runs(
    pairs: Sequence[FacetPair],
    number: Callable[[Agreement], float | None],
    view: str = TOGETHER,
    *,
    low: float = -math.inf,
    high: float = math.inf,
) -> Estimate:
    """Return the mean of a number over the pairs that have it, with an interval over runs.

    The interval is clipped to `low` and `high`, the range of the number.
    """
    found = [(pair.runs, number(pair.views[view])) for pair in pairs]
    known = [(runs, value) for runs, value in found if value is not None]
    return over_runs(known, low=low, high=high)


def matched_facets(first: Sequence[Float], second: Sequence[Float]) -> tuple[int, ...]:
    """Return the facet of the second run for each of the first, by canonical correlations.

    Of all assignments the one with the highest sum of mean correlations is taken.
    """
    bases = [[_basis(facet) for facet in run] for run in (first, second)]
    likeness = [
        [float(np.linalg.svd(ours.T @ theirs, compute_uv=False).mean()) for theirs in bases[1]]
        for ours in bases[0]
    ]
    _, partners = scipy.optimize.linear_sum_assignment(likeness, maximize=True)
    return tuple(map(int, partners))


def named_share(
    named: tuple[NDArray[np.int64], NDArray[np.int64]],
    scored: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> float:
    """Return the share of rows whose cluster has their label as its name.

    Parameters
    ----------
    named
        Clusters and labels of the rows that name a cluster, by its most frequent label.
    scored
        Clusters and labels of the rows to score; a cluster without a name is wrong.

    Examples
    --------
    >>> ones = np.array([0, 0, 0, 1, 2]), np.array([7, 7, 3, 3, 3])
    >>> named_share(ones, ones), named_share(ones, (np.array([0, 3]), np.array([7, 7])))
    (0.8, 0.5)
    """
    n_clusters = 1 + max(int(named[0].max()), int(scored[0].max()))
    counts = np.zeros((n_clusters, 1 + int(named[1].max())), dtype=np.int64)
    np.add.at(counts, named, 1)
    names = np.where(counts.any(axis=1), counts.argmax(axis=1), -1)
    return float((names[scored[0]] == scored[1]).mean())


def _basis(rows: Float) -> Float:
    basis: Float = np.linalg.qr(rows - rows.mean(axis=0))[0]
    return basis
