"""Does the test of a fitted mixture see what is there, and nothing else? Measured on known laws.

``python -m checks.components`` draws rows from mixtures of which it is known whether P2 holds, asks
`upto.theory.bootstrap_components` of each data set, and writes ``checks/components.json``:

distinct
    Mixtures fitted with one component too many. The rate of data sets of which it is not claimed
    that all components are needed is at least 95 %.
level
    Mixtures for which P2 is false: one component too many was fitted, or two variance ratios are
    equal. The rate of data sets of which P2 is not claimed is at least 95 %.
power
    Mixtures for which P2 is true. The rate of data sets of which it is claimed.

``--quick`` runs a quarter of the trials. Every rate has its exact binomial interval.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from checks.rates import Rate, report
from threadpoolctl import threadpool_limits

from upto.theory import ComponentsTest, bootstrap_components

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Float = NDArray[np.float64]

SEED = 20261116


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """A mixture of equal weights, and what is fitted to rows of it."""

    name: str
    means: tuple[tuple[float, ...], ...]
    variances: tuple[tuple[float, ...], ...]
    n_fitted: int = 2
    correlation: float = 0.0

    def draw(self, rng: np.random.Generator, n_rows: int) -> Float:
        """Draw one data set."""
        means, variances = np.array(self.means), np.array(self.variances)
        chosen = rng.integers(len(means), size=n_rows)
        width = means.shape[1]
        shared = (1.0 - self.correlation) * np.eye(width) + self.correlation
        noise = rng.normal(size=(n_rows, width)) @ np.linalg.cholesky(shared).T
        rows: Float = means[chosen] + noise * np.sqrt(variances[chosen])
        return rows


ONE = {"means": ((0.0, 0.0, 0.0),), "variances": ((1.0, 1.0, 1.0),)}
FALSE = (
    (Law(name="one Gaussian, two fitted", **ONE), 500, 400),
    (Law(name="one Gaussian, two fitted", **ONE), 2000, 200),
    (Law(name="one Gaussian, correlated by 0.6, two fitted", **ONE, correlation=0.6), 500, 200),
    (
        Law(
            name="two of one shape, 3 apart, three fitted",
            means=((0.0, 0.0), (3.0, 3.0)),
            variances=((1.0, 2.0), (1.0, 2.0)),
            n_fitted=3,
        ),
        500,
        200,
    ),
    (
        Law(
            name="two, 3 apart, variance ratios 2 and 2",
            means=((0.0, 0.0), (3.0, 3.0)),
            variances=((1.0, 1.0), (2.0, 2.0)),
        ),
        500,
        300,
    ),
    (
        Law(
            name="two, 3 apart, variance ratios 1, 4 and 4",
            means=((0.0, 0.0, 0.0), (3.0, 3.0, 3.0)),
            variances=((1.0, 1.0, 1.0), (1.0, 4.0, 4.0)),
        ),
        500,
        300,
    ),
)
TRUE = tuple(
    (
        Law(
            name=f"two, {apart:g} apart, variance ratios 1 and {ratio:g}",
            means=((0.0, 0.0), (apart, apart)),
            variances=((1.0, 1.0), (1.0, ratio)),
        ),
        n_rows,
        trials,
    )
    for apart, ratio, n_rows, trials in (
        (3.0, 1.5, 500, 100),
        (3.0, 2.0, 500, 100),
        (3.0, 1.5, 2000, 40),
        (0.0, 4.0, 500, 100),
        (0.0, 4.0, 2000, 40),
    )
)


SPURIOUS = (
    (Law(name="one Gaussian, two fitted", means=((0.0, 0.0),), variances=((1.0, 1.0),)), 300, 300),
    (Law(name="one Gaussian, two fitted", **ONE), 2000, 100),
    (FALSE[3][0], 500, 100),
)


def main() -> None:
    """Run both checks, print their table and write the record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="run a quarter of the trials")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("components.json"))
    options = parser.parse_args()
    share = 0.25 if options.quick else 1.0
    with threadpool_limits(1, "blas"):
        report(
            "What is claimed of fitted components",
            rates(share, options.seed),
            options.output,
            seed=options.seed,
            share=share,
        )


def rates(share: float, seed: int) -> Iterator[Rate]:
    """Measure the levels, then the power."""
    for check, laws in (
        ("distinct: not claimed", SPURIOUS),
        ("level: P2 not claimed", FALSE),
        ("power: P2 claimed", TRUE),
    ):
        for law, n_rows, trials in laws:
            count = max(1, round(share * trials))
            is_level = laws is not TRUE
            found = (ask(law, n_rows, (seed, n_rows, trial)) for trial in range(count))
            claimed = sum(
                each.are_needed if laws is SPURIOUS else each.ratios_differ for each in found
            )
            yield Rate(
                check=check,
                case=law.name,
                n_samples=n_rows,
                n_features=len(law.means[0]),
                hits=count - claimed if is_level else claimed,
                trials=count,
                nominal=0.95 if is_level else None,
            )


def ask(law: Law, n_rows: int, seed: tuple[int, ...]) -> ComponentsTest:
    """Ask the test of one data set of a law."""
    rows = law.draw(np.random.default_rng(seed), n_rows)
    return bootstrap_components(rows, law.n_fitted, seed=seed[-1])


if __name__ == "__main__":
    main()
