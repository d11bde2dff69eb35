"""Scores of mixing and retrieval, against the numbers of scib-metrics and copairs."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from upto.batch_metrics import mixing
from upto.batch_metrics.retrieval import average_precision, mean_average_precision

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = json.loads((ROOT / "tests" / "golden" / "mixing.json").read_text("utf-8"))["values"]
AGREE = 1e-9
SCREENS = ("mild", "strong")
SETTINGS = {
    "labels": {},
    "labels/other-batches": {"positives": "other-batches"},
    "labels/same-batch": {"negatives": "same-batch"},
    "control": {"control": "dmso"},
    "control/both": {
        "control": "dmso",
        "positives": "other-batches",
        "negatives": "same-batch",
    },
}


@pytest.fixture(scope="module")
def source():
    path = ROOT / "checks" / "oracles_mixing.py"
    spec = importlib.util.spec_from_file_location("oracles_mixing", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", SCREENS)
def test_one_call_gives_every_score_of_scib_metrics(source, name):
    rows, batches, labels, before = source.screen(7, *source.SIZES[name])
    names = [each for each in GOLDEN[name] if each in mixing.MIXING]
    found = mixing.evaluate_mixing(rows, batches, labels, before=before, scores=names)
    assert len(found) == 9
    for each in found:
        assert each.value == pytest.approx(GOLDEN[name][each.name], abs=AGREE), each.name


@pytest.mark.parametrize("name", SCREENS)
def test_each_function_equals_scib_metrics_in_every_mode(source, name):
    rows, batches, labels, before = source.screen(7, *source.SIZES[name])
    found = {
        "silhouette-label": mixing.silhouette_label(rows, labels),
        "silhouette-label/cosine": mixing.silhouette_label(rows, labels, metric="cosine"),
        "isolated-labels": mixing.isolated_labels(rows, batches, labels),
        "ilisi": mixing.ilisi(rows, batches),
        "ilisi/30": mixing.ilisi(rows, batches, neighbours=30, perplexity=7.5),
        "clisi": mixing.clisi(rows, labels),
        "kbet": mixing.kbet(rows, batches, labels),
        "graph-connectivity": mixing.graph_connectivity(rows, labels),
        "graph-connectivity/4": mixing.graph_connectivity(rows, labels, neighbours=4),
        "pcr": mixing.pcr_comparison(before, rows, batches),
        "bras": mixing.bras(rows, batches, labels),
        "silhouette-batch": mixing.silhouette_batch(rows, batches, labels),
    }
    for metric in ("euclidean", "cosine"):
        for between in ("nearest", "mean-other", "furthest"):
            found[f"silhouette-batch/{metric}/{between}"] = mixing.silhouette_batch(
                rows, batches, labels, metric=metric, between=between
            )
    assert found == pytest.approx(GOLDEN[name], abs=AGREE)


@pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, marks=[pytest.mark.slow] if seed else []) for seed in range(12)],
)
def test_kbet_of_large_labels_differs_from_scib_metrics_by_its_approximate_neighbours(source, seed):
    rows, batches, labels = source.wide_screen(seed)
    sizes = np.unique(labels, return_counts=True)[1]
    assert sizes.min() > 200
    found, peer = mixing.kbet(rows, batches, labels), GOLDEN["wide"][seed]
    # scib-metrics keeps connections and coordinates in float32, so a row at a tie may differ.
    assert abs(found - peer["exact"]) < 1.01 / (len(sizes) * sizes.min())
    assert 1e-4 < abs(peer["approximate"] - peer["exact"]) < 0.01


@pytest.mark.parametrize("name", SETTINGS)
def test_average_precision_equals_that_of_copairs(source, name):
    rows, labels, batches = source.retrieval_data(3)
    golden = GOLDEN["retrieval"][name]
    found = average_precision(rows, labels, batches=batches, **SETTINGS[name])
    known = [value is not None for value in golden["average_precision"]]
    for ours, theirs in (
        (found.values, golden["average_precision"]),
        (found.normalised, golden["normalised"]),
    ):
        # Copairs gives 1 where there is nothing in between, and no value where nothing is sought.
        compared = [
            (mine, value)
            for mine, value, n_pos, n_all in zip(
                ours, theirs, golden["n_positives"], golden["n_pairs"], strict=True
            )
            if value is not None and n_all > n_pos
        ]
        assert len(compared) > 5
        assert [mine for mine, _ in compared] == pytest.approx(
            [value for _, value in compared], abs=AGREE
        )
    assert found.n_positives[known].tolist() == np.array(golden["n_positives"])[known].tolist()
    assert found.n_pairs[known].tolist() == np.array(golden["n_pairs"])[known].tolist()


@pytest.mark.parametrize("name", ["labels", "control"])
def test_means_and_p_values_are_those_of_copairs_up_to_its_random_null(source, name):
    rows, labels, batches = source.retrieval_data(3)
    golden = GOLDEN["retrieval"][name]
    found = mean_average_precision(
        rows, labels, batches=batches, null_size=20_000, **SETTINGS[name]
    )
    ours = {each.label: each for each in found.labels if each.value is not None}
    assert list(ours) == golden["labels"]
    assert [each.value for each in ours.values()] == pytest.approx(golden["map"], abs=AGREE)
    for each, p_value in zip(ours.values(), golden["p"], strict=True):
        spread = np.sqrt(max(p_value, 1e-4) / 20_000)
        assert each.p_value == pytest.approx(p_value, abs=6 * spread)
