"""Does any verdict of `upto.compare` claim too much? Random pairs of which the truth is known.

``python -m checks.verdicts`` draws 500 pairs and writes ``checks/verdicts.json``. A pair is drawn
from a group, a noise, a spectrum, a rank, two widths and a share of directions that are unrelated.
A verdict claims too much if it says

- "same" or "identical" where a direction is unrelated or lost, or less than 98 % of the variance
  can be explained;
- "close" where more than one direction in ten is unrelated or lost, or less than 85 % can be;
- "image" where the smaller run holds a direction that the larger one does not;
- more shared directions than there are;
- a group that is stricter than the truth beyond its tolerance: its error on fresh rows exceeds that
  of the planted map by more than twice the tolerance;
- anything but "chance" or "undecided" where nothing is shared (5 % of these may).

The exit code is 1 if one does.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import scipy.stats
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

import upto
from upto.core import Group, library_versions
from upto.testing import random_element

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Float = NDArray[np.float64]

SEED = 20261116
PAIRS = 500
TOLERANCE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """How a pair was drawn, and what it shares."""

    number: int
    group: str
    noise: float
    decay: float
    n_samples: int
    n_first: int
    n_second: int
    n_shared: int
    explained: float
    """Share of the second run's variance that the best map of the first explains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A verdict, and what it claims too much."""

    truth: Truth
    agreement: str
    up_to: str | None
    n_shared: int | None
    too_much: tuple[str, ...]


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
    unrelated = min(unrelated, d - lost)
    law = str(rng.choice(["normal", "laplace"]))
    spectrum = np.geomspace(1.0, decay, d)
    order = rng.permutation(d)
    x = getattr(rng, law)(size=(n, d)) * spectrum
    kept = order[: d - lost]
    inner = x[:, kept].copy()
    # The last of what is kept is drawn anew: the same law, and nothing in common.
    fresh = getattr(rng, law)(size=(n, unrelated)) * spectrum[kept[len(kept) - unrelated :]]
    if unrelated:
        inner[:, len(kept) - unrelated :] = fresh
    signal = inner.copy()
    if unrelated:
        signal[:, len(kept) - unrelated :] = 0.0
    if group is Group.MONOTONE_PERMUTATION:
        places = rng.permutation(len(kept))
        y, heard = np.arcsinh(2 * inner)[:, places], np.arcsinh(2 * signal)[:, places]
    else:
        linear, translation = random_element(group, len(kept), rng)
        y, heard = inner @ linear + translation, signal @ linear + translation
    spread = float(np.sqrt(y.var(axis=0).mean()))
    y = y + noise * spread * rng.normal(size=y.shape)
    total = float(np.sum((y - y.mean(axis=0)) ** 2))
    left = float(np.sum((y - heard - (y - heard).mean(axis=0)) ** 2))
    truth = Truth(
        number=number,
        group=str(group),
        noise=noise,
        decay=decay,
        n_samples=n,
        n_first=d,
        n_second=len(kept),
        n_shared=len(kept) - unrelated,
        explained=1.0 - left / total,
    )
    if rng.random() < 0.5:
        return truth, x, y
    return truth, y, x


def judge(number: int, seed: int) -> Judged:
    """Compare one pair and list what its verdict claims too much."""
    truth, first, second = draw(number, seed)
    result = upto.compare(first, second, ica=False, refits=0, tolerance=TOLERANCE, seed=number)
    word, shared = result.agreement, result.shared
    d = max(truth.n_first, truth.n_second)
    said = []
    if word in ("same", "identical") and (truth.n_shared < d or truth.explained < 0.98):
        said.append(f"{word}, with {truth.n_shared} of {d} directions shared")
    if word == "close" and (truth.n_shared < 0.9 * d - 1e-9 or truth.explained < 0.85):
        said.append(f"close, with {truth.n_shared} of {d} directions shared")
    if word == "image" and truth.n_shared < min(truth.n_first, truth.n_second):
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


def _is_too_strict(truth: Truth, result: upto.Comparison) -> bool:
    """Say whether a stricter group than the planted one loses more than the tolerance allows."""
    planted, found = Group(truth.group), result.up_to
    if found is None or found is planted or found.contains(planted) or result.mean is None:
        return False
    if result.mean.held_out is None or planted not in [fit.up_to for fit in result.fits]:
        return False
    loss = result.fit(str(found)).error.value - result.fit(str(planted)).error.value
    return loss > 2 * TOLERANCE * result.mean.held_out.mean.value


def main() -> None:
    """Judge all pairs, print what was said of them and write the record."""
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
    record = {
        "pairs": len(found),
        "seed": options.seed,
        "seconds": round(time.perf_counter() - started, 1),
        "versions": library_versions(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "claim_too_much": len(others),
        "unrelated": len(unrelated),
        "false_alarms": len(alarms),
        "false_alarms_allowed": allowed,
        "words": _words(found),
        "claims": [asdict(each) for each in (*others, *alarms)],
    }
    options.output.write_text(json.dumps(record, indent=1) + "\n")
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
