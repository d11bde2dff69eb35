"""Is what `upto unmix` calls identifiable a source? Measured on rows whose sources are known.

``python -m checks.identifiable`` runs three checks and writes ``checks/identifiable.json``:

sources
    Laplace sources, turned at random: of the components that are called identifiable, those that
    correlate with a source by 0.9 or more; and of the sources, those that are called identifiable.
    Over rows for each dimension from 5 to 200.
weak
    The same for sources that are nearly Gaussian: Student's t with ten degrees of freedom.
level
    Gaussian rows have no component that is identifiable: independent ones, autoregressive ones, and
    copies of a quarter of them. The rate of runs that have none is at least 95 %.

``--quick`` runs a quarter of the trials. Every rate has its exact binomial interval.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import scipy.signal
import scipy.stats
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

import upto
from upto.core import library_versions
from upto.engines import ThreadsEngine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Float = NDArray[np.float64]

SEED = 20261116
A_SOURCE = 0.9
"""Correlation with a source from which on a component is that source."""
CONFIDENCE = 0.99
"""Of the binomial interval around each rate: dozens of rates are looked at."""
ROWS_EACH = (5, 10, 20, 30, 50, 100, 200)
TRIALS = {16: 24, 64: 6, 128: 3}
LEVEL_TRIALS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How often something happened, how often it should, and whether the two agree."""

    check: str
    case: str
    n_samples: int
    n_features: int
    hits: int
    trials: int
    nominal: float | None = None

    @property
    def value(self) -> float | None:
        """The rate; None where there was nothing to count."""
        return self.hits / self.trials if self.trials else None

    @property
    def interval(self) -> tuple[float, float]:
        """The exact (Clopper-Pearson) interval of the rate."""
        if not self.trials:
            return 0.0, 1.0
        found = scipy.stats.binomtest(self.hits, self.trials).proportion_ci(CONFIDENCE, "exact")
        return float(found.low), float(found.high)

    @property
    def kept(self) -> bool | None:
        """Whether the rate may reach its nominal value; None where it has none."""
        return None if self.nominal is None else self.interval[1] >= self.nominal


def main() -> None:
    """Run all checks, print their table and write the record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="run a quarter of the trials")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).with_name("identifiable.json")
    )
    options = parser.parse_args()
    share = 0.25 if options.quick else 1.0
    console = Console(width=110)
    started = time.perf_counter()
    rates: list[Rate] = []
    with threadpool_limits(1, "blas"):
        for run_check in (sources, weak, level):
            for rate in run_check(share, options.seed):
                rates.append(rate)
                console.log(rate.check, rate.case, rate.n_samples, f"{rate.hits}/{rate.trials}")
    record = {
        "seconds": round(time.perf_counter() - started, 1),
        "seed": options.seed,
        "share_of_trials": share,
        "confidence": CONFIDENCE,
        "versions": library_versions(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "rates": [
            asdict(rate) | {"rate": rate.value, "interval": rate.interval, "kept": rate.kept}
            for rate in rates
        ],
    }
    options.output.write_text(json.dumps(record, indent=1) + "\n")
    console.print(_table(rates))
    console.print(f"{record['seconds']} s; written to {options.output}")


def sources(share: float, seed: int) -> Iterator[Rate]:
    """Measure Laplace sources, over dimensions and rows for each of them."""
    for width, trials in TRIALS.items():
        for each in ROWS_EACH:
            yield from _recovery(
                "sources",
                f"Laplace, {each} rows for each dimension",
                lambda rng, n, d: rng.laplace(size=(n, d)),
                (each * width, width),
                max(1, round(share * trials)),
                (seed, width, each),
            )


def weak(share: float, seed: int) -> Iterator[Rate]:
    """Measure sources that are nearly Gaussian."""
    for n_samples in (1000, 3000, 10_000):
        yield from _recovery(
            "weak",
            "Student's t, 10 degrees of freedom",
            lambda rng, n, d: rng.standard_t(10, size=(n, d)),
            (n_samples, 5),
            max(1, round(share * 40)),
            (seed, n_samples),
        )


def _recovery(
    check: str,
    case: str,
    draw: Callable[[np.random.Generator, int, int], Float],
    shape: tuple[int, int],
    trials: int,
    seed: tuple[int, ...],
) -> Iterator[Rate]:
    called = right = 0
    for trial in range(trials):
        flagged, best = recovered(draw, *shape, (*seed, trial))
        called += int(np.count_nonzero(flagged))
        right += int(np.count_nonzero(flagged & (best >= A_SOURCE)))
    n_samples, width = shape
    size = {"n_samples": n_samples, "n_features": width}
    yield Rate(
        check=f"{check}: called identifiable, a source",
        case=case,
        hits=right,
        trials=called,
        nominal=0.95 if called else None,
        **size,
    )
    yield Rate(
        check=f"{check}: called identifiable, of all",
        case=case,
        hits=called,
        trials=trials * width,
        **size,
    )


def recovered(
    draw: Callable[[np.random.Generator, int, int], Float],
    n_samples: int,
    width: int,
    seed: tuple[int, ...],
) -> tuple[NDArray[np.bool_], Float]:
    """Return which components are called identifiable, and how like a source each is."""
    rng = np.random.default_rng(seed)
    planted = draw(rng, n_samples, width)
    turn = np.linalg.qr(rng.normal(size=(width, width)))[0]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "components.npy"
        result = upto.unmix_run(
            planted @ turn, output=out, seed=seed[-1], engine=ThreadsEngine(n_threads=1)
        )
        found = np.load(out)
    flagged = np.array([each.state == "identifiable" for each in result.components])
    likeness = np.abs(np.corrcoef(found.T, planted.T)[:width, width:])
    return flagged & (result.n_identifiable is not None), likeness.max(axis=1)


def autoregressive(rng: np.random.Generator, n: int, d: int, correlation: float) -> Float:
    """Return Gaussian rows each of which correlates with the one before."""
    noise = np.sqrt(1 - correlation**2) * rng.normal(size=(n, d))
    noise[0] /= np.sqrt(1 - correlation**2)
    rows: Float = scipy.signal.lfilter([1.0], [1.0, -correlation], noise, axis=0)
    return rows


def level(share: float, seed: int) -> Iterator[Rate]:
    """Count Gaussian rows without an identifiable component."""
    trials = max(1, round(share * LEVEL_TRIALS))
    cases: list[tuple[str, int, int, Callable[[np.random.Generator, int, int], Float]]] = [
        (f"independent, {n}×{d}", n, d, lambda rng, n, d: rng.normal(size=(n, d)))
        for n, d in ((500, 2), (500, 5), (3000, 2), (3000, 5), (3000, 20))
    ]
    cases += [
        (
            f"autoregressive, {correlation}",
            10_000,
            5,
            lambda rng, n, d, correlation=correlation: autoregressive(rng, n, d, correlation),
        )
        for correlation in (0.9, 0.95, 0.99)
    ]
    cases += [
        (
            "four copies, next to each other",
            6000,
            5,
            lambda rng, n, d: np.repeat(rng.normal(size=(n // 4, d)), 4, axis=0),
        ),
        (
            "four copies, one after another",
            6000,
            5,
            lambda rng, n, d: np.tile(rng.normal(size=(n // 4, d)), (4, 1)),
        ),
    ]
    for case, n, d, draw in cases:
        none = 0
        for trial in range(trials):
            rows = draw(np.random.default_rng((seed, n, d, trial)), n, d)
            result = upto.unmix_run(rows, seed=trial, engine=ThreadsEngine(n_threads=1))
            none += not result.n_identifiable
        yield Rate(
            check="level",
            case=case,
            n_samples=n,
            n_features=d,
            hits=none,
            trials=trials,
            nominal=0.95,
        )


def _table(rates: list[Rate]) -> Table:
    table = Table(title="What is called identifiable", title_justify="left")
    for name in ("check", "case", "rows", "dimensions", "rate", "interval", "kept"):
        table.add_column(name)
    for rate in rates:
        low, high = rate.interval
        table.add_row(
            rate.check,
            rate.case,
            str(rate.n_samples),
            str(rate.n_features),
            "–" if rate.value is None else f"{rate.value:.3f} ({rate.hits}/{rate.trials})",
            f"{low:.3f} to {high:.3f}",
            {True: "yes", False: "NO", None: ""}[rate.kept],
        )
    return table


if __name__ == "__main__":
    main()
