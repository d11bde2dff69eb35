"""Measure the error rates of the test of a fitted mixture on known laws.

``python -m checks.components`` draws data sets from laws with a known answer, tests each by
`upto.theory.bootstrap_components`, and writes ``checks/components.json``:

follow
    Do the rows follow so many Gaussians? Where they do, at least 90 % of the data sets must be
    said to (two tests at 0.05 each). Where they do not, the rate of being said to is reported.
not rejected
    Do so few rows of one cloud of another law pass for so many Gaussians? The rate is reported; it
    is why fewer than 150 rows per component decide nothing.
distinct
    One component too many is fitted. At least 95 % of the data sets must not be said to need it.
P2
    Where P2 is false, at least 95 % of the data sets must not be said to satisfy it. Where it is
    true, the rate of being said to satisfy it is reported.

``--quick`` draws a quarter of the data sets. ``--workers`` processes share the work; each data set
has its own seed, so their number changes nothing. ``--add`` keeps the rates of the record and
measures only the cases that it lacks. Every rate has its exact binomial interval.
"""

from __future__ import annotations

import argparse
import json
import os
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from checks.rates import Rate, report, write_record
from threadpoolctl import threadpool_limits

from upto.theory import ComponentsTest, bootstrap_components

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Float = NDArray[np.float64]

SEED = 20261116


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """A mixture with equal weights, and the number of components fitted to its rows.

    `tails` are the degrees of freedom of Student's t in place of each Gaussian; `correlation` is
    that of all coordinates within a component. `cloud` names the law of every coordinate, in place
    of a mixture.
    """

    name: str
    means: tuple[tuple[float, ...], ...]
    variances: tuple[tuple[float, ...], ...]
    n_fitted: int = 2
    correlation: float = 0.0
    tails: float | None = None
    cloud: str = ""

    def draw(self, rng: np.random.Generator, n_rows: int) -> Float:
        """Draw one data set."""
        if self.cloud:
            one: Float = getattr(rng, self.cloud)(size=(n_rows, len(self.means[0])))
            return one
        means, variances = np.array(self.means), np.array(self.variances)
        chosen = rng.integers(len(means), size=n_rows)
        width = means.shape[1]
        shared = (1.0 - self.correlation) * np.eye(width) + self.correlation
        noise = rng.normal(size=(n_rows, width)) @ np.linalg.cholesky(shared).T
        if self.tails is not None:
            noise /= np.sqrt(rng.chisquare(self.tails, size=(n_rows, 1)) / self.tails)
        rows: Float = means[chosen] + noise * np.sqrt(variances[chosen])
        return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A law, the question about its rows, and the correct answer."""

    asked: str
    is_true: bool
    law: Law
    n_rows: int
    trials: int

    @property
    def nominal(self) -> float | None:
        """Required rate of correct answers; None if only reported."""
        if self.asked in ("follow", "not rejected"):
            return 0.9 if self.is_true else None
        return None if self.is_true else 0.95

    def is_said(self, found: ComponentsTest) -> bool:
        """Whether the test affirms the question."""
        return {
            "follow": found.fits and found.are_enough,
            "not rejected": found.fits,
            "distinct": found.are_needed,
            "P2": found.ratios_differ,
        }[self.asked]


APART = ((0.0, 0.0), (3.0, 3.0))
ROUND = ((0.0, 0.0, 0.0),), ((1.0, 1.0, 1.0),)
ONE = Law(name="one Gaussian, two fitted", means=ROUND[0], variances=ROUND[1])
FLAT = Law(name="one Gaussian, two fitted", means=((0.0, 0.0),), variances=((1.0, 1.0),))
TURNED = Law(
    name="one Gaussian, correlated by 0.6, two fitted",
    means=ROUND[0],
    variances=ROUND[1],
    correlation=0.6,
)
THIRD = Law(
    name="two of one shape, 3 apart, three fitted",
    means=APART,
    variances=((1.0, 2.0), (1.0, 2.0)),
    n_fitted=3,
)
EQUAL = Law(
    name="two, 3 apart, variance ratios 2 and 2", means=APART, variances=((1.0, 1.0), (2.0, 2.0))
)
TWO_EQUAL = Law(
    name="two, 3 apart, variance ratios 1, 4 and 4",
    means=((0.0, 0.0, 0.0), (3.0, 3.0, 3.0)),
    variances=((1.0, 1.0, 1.0), (1.0, 4.0, 4.0)),
)


def _differing(apart: float, ratio: float, correlation: float = 0.0) -> Law:
    within = f", correlated by {correlation:g} within" if correlation else ""
    return Law(
        name=f"two, {apart:g} apart, variance ratios 1 and {ratio:g}{within}",
        means=((0.0, 0.0), (apart, apart)),
        variances=((1.0, 1.0), (1.0, ratio)),
        correlation=correlation,
    )


def _tailed(freedom: float) -> Law:
    return Law(
        name=f"two of Student's t with {freedom:g} degrees, 6 apart",
        means=((0.0, 0.0), (6.0, 6.0)),
        variances=((1.0, 1.0), (1.0, 2.0)),
        tails=freedom,
    )


def _cloud(name: str, law: str = "", tails: float | None = None) -> Law:
    return Law(
        name=f"one cloud, {name}, two fitted",
        means=((0.0, 0.0),),
        variances=((1.0, 1.0),),
        tails=tails,
        cloud=law,
    )


CLOUDS = (
    _cloud("uniform", "uniform"),
    _cloud("exponential", "exponential"),
    _cloud("Laplace", "laplace"),
    _cloud("Student's t with 3 degrees", tails=3.0),
)

CASES = tuple(
    Case(asked=asked, is_true=is_true, law=law, n_rows=n_rows, trials=trials)
    for asked, is_true, cases in (
        ("follow", True, ((_differing(3, 2), 500, 100), (_differing(6, 2), 2000, 30))),
        (
            "follow",
            False,
            ((_tailed(3), 500, 100), (_tailed(5), 500, 100), (_tailed(10), 500, 100)),
        ),
        ("distinct", False, ((FLAT, 300, 100), (ONE, 2000, 30), (THIRD, 500, 100))),
        (
            "P2",
            False,
            (
                (ONE, 500, 100),
                (ONE, 2000, 30),
                (TURNED, 500, 100),
                (THIRD, 500, 100),
                (EQUAL, 500, 100),
                (TWO_EQUAL, 500, 100),
                (_differing(3, 2, correlation=0.3), 500, 100),
                (_differing(3, 2, correlation=0.3), 2000, 30),
            ),
        ),
        (
            "P2",
            True,
            (
                (_differing(3, 1.5), 500, 100),
                (_differing(3, 2), 500, 100),
                (_differing(3, 1.5), 2000, 30),
                (_differing(0, 4), 500, 100),
                (_differing(0, 4), 2000, 20),
            ),
        ),
        ("not rejected", False, [(law, n, 40) for law in CLOUDS for n in (60, 120, 300)]),
    )
    for law, n_rows, trials in cases
)


def main() -> None:
    """Test every case, print the table and write the record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="draw a quarter of the data sets")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_suffix(".json"))
    parser.add_argument("--add", action="store_true", help="measure what the record lacks")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    share = 0.25 if options.quick else 1.0
    before = json.loads(options.output.read_text(encoding="utf-8")) if options.add else None
    cases = CASES if before is None else CASES[len(before["rates"]) :]
    one_thread = partial(threadpool_limits, 1, "blas")
    with ProcessPoolExecutor(options.workers, initializer=one_thread) as pool:
        report(
            "What is claimed of fitted components",
            _rates(cases, share, options.seed, pool),
            options.output,
            seed=options.seed,
            share=share,
        )
    if before is not None:
        added = json.loads(options.output.read_text(encoding="utf-8"))
        before["rates"] += added.pop("rates")
        write_record(options.output, before | {"added": added | {"cases": len(cases)}})


def _rates(cases: Sequence[Case], share: float, seed: int, pool: Executor) -> Iterator[Rate]:
    calls: dict[tuple[Law, int, int], Future[ComponentsTest]] = {}
    shares = {case: max(1, round(share * case.trials)) for case in cases}
    for case, trials in shares.items():
        for trial in range(trials):
            # Two questions about one law are asked about the same data sets.
            if (case.law, case.n_rows, trial) not in calls:
                calls[case.law, case.n_rows, trial] = pool.submit(
                    ask, case.law, case.n_rows, (seed, case.n_rows, trial)
                )
    for case, trials in shares.items():
        asked = [calls[case.law, case.n_rows, trial] for trial in range(trials)]
        said = sum(case.is_said(call.result()) for call in asked)
        yield Rate(
            check=f"{case.asked}: {'claimed' if case.is_true else 'not claimed'}",
            case=case.law.name,
            n_samples=case.n_rows,
            n_features=len(case.law.means[0]),
            hits=said if case.is_true else len(asked) - said,
            trials=len(asked),
            nominal=case.nominal,
        )


def ask(law: Law, n_rows: int, seed: tuple[int, ...]) -> ComponentsTest:
    """Test one data set of a law."""
    rows = law.draw(np.random.default_rng(seed), n_rows)
    return bootstrap_components(rows, law.n_fitted, seed=seed[-1])


if __name__ == "__main__":
    main()
