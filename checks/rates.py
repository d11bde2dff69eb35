"""Rates with exact intervals, their table and their record."""

from __future__ import annotations

import json
import os
import platform
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import scipy.stats
from rich.console import Console
from rich.table import Table

from upto.core import library_versions

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

CONFIDENCE = 0.99
"""Of the binomial interval around each rate: dozens of rates are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A rate, its nominal value, and whether the two agree."""

    check: str
    case: str
    n_samples: int
    n_features: int
    hits: int
    trials: int
    nominal: float | None = None

    @property
    def value(self) -> float | None:
        """The rate; None without trials."""
        return self.hits / self.trials if self.trials else None

    @property
    def interval(self) -> tuple[float, float]:
        """The exact interval of the rate."""
        return exact_interval(self.hits, self.trials, CONFIDENCE)

    @property
    def kept(self) -> bool | None:
        """Whether the rate is compatible with its nominal value; None if it has none."""
        return None if self.nominal is None else self.interval[1] >= self.nominal


def exact_interval(hits: int, trials: int, confidence: float) -> tuple[float, float]:
    """Return the Clopper-Pearson interval; [0, 1] without trials."""
    if not trials:
        return 0.0, 1.0
    found = scipy.stats.binomtest(hits, trials).proportion_ci(confidence, "exact")
    return float(found.low), float(found.high)


def record_of(started: float, **known: Any) -> dict[str, Any]:
    """Return the common part of every record: duration, versions and machine."""
    return {
        "seconds": round(time.perf_counter() - started, 1),
        **known,
        "versions": library_versions(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }


def write_record(path: Path, record: dict[str, Any]) -> None:
    """Write a record as JSON."""
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def report(title: str, rates: Iterable[Rate], path: Path, *, seed: int, share: float) -> None:
    """Compute the rates, show each as it arrives, write the record and print the table."""
    console = Console(width=120)
    started = time.perf_counter()
    counted = []
    for rate in rates:
        counted.append(rate)
        console.log(rate.check, rate.case, rate.n_samples, f"{rate.hits}/{rate.trials}")
    record = record_of(started, seed=seed, share_of_trials=share, confidence=CONFIDENCE)
    record["rates"] = [
        asdict(rate) | {"rate": rate.value, "interval": rate.interval, "kept": rate.kept}
        for rate in counted
    ]
    write_record(path, record)
    console.print(_table(title, counted))
    console.print(f"{record['seconds']} s; written to {path}")


def _table(title: str, rates: list[Rate]) -> Table:
    table = Table(title=title, title_justify="left", box=None)
    for name in ("check", "case", "n", "d", "rate", f"{CONFIDENCE:.0%} interval", "nominal", ""):
        table.add_column(name)
    for rate in rates:
        low, high = rate.interval
        table.add_row(
            rate.check,
            rate.case,
            str(rate.n_samples),
            str(rate.n_features),
            "–" if rate.value is None else f"{rate.hits}/{rate.trials} = {rate.value:.3f}",
            f"{low:.3f} – {high:.3f}",
            "" if rate.nominal is None else f"≥ {rate.nominal:.0%}",
            {None: "", True: "kept", False: "BELOW"}[rate.kept],
        )
    return table
