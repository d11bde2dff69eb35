"""Measure the type I error rate of `upto.similarity` on independent runs.

``python -m checks.type_one`` checks every measure in three ways and writes
``checks/type_one.json``:

level
    Of two independent runs, the share with p ≤ 0.05 is at most 5 %.
family
    Of four runs, the share of trials in which any pair of independent runs has an adjusted
    p ≤ 0.05 is at most 5 %, whether or not two of the runs are related.
control
    Rows that occur five times are not exchangeable, and `upto.similarity` leaves their copies out.
    If they are left in, the share must exceed 5 %, which shows that the check can fail.

``--measures`` and ``--trials`` choose less. Every share has its exact binomial interval. The exit
code is 1 if a promise is broken.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from checks.rates import exact_interval, record_of, write_record
from checks.unrelated import UNRELATED
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

import upto
from upto.measures.calibration import p_value
from upto.measures.catalogue import find_measures
from upto.measures.permutation import score_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Executor

    from numpy.typing import NDArray

    from upto.measures.kinds import Measure

    Float = NDArray[np.float64]
    Cell = tuple[str, int, int]

SEED = 20260312
LEVEL = 0.05
PERMUTATIONS = 19
"""The fewest that can give p = 0.05; a test with more is no more exact."""
CONFIDENCE = 0.999
"""Of the binomial interval around each share: hundreds of shares are looked at."""
TRIALS = 100
CELLS = (
    ("Gaussian", 20, 4),
    ("Gaussian", 50, 10),
    ("Gaussian", 100, 3),
    ("Gaussian", 40, 60),
    ("Gaussian", 200, 16),
    ("heavy tails", 50, 6),
    ("memory 0.5", 200, 4),
    ("memory 0.9", 1000, 4),
    ("memory 0.99", 400, 4),
    ("random walks", 200, 4),
    ("near copies in fives", 200, 4),
    ("near copies in pairs", 200, 4),
    ("one far row", 200, 4),
    ("one very far row", 200, 4),
    ("3 % far rows", 200, 4),
    ("counts", 100, 4),
    ("bits", 100, 6),
)
FAMILIES = ("four independent runs", "two of four runs related")
CONTROL = "every row five times"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Rate at which noise is called similar, and its limit."""

    check: str
    measure: str
    case: str
    n_samples: int
    n_features: int
    hits: int
    trials: int

    @property
    def value(self) -> float:
        """The share."""
        return self.hits / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        """The exact (Clopper-Pearson) interval of the share."""
        return exact_interval(self.hits, self.trials, CONFIDENCE)

    @property
    def kept(self) -> bool:
        """Whether the share is compatible with 5 %; for the control, whether it exceeds it."""
        is_above = self.interval[0] > LEVEL
        return is_above if self.check == "control" else not is_above


def main() -> None:
    """Run all checks, print their table and write the record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--measures", nargs="+", default=["all"], metavar="NAME")
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("type_one.json"))
    options = parser.parse_args()
    measures = find_measures(options.measures)
    console = Console(width=120)
    started = time.perf_counter()
    shares: list[Share] = []
    with ProcessPoolExecutor(options.workers, initializer=_one_thread) as pool:
        for run_check in (level, family, control):
            for share in run_check(measures, options.trials, options.seed, pool):
                shares.append(share)
                console.log(
                    share.check, share.measure, share.case, share.n_samples, share.n_features,
                    f"{share.hits}/{share.trials}", "" if share.kept else "BROKEN",
                )  # fmt: skip
    record = record_of(
        started,
        seed=options.seed,
        trials=options.trials,
        permutations=PERMUTATIONS,
        level=LEVEL,
        confidence=CONFIDENCE,
    )
    record["shares"] = [
        asdict(share) | {"share": share.value, "interval": share.interval, "kept": share.kept}
        for share in shares
    ]
    write_record(options.output, record)
    console.print(_table(shares))
    broken = sum(not share.kept for share in shares)
    console.print(f"{broken} of {len(shares)} broken; {record['seconds']} s; {options.output}")
    sys.exit(1 if broken else 0)


def _one_thread() -> None:
    threadpool_limits(1, "blas")


def level(measures: Sequence[Measure], trials: int, seed: int, pool: Executor) -> Iterator[Share]:
    """Count small p-values of two independent runs, held out where something is fitted."""
    for case, n, d in CELLS:
        yield from _counted(pool, "level", _alike, measures, (case, n, d), trials, seed)


def family(measures: Sequence[Measure], trials: int, seed: int, pool: Executor) -> Iterator[Share]:
    """Count trials in which any pair of independent runs has a small adjusted p-value."""
    for case in FAMILIES:
        yield from _counted(pool, "family", _any_alike, measures, (case, 40, 4), trials, seed)


def control(measures: Sequence[Measure], trials: int, seed: int, pool: Executor) -> Iterator[Share]:
    """Count small p-values of rows that occur five times, which break the promise."""
    cell = (CONTROL, 60, 4)
    yield from _counted(pool, "control", _copies_alike, measures, cell, min(trials, 100), seed)


def _counted(
    pool: Executor,
    check: str,
    trial: Callable[..., Counter[str]],
    measures: Sequence[Measure],
    cell: Cell,
    trials: int,
    seed: int,
) -> Iterator[Share]:
    names = [each.name for each in measures]
    calls = [pool.submit(trial, names, cell, seed, number) for number in range(trials)]
    hits = sum((call.result() for call in calls), Counter(dict.fromkeys(names, 0)))
    case, n, d = cell
    for name in names:
        yield Share(
            check=check, measure=name, case=case, n_samples=n, n_features=d, hits=hits[name],
            trials=trials,
        )  # fmt: skip


def _alike(names: Sequence[str], cell: Cell, seed: int, trial: int) -> Counter[str]:
    """Name the measures with a small p-value; an asymmetric one has a test of each direction."""
    case, n, d = cell
    runs = UNRELATED[case](np.random.default_rng((seed, trial)), n, d)
    found = similarity(runs, names, trial)
    return Counter(
        row.measure for row in found.rows if row.first == "first" and row.p_value <= LEVEL
    )


def _any_alike(names: Sequence[str], cell: Cell, seed: int, trial: int) -> Counter[str]:
    """Name the measures with a small adjusted p-value of any unrelated pair."""
    case, n, d = cell
    rng = np.random.default_rng((seed, 1, trial))
    runs = [rng.normal(size=(n, d)) for _ in range(4)]
    related: set[str] = set()
    if case == FAMILIES[1]:
        runs[1] = runs[0] + 0.3 * runs[1]
        related = {"first", "second"}
    rows = similarity(runs, names, trial).rows
    wrong = {
        row.measure for row in rows if row.adjusted <= LEVEL and {row.first, row.second} != related
    }
    return Counter(wrong)


def _copies_alike(names: Sequence[str], cell: Cell, seed: int, trial: int) -> Counter[str]:
    """Name the measures with a small p-value where copies of rows are left in."""
    _, n, d = cell
    runs = UNRELATED["Gaussian"](np.random.default_rng((seed, 2, trial)), n // 5, d)
    scored = score_pairs(
        [np.repeat(run, 5, axis=0) for run in runs],
        [(0, 1)],
        find_measures(names),
        permutations=PERMUTATIONS,
        half_samples=0,
        seed=trial,
    )
    return Counter(each.measure.name for each in scored if p_value(each) <= LEVEL)


def similarity(runs: Sequence[Float], measures: Sequence[str], seed: int) -> upto.SimilarityResult:
    """Score runs without intervals."""
    return upto.similarity(
        *runs, measures=measures, permutations=PERMUTATIONS, half_samples=0, seed=seed
    )


def _table(shares: list[Share]) -> Table:
    table = Table(title="Type-I error of upto.similarity", box=None)
    head = ("check", "measure", "case", "n", "d", "p ≤ 0.05", f"{CONFIDENCE:.1%} interval", "")
    for name in head:
        table.add_column(name)
    for share in shares:
        low, high = share.interval
        table.add_row(
            share.check,
            share.measure,
            share.case,
            str(share.n_samples),
            str(share.n_features),
            f"{share.hits}/{share.trials} = {share.value:.3f}",
            f"{low:.3f} – {high:.3f}",
            "kept" if share.kept else "BROKEN",
        )
    return table


if __name__ == "__main__":
    main()
