"""P7: every pair of many runs, each run prepared once."""

from __future__ import annotations

from functools import partial

import numpy as np

import upto
from benchmarks.measure import all_cores, interleaved, product_rate, publish
from upto.measures import find_measures
from upto.measures.permutation import score_pairs

SIZES = {"quick": (6, 2_000, 128), "full": (10, 10_000, 512)}


def runs_of(count, n_samples, width):
    rng = np.random.default_rng(0)
    base = rng.standard_normal((n_samples, width))
    runs = []
    for _ in range(count):
        rotation, _ = np.linalg.qr(rng.normal(size=(width, width)))
        runs.append(base @ rotation + 0.3 * rng.standard_normal(base.shape))
    return runs


def netrep_distances(runs, alpha):
    """Fit each pair as netrep's `pairwise_distances` does, without its process pool."""
    from netrep.metrics import LinearMetric

    metric = LinearMetric(alpha=alpha)
    n_fitted = int(0.7 * len(runs[0]))
    for i in range(len(runs)):
        for j in range(i + 1, len(runs)):
            metric.fit(runs[i][:n_fitted], runs[j][:n_fitted])
            metric.score(runs[i][n_fitted:], runs[j][n_fitted:])


def similarities(runs, name):
    """Score every pair by one measure, fitted on the rows that netrep is fitted on."""
    parts = (np.arange(len(runs[0])) >= int(0.7 * len(runs[0]))).astype(int)
    pairs = [(i, j) for i in range(len(runs)) for j in range(i + 1, len(runs))]
    score_pairs(runs, pairs, find_measures([name]), parts=parts, permutations=0, half_samples=0)


def run(size):
    count, n_samples, width = SIZES[size]
    runs = runs_of(count, n_samples, width)
    contestants = {
        "upto, angular-procrustes": lambda: similarities(runs, "angular-procrustes"),
        "upto, mean-cca": lambda: similarities(runs, "mean-cca"),
    }
    try:
        import netrep  # noqa: F401
    except ImportError:
        print("p07: netrep is not installed (pip install it from its repository): no ratio")
    else:
        contestants["netrep, rotations"] = lambda: netrep_distances(runs, 1.0)
        contestants["netrep, linear maps"] = lambda: netrep_distances(runs, 0.0)
    with all_cores():
        seconds = interleaved(contestants)
        # It answers more than anyone else and takes minutes: once is enough to say how much more.
        seconds |= interleaved(
            {
                "upto, compare: 7 groups, both directions, p-values": partial(
                    upto.compare, *runs, ica=False
                )
            },
            repeats=1,
        )
        # Of a pair, the products of both parts and a decomposition of the width.
        products = 2.0 * n_samples * width**2 / product_rate(width)
    pairs = count * (count - 1) // 2
    rows = [
        {
            "who": who,
            "runs": f"{count} of {n_samples}×{width}",
            "seconds": value,
            "seconds a pair": value / pairs,
            "over its product": value / pairs / products,
            "peer's rotations / this": seconds.get("netrep, rotations", np.nan) / value,
            "peer's linear maps / this": seconds.get("netrep, linear maps", np.nan) / value,
        }
        for who, value in seconds.items()
    ]
    publish("p07", "every pair of many runs, float64", rows, seed=0)
