"""Compute golden values for measures of second moments with other packages.

``python -m checks.oracles_moments PEERS`` writes ``tests/golden/measures_moments.json``. PEERS is a
folder with the repositories netrep, svcca (of google), resi and anatome; torch-cka has to be
installed. ``tests/oracles/test_measure_moments.py`` draws the same rows and compares.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Float = NDArray[np.float64]

OUT = Path(__file__).resolve().parents[1] / "tests" / "golden" / "measures_moments.json"
SEEDS = (0, 1)
N_SAMPLES, N_FIT = 240, 140
WIDTHS = ((6, 6), (5, 8), (8, 5))
BATCH = 40
UNUSED = ("torchvision", "torchvision.models", "torchvision.models.feature_extraction")
UNUSED += ("einops", "loguru")
"""What peers import and what is called here does not need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """A function of a peer: of two runs to fit, and of two to score where rows are held out."""

    measure: str
    peer: str
    work: Callable[..., float]
    held_out: bool = False
    form: str = "as drawn"
    wide_first: bool = True


def planted(seed: int, n_samples: int, widths: tuple[int, int]) -> list[Float]:
    """Draw two runs of one source, off centre, with coordinates of unequal scale."""
    rng = np.random.default_rng(seed)
    source = rng.laplace(size=(n_samples, max(widths)))
    return [
        source @ rng.normal(size=(source.shape[1], width)) * rng.uniform(0.5, 2.0, size=width)
        + rng.normal(size=(n_samples, width))
        + rng.normal(size=width)
        for width in widths
    ]


def in_form(rows: Float, form: str) -> Float:
    """Convert rows to the form a peer expects."""
    centred = rows - rows.mean(axis=0)
    size = np.linalg.norm(centred)
    return {
        "as drawn": rows,
        "centred": centred,
        "of norm one": centred / size,
        "of norm one a direction": centred * np.sqrt(rows.shape[1]) / size,
    }[form]


def netrep(folder: Path) -> Iterator[Oracle]:
    metric = imported("netrep.metrics", folder / "netrep").LinearMetric

    def distance(**options: Any) -> Callable[..., float]:
        return lambda x, y, *held: metric(**options).fit(x, y).score(*(held or (x, y)))

    for held_out in (False, True):
        yield Oracle(
            measure="angular-procrustes",
            peer="netrep LinearMetric(alpha=1)",
            work=distance(alpha=1.0),
            held_out=held_out,
        )
        for alpha in (0.0, 0.3, 0.5, 1.0):
            yield Oracle(
                measure=f"shape-netrep:{alpha:g}",
                peer=f"netrep LinearMetric(alpha={alpha:g})",
                work=distance(alpha=alpha),
                held_out=held_out,
            )
    yield Oracle(
        measure="procrustes",
        peer="netrep LinearMetric(alpha=1, score_method='euclidean')",
        work=distance(alpha=1.0, score_method="euclidean"),
        form="of norm one",
    )
    for alpha in (0.0, 0.3, 0.5, 1.0):
        yield Oracle(
            measure=f"shape:{alpha:g}",
            peer=f"netrep LinearMetric(alpha={alpha:g})",
            work=distance(alpha=alpha),
            form="of norm one a direction",
        )


def google(folder: Path) -> Iterator[Oracle]:
    core, pwcca = (imported(each, folder / "svcca") for each in ("cca_core", "pwcca"))

    def similarity(x: Float, y: Float) -> dict[str, Any]:
        found: dict[str, Any] = core.get_cca_similarity(x.T, y.T, verbose=False)
        return found

    def widest(rows: Float) -> Float:
        # As the first tutorial of the repository keeps twenty.
        _, values, right = np.linalg.svd((rows - rows.mean(axis=0)).T, full_matrices=False)
        return (values[:3, None] * right[:3]).T

    function = "google/svcca cca_core.get_cca_similarity"
    yield Oracle(
        measure="mean-cca",
        peer=f"{function}, mean of cca_coef1",
        work=lambda x, y: np.mean(similarity(x, y)["cca_coef1"]),
    )
    yield Oracle(
        measure="mean-cca-google",
        peer=f"{function}, mean",
        work=lambda x, y: similarity(x, y)["mean"][0],
    )
    yield Oracle(
        measure="svcca:3",
        peer=f"{function} of three principal directions, mean of cca_coef1",
        work=lambda x, y: np.mean(similarity(widest(x), widest(y))["cca_coef1"]),
    )
    yield Oracle(
        measure="pwcca-google",
        peer="google/svcca pwcca.compute_pwcca",
        work=lambda x, y: pwcca.compute_pwcca(x.T, y.T)[0],
        form="centred",
        wide_first=False,
    )


def resi(folder: Path) -> Iterator[Oracle]:
    for package in ("repsim", "repsim.measures"):
        hollow(package, folder / "resi" / package.replace(".", "/"))
    cca = imported("repsim.measures.cca")
    turned = imported("repsim.measures.procrustes")
    regression = imported("repsim.measures.linear_regression")
    yield Oracle(
        measure="svcca-share:0.99",
        peer="ReSi svcca",
        work=lambda x, y: cca.svcca(x, y, "nd"),
        form="of norm one",
    )
    yield Oracle(
        measure="pwcca-google",
        peer="ReSi pwcca",
        work=lambda x, y: cca.pwcca(x, y, "nd"),
        form="centred",
        wide_first=False,
    )
    yield Oracle(
        measure="procrustes",
        peer="ReSi orthogonal_procrustes_centered_and_normalized",
        work=lambda x, y: turned.orthogonal_procrustes_centered_and_normalized(x, y, "nd"),
    )
    yield Oracle(
        measure="angular-procrustes",
        peer="ReSi orthogonal_angular_shape_metric_centered",
        work=lambda x, y: turned.orthogonal_angular_shape_metric_centered(x, y, "nd"),
    )
    yield Oracle(
        measure="r2",
        peer="ReSi linear_reg, the runs exchanged",
        work=lambda x, y: regression.linear_reg(y, x, "nd"),
    )


def anatome(folder: Path) -> Iterator[Oracle]:
    hollow("anatome", folder / "anatome" / "anatome")
    distance = imported("anatome.distance")

    def of(function: Callable[..., Any], *options: bool) -> Callable[..., Any]:
        return lambda x, y: function(torch.from_numpy(x), torch.from_numpy(y), *options)

    turned = of(distance.orthogonal_procrustes_distance)
    biased, debiased = (of(distance.linear_cka_distance, reduced) for reduced in (False, True))
    yield Oracle(
        measure="procrustes",
        peer="anatome orthogonal_procrustes_distance, root of the double",
        work=lambda x, y: torch.sqrt(2 * turned(x, y)),
    )
    yield Oracle(
        measure="linear-cka-biased",
        peer="one minus anatome linear_cka_distance(reduce_bias=False)",
        work=lambda x, y: 1 - biased(x, y),
    )
    yield Oracle(
        measure="linear-cka",
        peer="one minus anatome linear_cka_distance(reduce_bias=True)",
        work=lambda x, y: 1 - debiased(x, y),
    )


def torch_cka(_: Path) -> Iterator[Oracle]:
    compared = imported("torch_cka").CKA
    torch.set_default_dtype(torch.float64)

    class Columns(torch.nn.Module):
        """Select columns of the input."""

        def __init__(self, columns: slice) -> None:
            super().__init__()
            self.columns, self.seen = columns, torch.nn.Identity()

        def forward(self, rows: Any) -> Any:
            return self.seen(rows[:, self.columns])

    def batched(x: Float, y: Float) -> float:
        both = torch.utils.data.TensorDataset(torch.from_numpy(np.hstack([x, y])))
        loader = torch.utils.data.DataLoader(both, batch_size=BATCH)
        width = x.shape[1]
        sides = Columns(slice(None, width)), Columns(slice(width, None))
        found = compared(*sides, "first", "second", ["seen"], ["seen"])
        found.compare(loader, loader)
        return float(found.hsic_matrix[0, 0])

    yield Oracle(
        measure="minibatch_linear_cka", peer=f"torch-cka CKA, batches of {BATCH}", work=batched
    )


def imported(name: str, folder: Path | None = None) -> Any:
    """Import a module, from a folder if one is given."""
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


def hollow(name: str, folder: Path) -> None:
    """Allow importing files of a package without the package's own imports."""
    package = types.ModuleType(name)
    package.__path__ = [str(folder)]
    sys.modules[name] = package


def values(folder: Path) -> Iterator[dict[str, Any]]:
    absent = {each for each in UNUSED if not importlib.util.find_spec(each.split(".")[0])}
    sys.modules |= {each: MagicMock() for each in absent}
    for oracles in (netrep, google, resi, anatome, torch_cka):
        for oracle in oracles(folder):
            for seed in SEEDS:
                for widths in WIDTHS if oracle.wide_first else WIDTHS[:2]:
                    runs = [in_form(each, oracle.form) for each in planted(seed, N_SAMPLES, widths)]
                    if oracle.held_out:
                        runs = [
                            each[part]
                            for part in (slice(N_FIT), slice(N_FIT, None))
                            for each in runs
                        ]
                    yield {
                        "measure": oracle.measure,
                        "peer": oracle.peer,
                        "held_out": oracle.held_out,
                        "form": oracle.form,
                        "seed": seed,
                        "widths": widths,
                        "value": float(oracle.work(*runs)),
                    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peers", type=Path, help="folder with the repositories of the peers")
    folder = parser.parse_args().peers.resolve()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(values(folder))
    sizes = {"n_samples": N_SAMPLES, "n_fit": N_FIT, "batch": BATCH}
    lines = ",\n".join(json.dumps(each) for each in found)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(f'{json.dumps(sizes)[:-1]}, "values": [\n{lines}\n]}}\n', encoding="utf-8")
    print(f"{len(found)} values in {OUT.name}")


if __name__ == "__main__":
    main()
