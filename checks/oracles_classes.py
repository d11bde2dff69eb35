"""Compute golden values for codes and classes with DRVI's own code.

``python checks/oracles_classes.py PEERS`` writes ``tests/golden/classes.json``. `PEERS` holds the
files of src/drvi/utils/metrics of theislab/DRVI in a folder drvi. The data follow from the seeds in
the file.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Float = NDArray[np.float64]

GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "classes.json"
N_SAMPLES, N_CLASSES, N_PROCESSES = 300, 5, 4
SIMILARITIES = {
    "smi": "discrete_scaled_mutual_info_score",
    "spn": "nn_alignment_score",
    "bmmi": "binary_maximum_mutual_information_score",
}
MATCHES = {
    "lms": "latent_matching_score",
    "msas": "most_similar_averaging_score",
    "msgs": "most_similar_gap_score",
}


def kinds_of(seed: int) -> tuple[Float, NDArray[np.int64]]:
    """Return codes without ties, and one factor whose classes some of them predict."""
    rng = np.random.default_rng(seed)
    kinds = rng.choice(N_CLASSES, size=N_SAMPLES, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    shown = (kinds[:, None] == np.arange(N_CLASSES)).astype(np.float64)
    codes = shown @ (np.eye(N_CLASSES, 7) + 0.3 * rng.normal(size=(N_CLASSES, 7)))
    return codes + 0.3 * rng.normal(size=codes.shape), kinds[:, None]


def processes_of(seed: int) -> tuple[Float, NDArray[np.int64]]:
    """Return three codes without ties, and four processes that are on or off by themselves."""
    rng = np.random.default_rng(seed)
    active = (rng.uniform(size=(N_SAMPLES, N_PROCESSES)) < [0.5, 0.3, 0.2, 0.1]).astype(np.int64)
    codes = active @ rng.normal(size=(N_PROCESSES, 3)) + 0.4 * rng.normal(size=(N_SAMPLES, 3))
    return codes, active


def module_of(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def drvi(folder: Path) -> Iterator[tuple[str, Any]]:
    pairwise, aggregation = (
        module_of(folder / "drvi" / f"{name}.py") for name in ("_pairwise", "_aggregation")
    )
    codes, kinds = kinds_of(0)
    targets = {"kinds": (codes, np.eye(N_CLASSES)[kinds[:, 0]]), "processes": processes_of(1)}
    for name, (rows, shown) in targets.items():
        for similarity, function in SIMILARITIES.items():
            table = getattr(pairwise, function)(rows, gt_one_hot=shown)
            yield f"{similarity} of {name}", np.asarray(table).tolist()
            for match, aggregate in MATCHES.items():
                yield (
                    f"{match}/{similarity} of {name}",
                    float(getattr(aggregation, aggregate)(table)),
                )


def main() -> None:
    values = dict(drvi(Path(sys.argv[1])))
    note = "Written by checks/oracles_classes.py from the authors' own programs."
    record = {"note": note, "values": values}
    GOLDEN.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"{len(values)} values in {GOLDEN}")


if __name__ == "__main__":
    main()
