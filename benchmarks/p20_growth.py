"""P20: how time and memory of `compare` grow with rows, columns and runs."""

from __future__ import annotations

import statistics
from functools import partial

import numpy as np

import upto
from benchmarks.data import wide_pair, wide_runs
from benchmarks.measure import all_cores, load, measured, publish, session

ROUNDS = {"quick": 1, "full": 3}
SIZES = {
    "quick": {
        "rows": [(1_000 * factor, 8, 2) for factor in (1, 2, 4)],
        "columns": [(500, 12 * factor, 2) for factor in (1, 2, 4)],
        "runs": [(300, 8, 3 * factor) for factor in (1, 2, 3)],
    },
    "full": {
        "rows": [(50_000 * factor, 64, 2) for factor in (1, 2, 4, 8)],
        "columns": [(5_000, 256 * factor, 2) for factor in (1, 2, 4, 8)],
        "runs": [(5_000, 128, 4 * factor) for factor in (1, 2, 4, 8)],
    },
}
"""Rows, columns and runs; the smallest is where what grows is already most of the work."""
LARGE = 10**9
"""Rows times squared columns, and pairs, above which there is one round."""


def slope(sizes, values):
    """Return the slope of log value against log size, None where a value is zero."""
    if min(values) <= 0:
        return None
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def measure_growth(sizes, *, ica):
    """Return the median seconds and the largest extra memory at each size, taken in turn."""
    seconds, extra = [[] for _ in sizes], [0.0] * len(sizes)
    data = [wide_runs(*size) for size in sizes]
    for number in range(ROUNDS[session.size]):
        for position, (n_samples, width, count) in enumerate(sizes):
            work = n_samples * width**2 * count * (count - 1) / 2
            if number and work > LARGE:
                continue
            ask = partial(upto.compare, *data[position], ica=ica)
            _, taken, more = measured(ask)
            seconds[position].append(taken)
            extra[position] = max(extra[position], more)
            print(f"  {count} of {n_samples}×{width}: {taken:.2f} s", flush=True)
    return [statistics.median(each) for each in seconds], extra


def run(size):
    rows, points = [], []
    with all_cores():
        upto.compare(*wide_pair(300, 6))
        upto.compare(*wide_runs(300, 6, 3), ica=False)
        for position, (what, sizes) in enumerate(SIZES[size].items()):
            for ica in (False, True):
                seconds, extra = measure_growth(sizes, ica=ica)
                grown = [each[position] for each in sizes]
                fixed = [f"{number} {name}" for name, number in _fixed(sizes[0], what).items()]
                rows.append(
                    {
                        "grows": what,
                        "from, to": f"{grown[0]}, {grown[-1]}",
                        "with": ", ".join(fixed),
                        "ICA": "yes" if ica else "no",
                        "seconds": ", ".join(f"{value:.3g}" for value in seconds),
                        "exponent of time": slope(grown, seconds),
                        "extra MB": ", ".join(f"{value / 1e6:.3g}" for value in extra),
                        "exponent of memory": slope(grown, extra),
                    }
                )
                points += [
                    {"n": n, "d": d, "runs": k, "ica": ica, "seconds": taken, "extra_bytes": more}
                    for (n, d, k), taken, more in zip(sizes, seconds, extra, strict=True)
                ]
                title = "growth of time and memory of `compare`, float32"
                publish("p20", title, rows, seed=0, load=load(), points=points)


def _fixed(size, what):
    named = dict(zip(("rows", "columns", "runs"), size, strict=True))
    return {name: number for name, number in named.items() if name != what}
