"""Test whether ICA helps on unseen real batches, by number of components, axes and rows.

``python -m checks.kept_components --data FOLDER`` needs Cell Painting profiles
(``cellpainting/bortezomib_7batches.npz``, from broadinstitute/profiling-resistance-mechanisms) and
embeddings of spoken digits (``speech/fsdd_silero6_embeddings.npz``, FSDD by Silero VAD), and writes
``checks/kept_components.json``:

auroc
    Of Base, PCA, PCA + ICA and PCA + Rand on held-out plates or speakers, by boosted trees and by a
    linear classifier, with the first 5 to all principal components kept; fitted to training batches
    and, for all components, to all rows.
rotated
    Of Base after a random rotation: what it is worth that features are axis-aligned.
contrast
    How far independent components are from Gaussian (the mean absolute difference of E log cosh) on
    the batches they were fitted to and on others, and how many of them the search found nothing to
    choose between.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

import upto
from upto import ICA
from upto.core import Embeddings, library_versions
from upto.corrections import RandomRotation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Float = NDArray[np.float64]

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
RECORD = Path(__file__).with_suffix(".json")
KEPT = (5, 10, 20, 40, 80, None)
CONDITIONS = ("base", "pca", "ica", "random")
# E log cosh of a standard normal value.
GAUSSIAN = 0.3745672


def main() -> None:
    """Measure both data sets and write the record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    console = Console()
    data: Path = parser.parse_args().data
    found: dict[str, Any] = {}
    for name, (run, question) in {
        "cell painting": _cell_painting(data),
        "spoken digits": _spoken_digits(data),
    }.items():
        found[name] = {
            "n_rows": run.n_samples,
            "n_features": run.n_features,
            "auroc": _auroc(run, question, console),
            "rotated": _rotated(run, question),
            "contrast": _contrasts(run, question["batch"]),
        }
        console.print(name, found[name])
    text = json.dumps({"found": found, "versions": library_versions()}, indent=1)
    RECORD.write_text(text + "\n", encoding="utf-8")


def _cell_painting(data: Path) -> tuple[Embeddings, dict[str, Any]]:
    with np.load(data / "cellpainting" / "bortezomib_7batches.npz", allow_pickle=False) as file:
        wild = np.char.startswith(file["clone"], "WT")
        columns = {"plate": file["plate"], "clone": np.where(wild, "wild type", "resistant")}
        run = Embeddings(rows=file["X"].astype(np.float64), name="cell painting", columns=columns)
    return run, {"batch": "plate", "label": "clone", "control": "wild type", "folds": 5}


def _spoken_digits(data: Path) -> tuple[Embeddings, dict[str, Any]]:
    with np.load(data / "speech" / "fsdd_silero6_embeddings.npz", allow_pickle=False) as file:
        columns = {"speaker": file["speaker"], "digit": file["digit"].astype(str)}
        run = Embeddings(rows=file["X"].astype(np.float64), name="spoken digits", columns=columns)
    return run, {"batch": "speaker", "label": "digit", "tasks": ("0", "3"), "folds": 6}


def _auroc(run: Embeddings, question: dict[str, Any], console: Console) -> list[dict[str, Any]]:
    rows = []
    for classifier, fit, kept in [
        *(("boosted", "training", kept) for kept in KEPT),
        ("boosted", "all", None),
        *(("linear", "training", kept) for kept in (20, None)),
    ]:
        scores = _scored(run, question, CONDITIONS, classifier=classifier, fit=fit, components=kept)
        rows.append({"classifier": classifier, "fit": fit, "kept": kept, **scores})
        console.print(rows[-1])
    return rows


def _rotated(run: Embeddings, question: dict[str, Any]) -> dict[str, float]:
    turned = RandomRotation(random_state=0).fit_transform(np.asarray(run.rows))
    rotated = Embeddings(rows=turned, name=run.name, columns=run.columns)
    return {
        classifier: _scored(rotated, question, ("base",), classifier=classifier)["base"]
        for classifier in ("boosted", "linear")
    }


def _scored(
    run: Embeddings, question: dict[str, Any], conditions: tuple[str, ...], **settings: Any
) -> dict[str, float]:
    result = upto.batches(
        run,
        **question,
        **settings,
        conditions=conditions,
        concentration=(),
        shuffled=False,
        mixing=False,
        maps=False,
    )
    scores = {name: result.score(name).auroc for name in conditions}
    return {name: round(each.value, 4) for name, each in scores.items() if each is not None}


def _contrasts(run: Embeddings, batch: str) -> list[dict[str, Any]]:
    """Fit components to all batches except every fifth, and measure their contrast on both."""
    names = np.asarray(run.columns[batch])
    held = np.isin(names, np.unique(names)[::5])
    rows = np.asarray(run.rows)
    contrasts = []
    for kept in KEPT:
        ica = ICA(kept, random_state=0).fit(rows[~held])
        sides = {"training": ica.transform(rows[~held]), "held out": ica.transform(rows[held])}
        contrasts.append(
            {
                "kept": kept,
                "rows per component": round(float((~held).sum() / len(ica.components_)), 1),
                **{side: round(_contrast(each), 4) for side, each in sides.items()},
                "nothing to choose": round(float(np.mean(ica.turning_)), 3),
            }
        )
    return contrasts


def _contrast(components: Float) -> float:
    scaled = (components - components.mean(0)) / components.std(0)
    # log cosh, without the overflow of cosh.
    values = np.logaddexp(scaled, -scaled) - np.log(2)
    return float(np.abs(values.mean(0) - GAUSSIAN).mean())


if __name__ == "__main__":
    main()
