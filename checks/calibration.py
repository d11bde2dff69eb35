"""Measure the error rates of `upto.compare` on data with a known answer.

``python -m checks.calibration`` runs four checks and writes ``checks/calibration.json``:

level
    Independent runs must not be called related, whatever their rows: the false positive rate is
    at most 5 %.
coverage
    The 95 % interval of the held-out mean error covers the mean error that the same map has on
    20,000 fresh rows, over the same diameter.
recovery
    A planted group is the verdict at moderate noise; beyond, the rate is reported.
power
    Runs that share a part of their variance are distinguished from chance.

``--share 0.1`` runs a tenth of the trials. Every rate has its exact binomial interval. Trials are
shared among ``--workers`` processes; each has its own seed, so their number changes nothing.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from checks.rates import Rate, report
from checks.unrelated import UNRELATED
from threadpoolctl import threadpool_limits

import upto
from upto.alignment import Aligner
from upto.core import Group
from upto.engines import ThreadsEngine
from upto.evidence.split import split_rows
from upto.testing import random_element

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Float = NDArray[np.float64]
    Runs = tuple[Float, Float]

SEED = 20260312
FAST: dict[str, Any] = {"ica": False, "refits": 0}
"""Chance levels decide nothing, and the row of ICA only raises the adjusted p-values."""
FRESH_ROWS = 20_000


def main() -> None:
    """Run all checks, print their table and write the record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--share", type=float, default=1.0, help="share of the trials to run")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("calibration.json"))
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    with ProcessPoolExecutor(options.workers, initializer=_one_thread) as pool:
        checks = (level, coverage, recovery, power)
        rates = (each(options.share, options.seed, pool) for each in checks)
        report(
            "Calibration of upto.compare",
            chain.from_iterable(rates),
            options.output,
            seed=options.seed,
            share=options.share,
        )


def _one_thread() -> None:
    threadpool_limits(1, "blas")


def _each(
    pool: Executor, call: Callable[..., Any], trials: int, seed: int, *given: Any
) -> list[Any]:
    """Call a function for every trial, with the seed of the trial last."""
    calls = [pool.submit(call, *given, (seed, trial)) for trial in range(trials)]
    return [each.result() for each in calls]


LEVEL_CELLS = (
    ("Gaussian", 200, 8, 500),
    ("Gaussian", 10, 2, 200),
    ("Gaussian", 30, 4, 200),
    ("Gaussian", 40, 64, 200),
    ("Gaussian", 1000, 32, 100),
    ("heavy tails", 30, 4, 200),
    ("heavy tails", 200, 8, 200),
    ("shared marginals", 30, 4, 200),
    ("shared marginals", 200, 8, 200),
    ("different widths", 30, 4, 200),
    ("different widths", 200, 8, 200),
    ("tied integers", 30, 2, 200),
    ("shared clusters", 200, 4, 200),
    ("repeated rows", 200, 4, 200),
    ("memory 0.5", 200, 4, 200),
    ("memory 0.9", 200, 4, 200),
    ("memory 0.9", 2000, 4, 100),
    ("memory 0.99", 400, 4, 200),
    ("negative memory", 200, 4, 200),
    ("a season of seven", 200, 4, 200),
    ("random walks", 200, 4, 200),
    ("twice integrated", 200, 4, 200),
    ("near copies in fives", 200, 4, 200),
    ("near copies in pairs", 200, 4, 200),
    ("rough copies in fives", 200, 4, 200),
    ("one far row", 200, 4, 200),
    ("one very far row", 200, 4, 200),
    ("3 % far rows", 200, 4, 200),
    ("counts", 200, 4, 200),
    ("bits", 200, 6, 200),
)


def level(share: float, seed: int, pool: Executor) -> Iterator[Rate]:
    """Count how often independent runs are not called related."""
    for kind, n, d, trials in LEVEL_CELLS:
        trials = max(10, int(share * trials))
        yield Rate(
            check="level", case=kind, n_samples=n, n_features=d, trials=trials, nominal=0.95,
            hits=sum(_each(pool, called_chance, trials, seed, kind, n, d)),
        )  # fmt: skip
    trials = max(10, int(share * 200))
    with_ica = partial(called_chance, ica=True)
    yield Rate(
        check="level", case="heavy tails, with ICA", n_samples=100, n_features=4, trials=trials,
        nominal=0.95, hits=sum(_each(pool, with_ica, trials, seed, "heavy tails", 100, 4)),
    )  # fmt: skip


def called_chance(
    kind: str, n_samples: int, n_features: int, seed: tuple[int, int], *, ica: bool = False
) -> bool:
    """Return whether one pair of independent runs is not called related."""
    rng = np.random.default_rng(seed)
    runs = UNRELATED[kind](rng, n_samples, n_features)
    options = FAST | {"ica": ica}
    return upto.compare(*runs, seed=seed[1], **options).agreement in ("chance", "undecided")


# ---------------------------------------------------------------- coverage


def _gaussian_noise(rng: np.random.Generator, n: int, d: int) -> Float:
    return 0.3 * rng.normal(size=(n, d))


def _skewed_noise(rng: np.random.Generator, n: int, d: int) -> Float:
    """Few rows carry most of the error: the norms are log-normal."""
    return 0.2 * rng.normal(size=(n, d)) * rng.lognormal(0.0, 0.75, size=(n, 1))


def _lognormal_noise(rng: np.random.Generator, n: int, d: int) -> Float:
    return 0.2 * rng.normal(size=(n, d)) * rng.lognormal(size=(n, 1))


def _heavy_noise(rng: np.random.Generator, n: int, d: int) -> Float:
    return 0.2 * rng.standard_t(2.0, size=(n, d))


def _bad_rows(rng: np.random.Generator, n: int, d: int) -> Float:
    """One row in fifty is thirty times as wrong as the others."""
    bad = rng.random((n, 1)) < 0.02
    return 0.2 * rng.normal(size=(n, d)) * np.where(bad, 30.0, 1.0)


NOISES = {
    "Gaussian": _gaussian_noise,
    "skewed": _skewed_noise,
    "lognormal": _lognormal_noise,
    "t with 2 degrees": _heavy_noise,
    "2 % bad": _bad_rows,
}
COVERED = (Group.IDENTITY, Group.RIGID, Group.AFFINE)
COVERING = 0.93
"""Minimum coverage of a 95 % interval; unreachable with few rows and outliers among them."""


def coverage(share: float, seed: int, pool: Executor) -> Iterator[Rate]:
    """Count how often the interval covers the error of its map on fresh rows."""
    trials = max(10, int(share * 300))
    for noise in NOISES:
        for n in (60, 300, 1000):
            found = _each(pool, covers, trials, seed, noise, n, 4)
            for group in COVERED:
                yield Rate(
                    check="coverage", case=f"{noise} errors, {group}", n_samples=n, n_features=4,
                    hits=sum(each[group] for each in found), trials=trials,
                    nominal=None if noise == "2 % bad" and n == 60 else COVERING,
                )  # fmt: skip


def covers(noise: str, n: int, d: int, seed: tuple[int, int]) -> dict[Group, bool]:
    """Return for each group whether one interval covers the error on fresh rows."""
    rng = np.random.default_rng(seed)
    linear, translation = random_element(Group.RIGID, d, rng)

    def draw(n_rows: int) -> Runs:
        x = rng.normal(size=(n_rows, d))
        return x, x @ linear + translation + NOISES[noise](rng, n_rows, d)

    x, y = draw(n)
    fresh_x, fresh_y = draw(FRESH_ROWS)
    result = upto.compare(x, y, seed=seed[1], **FAST)
    fitted = split_rows(ThreadsEngine(), [x, y], 0.3, seed[1]).parts == 0
    covered = {}
    for group in COVERED:
        aligner = Aligner(group).fit(x[fitted], y[fitted])
        errors = np.linalg.norm(fresh_y - aligner.transform(fresh_x), axis=1)
        truth = errors.mean() / result.second.diameter.value
        found = result.fit(group).error
        if found.low is None or found.high is None:
            covered[group] = False
        else:
            covered[group] = bool(found.low <= truth <= found.high)
    return covered


# ---------------------------------------------------------------- recovery and power


def recovery(share: float, seed: int, pool: Executor) -> Iterator[Rate]:
    """Count how often a planted group is the verdict."""
    trials = max(5, int(share * 20))
    for noise in (0.0, 0.03, 0.1, 0.3, 1.0):
        for group in Group:
            for n, d in ((60, 4), (200, 8)):
                hits = sum(_each(pool, recovered, trials, seed, group, noise, n, d))
                yield Rate(
                    check="recovery", case=f"{group}, noise {noise:g}", n_samples=n, n_features=d,
                    hits=hits, trials=trials,
                    nominal=0.95 if noise <= 0.1 and group.is_affine else None,
                )  # fmt: skip


def recovered(group: Group, noise: float, n: int, d: int, seed: tuple[int, int]) -> bool:
    """Return whether a planted group is found; noise is relative to the target's deviation."""
    rng = np.random.default_rng(seed)
    x = rng.laplace(size=(n, d))
    if group is Group.MONOTONE_PERMUTATION:
        y = np.sinh(x[:, rng.permutation(d)])
    else:
        linear, translation = random_element(group, d, rng)
        y = x @ linear + translation
    y += noise * y.std(axis=0).mean() * rng.normal(size=y.shape)
    return bool(upto.compare(x, y, seed=seed[1], **FAST).up_to is group)


def power(share: float, seed: int, pool: Executor) -> Iterator[Rate]:
    """Count how often a rotation that explains part of the variance is detected."""
    trials = max(10, int(share * 50))
    for explained in (0.02, 0.05, 0.1, 0.2, 0.5):
        for n, d in ((30, 4), (100, 8), (400, 8), (200, 32)):
            hits = sum(_each(pool, detected, trials, seed, explained, n, d))
            yield Rate(
                check="power", case=f"R² {explained:g}", n_samples=n, n_features=d, hits=hits,
                trials=trials,
            )  # fmt: skip


def detected(explained: float, n: int, d: int, seed: tuple[int, int]) -> bool:
    """Return whether one weak relation is distinguished from chance."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    linear, translation = random_element(Group.RIGID, d, rng)
    y = np.sqrt(explained) * x @ linear + np.sqrt(1 - explained) * rng.normal(size=(n, d))
    found = upto.compare(x, y + translation, seed=seed[1], **FAST).agreement
    return found not in ("chance", "undecided")


if __name__ == "__main__":
    main()
