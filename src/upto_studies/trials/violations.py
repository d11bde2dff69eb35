"""Summary of violations and looseness of bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.core import Estimate
from upto_studies.trials.case import Case

if TYPE_CHECKING:
    from collections.abc import Iterable

_NORMAL_QUANTILE = 1.959963984540054


@dataclass(frozen=True, slots=True, kw_only=True)
class Looseness:
    """Summary of the cases of one statement.

    Parameters
    ----------
    statement
        The theorem or lemma.
    n_cases, n_violations
        Number of cases, and number in which the error exceeds its bound.
    quartiles
        Smallest fraction of the bound, the three quartiles, and the largest.
    median
        Median fraction with an interval from order statistics.
    worst
        Case with the largest fraction.
    shares
        All fractions, in increasing order.
    """

    statement: str
    n_cases: int
    n_violations: int
    quartiles: tuple[float, float, float, float, float]
    median: Estimate
    worst: Case
    shares: tuple[float, ...]


def summarise(cases: Iterable[Case]) -> dict[str, Looseness]:
    """Summarise cases by statement, in the order in which statements first occur."""
    by_statement: dict[str, list[Case]] = {}
    for case in cases:
        by_statement.setdefault(case.statement, []).append(case)
    return {name: _looseness(name, some) for name, some in by_statement.items()}


def _looseness(statement: str, cases: list[Case]) -> Looseness:
    shares = np.sort([case.ratio for case in cases])
    size = len(shares)
    low, first, middle, third, high = (
        float(each) for each in np.quantile(shares, [0.0, 0.25, 0.5, 0.75, 1.0])
    )
    # The number of cases below the median is binomial for any distribution.
    reach = _NORMAL_QUANTILE * math.sqrt(size) / 2.0
    below, above = math.floor(size / 2.0 - reach), math.ceil(size / 2.0 + reach)
    inside = below >= 0 and above < size
    return Looseness(
        statement=statement,
        n_cases=size,
        n_violations=sum(case.is_violated for case in cases),
        quartiles=(low, first, middle, third, high),
        median=Estimate(
            value=middle,
            low=float(shares[below]) if inside else None,
            high=float(shares[above]) if inside else None,
        ),
        worst=max(cases, key=lambda case: case.ratio),
        shares=tuple(float(share) for share in shares),
    )
