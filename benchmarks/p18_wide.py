"""P18: wide comparisons on the CPU, beside one product and one decomposition, and peers by hand."""

from __future__ import annotations

import statistics
import warnings
from functools import partial

import numpy as np
import scipy.linalg
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import FastICA
from sklearn.linear_model import LinearRegression

import upto
from benchmarks.data import wide_pair, wide_runs
from benchmarks.measure import all_cores, load, measured, publish, session

N_SAMPLES = {"quick": 800, "full": 5_000}
WIDTHS = {"quick": (16, 48), "full": (64, 256, 512, 1_024, 2_048, 4_096)}
ONCE = 4_096
"""Width from which there is one round; below, there are three."""
BY_HAND_ICA = {"quick": 16, "full": 512}
"""Largest width at which scikit-learn's FastICA is timed, once: beyond, it takes hours."""
OTHERS = {
    "quick": {
        "similarity": (400, 12),
        "inspect": (800, 48),
        "unmix": (2_000, 12),
        "compare 4 runs, no ICA": (500, 32),
    },
    "full": {
        "similarity": (5_000, 512),
        "inspect": (5_000, 4_096),
        "unmix": (50_000, 64),
        "compare 20 runs, no ICA": (5_000, 512),
    },
}
UNIT = "one product and one SVD"
NO_ICA, ICA = "upto, no ICA", "upto"


def unit(first, second):
    """Do the least that a rotation takes: a product and a decomposition, in double precision."""
    scipy.linalg.svd(first.T.astype(np.float64) @ second, check_finite=False)


def by_hand(first, second, *, ica):
    """Fit rotation, signed permutation and affine map on 70 % of the rows; judge them on the rest.

    With ICA, also the components of both runs, matched. There are no chance levels, p-values,
    intervals, diameter, worst errors, shared directions or the way back.
    """
    n_fitted = int(0.7 * len(first))
    mean, other = first[:n_fitted].mean(axis=0), second[:n_fitted].mean(axis=0)
    x, y = first - mean, second - other
    fitted, held_out = slice(0, n_fitted), slice(n_fitted, None)
    predicted = {"rotation": x[held_out] @ _rotation(x[fitted], y[fitted])}
    predicted["permutation"] = _matched(x, y, fitted, held_out)
    linear = LinearRegression().fit(x[fitted], y[fitted])
    predicted["affine"] = linear.predict(x[held_out])
    if ica:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            models = [
                FastICA(whiten_solver="eigh", random_state=0).fit(rows[fitted]) for rows in (x, y)
            ]
        sources = [model.transform(rows) for model, rows in zip(models, (x, y), strict=True)]
        matched = _matched(*sources, fitted, held_out)
        predicted["ICA"] = models[1].inverse_transform(matched)
    return {
        name: np.linalg.norm(y[held_out] - each, axis=1).mean() for name, each in predicted.items()
    }


def _rotation(x, y):
    try:
        from netrep.metrics import LinearMetric
    except ImportError:
        return scipy.linalg.orthogonal_procrustes(x, y)[0]
    metric = LinearMetric(alpha=1.0).fit(x, y)
    return metric.Wx_ @ metric.Wy_.T


def _matched(x, y, fitted, held_out):
    cross = x[fitted].T @ y[fitted]
    rows, columns = linear_sum_assignment(np.abs(cross), maximize=True)
    found = np.zeros((len(x[held_out]), y.shape[1]), dtype=x.dtype)
    found[:, columns] = x[held_out][:, rows] * np.sign(cross[rows, columns])
    return found


def contestants(first, second):
    """Return who competes at a width, by name."""
    width = first.shape[1]
    peer = "netrep, scipy and scikit-learn by hand" if _has_netrep() else "scipy and scikit-learn"
    found = {
        UNIT: partial(unit, first, second),
        NO_ICA: partial(upto.compare, first, second, ica=False),
        ICA: partial(upto.compare, first, second),
        f"{peer}, no ICA": partial(by_hand, first, second, ica=False),
    }
    if width <= BY_HAND_ICA[session.size]:
        found[f"{peer}, FastICA"] = partial(by_hand, first, second, ica=True)
    return found


def _has_netrep():
    from importlib.util import find_spec

    return find_spec("netrep") is not None


def measure_width(n_samples, width):
    """Return the rows of a width: each contestant in turn, several times."""
    first, second = wide_pair(n_samples, width)
    entries = contestants(first, second)
    seconds, extra, failed = {name: [] for name in entries}, dict.fromkeys(entries, 0), {}
    for number in range(3 if session.size == "full" and width < ONCE else 1):
        for name, work in entries.items():
            if name in failed or (number and name.endswith("FastICA")):
                continue
            try:
                _, taken, more = measured(work)
            except Exception as error:  # noqa: BLE001 - a failure is a result
                failed[name] = f"failed: {type(error).__name__}: {str(error)[:80]}"
                continue
            seconds[name].append(taken)
            extra[name] = max(extra[name], more)
            print(f"  {width}: {name}: {taken:.2f} s, {more / 1e6:.0f} MB", flush=True)
    medians = {name: statistics.median(each) for name, each in seconds.items() if each}
    rows = []
    for name in entries:
        row = {"work": "compare", "size": f"{n_samples}×{width}", "who": name}
        if name in failed:
            rows.append({**row, "outcome": failed[name]})
            continue
        row |= {"seconds": medians[name], "over product + SVD": medians[name] / medians[UNIT]}
        row["extra MB"] = extra[name] / 1e6
        if name == ICA and NO_ICA in medians:
            row["over no ICA"] = medians[ICA] / medians[NO_ICA]
        rows.append(row)
    return rows


def needed(runs):
    """Return the seconds of the products and decompositions that all pairs need.

    For each run a product and an eigendecomposition; for each pair a cross product, a rotation, the
    canonical directions, and in both directions a rotation and an affine map of the held-out rows.
    """
    count, n_samples = len(runs), len(runs[0])
    first, second = (run.astype(np.float64) for run in runs[:2])
    held_out = first[: int(0.3 * n_samples)]
    cross = first.T @ second
    works = {
        "product": lambda: first.T @ second,
        "eigh": lambda: np.linalg.eigh(cross + cross.T),
        "svd": lambda: scipy.linalg.svd(cross, check_finite=False),
        "predict": lambda: held_out @ cross,
    }
    taken = {
        name: statistics.median(measured(work)[1] for _ in range(3)) for name, work in works.items()
    }
    pairs = count * (count - 1) // 2
    alone = taken["product"] + taken["eigh"]
    return count * alone + pairs * (taken["product"] + 2 * taken["svd"] + 4 * taken["predict"])


def measure_others(size):
    """Return the rows of other questions."""
    rows = []
    for name, (n_samples, width) in OTHERS[size].items():
        question = name.partition(" ")[0]
        row = {"work": name, "size": f"{n_samples}×{width}", "who": "upto"}
        if question == "compare":
            runs = wide_runs(n_samples, width, int(name.split()[1]))
            _, row["seconds"], extra = measured(partial(upto.compare, *runs, ica=False))
            least = needed(runs)
            row |= {"needed products and SVDs s": least, "over needed": row["seconds"] / least}
        else:
            pair = wide_pair(n_samples, width)
            ask = getattr(upto, question)
            given = pair if question == "similarity" else pair[:1]
            _, row["seconds"], extra = measured(partial(ask, *given))
        row["extra MB"] = extra / 1e6
        print(f"  {name}: {row['seconds']:.2f} s", flush=True)
        rows.append(row)
    return rows


def run(size):
    rows = []
    with all_cores():
        small = wide_pair(300, 6)
        upto.compare(*small)
        by_hand(*small, ica=True)
        for question in (upto.similarity, partial(upto.inspect, small[0])):
            question(*([] if isinstance(question, partial) else small))
        for width in WIDTHS[size]:
            rows += measure_width(N_SAMPLES[size], width)
            _publish(rows)
        rows += measure_others(size)
        _publish(rows)


def _publish(rows):
    title = "wide runs: Laplace coordinates and a rotation of them with noise, float32"
    publish("p18", title, rows, seed=0, load=load())
