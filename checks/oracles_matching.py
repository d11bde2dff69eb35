"""Compute golden values for matched coordinates with the authors' own code.

``python checks/oracles_matching.py PEERS`` writes ``tests/golden/measures_matching.json``. `PEERS`
holds the checked-out files of icebeem, cl-ica, identifiability-guard, resi and dl
(disentanglement_lib). The data follow from the seeds in the file.
"""

from __future__ import annotations

import importlib
import json
import sys
import types
import warnings
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cross_decomposition import CCA

from upto.measures.dependence import rdc_features, rdc_weights

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Float = NDArray[np.float64]

GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "measures_matching.json"
N_SAMPLES = 240
WIDTHS = (6, 6)
UNEQUAL = (7, 5)
INFORMATIVE = ((1, 1, 0, 1, 1, 1), (1, 1, 1, 1, 1, 1), (0, 1, 1, 1, 1, 0), (1, 1, 1, 1, 0, 1))
"""Of the four runs of UDR, the coordinates that are said to differ from their prior."""


def runs_of(seed: int, widths: tuple[int, ...], *, tied: bool = False) -> list[Float]:
    """Return noisy signed permutations of one source, smeared over coordinates."""
    rng = np.random.default_rng(seed)
    source = rng.laplace(size=(N_SAMPLES, max(widths)))
    runs = []
    for width in widths:
        smear = np.eye(max(widths))[rng.permutation(max(widths))][:, :width]
        smear = smear * rng.choice([-1.0, 1.0], size=width)
        smear = smear + 0.3 * rng.normal(size=smear.shape)
        runs.append(source @ smear + 0.4 * rng.normal(size=(N_SAMPLES, width)))
    return [np.round(2 * run) for run in runs] if tied else runs


def halves(runs: list[Float]) -> tuple[list[Float], list[Float]]:
    """Return the rows that are fitted on and those that are scored."""
    cut = N_SAMPLES // 2
    return [run[:cut] for run in runs], [run[cut:] for run in runs]


@contextmanager
def importing(*folders: Path) -> Iterator[None]:
    """Search folders first for modules."""
    names = [str(folder) for folder in folders]
    sys.path[:0] = names
    try:
        yield
    finally:
        for name in names:
            sys.path.remove(name)


def standing_in(name: str, **content: Any) -> types.ModuleType:
    """Replace a module that a peer imports but that is not needed here."""
    module = types.ModuleType(name)
    module.__dict__.update(content)
    sys.modules[name] = module
    return module


def case(
    measure: str, peer: str, value: Any, seed: int, widths: tuple[int, ...] = WIDTHS, **options: Any
) -> dict[str, Any]:
    values = [float(each) for each in np.ravel(value)]
    return {
        "measure": measure,
        "peer": peer,
        "seed": seed,
        "n_samples": N_SAMPLES,
        "widths": widths,
        "tied": False,
        "held_out": False,
        **options,
        "value": values[0] if len(values) == 1 else values,
    }


def icebeem(folder: Path) -> Iterator[dict[str, Any]]:
    with importing(folder / "icebeem"):
        mcc = importlib.import_module("metrics.mcc")
    for seed, (measure, method) in enumerate([("mcc", "pearson"), ("mcc-spearman", "spearman")]):
        called = f"icebeem, mean_corr_coef_np(method={method!r})"
        yield case(measure, called, mcc.mean_corr_coef_np(*runs_of(seed, WIDTHS), method), seed)
    fit, held = halves(runs_of(2, WIDTHS))
    value = mcc.mean_corr_coef_out_of_sample(*fit, *held, method="pearson")
    yield case("mcc", "icebeem, mean_corr_coef_out_of_sample", value, 2, held_out=True)
    for count in (3, 6):
        fit, held = halves(runs_of(count, WIDTHS))
        cca = CCA(n_components=count, tol=1e-14, max_iter=10**6).fit(*fit)
        for rows, is_held in ((fit, False), (held, True)):
            variates = cca.transform(*rows)
            value = mcc.mean_corr_coef_np(*variates, method="pearson")
            called = "icebeem, compute_mcc in real_data_runner.py with method='pearson'"
            part = {"held_out": is_held, "fitted_on": "first half"}
            yield case(f"weak-mcc:{count}", called, value, count, **part)
    # Its own features, few enough that none is rounding, with our random weights.
    drawn = np.random.normal
    np.random.normal = lambda *_, size: rdc_weights(size[1])
    mcc.rdc = partial(mcc.rdc, k=3)
    value = mcc.mean_corr_coef_np(*runs_of(7, WIDTHS), method="rdc")
    np.random.normal = drawn
    yield case("mcc-rdc:3", "icebeem, mean_corr_coef_np(method='rdc'), our weights", value, 7)
    # Its canonical correlation, of the directions that are left of our twenty features.
    first, second = (
        np.split(rdc_features(run), run.shape[1], axis=1) for run in runs_of(8, WIDTHS)
    )
    found = np.array([[mcc.largest_cancorr(x, y) for y in second] for x in first])
    value = found[linear_sum_assignment(found, maximize=True)].mean()
    yield case("mcc-rdc:20", "icebeem, largest_cancorr of our features", value, 8)


def cl_ica(folder: Path) -> Iterator[dict[str, Any]]:
    with importing(folder / "cl-ica", folder / "cl-ica" / "kitti_masks" / "mcc_metric"):
        utils = importlib.import_module("disentanglement_utils")
    for seed, (measure, mode) in enumerate([("mcc", "pearson"), ("mcc-spearman", "spearman")], 10):
        (value, _), _ = utils.permutation_disentanglement(
            *runs_of(seed, WIDTHS), mode=mode, solver="munkres"
        )
        called = f"cl-ica, permutation_disentanglement(mode={mode!r}, solver='munkres')"
        yield case(measure, called, value, seed)


def identifiability_guard(folder: Path) -> Iterator[dict[str, Any]]:
    with importing(folder / "identifiability-guard" / "src"):
        crossfit = importlib.import_module("identifiability_guard.metrics.mcc._crossfit")
    for seed, widths in enumerate([WIDTHS, UNEQUAL, UNEQUAL[::-1]], 20):
        for measure, method in (("mcc", "pearson"), ("mcc-spearman", "spearman")):
            part = {"tied": method == "spearman"}
            runs = runs_of(seed, widths, **part)
            value = crossfit.legacy_mcc_np(*runs, method=method)
            called = f"identifiability-guard, legacy_mcc_np(method={method!r})"
            yield case(measure, called, value, seed, widths, **part)
            fit, held = halves(runs)
            value, _, _ = crossfit.mcc_train_test_np(*fit, *held, method=method)
            called = f"identifiability-guard, mcc_train_test_np(method={method!r})"
            yield case(measure, called, value, seed, widths, held_out=True, **part)


def resi(folder: Path) -> Iterator[dict[str, Any]]:
    standing_in("einops", rearrange=None)
    standing_in("loguru", logger=None)
    for name in ("repsim", "repsim.measures"):
        standing_in(name, __path__=[str(folder.joinpath("resi", *name.split(".")))])
    match = importlib.import_module("repsim.measures.correlation_match")
    for seed, widths in enumerate([WIDTHS, UNEQUAL, UNEQUAL[::-1]], 30):
        runs = runs_of(seed, widths)
        for kind in ("hard", "soft"):
            function = getattr(match, f"{kind}_correlation_match")
            called = f"ReSi, {kind}_correlation_match(shape='nd')"
            yield case(f"{kind}-correlation-match", called, function(*runs, "nd"), seed, widths)


def disentanglement_lib(folder: Path) -> Iterator[dict[str, Any]]:
    # It is decorated for a program that reads settings, and writes a log: neither is needed.
    standing_in("gin", configurable=lambda *_, **__: lambda function: function)
    standing_in("gin.tf")
    standing_in("absl", logging=types.SimpleNamespace(info=lambda *_: None))
    with importing(folder / "dl" / "disentanglement_lib" / "evaluation" / "udr" / "metrics"):
        peer = importlib.import_module("udr")
    runs = runs_of(40, (6, 6, 6, 6))
    for masks in (np.ones((4, 6), dtype=bool), np.array(INFORMATIVE, dtype=bool)):
        functions = [
            lambda _, run=run, mask=mask: (run, np.where(mask, 1.0, 0.001))
            for run, mask in zip(runs, masks, strict=True)
        ]
        data = types.SimpleNamespace(sample_observations=lambda *_: None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = peer.compute_udr_sklearn(
                data, functions, None, N_SAMPLES, N_SAMPLES, correlation_matrix="spearman"
            )
        called = "disentanglement_lib, compute_udr_sklearn(correlation_matrix='spearman')"
        scores = found["model_scores"]
        options = {"informative": masks.astype(int).tolist()}
        yield case("udr of runs", called, scores, 40, (6, 6, 6, 6), **options)
        if masks.all():
            pairs = np.array(found["pairwise_disentanglement_scores"])
            yield case("udr", called, pairs[0, 1], 40, (6, 6, 6, 6))


def main() -> None:
    folder = Path(sys.argv[1])
    cases = [
        each
        for peer in (icebeem, cl_ica, identifiability_guard, resi, disentanglement_lib)
        for each in peer(folder)
    ]
    GOLDEN.parent.mkdir(exist_ok=True)
    text = json.dumps({"made_by": "checks/oracles_matching.py", "cases": cases}, indent=1)
    GOLDEN.write_text(text + "\n", encoding="utf-8")
    for each in cases:
        print(f"{each['measure']:24} {each['value']!s:24.24} {each['peer']}")


if __name__ == "__main__":
    main()
