"""P6: `compare` of one pair with all groups, against a combination of existing tools."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.linear_model import LinearRegression

import upto
from benchmarks.measure import interleaved, peak_memory, product_rate, publish

SIZES = {"quick": [(5_000, 64), (10_000, 256)], "full": [(50_000, 768), (1_000_000, 256)]}


def pair(n_samples, width):
    rng = np.random.default_rng(0)
    first = rng.standard_normal((n_samples, width), dtype=np.float32)
    rotation, _ = np.linalg.qr(rng.normal(size=(width, width)))
    second = first @ rotation.astype(np.float32)
    second += 0.1 * rng.standard_normal(second.shape, dtype=np.float32)
    return first, second


def glued(first, second):
    """Fit and evaluate rotation, signed permutation and linear map with scipy and scikit-learn.

    In sample, without diameter, chance or interval: those exist in no peer. netrep's rotation is
    the same product and SVD, on float64 copies; it is used where it is installed.
    """
    rotation = _rotation(first, second)
    x, y = first - first.mean(0), second - second.mean(0)
    cross = x.T @ y
    rows, columns = linear_sum_assignment(np.abs(cross), maximize=True)
    permuted = np.zeros_like(y)
    permuted[:, columns] = x[:, rows] * np.sign(cross[rows, columns])
    linear = LinearRegression().fit(first, second)
    return [
        np.linalg.norm(y - prediction, axis=1).mean()
        for prediction in (x @ rotation, permuted, linear.predict(first) - second.mean(0))
    ]


def _rotation(first, second):
    try:
        from netrep.metrics import LinearMetric
    except ImportError:
        left, _, right = np.linalg.svd((first - first.mean(0)).T @ (second - second.mean(0)))
        return left @ right
    metric = LinearMetric(alpha=1.0).fit(first, second)
    return metric.Wx_ @ metric.Wy_.T


def needed_products(width, options):
    """Count the n·d² products of one comparison; see `compare`'s passes."""
    moments = 1.0 + 1.0  # two symmetric ones at half the work each, and the cross-scatter
    in_sample, held_out, suprema = 2.0, 2 * 0.3, 3.0
    return moments + in_sample + held_out + (suprema if options["suprema"] else 0.0)


def run(size):
    rows = []
    for n_samples, width in SIZES[size]:
        first, second = pair(n_samples, width)
        rate = product_rate(width)
        memory = {}
        with peak_memory(memory):
            result = upto.compare(first, second, ica=False)
        contestants = {
            "upto, all groups, chance and interval": lambda f=first, s=second: upto.compare(
                f, s, ica=False
            ),
            "upto, without chance": lambda f=first, s=second: upto.compare(
                f, s, ica=False, refits=0
            ),
            "netrep + scipy + scikit-learn": lambda f=first, s=second: glued(f, s),
        }
        # A million rows take the peers' SVD minutes: one round there, three elsewhere.
        seconds = interleaved(contestants, repeats=3 if n_samples < 10**6 else 1)
        refined = 2.0 * max(4096, 4 * width) * width**2 + 60.0 * width**3 <= 2e10
        products = needed_products(width, {"suprema": refined and n_samples > 4096})
        floor = products * 2.0 * n_samples * width**2 / rate
        peer = seconds["netrep + scipy + scikit-learn"]
        rows += [
            {
                "size": f"{n_samples}×{width}",
                "who": who,
                "seconds": value,
                "ratio to peer": value / peer,
                "over floor": value / floor if who.startswith("upto") else None,
                "extra memory / data": memory["extra_bytes"] / (first.nbytes + second.nbytes)
                if who.startswith("upto, all")
                else None,
                "diameter": ("exact" if result.second.diameter.exact else "bracket")
                if who.startswith("upto")
                else None,
            }
            for who, value in seconds.items()
        ]
        publish(
            "p06",
            "compare one pair, float32 input; the floor is the n·d² products of a run without "
            "chance",
            rows,
            seed=0,
        )
