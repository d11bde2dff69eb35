"""Compute golden values for relation measures with the authors' own code.

``python checks/oracles_relations.py PEERS_FOLDER`` reads ``platonic-rep/metrics.py`` and
``resi/repsim/measures`` in a folder of checked-out peers, imports dcor and rsatoolbox, and writes
``tests/golden/measures_relations.json``. What peers import and these values do not need is replaced
by empty modules.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "measures_relations.json"
CASES = (
    {"seed": 1, "rows": 120, "widths": [8, 12], "noise": 0.3, "k": 10},
    {"seed": 2, "rows": 60, "widths": [90, 70], "noise": 0.1, "k": 5},
    {"seed": 3, "rows": 200, "widths": [5, 5], "noise": 3.0, "k": 20},
)
LARGE = 1e3
"""Rows this long make the 1e-6 that platonic-rep adds to denominators vanish."""
UNNEEDED: dict[str, dict[str, Any]] = {
    "torchaudio.functional": {},
    "torchaudio": {"functional": None},
    "loguru": {"logger": logging.getLogger("resi")},
    "einops": {"rearrange": None},
    "skimage": {},
    "skimage.color": {"rgb2hsv": None, "hsv2rgb": None},
}


def runs(case: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return two runs that share what the first's width can carry."""
    rng = np.random.default_rng(case["seed"])
    n, (width, other) = case["rows"], case["widths"]
    first = rng.normal(size=(n, width)) + 0.5
    second = first @ rng.normal(size=(width, other)) / np.sqrt(width)
    return first, second + case["noise"] * rng.normal(size=(n, other))


def main(peers: Path) -> None:
    for name, contents in UNNEEDED.items():
        sys.modules[name] = ModuleType(name)
        vars(sys.modules[name]).update(contents)
    platonic = _loaded("platonic_metrics", peers / "platonic-rep" / "metrics.py")
    measures = peers / "resi" / "repsim" / "measures"
    for name in ("repsim", "repsim.measures"):
        sys.modules[name] = ModuleType(name)
    for name in ("utils", "nearest_neighbor", "rsa", "distance_correlation"):
        _loaded(f"repsim.measures.{name}", measures / f"{name}.py")
    values = [{**case, "values": _values(platonic, case)} for case in CASES]
    GOLDEN.write_text(json.dumps(values, indent=2) + "\n")
    print(json.dumps(values, indent=2))


def _values(platonic: ModuleType, case: dict[str, Any]) -> dict[str, dict[str, Any]]:
    first, second = runs(case)
    x, y = (torch.from_numpy(rows) for rows in (first, second))
    k, metrics = case["k"], platonic.AlignmentMetrics
    unit = [torch.nn.functional.normalize(rows, dim=-1) for rows in (x, y)]
    neighbour, rsa, distance = (
        sys.modules[f"repsim.measures.{name}"]
        for name in ("nearest_neighbor", "rsa", "distance_correlation")
    )
    median = [float(torch.pdist(rows).square().quantile(0.5).sqrt()) for rows in (x, y)]
    kernels = [
        torch.exp(-(torch.cdist(rows, rows) ** 2) / (2 * width**2))
        for rows, width in zip((x, y), median, strict=True)
    ]
    found = {
        f"mutual-knn-cosine:{k}": ("platonic-rep mutual_knn", metrics.mutual_knn(*unit, k)),
        f"cknna:{k}": (
            "platonic-rep cknna",
            metrics.cknna(LARGE * unit[0], LARGE * unit[1], topk=k),
        ),
        "rbf-cka:1": ("platonic-rep hsic_unbiased", _cosine(platonic.hsic_unbiased, *kernels)),
        "rbf-cka-biased:1": ("platonic-rep hsic_biased", _cosine(platonic.hsic_biased, *kernels)),
        f"jaccard-knn:{k}": (
            "ReSi jaccard_similarity(inner='euclidean')",
            neighbour.jaccard_similarity(first, second, "nd", k, "euclidean", 1),
        ),
        f"jaccard-knn-cosine:{k}": (
            "ReSi jaccard_similarity",
            neighbour.jaccard_similarity(first, second, "nd", k, n_jobs=1),
        ),
        f"rank-knn:{k}": (
            "ReSi rank_similarity(inner='euclidean')",
            neighbour.rank_similarity(first, second, "nd", k, "euclidean", 1),
        ),
        f"rank-knn-cosine:{k}": (
            "ReSi rank_similarity",
            neighbour.rank_similarity(first, second, "nd", k, n_jobs=1),
        ),
        f"second-order-cosine:{k}": (
            "ReSi second_order_cosine_similarity",
            neighbour.second_order_cosine_similarity(first, second, "nd", k, 1, 1),
        ),
        "rsa-correlation-spearman": (
            "ReSi representational_similarity_analysis",
            rsa.representational_similarity_analysis(first, second, "nd"),
        ),
        "rsa-euclidean-spearman": (
            "ReSi representational_similarity_analysis(inner='euclidean')",
            rsa.representational_similarity_analysis(first, second, "nd", "euclidean"),
        ),
        "distance-correlation": (
            "ReSi distance_correlation",
            distance.distance_correlation(first, second, "nd"),
        ),
    }
    dcor = importlib.import_module("dcor")
    found["distance-correlation-unbiased"] = (
        "dcor u_distance_correlation_sqr",
        dcor.u_distance_correlation_sqr(first, second),
    )
    for name, distance, comparison in (
        ("rsa-squared-euclidean-cosine", "euclidean", "cosine"),
        ("rsa-correlation-pearson", "correlation", "corr"),
    ):
        source = f"rsatoolbox compare(method={comparison!r}) of calc_rdm(method={distance!r})"
        found[name] = source, _toolbox(first, second, distance, comparison)
    return {
        name: {"source": source, "value": float(value)} for name, (source, value) in found.items()
    }


def _cosine(product: Any, first: torch.Tensor, second: torch.Tensor) -> float:
    lengths = torch.sqrt(product(first, first) * product(second, second))
    return float(product(first, second) / lengths)


def _toolbox(first: np.ndarray, second: np.ndarray, distance: str, comparison: str) -> float:
    toolbox = importlib.import_module("rsatoolbox")
    dissimilarities = [
        toolbox.rdm.calc_rdm(toolbox.data.Dataset(rows), method=distance)
        for rows in (first, second)
    ]
    return toolbox.rdm.compare(*dissimilarities, method=comparison).item()


def _loaded(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main(Path(sys.argv[1]))
