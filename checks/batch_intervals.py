"""Test whether intervals of `upto.batches` cover the AUROC on new plates.

``python -m checks.batch_intervals`` draws screens whose truth is known, judges each by
`batches` and writes ``checks/batch_intervals.json``:

coverage
    The 95 % interval of the AUROC holds its expectation, which is the mean over all screens of the
    cell: 92 % is asked for.
no interval
    Where label and plate go together on few shared plates there is none and `UP071` is found. No
    drug of these screens has an effect that comparisons within plates could tell: the verdict
    begins with it.

A screen has plates of wells in four columns; a drug moves the first by ``shift`` standard
deviations, plates move all by ``plate``. *crossed*: every plate has both sides; *on 38 %*: so many
plates have the drug, and all have controls; *apart*: a plate has one side only; *some apart*: of
four drugs one is on three plates, the others on all. ``--share 0.1`` draws a tenth of the screens.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from checks.rates import Rate, report
from threadpoolctl import threadpool_limits

import upto
from upto.core import Embeddings

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 20260418
COVERING = 0.92
CONTROL = "DMSO"
N_COLUMNS = 4
UNTOLD = "label cannot be separated from plate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One kind of screen."""

    design: str
    n_plates: int
    shift: float
    plate: float
    n_wells: int = 16
    classifier: str = "linear"
    trials: int = 200
    has_interval: bool = True

    @property
    def case(self) -> str:
        """Name of the cell."""
        by = "" if self.classifier == "linear" else f", {self.classifier} trees"
        return (
            f"{self.design}, {self.n_plates} plates, shift {self.shift:g}, plate {self.plate:g}{by}"
        )


CELLS = (
    *(
        Cell(design="crossed", n_plates=n_plates, shift=shift, plate=1.0)
        for n_plates in (3, 4, 5, 8, 20)
        for shift in (0.0, 1.0, 3.0, 5.0)
    ),
    *(
        Cell(design="crossed", n_plates=100, shift=shift, plate=1.0, trials=150)
        for shift in (0.0, 1.0, 5.0)
    ),
    *(
        Cell(design="crossed", n_plates=n_plates, shift=3.0, plate=3.0, n_wells=48)
        for n_plates in (4, 5, 8)
    ),
    *(
        Cell(design="crossed", n_plates=n_plates, shift=shift, plate=0.5, n_wells=48,
             classifier="boosted", trials=150)
        for n_plates in (4, 8, 20)
        for shift in (1.0, 5.0)
    ),
    *(
        Cell(design="some apart", n_plates=n_plates, shift=1.0, plate=1.0, n_wells=40, trials=200)
        for n_plates in (8, 20)
    ),
    *(
        Cell(design=design, n_plates=n_plates, shift=0.0, plate=3.0, n_wells=48, trials=trials)
        for design, n_plates, trials in (
            ("on 75 %", 20, 200),
            ("on 50 %", 40, 200),
            ("on 38 %", 40, 200),
            ("on 38 %", 100, 100),
        )
    ),
    Cell(design="on 75 %", n_plates=20, shift=1.0, plate=1.0, trials=200),
    *(
        Cell(design=design, n_plates=n_plates, shift=0.0, plate=3.0, trials=50, has_interval=False)
        for design, n_plates in (
            ("on 38 %", 8),
            ("on 38 %", 20),
            ("apart", 8),
            ("apart", 20),
            ("apart", 100),
        )
    ),
)  # fmt: skip


def main() -> None:
    """Run all cells, print their table and write the record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--share", type=float, default=1.0, help="share of the screens to draw")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_suffix(".json"))
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    one_thread = partial(threadpool_limits, 1, "blas")
    with ProcessPoolExecutor(options.workers, initializer=one_thread) as pool:
        report(
            "Intervals of upto.batches",
            _rates(options.share, options.seed, pool),
            options.output,
            seed=options.seed,
            share=options.share,
        )


def _rates(share: float, seed: int, pool: Executor) -> Iterator[Rate]:
    for number, cell in enumerate(CELLS):
        trials = max(10, int(share * cell.trials))
        calls = [pool.submit(judged, cell, (seed, number, trial)) for trial in range(trials)]
        found = [call.result() for call in calls]
        truth = float(np.mean([each.value for each in found]))
        known = [
            each.low <= truth <= each.high
            for each in found
            if each.low is not None and each.high is not None
        ]
        said = [each.is_said and each.low is None for each in found]
        counted = known if cell.has_interval else said
        yield Rate(
            check="coverage" if cell.has_interval else "no interval",
            case=f"{cell.case}: {truth:.3f}",
            n_samples=cell.n_plates * cell.n_wells,
            n_features=N_COLUMNS,
            hits=sum(counted),
            trials=len(counted),
            nominal=COVERING if cell.has_interval else 1.0,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The AUROC of one screen, and whether the verdict starts with plates."""

    value: float
    low: float | None
    high: float | None
    is_said: bool


def judged(cell: Cell, seed: tuple[int, int, int]) -> Judged:
    """Draw one screen and evaluate its raw rows."""
    result = upto.batches(
        draw(cell, np.random.default_rng(seed)),
        batch="plate",
        label="label",
        control=CONTROL,
        conditions="base",
        classifier=cell.classifier,
        concentration=(),
        shuffled=False,
        mixing=False,
        maps=False,
        seed=seed[2],
        threads=1,
    )
    found = result.score("base").auroc
    assert found is not None
    codes = {each.code for each in result.findings}
    is_said = "UP071" in codes and result.verdict.startswith(UNTOLD)
    return Judged(value=found.value, low=found.low, high=found.high, is_said=is_said)


def draw(cell: Cell, rng: np.random.Generator) -> Embeddings:
    """Draw a screen of a cell."""
    plate, well = np.divmod(np.arange(cell.n_plates * cell.n_wells), cell.n_wells)
    label = np.where(well % 2 == 0, "drug", CONTROL)
    if cell.design == "apart":
        label = np.where(plate % 2 == 0, "drug", CONTROL)
    elif cell.design.startswith("on "):
        share = {"on 38 %": 0.375, "on 50 %": 0.5, "on 75 %": 0.75}[cell.design]
        label[plate >= round(cell.n_plates * share)] = CONTROL
    elif cell.design == "some apart":
        label = np.array([CONTROL, "drug a", "drug b", "drug c", "drug d"])[well % 5]
        label[(label == "drug a") & (plate >= 3)] = CONTROL
    rows = rng.normal(size=(len(plate), N_COLUMNS))
    rows[:, 0] += cell.shift * (label != CONTROL)
    rows += cell.plate * rng.normal(size=(cell.n_plates, N_COLUMNS))[plate]
    columns = {"plate": plate.astype(str), "label": label}
    return Embeddings(rows=rows, name="screen", columns=columns)


if __name__ == "__main__":
    main()
