"""P13: DCI of ten thousand rows to fit on and five thousand to test, as Locatello and others do."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.measure import load, publish
from benchmarks.p12_infomec import CLASSES, drawn
from upto.disentanglement.dci import dci_scores

SIZES = {"quick": (1_000, 500), "full": (10_000, 5_000)}
PEER_ROWS = {"quick": 500, "full": 2_000}
"""Of the peer's one factor: all six at full size would take many minutes."""


def timed(codes, factors, held_out, variant):
    """Return the scores of a variant and the seconds it took."""
    started = time.perf_counter()
    found = dci_scores(codes, factors, variant=variant, held_out=held_out)
    return found, time.perf_counter() - started


def run(size):
    n_fitted, n_held = SIZES[size]
    few = PEER_ROWS[size]
    factors, cases = drawn(n_fitted + n_held)
    held_out = np.arange(n_fitted + n_held) >= n_fitted
    rows = []
    for name, codes in cases.items():
        found, seconds = timed(codes, factors, held_out, "lightgbm")
        part = (
            np.vstack([codes[:few], codes[held_out]]),
            np.vstack([factors[:few, :1], factors[held_out, :1]]),
            np.arange(few + n_held) >= few,
        )
        same, ours = timed(*part, "lightgbm")
        peer, theirs = timed(*part, "disentanglement_lib")
        rows.append(
            {
                "codes": name,
                "size": f"{n_fitted}/{n_held}×{codes.shape[1]}, {len(CLASSES)} factors",
                "LightGBM s": seconds,
                f"scikit-learn, one factor of {few} rows s": theirs,
                "LightGBM, the same s": ours,
                "scikit-learn / LightGBM": theirs / ours,
                # Trees are fitted for each class, and each looks at every row.
                "scikit-learn scaled to all s": theirs
                * (n_fitted / few)
                * (sum(CLASSES) / CLASSES[0]),
                "D": found.disentanglement.value,
                "C": found.completeness.value,
                "I": found.informativeness.value,
                "I of the one factor": same.informativeness.value,
                "scikit-learn's": peer.informativeness.value,
                "booster": found.predictor,
            }
        )
    publish("p13", "DCI in Locatello's protocol", rows, seed=0, load=load())
