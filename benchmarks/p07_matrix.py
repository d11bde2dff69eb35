"""P7: every pair of many runs, each run prepared once."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import combinations

import numpy as np
import scipy.linalg
from threadpoolctl import threadpool_limits

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


def needed(runs):
    """Compute only what `compare` needs, several pairs at a time with one BLAS thread each.

    Of a run, its moments and three decompositions: of all rows, of the fitted ones, and the
    inverse. Of a pair, one product of all rows, the rotation and the canonical directions.
    """

    def of_run(rows):
        rows = rows - rows.mean(axis=0)
        scatter = rows.T @ rows
        for _ in range(3):
            np.linalg.eigh(scatter)

    def of_pair(pair):
        cross = pair[0].T @ pair[1]
        for _ in range(2):
            scipy.linalg.svd(cross, check_finite=False)

    with threadpool_limits(1), ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(of_run, runs))
        list(pool.map(of_pair, combinations(runs, 2)))


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
        # It answers more than anyone else: once is enough to say how much more.
        seconds |= interleaved(
            {
                "products and SVDs of compare, by hand": partial(needed, runs),
                "upto, compare: 7 groups, both directions, p-values": partial(
                    upto.compare, *runs, ica=False, progress=False
                ),
            },
            repeats=1,
        )
        by_hand = seconds["products and SVDs of compare, by hand"]
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
            "over products and SVDs": value / by_hand if "compare" in who else np.nan,
            "peer's rotations / this": seconds.get("netrep, rotations", np.nan) / value,
            "peer's linear maps / this": seconds.get("netrep, linear maps", np.nan) / value,
        }
        for who, value in seconds.items()
    ]
    publish("p07", "every pair of many runs, float64", rows, seed=0)
