"""P9: CCA, SVCCA, PWCCA and CKA of two large runs, and of degenerate runs."""

from __future__ import annotations

import importlib
import sys
import types
import warnings
from contextlib import contextmanager

import numpy as np

from benchmarks.measure import all_cores, interleaved, product_rate, publish
from upto.measures import find_measure, pair_moments, run_moments

SIZES = {"quick": (4_000, 64), "full": (100_000, 768)}
SQUARE = {"quick": 500, "full": 8_000}
"""Rows of the comparison with those who build n×n kernels."""
MEASURES = ("mean-cca", "svcca", "pwcca", "linear-cka")


def runs_of(n_samples, width, seed=0):
    rng = np.random.default_rng(seed)
    source = rng.standard_normal((n_samples, width))
    return [
        source @ rng.normal(size=(width, width)) / np.sqrt(width)
        + 0.5 * rng.standard_normal((n_samples, width))
        for _ in range(2)
    ]


def ours(runs, names=MEASURES):
    """Score all measures from the same moments."""
    first, second = runs
    moments = pair_moments(first, second, x=run_moments(first), y=run_moments(second))
    return {name: find_measure(name).scored(moments, moments) for name in names}


def peers_in(folder):
    """Return the peers found in a folder, by name: what each computes of two runs."""
    found = {}
    if folder is None:
        return found
    with _importing(folder / "svcca"):
        try:
            cca_core, pwcca = importlib.import_module("cca_core"), importlib.import_module("pwcca")
        except ImportError:
            print(f"p09: no cca_core.py and pwcca.py in {folder / 'svcca'}")
        else:
            found["google/svcca: CCA"] = lambda runs: float(
                np.mean(
                    cca_core.get_cca_similarity(runs[0].T, runs[1].T, epsilon=1e-10, verbose=False)[
                        "cca_coef1"
                    ]
                )
            )
            found["google/svcca: PWCCA"] = lambda runs: float(
                pwcca.compute_pwcca(runs[0].T, runs[1].T, epsilon=1e-10)[0]
            )
    # Its package would be imported with all it needs; these two files need only each other.
    package = types.ModuleType("thingsvision_cka")
    package.__path__ = [str(folder / "thingsvision" / "core" / "cka")]
    sys.modules[package.__name__] = package
    try:
        cka = importlib.import_module("thingsvision_cka.cka_numpy")
    except ImportError:
        print(f"p09: no cka_numpy.py in {package.__path__[0]}")
    else:
        found["thingsvision: linear CKA, n×n"] = lambda runs: float(
            cka.CKANumPy(m=len(runs[0]), kernel="linear", unbiased=True).compare(*runs)
        )
    return found


@contextmanager
def _importing(folder):
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def timed(size, peers):
    n_samples, width = SIZES[size]
    runs = runs_of(n_samples, width)
    contestants = {
        "upto: CCA, SVCCA, PWCCA and CKA together": lambda: ours(runs),
        "upto: CCA": lambda: ours(runs, ["mean-cca"]),
        "upto: linear CKA": lambda: ours(runs, ["linear-cka"]),
    }
    contestants |= {
        name: (lambda work=work: work(runs)) for name, work in peers.items() if "n×n" not in name
    }
    rate = product_rate(width)
    floor = 3 * 2.0 * n_samples * width**2 / rate
    rows = _rows(interleaved(contestants), f"{n_samples}×{width} float64", floor)
    n_square = SQUARE[size]
    fewer = [each[:n_square] for each in runs]
    contestants = {"upto: linear CKA": lambda: ours(fewer, ["linear-cka"])}
    contestants |= {
        name: (lambda work=work: work(fewer)) for name, work in peers.items() if "n×n" in name
    }
    floor = 3 * 2.0 * n_square * width**2 / rate
    return rows + _rows(interleaved(contestants), f"{n_square}×{width} float64", floor)


SAME = {
    "google/svcca: CCA": "upto: CCA",
    "google/svcca: PWCCA": "upto: CCA, SVCCA, PWCCA and CKA together",
    "thingsvision: linear CKA, n×n": "upto: linear CKA",
}
"""Our measure compared with each peer."""


def _rows(seconds, work, floor):
    return [
        {
            "who": name,
            "rows": work,
            "seconds": value,
            "beside": SAME.get(name),
            "this / ours": value / seconds[SAME[name]] if name in SAME else None,
            "over floor": value / floor if name.startswith("upto") else None,
        }
        for name, value in seconds.items()
    ]


def broken(first, second):
    """Return degenerate pairs: dead units, duplicated units, fewer rows than units."""
    dead = first.copy()
    dead[:, ::5] = 0.0
    doubled = np.concatenate([first, first[:, :8]], axis=1)
    return {
        "dead units": (dead, second),
        "duplicated units": (doubled, second),
        "n < d": (first[: first.shape[1] // 2], second[: first.shape[1] // 2]),
    }


def robust(peers):
    everybody = {
        f"upto: {name}": (lambda runs, name=name: ours(runs, [name])[name]) for name in MEASURES
    }
    rows = []
    for case, runs in broken(*runs_of(600, 64, seed=1)).items():
        for who, work in (everybody | peers).items():
            rows.append({"who": who, "rows": case, "value": _outcome(work, runs)})
    return rows


def _outcome(work, runs):
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            value = work([each.copy() for each in runs])
    except Exception as error:  # noqa: BLE001 - whatever a peer raises is its outcome
        return type(error).__name__
    return (
        "NaN" if np.isnan(value) else f"{value:.3f}" + ("" if -1 <= value <= 1 + 1e-9 else " (!)")
    )


def run(size, *, peers=None):
    found = peers_in(peers)
    with all_cores():
        rows = timed(size, found) + robust(found)
    publish("p09", "CCA, SVCCA, PWCCA and linear CKA in sample", rows, seed=0)
