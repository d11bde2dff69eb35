"""Test whether any verdict of `upto.compare` overclaims, on random pairs with known truth.

``python -m checks.verdicts`` draws 500 pairs and writes ``checks/verdicts.json``. A pair is drawn
from a group, a noise, a spectrum, a rank, two widths, a share of directions that are unrelated and
one of directions that are partly noise. A direction is clear if it has a canonical R² of 0.7 or
more on 20,000 rows. A verdict claims too much if it says

- "same" or "identical" where a direction is unrelated, lost or not clear, or less than 98 % of the
  variance can be explained;
- "close" where more than one direction in ten is, or less than 85 % can be explained;
- "image" where the smaller run holds a direction that the larger one does not, or not clearly;
- more shared directions than there are;
- a group that is stricter than the truth beyond its tolerance: its error on fresh rows exceeds that
  of the planted map by more than twice the tolerance;
- anything but "chance" or "undecided" where nothing is shared (5 % of these may).

The exit code is 1 if one does.
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

import numpy as np
import scipy.stats
from checks.rates import record_of, write_record
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

import upto
from upto.core import Group
from upto.testing import random_element

Float = NDArray[np.float64]

SEED = 20261117
PAIRS = 500
TOLERANCE = 0.05
CLEAR, MANY_ROWS = 0.7, 20_000
"""Canonical R² of a clear direction, less than `upto` asks for, and the rows it is taken from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """Parameters of a pair, and its shared directions."""

    number: int
    group: str
    noise: float
    decay: float
    n_samples: int
    n_first: int
    n_second: int
    n_shared: int
    n_clear: int
    explained: float
    """Share of the second run's variance that the best map of the first explains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A verdict and its overclaims."""

    truth: Truth
    agreement: str
    up_to: str | None
    n_shared: int | None
    too_much: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Planted:
    """How rows of both runs are drawn: the last kept directions are unrelated, those before noisy.

    `clarity` is the share of each kept direction's variance that the second run has of the first.
    """

    group: Group
    law: str
    spectrum: Float
    kept: NDArray[np.intp]
    clarity: Float
    linear: Float
    translation: Float
    places: NDArray[np.intp]

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Float, Float, Float]:
        """Draw rows of the first run, of the second, and what of the second the first explains."""
        x = getattr(rng, self.law)(size=(n, len(self.spectrum))) * self.spectrum
        own = x[:, self.kept]
        fresh = getattr(rng, self.law)(size=own.shape) * self.spectrum[self.kept]
        signal = np.sqrt(self.clarity) * own
        inner = signal + np.sqrt(1.0 - self.clarity) * fresh
        if self.group is Group.MONOTONE_PERMUTATION:
            return x, *(np.arcsinh(2 * each)[:, self.places] for each in (inner, signal))
        return x, inner @ self.linear + self.translation, signal @ self.linear + self.translation


def draw(number: int, seed: int) -> tuple[Truth, Float, Float]:
    """Draw one pair."""
    rng = np.random.default_rng((seed, number))
    group = Group(rng.choice(list(Group)))
    d = int(rng.integers(2, 25))
    n = int(rng.integers(10 * d, 60 * d)) + 60
    decay = float(rng.choice([1.0, 0.3, 0.05]))
    noise = float(rng.choice([0.0, 0.01, 0.1, 0.3, 1.0]))
    lost = int(rng.choice([0, 0, 0, d // 4, d // 2]))
    unrelated = int(rng.choice([0, 0, 1, d // 4, d // 2, d]))
    width = d - lost
    unrelated = min(unrelated, width)
    noisy = min(int(rng.choice([0, 0, 1, d // 4, d // 2])), width - unrelated)
    clarity = np.ones(width)
    clarity[width - unrelated :] = 0.0
    clarity[width - unrelated - noisy : width - unrelated] = rng.uniform(0.3, 0.6, noisy)
    linear, translation = np.eye(width), np.zeros(width)
    if group is not Group.MONOTONE_PERMUTATION:
        linear, translation = random_element(group, width, rng)
    planted = Planted(
        group=group,
        law=str(rng.choice(["normal", "laplace"])),
        spectrum=np.geomspace(1.0, decay, d),
        kept=rng.permutation(d)[:width],
        clarity=clarity,
        linear=linear,
        translation=translation,
        places=rng.permutation(width),
    )
    x, y, heard = planted.draw(n, rng)
    spread = noise * float(np.sqrt(y.var(axis=0).mean()))
    y = y + spread * rng.normal(size=y.shape)
    left = y - heard
    truth = Truth(
        number=number,
        group=str(group),
        noise=noise,
        decay=decay,
        n_samples=n,
        n_first=d,
        n_second=width,
        n_shared=width - unrelated,
        n_clear=_clear(planted, spread, rng),
        explained=1.0 - float(left.var(axis=0).sum() / y.var(axis=0).sum()),
    )
    if rng.random() < 0.5:
        return truth, x, y
    return truth, y, x


def _clear(planted: Planted, spread: float, rng: np.random.Generator) -> int:
    """Count the directions that have a large canonical R² on many rows."""
    if planted.group is Group.MONOTONE_PERMUTATION:
        # What monotone functions share is no matter of linear directions.
        return int(np.count_nonzero(planted.clarity >= CLEAR))
    x, y, _ = planted.draw(MANY_ROWS, rng)
    y = y + spread * rng.normal(size=y.shape)
    (x, _), (y, _) = (np.linalg.qr(each - each.mean(axis=0)) for each in (x, y))
    strength = np.linalg.svd(x.T @ y, compute_uv=False)
    return int(np.count_nonzero(strength**2 >= CLEAR))


def judge(number: int, seed: int) -> Judged:
    """Compare one pair and list the overclaims of its verdict."""
    truth, first, second = draw(number, seed)
    result = upto.compare(first, second, ica=False, refits=0, tolerance=TOLERANCE, seed=number)
    word, shared = result.agreement, result.shared
    d = max(truth.n_first, truth.n_second)
    said = []
    if word in ("same", "identical") and (truth.n_clear < d or truth.explained < 0.98):
        said.append(f"{word}, with {truth.n_clear} of {d} directions clear")
    if word == "close" and (truth.n_clear < 0.9 * d - 1e-9 or truth.explained < 0.85):
        said.append(f"close, with {truth.n_clear} of {d} directions clear")
    if word == "image" and truth.n_clear < min(truth.n_first, truth.n_second):
        said.append("image, with directions of its own")
    if shared is not None and shared.n_shared > truth.n_shared:
        said.append(f"{shared.n_shared} directions shared, of {truth.n_shared}")
    if truth.n_shared == 0 and word not in ("chance", "undecided"):
        said.append("related")
    if word in ("same", "close") and result.up_to is not None and _is_too_strict(truth, result):
        said.append(f"up to {result.up_to}")
    return Judged(
        truth=truth,
        agreement=word,
        up_to=None if result.up_to is None else str(result.up_to),
        n_shared=None if shared is None else shared.n_shared,
        too_much=tuple(said),
    )


def _is_too_strict(truth: Truth, result: upto.CompareResult) -> bool:
    """Return whether a stricter group than planted loses more than the tolerance."""
    planted, found = Group(truth.group), result.up_to
    if found is None or found is planted or found.contains(planted) or result.mean is None:
        return False
    if result.mean.held_out is None or planted not in [fit.up_to for fit in result.fits]:
        return False
    loss = result.fit(str(found)).error.value - result.fit(str(planted)).error.value
    return loss > 2 * TOLERANCE * result.mean.held_out.mean.value


def main() -> None:
    """Evaluate all pairs, print the verdicts and write the record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("verdicts.json"))
    options = parser.parse_args()
    started = time.perf_counter()
    with ProcessPoolExecutor(options.workers, initializer=_one_thread) as pool:
        calls = [pool.submit(judge, number, options.seed) for number in range(options.pairs)]
        found = [call.result() for call in calls]
    console = Console(width=110)
    unrelated = [each for each in found if each.truth.n_shared == 0]
    alarms = [each for each in unrelated if each.too_much]
    others = [each for each in found if each.truth.n_shared > 0 and each.too_much]
    # One false alarm in twenty is what the level allows; more than chance makes of it is not.
    allowed = int(scipy.stats.binom.isf(1e-3, len(unrelated), 0.05)) if unrelated else 0
    broken = bool(others) or len(alarms) > allowed
    record = record_of(
        started,
        pairs=len(found),
        seed=options.seed,
        claim_too_much=len(others),
        unrelated=len(unrelated),
        false_alarms=len(alarms),
        false_alarms_allowed=allowed,
        words=_words(found),
        claims=[asdict(each) for each in (*others, *alarms)],
    )
    write_record(options.output, record)
    console.print(_table(found))
    for each in others:
        console.print(each)
    console.print(
        f"{len(others)} of {len(found) - len(unrelated)} verdicts of related pairs claim too much; "
        f"{len(alarms)} of {len(unrelated)} unrelated pairs are called related ({allowed} allowed)."
    )
    sys.exit(1 if broken else 0)


def _one_thread() -> None:
    threadpool_limits(1, "blas")


def _share(truth: Truth) -> str:
    share = truth.n_shared / max(truth.n_first, truth.n_second)
    if share in (0.0, 1.0):
        return "none" if share == 0.0 else "all"
    return "nine in ten or more" if share >= 0.9 else "half or more" if share >= 0.5 else "fewer"


def _words(found: list[Judged]) -> dict[str, dict[str, int]]:
    counted = Counter((_share(each.truth), each.agreement) for each in found)
    table: dict[str, dict[str, int]] = {}
    for (share, word), count in sorted(counted.items()):
        table.setdefault(share, {})[word] = count
    return table


def _table(found: list[Judged]) -> Table:
    words = _words(found)
    names = sorted({word for row in words.values() for word in row})
    table = Table(title="Verdicts by the share of directions that are shared", box=None)
    for name in ("shared", *names):
        table.add_column(name)
    for share, row in words.items():
        table.add_row(share, *(str(row.get(name, "")) for name in names))
    return table


if __name__ == "__main__":
    main()
