"""P11: many random starts (Icasso), at equal quality."""

from __future__ import annotations

import time
import warnings

import numpy as np

from benchmarks.data import planted
from benchmarks.measure import all_cores, interleaved, memory_rate, pass_rate, publish
from benchmarks.peers import TARGET, Judge, installed
from benchmarks.watching import WatchedEngine
from upto.engines import ThreadsEngine
from upto.ica.fit import Settings, fit_components
from upto.ica.restarts import stability_of

SIZES = {"quick": (10, 5_000, 20), "full": (100, 10_000, 40)}
LADDER = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
OURS = "upto, all starts at once"
SHARE = 0.99
"""Of the starts that must reach the target."""


def restart_ours(rows, n_restarts):
    """Search from all starts at once, then from the best, and compare all: Icasso's index."""
    engine = WatchedEngine(ThreadsEngine())
    settings = Settings(restarts=n_restarts, tolerance=TARGET, seed=0)
    fitted = fit_components(engine, engine.place(rows), settings)
    stability = stability_of(fitted.unmixing, fitted.restarted)
    return fitted.restarted, stability.index, engine


def restart_scikit_learn(rows, n_restarts, tolerance):
    """Search from one start after another, without comparing them."""
    from sklearn.decomposition import FastICA

    with warnings.catch_warnings(action="ignore"):
        return [
            FastICA(whiten_solver="eigh", tol=tolerance, random_state=seed).fit(rows).components_
            for seed in range(n_restarts)
        ]


def restart_robustica(rows, n_restarts, tolerance):
    """Run robustica's method: repeated FastICA of scikit-learn, then clustering."""
    from robustica import RobustICA

    with warnings.catch_warnings(action="ignore"):
        robust = RobustICA(
            rows.shape[1],
            robust_runs=n_restarts,
            tol=tolerance,
            random_state=0,
            verbose=False,
        )
        robust.fit(rows)
    return robust


def share_reached(judge, restarted):
    return float(np.mean([judge(each).gradient <= TARGET for each in restarted]))


def loosest(rows, n_restarts, judge):
    """Return the loosest tolerance of scikit-learn at which the starts reach the target."""
    for tolerance in LADDER:
        started = time.perf_counter()
        share = share_reached(judge, restart_scikit_learn(rows, n_restarts, tolerance))
        seconds = time.perf_counter() - started
        print(f"  scikit-learn at {tolerance:g}: {share:.0%} reached, {seconds:.1f} s", flush=True)
        if share >= SHARE:
            break
    return tolerance, share


def run(size, *, rounds=None):
    n_restarts, n_samples, width = SIZES[size]
    rows = planted("Laplace", n_samples, width).rows.astype(np.float64)
    with all_cores():
        judge = Judge(rows, 0)
        restarted, index, engine = restart_ours(rows, n_restarts)
        tolerance, share = loosest(rows, n_restarts, judge)
        contestants = {
            OURS: lambda: restart_ours(rows, n_restarts),
            "scikit-learn in a loop": lambda: restart_scikit_learn(rows, n_restarts, tolerance),
        }
        if installed("robustica"):
            contestants["robustica"] = lambda: restart_robustica(rows, n_restarts, tolerance)
        seconds = interleaved(contestants, repeats=rounds or (3 if size == "quick" else 1))
        floor = engine.floor(pass_rate(width, np.float64), memory_rate())
    table = [
        {
            "who": who,
            "work": f"{n_restarts} starts of {n_samples}×{width} float64",
            "seconds": value,
            "this / upto": value / seconds[OURS],
            "starts that reached": share_reached(judge, restarted) if who == OURS else share,
            "tolerance": TARGET if who == OURS else tolerance,
            "smallest stability": float(index.min()) if who == OURS else None,
            "over floor": value / floor if who == OURS else None,
        }
        for who, value in seconds.items()
    ]
    publish(
        "p11",
        f"random starts, each searched until no entry of the relative gradient is above {TARGET:g}",
        table,
        seed=0,
        target=TARGET,
    )
