"""P10: permutation tests from precomputed products, against recomputation for each."""

from __future__ import annotations

import numpy as np

from benchmarks.measure import all_cores, interleaved, publish
from upto.measures import find_measures
from upto.measures.permutation import score_pairs

SIZES = {"quick": (512, 128, 50), "full": (2_048, 1_024, 200)}


def runs_of(n_samples, width):
    rng = np.random.default_rng(0)
    source = rng.standard_normal((n_samples, width))
    return [source + rng.standard_normal((n_samples, width)) for _ in range(2)]


def ours(runs, names, permutations):
    scored = score_pairs(
        runs,
        [(0, 1)],
        find_measures(names),
        parts=None,
        strata=None,
        permutations=permutations,
        half_samples=0,
        seed=0,
    )
    return {each.measure: each for each in scored}


def recomputed(runs, permutations):
    """Run calibrated-similarity, which recomputes linear CKA for each permutation."""
    import torch
    from calibrated_similarity import calibrate

    def debiased(x, y):
        n = len(x)
        k, m = x @ x.T, y @ y.T
        k.fill_diagonal_(0.0)
        m.fill_diagonal_(0.0)

        def hsic(a, b):
            return (
                (a * b).sum()
                + a.sum() * b.sum() / ((n - 1) * (n - 2))
                - 2 * (a.sum(0) @ b.sum(0)) / (n - 2)
            )

        return hsic(k, m) / torch.sqrt(hsic(k, k) * hsic(m, m))

    x, y = (torch.from_numpy(run - run.mean(axis=0)) for run in runs)
    return calibrate(x, y, debiased, K=permutations)


def run(size):
    n_samples, width, permutations = SIZES[size]
    runs = runs_of(n_samples, width)
    several = ["linear-cka", "rbf-cka", "rsa-euclidean-pearson", "mutual-knn"]
    contestants = {
        "upto: linear CKA": lambda: ours(runs, ["linear-cka"], permutations),
        "upto: four measures together": lambda: ours(runs, several, permutations),
    }
    try:
        import calibrated_similarity  # noqa: F401
    except ImportError:
        print("p10: calibrated-similarity is not installed: no ratio")
    else:
        contestants["calibrated-similarity: linear CKA"] = lambda: recomputed(runs, permutations)
    with all_cores():
        seconds = interleaved(contestants)
    ours_alone = seconds["upto: linear CKA"]
    publish(
        "p10",
        f"{permutations} permutations of {n_samples}×{width} float64",
        [
            {"who": who, "seconds": value, "this / upto": value / ours_alone}
            for who, value in seconds.items()
        ],
        seed=0,
    )
