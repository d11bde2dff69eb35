"""P8: the exact signed permutation of wide runs: one pass plus scipy's assignment."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks.measure import interleaved, publish
from upto.alignment import fit_map
from upto.core import Group
from upto.engines import ThreadsEngine, cross_moments

SIZES = {"quick": [384], "full": [384, 2048, 4096]}


def correlation_matching(first, second):
    """Match as icebeem's `mean_corr_coef_np` does: Hungarian on |corrcoef| of both at once."""
    width = first.shape[1]
    correlation = np.corrcoef(first, second, rowvar=False)[:width, width:]
    return linear_sum_assignment(-np.abs(correlation))


def run(size):
    rows = []
    for width in SIZES[size]:
        rng = np.random.default_rng(0)
        first = rng.standard_normal((4 * width, width))
        order, signs = rng.permutation(width), rng.choice([-1.0, 1.0], size=width)
        second = first[:, order] * signs + rng.standard_normal(first.shape)
        moments = cross_moments(ThreadsEngine(), first, second)
        gain = np.abs(moments.cross)
        found = fit_map(Group.SIGNED_PERMUTATION, moments)
        seconds = interleaved(
            {
                "upto": lambda f=first, s=second: fit_map(
                    Group.SIGNED_PERMUTATION, cross_moments(ThreadsEngine(), f, s, full=False)
                ),
                "one product": lambda f=first, s=second: f.T @ s,
                "assignment alone": lambda c=gain: linear_sum_assignment(c, maximize=True),
                "corrcoef + assignment (icebeem, cl-ica)": lambda f=first, s=second: (
                    correlation_matching(f, s)
                ),
            }
        )
        rows.append(
            {
                "size": f"{4 * width}×{width}",
                **{f"{who} s": value for who, value in seconds.items()},
                "peer / upto": seconds["corrcoef + assignment (icebeem, cl-ica)"] / seconds["upto"],
                "planted matches found": float(np.mean(found.index == order)),
            }
        )
    publish("p08", "signed permutation and MCC matching", rows, seed=0)
