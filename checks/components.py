"""How often the test of a fitted mixture takes for real what is not there, and sees what is.

``python -m checks.components`` draws rows from mixtures whose components are known, asks
`upto.theory.bootstrap_components` of each data set, and writes ``checks/components.json``. Where P2
is false, *claimed* is the level of the test, which must be 0.05 or less; elsewhere it is its power.
Seed 0; about forty minutes of one core.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from scipy.stats import binomtest

from upto.core import library_versions, random_stream
from upto.theory import bootstrap_components

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Float = NDArray[np.float64]

RECORD = Path(__file__).with_suffix(".json")


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A mixture of equal weights, what is fitted to it, and whether P2 holds."""

    name: str
    means: tuple[tuple[float, ...], ...]
    variances: tuple[tuple[float, ...], ...]
    n_components: int
    n_rows: int
    n_sets: int
    holds: bool
    correlation: float = 0.0

    def draw(self, rng: np.random.Generator) -> Float:
        """Draw one data set."""
        means, variances = np.array(self.means), np.array(self.variances)
        chosen = rng.integers(len(means), size=self.n_rows)
        width = means.shape[1]
        shared = (1.0 - self.correlation) * np.eye(width) + self.correlation
        noise = rng.normal(size=(self.n_rows, width)) @ np.linalg.cholesky(shared).T
        rows: Float = means[chosen] + noise * np.sqrt(variances[chosen])
        return rows


ONE = ((0.0, 0.0, 0.0),)
UNIT = ((1.0, 1.0, 1.0),)
APART = ((0.0, 0.0), (3.0, 3.0))
SCENARIOS = (
    Scenario(
        name="one Gaussian, fitted with two",
        means=ONE,
        variances=UNIT,
        n_components=2,
        n_rows=500,
        n_sets=400,
        holds=False,
    ),
    Scenario(
        name="one Gaussian, fitted with two",
        means=ONE,
        variances=UNIT,
        n_components=2,
        n_rows=2000,
        n_sets=200,
        holds=False,
    ),
    Scenario(
        name="one Gaussian, correlated by 0.6, fitted with two",
        means=ONE,
        variances=UNIT,
        n_components=2,
        n_rows=500,
        n_sets=200,
        holds=False,
        correlation=0.6,
    ),
    Scenario(
        name="two of one shape, 3 apart, fitted with three",
        means=APART,
        variances=((1.0, 2.0), (1.0, 2.0)),
        n_components=3,
        n_rows=500,
        n_sets=200,
        holds=False,
    ),
    Scenario(
        name="two, 3 apart, ratios 2 and 2",
        means=APART,
        variances=((1.0, 1.0), (2.0, 2.0)),
        n_components=2,
        n_rows=500,
        n_sets=300,
        holds=False,
    ),
    Scenario(
        name="two, 3 apart, ratios 1, 4 and 4",
        means=((0.0, 0.0, 0.0), (3.0, 3.0, 3.0)),
        variances=((1.0, 1.0, 1.0), (1.0, 4.0, 4.0)),
        n_components=2,
        n_rows=500,
        n_sets=300,
        holds=False,
    ),
    *(
        Scenario(
            name=f"two, {distance:g} apart, ratios 1 and {ratio:g}",
            means=((0.0, 0.0), (distance, distance)),
            variances=((1.0, 1.0), (1.0, ratio)),
            n_components=2,
            n_rows=n_rows,
            n_sets=100,
            holds=True,
        )
        for distance, ratio, n_rows in (
            (3.0, 1.5, 500),
            (3.0, 2.0, 500),
            (3.0, 1.5, 2000),
            (0.0, 4.0, 500),
            (0.0, 4.0, 2000),
        )
    ),
)


def main() -> None:
    """Ask of every data set, and write the record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=Path, default=RECORD)
    output: Path = parser.parse_args().output
    console = Console()
    found = []
    for scenario in SCENARIOS:
        found.append(measured(scenario))
        console.print(found[-1])
    text = json.dumps({"seed": 0, "found": found, "versions": library_versions()}, indent=1)
    output.write_text(text + "\n", encoding="utf-8")


def measured(scenario: Scenario) -> dict[str, Any]:
    """Return how often components are called needed, and ratios called different."""
    needed = claimed = 0
    for number in range(scenario.n_sets):
        rng = random_stream(0, "components", scenario.name, scenario.n_rows, number)
        test = bootstrap_components(scenario.draw(rng), scenario.n_components, seed=number)
        needed += test.are_needed
        claimed += test.ratios_differ
    return {
        **asdict(scenario),
        "needed": _share(needed, scenario.n_sets),
        "claimed": _share(claimed, scenario.n_sets),
    }


def _share(count: int, total: int) -> dict[str, float]:
    interval = binomtest(count, total).proportion_ci(method="wilson")
    return {"value": count / total, "low": float(interval.low), "high": float(interval.high)}


if __name__ == "__main__":
    main()
