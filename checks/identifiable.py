"""Test whether components that `upto unmix` calls identifiable are sources.

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
import tempfile
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import scipy.signal
from checks.rates import Rate, report
from threadpoolctl import threadpool_limits

import upto
from upto.engines import ThreadsEngine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Float = NDArray[np.float64]

SEED = 20261117
A_SOURCE = 0.9
"""Minimum correlation with a source for a component to count as it."""
ROWS_EACH = (5, 10, 20, 30, 50, 100, 200)
TRIALS = {16: 24, 64: 6, 128: 3}
LEVEL_TRIALS = 100


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
    with threadpool_limits(1, "blas"):
        rates = (each(share, options.seed) for each in (sources, weak, level))
        report(
            "What is called identifiable",
            chain.from_iterable(rates),
            options.output,
            seed=options.seed,
            share=share,
        )


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
    """Return which components are called identifiable, and their correlations with sources."""
    rng = np.random.default_rng(seed)
    planted = draw(rng, n_samples, width)
    turn = np.linalg.qr(rng.normal(size=(width, width)))[0]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "components.npy"
        result = upto.unmix(
            planted @ turn, output=out, seed=seed[-1], engine=ThreadsEngine(n_threads=1)
        )
        found = np.load(out)
    flagged = np.array([each.state == "identifiable" for each in result.components])
    likeness = np.abs(np.corrcoef(found.T, planted.T)[:width, width:])
    return flagged & (result.n_identifiable is not None), likeness.max(axis=1)


def autoregressive(rng: np.random.Generator, n: int, d: int, correlation: float) -> Float:
    """Return autoregressive Gaussian rows."""
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
            result = upto.unmix(rows, seed=trial, engine=ThreadsEngine(n_threads=1))
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


if __name__ == "__main__":
    main()
