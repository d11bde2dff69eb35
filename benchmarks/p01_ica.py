"""P1 and P2: whitening and ICA on the CPU, time and memory, at equal quality."""

from __future__ import annotations

import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import upto
from benchmarks.data import planted, real_embeddings
from benchmarks.measure import all_cores, memory_rate, pass_rate, publish
from benchmarks.peers import (
    TARGET,
    Judge,
    compete,
    fastica_torch,
    installed,
    ours,
    picard,
    scikit_learn,
    warm_up,
)

LARGE = 5 * 10**7
"""Size of a data set above which there is one round and the slowest peers are left out."""
SIZES = {
    "quick": [("Laplace", 20_000, 32), ("Laplace", 50_000, 64)],
    "full": [
        ("Laplace", 20_000, 32),
        ("Laplace", 100_000, 64),
        ("mixed", 100_000, 64),
        ("Gaussian subspace", 100_000, 64),
        ("Laplace", 222_000, 384),
        ("Laplace", 1_000_000, 128),
    ],
}
GROWTH = {"quick": (20_000, 32), "full": (150_000, 64)}


def contestants(n_numbers=0):
    """Return the contestants; at large sizes only peers that finish within minutes."""
    everybody = [ours("float32"), scikit_learn("float32")]
    if n_numbers < LARGE:
        everybody += [ours("float64"), scikit_learn("float64")]
    if n_numbers < LARGE and installed("picard"):
        everybody.append(picard())
    if installed("torch", "fastica_torch"):
        everybody.append(fastica_torch())
    return everybody


def rows_of(dataset, rounds):
    """Run all contestants on one data set; return one table row each."""
    print(f"{dataset.name}, {dataset.size}", flush=True)
    rows = {"float32": dataset.rows}
    if dataset.rows.size < LARGE:
        rows["float64"] = dataset.rows.astype(np.float64)
    judge = Judge(dataset.rows, dataset.n_gaussian)
    with tempfile.TemporaryDirectory() as folder:
        # The pages of a mapped file can be evicted, so they do not count as memory taken.
        rows["float32 file"] = _mapped(dataset.rows, Path(folder) / "rows.npy")
        from_file = ours("float32 file")
        everybody = contestants(dataset.rows.size)
        outcomes = compete([*everybody, from_file], rows, judge, rounds)
    peers = [each for each in outcomes if not each.contestant.is_ours and each.reached]
    best = min((each.median for each in peers), default=np.nan)
    rate, bandwidth = pass_rate(dataset.rows.shape[1]), memory_rate()
    return [_row(dataset, each, rows, best, rate, bandwidth) for each in outcomes]


def _mapped(rows, path):
    np.save(path, rows)
    return np.load(path, mmap_mode="r")


def _row(dataset, outcome, rows, best, rate, bandwidth):
    each, found = outcome.contestant, outcome.found
    row = {"sources": dataset.name, "size": dataset.size, "who": each.name}
    if found is None:
        return {**row, "outcome": outcome.words}
    is_ours = each.is_ours
    n_samples = len(dataset.rows)
    return {
        **row,
        "seconds": outcome.median,
        "best peer / this": best / outcome.median if outcome.reached else None,
        "outcome": outcome.words,
        "gradient": outcome.quality.gradient,
        "between components": outcome.quality.n_clear,
        "contrast": round(outcome.quality.contrast, 6),
        "tolerance": outcome.tolerance,
        "passes": round(found.engine.n_passes(n_samples), 1) if is_ours else found.iterations,
        "extra memory / data": outcome.extra_bytes / rows[each.dtype].nbytes,
        "over floor": outcome.median / found.engine.floor(rate, bandwidth) if is_ours else None,
    }


def growth(size):
    """Return the slope of log time against log n of ours, over n, 2n, 4n and 8n."""
    n_samples, width = GROWTH[size]
    lengths = [n_samples * factor for factor in (1, 2, 4, 8)]
    rows = planted("Laplace", lengths[-1], width).rows
    seconds = []
    for length in lengths:
        times = []
        for _ in range(3):
            started = time.perf_counter()
            with warnings.catch_warnings(action="ignore"):
                # Steps are fixed, so that only the length of a pass changes.
                upto.ICA(tolerance=1e-30, max_iterations=10, random_state=0).fit(rows[:length])
            times.append(time.perf_counter() - started)
        seconds.append(float(np.median(times)))
    slope = float(np.polyfit(np.log(lengths), np.log(seconds), 1)[0])
    print(f"growth over {lengths} rows of {width}: {seconds}, slope {slope:.2f}")
    return {"rows": lengths, "width": width, "seconds": seconds, "slope": slope}


def run(size, *, rounds=None, data=None):
    rows = []
    with all_cores():
        warm_up(contestants())
        grown = growth(size)
        datasets = [lambda s=spec: planted(*s) for spec in SIZES[size]]
        datasets += [lambda d=dataset: d for dataset in real_embeddings(data)]
        for make in datasets:
            dataset = make()
            rows += rows_of(dataset, rounds or (3 if dataset.rows.size < LARGE else 1))
            publish(
                "p01",
                f"whitening and ICA on the CPU until no entry of the relative gradient is above "
                f"{TARGET:g}",
                rows,
                seed=0,
                target=TARGET,
                growth=grown,
            )
