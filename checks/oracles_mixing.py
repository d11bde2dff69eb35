"""Compute golden values for mixing and retrieval with scib-metrics and copairs.

``python checks/oracles_mixing.py`` writes ``tests/golden/mixing.json``, in an environment with
scib-metrics 0.5.10 and copairs 0.5.5. Numbers are float64 and neighbours exact: by default
scib-metrics rounds to float32 and searches neighbours approximately, so its values vary in the
fourth digit. The data follow from the seeds in this file.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Float = NDArray[np.float64]
    Names = NDArray[np.str_]

GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "mixing.json"
SIZES = {"mild": (360, 0.6), "strong": (420, 2.5)}
"""Rows, and how far batches are apart."""
WIDE, WIDE_SEEDS = (1200, 48, 0.1), tuple(range(12))
"""Rows, columns and shift of screens of large labels, in which approximate neighbours err."""


def screen(seed: int, n_samples: int, shift: float) -> tuple[Float, Names, Names, Float]:
    """Return rows, batches, labels and rows before; one of three labels is in two batches only."""
    rng = np.random.default_rng(seed)
    label = rng.integers(3, size=n_samples)
    batch = np.where(label == 2, rng.integers(2, size=n_samples), rng.integers(4, size=n_samples))
    centres, shifts = rng.normal(size=(3, 8)) * 1.5, rng.normal(size=(4, 8)) * shift
    before = rng.normal(size=(n_samples, 8)) + centres[label] + 2.0 * shifts[batch] + 0.5
    rows = before - shifts[batch]
    return rows, np.array(list("pqrs"))[batch], np.array(list("xyz"))[label], before


def wide_screen(seed: int) -> tuple[Float, Names, Names]:
    """Return rows of heavy tails, batches and labels; every label has more than 200 rows."""
    n_samples, width, shift = WIDE
    rng = np.random.default_rng(seed)
    label = rng.choice(3, p=[0.25, 0.3, 0.45], size=n_samples)
    batch = rng.integers(3, size=n_samples)
    centres, shifts = rng.normal(size=(3, width)) * 0.8, rng.normal(size=(3, width)) * shift
    rows = rng.standard_t(4, size=(n_samples, width)) + centres[label] + shifts[batch]
    return rows, np.array(list("pqr"))[batch], np.array(list("xyz"))[label]


def _exact(values: Any, n_neighbors: int, **_: Any) -> Any:
    from scib_metrics.nearest_neighbors import NeighborsResults

    values = np.asarray(values, dtype=np.float64)
    distances = np.stack([np.linalg.norm(values - row, axis=1) for row in values])
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :n_neighbors]
    return NeighborsResults(
        indices=nearest, distances=np.take_along_axis(distances, nearest, axis=1)
    )


def mixing_values(seed: int, n_samples: int, shift: float) -> dict[str, float]:
    """Return every score of one screen."""
    import scib_metrics as peer

    rows, batches, labels, before = screen(seed, n_samples, shift)
    near = {k: _exact(rows, k) for k in (15, 50, 90)}
    found = {
        "silhouette-label": peer.silhouette_label(rows, labels),
        "silhouette-label/cosine": peer.silhouette_label(rows, labels, metric="cosine"),
        "isolated-labels": peer.isolated_labels(rows, labels, batches),
        "ilisi": peer.ilisi_knn(near[90], batches),
        "clisi": peer.clisi_knn(near[90], labels),
        "ilisi/30": peer.ilisi_knn(_exact(rows, 30), batches, perplexity=7.5),
        "kbet": peer.kbet_per_label(near[50], batches, labels),
        "graph-connectivity": peer.graph_connectivity(near[15], labels),
        "graph-connectivity/4": peer.graph_connectivity(_exact(rows, 4), labels),
        "pcr": peer.pcr_comparison(before, rows, batches, categorical=True),
        "bras": peer.bras(rows, labels, batches),
        "silhouette-batch": peer.silhouette_batch(rows, labels, batches),
    }
    for metric in ("euclidean", "cosine"):
        for between in ("nearest", "mean_other", "furthest"):
            value = peer.silhouette_batch(
                rows, labels, batches, metric=metric, between_cluster_distances=between
            )
            found[f"silhouette-batch/{metric}/{between.replace('_', '-')}"] = value
    return {name: float(value) for name, value in found.items()}


def kbet_values(seed: int, approximate: Any) -> dict[str, float]:
    """Return kBET of a wide screen, by exact neighbours and by those scib-metrics searches.

    It searches twice: in the rows, and in their diffusion coordinates.
    """
    import scib_metrics as peer
    import scib_metrics.nearest_neighbors as peer_neighbours

    rows, batches, labels = wide_screen(seed)
    found = {}
    for name, first, then in (
        ("exact", _exact, _exact),
        ("approximate in rows", approximate, _exact),
        ("approximate in diffusion", _exact, approximate),
        ("approximate", approximate, approximate),
    ):
        near = first(rows, 50)
        peer_neighbours.pynndescent = then
        found[name] = float(peer.kbet_per_label(near, batches, labels))
    return found


def retrieval_data(seed: int) -> tuple[Float, Names, Names]:
    """Return rows, labels with a control, and batches; one label has one row."""
    rng = np.random.default_rng(seed)
    labels = np.array([*"aaaaabbbbcccccc", "d", *["dmso"] * 12])
    batches = np.array(list("pqr"))[rng.integers(3, size=len(labels))]
    centres = {
        name: rng.normal(size=6) * strength
        for name, strength in zip("abcd", (2, 1, 0, 1), strict=False)
    }
    rows = rng.normal(size=(len(labels), 6))
    rows += np.array([centres.get(name, np.zeros(6)) for name in labels])
    return rows, labels, batches


def retrieval_values(seed: int) -> dict[str, Any]:
    """Return average precisions with and without controls and batches."""
    import pandas as pd
    from copairs import map as peer
    from copairs.matching import assign_reference_index

    rows, labels, batches = retrieval_data(seed)
    table = pd.DataFrame({"label": labels, "batch": batches})
    held = assign_reference_index(table, "label == 'dmso'", reference_col="reference")
    settings = {
        "labels": (table, ["label"], [], [], ["label"]),
        "labels/other-batches": (table, ["label"], ["batch"], [], ["label"]),
        "labels/same-batch": (table, ["label"], [], ["batch"], ["label"]),
        "control": (held, ["label", "reference"], [], [], ["label", "reference"]),
        "control/both": (
            held,
            ["label", "reference"],
            ["batch"],
            ["batch"],
            ["label", "reference"],
        ),
    }
    values: dict[str, Any] = {}
    for name, (meta, *pairs) in settings.items():
        single = peer.average_precision(meta, rows, *pairs, progress_bar=False)
        with tempfile.TemporaryDirectory() as folder:
            mean = peer.mean_average_precision(
                single,
                ["label"],
                null_size=20_000,
                threshold=0.05,
                seed=0,
                progress_bar=False,
                cache_dir=folder,
            )
        values[name] = {
            "average_precision": [
                None if np.isnan(value) or n_pos == 0 else value
                for value, n_pos in zip(
                    single["average_precision"], single["n_pos_pairs"], strict=False
                )
            ],
            "normalised": [
                None if np.isnan(value) or n_pos == 0 else value
                for value, n_pos in zip(
                    single["normalized_average_precision"], single["n_pos_pairs"], strict=False
                )
            ],
            "n_positives": single["n_pos_pairs"].tolist(),
            "n_pairs": single["n_total_pairs"].tolist(),
            "labels": mean["label"].tolist(),
            "map": mean["mean_average_precision"].tolist(),
            "p": mean["p_value"].tolist(),
            "q": mean["corrected_p_value"].tolist(),
        }
    return values


def main() -> None:
    """Write the golden values."""
    os.environ["JAX_ENABLE_X64"] = "1"
    import scib_metrics.nearest_neighbors as peer_neighbours

    approximate, peer_neighbours.pynndescent = peer_neighbours.pynndescent, _exact
    values: dict[str, Any] = {name: mixing_values(7, *size) for name, size in SIZES.items()}
    values["wide"] = [kbet_values(seed, approximate) for seed in WIDE_SEEDS]
    values["retrieval"] = retrieval_values(3)
    text = json.dumps({"values": values}, indent=1)
    GOLDEN.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
