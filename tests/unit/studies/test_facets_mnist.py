"""Facets of MNIST: matched facets, pairs, named clusters, and the study at its smallest."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from upto.core import InputError, read_tensors, write_tensors
from upto_studies import facets_mnist
from upto_studies.facet_pairs import (
    TOGETHER,
    compared_runs,
    matched_facets,
    mean_over_runs,
    measured_by,
    named_share,
)
from upto_studies.run import run_study
from upto_studies.train.mixtures.facet_training import FacetCodes, FacetRun

pytest.importorskip("torch")

QUICK = {
    "activations": ["ReLU"],
    "epochs": [2, 2],
    "encoder": [16, 16],
    "rungs": [16, 16],
    "decoder": [16, 16],
    "side": 8,
    "n_compared": 100,
}


def codes_of(*facets):
    """Return codes with these means of each facet, members × rows × coordinates."""
    n_members, n_rows, _ = facets[0].shape
    return FacetCodes(
        means=facets,
        variances=tuple(np.ones_like(facet[:, 0]) for facet in facets),
        clusters=np.zeros((len(facets), n_members, n_rows), dtype=np.int64),
        errors=np.zeros(n_members),
        divergences=np.ones((len(facets), n_members)),
    )


def test_facets_are_matched_by_what_they_tell(rng):
    first = [rng.normal(size=(200, width)) for width in (2, 3, 2)]
    turned = [facet @ rng.normal(size=(facet.shape[1],) * 2) + 1 for facet in first]
    assert matched_facets(first, turned) == (0, 1, 2)
    assert matched_facets(first, [turned[2], turned[0], turned[1]]) == (1, 2, 0)


def test_pairs_show_up_to_what_runs_agree(rng):
    one, other = rng.laplace(size=(2, 300, 2))
    permuted = -one[:, ::-1]
    mixed = one @ [[1.0, 0.6], [-0.8, 1.0]]
    counted = []
    pairs = compared_runs(
        codes_of(np.stack([one, permuted, mixed]), np.stack([other] * 3)),
        [0, 1, 2],
        n_rows=250,
        seed=0,
        advance=counted.append,
    )
    assert [pair.runs for pair in pairs] == [(0, 1), (0, 2), (1, 2)]
    assert sum(counted) == 3
    assert all(pair.in_depth_order for pair in pairs)
    same, affine, _ = (pair.views for pair in pairs)
    assert same[TOGETHER].measures["mcc"] == pytest.approx(1)
    assert same["facet 1"].held_out["signed-permutation"] == pytest.approx(0, abs=1e-9)
    assert affine["facet 1"].measures["weak-mcc-20"] == pytest.approx(1)
    assert affine["facet 1"].measures["mcc"] < 0.95
    assert affine["facet 2"].measures["mcc"] == pytest.approx(1)
    assert mean_over_runs(pairs, measured_by("weak-mcc-20")).value == pytest.approx(1)


def test_swapped_facets_are_compared_with_their_partners(rng):
    one, other = rng.normal(size=(2, 200, 3))
    (pair,) = compared_runs(
        codes_of(np.stack([one, other]), np.stack([other, one])),
        [0, 1],
        n_rows=200,
        seed=0,
        advance=lambda _: None,
    )
    assert pair.order == (1, 0)
    assert not pair.in_depth_order
    assert pair.views["facet 1"].measures["mcc"] == pytest.approx(1)


def test_clusters_are_named_by_their_most_frequent_digit(rng):
    clusters, labels = rng.integers(5, size=80), rng.integers(3, size=80)
    names = {
        cluster: Counter(labels[clusters == cluster].tolist()).most_common(1)[0][1]
        for cluster in set(clusters.tolist())
    }
    found = named_share((clusters, labels), (clusters, labels))
    assert found == pytest.approx(sum(names.values()) / 80)
    # A cluster that no named row is in is wrong.
    unseen = np.full(10, 7), labels[:10]
    assert named_share((clusters, labels), unseen) == 0


def test_a_run_has_all_tables_and_plots(tmp_path):
    result = run_study("facets-mnist", size="tiny", settings=QUICK, folder=tmp_path, progress=False)
    assert [(each.name, each.measured.value) for each in result.quantities] == [("diverged", 0)]
    assert [len(table.rows) for table in result.details] == [16, 4, 12, 2]
    assert len(result.plots) == 5
    assert "2 trainings with ReLU" in result.verdict


def test_runs_that_diverge_are_left_out(monkeypatch):
    lost = np.array([True, False])
    monkeypatch.setattr(FacetRun, "diverged", property(lambda self: lost))
    with pytest.raises(InputError, match="1 of 2 runs with ReLU diverged"):
        run_study("facets-mnist", size="tiny", settings=QUICK, progress=False)


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_an_interrupted_comparison_resumes_from_the_codes(tmp_path, monkeypatch):
    whole = run_study("facets-mnist", size="tiny", settings=QUICK, progress=False)
    with monkeypatch.context() as patch:
        patch.setattr(facets_mnist, "compared_runs", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run_study("facets-mnist", size="tiny", settings=QUICK, folder=tmp_path, progress=False)
    # The networks are not needed any more, and are the larger part by far.
    assert {path.name for path in (tmp_path / "checkpoints").iterdir()} == {
        "plan.json",
        "codes.safetensors",
    }
    monkeypatch.setattr(FacetRun, "train_epoch", interrupt)
    resumed = run_study(
        "facets-mnist", size="tiny", settings=QUICK, folder=tmp_path, resume=True, progress=False
    )
    assert resumed.quantities == whole.quantities
    assert [table.rows for table in resumed.details] == [table.rows for table in whole.details]


def test_damaged_codes_and_those_of_other_images_are_refused(tmp_path, monkeypatch):
    settings = QUICK | {"epochs": [1, 1]}
    studied = {"size": "tiny", "settings": settings, "folder": tmp_path, "progress": False}
    path = tmp_path / "checkpoints" / "codes.safetensors"
    with monkeypatch.context() as patch:
        patch.setattr(facets_mnist, "compared_runs", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run_study("facets-mnist", **studied)
    arrays, words = read_tensors(path)
    arrays.pop("after.naming.clusters")
    write_tensors(path, arrays, words)
    with pytest.raises(InputError, match=r"after\.naming\.clusters is missing"):
        run_study("facets-mnist", resume=True, **studied)
    write_tensors(path, arrays, words | {"images": "0"})
    with pytest.raises(InputError, match="other images"):
        run_study("facets-mnist", resume=True, **studied)


def test_an_activation_is_named_once():
    settings = QUICK | {"activations": ["ReLU", "ReLU"]}
    with pytest.raises(InputError, match="named twice"):
        run_study("facets-mnist", size="tiny", settings=settings, progress=False)


def test_missing_images_are_named(tmp_path):
    with pytest.raises(InputError, match="MNIST"):
        run_study("facets-mnist", size="small", data=tmp_path, progress=False)


@pytest.mark.slow
def test_runs_learn_clusters_that_are_digits():
    result = run_study("facets-mnist", size="tiny", progress=False)
    clusters = result.details[1]
    at = [column.name for column in clusters.columns].index
    for row in clusters.rows:
        if row[at("facet")] == "the better one" and row[at("untrained")] is not None:
            assert row[at("accuracy")].value > row[at("untrained")].value
            assert row[at("held out")].value > 2 * row[at("shuffled digits")].value
