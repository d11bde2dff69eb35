"""Mixing scores: closed forms, ties and equal rows, what they ignore, and how they are gamed."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import silhouette_samples

from upto.batch_metrics import mixing
from upto.batch_metrics.mixing import points as mixing_points
from upto.batch_metrics.mixing.kbet import accepts
from upto.batch_metrics.mixing.nearest_rows import find_neighbours
from upto.batch_metrics.mixing.points import find_points
from upto.core import InputError


def screen(seed=0, n_samples=100, width=4, shift=0.7):
    rng = np.random.default_rng(seed)
    labels, batches = rng.integers(3, size=n_samples), rng.integers(3, size=n_samples)
    before = rng.normal(size=(n_samples, width))
    before[:, 0] += 2.0 * labels
    rows = before.copy()
    rows[:, 1] += shift * batches
    before[:, 1] += 2.0 * shift * batches
    return rows, np.array(list("pqr"))[batches], np.array(list("xyz"))[labels], before


def values(*args, **settings):
    return {each.name: each.value for each in mixing.evaluate_mixing(*args, **settings)}


def repeated():
    """A screen of few different rows: most rows are equal to others of other batches."""
    rows, batches, labels, before = screen(3)
    return np.round(rows[:, :2]), batches, labels, np.round(before[:, :2])


@pytest.mark.parametrize("make", [screen, repeated])
def test_nothing_depends_on_the_order_of_rows(make):
    rows, batches, labels, before = make()
    order = np.random.default_rng(1).permutation(len(rows))
    first = values(rows, batches, labels, before=before)
    second = values(rows[order], batches[order], labels[order], before=before[order])
    assert len(first) == len(mixing.MIXING)
    assert second == pytest.approx(first, abs=1e-12)


@pytest.mark.parametrize("make", [screen, repeated])
def test_nothing_depends_on_the_names_of_batches_and_labels(make):
    rows, batches, labels, before = make()
    names = {"p": 7, "q": 1, "r": 3}
    renamed = np.array([names[each] for each in batches])
    other = np.array([{"x": "c", "y": "a", "z": "b"}[each] for each in labels])
    first = values(rows, batches, labels, before=before)
    second = values(rows, renamed, other, before=before)
    assert second == pytest.approx(first, abs=1e-9)


def test_a_turn_of_the_rows_changes_nothing_but_where_k_means_starts():
    rows, batches, labels, before = screen()
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(4, 4)))[0]
    names = [name for name, kind in mixing.MIXING.items() if kind.side != "total"]
    names = [name for name in names if not name.startswith("kmeans")]
    first = values(rows, batches, labels, before=before, scores=names)
    second = values(rows @ turn, batches, labels, before=before @ turn, scores=names)
    assert second == pytest.approx(first, abs=1e-9)


def test_blocks_do_not_change_a_score(monkeypatch):
    rows, batches, labels, before = screen()
    first = values(rows, batches, labels, before=before)
    monkeypatch.setattr(mixing_points, "BLOCK_VALUES", 1000)
    second = values(rows, batches, labels, before=before)
    assert second == pytest.approx(first, abs=1e-9)


def test_label_silhouettes_are_those_of_scikit_learn():
    rows, _, labels, _ = screen()
    mean = silhouette_samples(rows, labels).mean()
    assert mixing.silhouette_label(rows, labels, rescale=False) == pytest.approx(mean, abs=1e-9)


def test_regression_on_batches_is_the_variance_between_them():
    rows = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0], [6.0, 0.0]])
    # Means 1 and 5 around 3: 4 · 4 of 9 + 1 + 1 + 9.
    assert mixing.batch_variance(rows, ["p", "p", "q", "q"]) == pytest.approx(16 / 20)
    half = rows * [[1.0, 1.0]] - np.array([[-1.0, 0.0]] * 2 + [[1.0, 0.0]] * 2)
    removed = 1 - (4 / 8) / (16 / 20)
    found = mixing.pcr_comparison(rows, half, ["p", "p", "q", "q"])
    assert found == pytest.approx(removed)


def test_rows_that_tie_share_the_last_place():
    rows = np.array([[0.0], [1.0], [-1.0], [5.0]])
    points, _ = find_points(rows, np.zeros(4, dtype=np.intp))
    near = find_neighbours(points.values, points.counts, 2)
    zero = int(np.flatnonzero(points.values[:, 0] == 0.0)[0])
    of_zero = near.owners == zero
    assert sorted(points.values[near.points[of_zero], 0]) == [-1.0, 1.0]
    assert near.shares[of_zero].tolist() == [0.5, 0.5]


def test_equal_rows_are_neighbours_of_each_other_in_equal_shares():
    rows = np.zeros((100, 2))
    batches = ["p", "q"] * 50
    # 49 rows of the own batch and 50 of the other: weights add up to 49/99 and 50/99.
    inverse = 1.0 / ((49 / 99) ** 2 + (50 / 99) ** 2)
    assert mixing.ilisi(rows, batches) == pytest.approx(inverse - 1.0, abs=1e-12)
    assert mixing.graph_connectivity(rows, batches) == 1.0
    assert mixing.kbet(rows, batches, ["x"] * 100) == 1.0


def test_neighbours_are_right_where_a_product_of_matrices_is_not():
    rng = np.random.default_rng(0)
    rows = np.repeat([[0.0, 0.0], [1e8, 1e8]], 20, axis=0) + rng.normal(size=(40, 2)) * 1e-2
    points, _ = find_points(rows, np.zeros(40, dtype=np.intp))
    near = find_neighbours(points.values, points.counts, 4)
    distances = np.linalg.norm(points.values[:, None] - points.values[None], axis=2)
    expected = np.sort(distances, axis=1)[:, 1:4].ravel()
    np.testing.assert_allclose(near.distances, expected, rtol=1e-9)


def test_perfectly_proportional_neighbours_are_accepted_and_pure_ones_rejected():
    rows = np.array([[0.0]] * 10 + [[9.0]] * 10)
    points, _ = find_points(rows + np.arange(20)[:, None] * 1e-3, np.zeros(20, dtype=np.intp))
    near = find_neighbours(points.values, points.counts, 10)
    side = np.stack([points.values[:, 0] < 5.0, points.values[:, 0] > 5.0], axis=1) * 1.0
    # Ten of one batch where five are expected: a statistic of 10 with one degree of freedom.
    expected = math.erfc(math.sqrt(10 / 2))
    assert accepts(near, side)[side > 0.0] == pytest.approx(np.full(20, expected))


def test_the_total_is_the_weighted_mean_of_the_sides():
    rows, batches, labels, before = screen()
    found = values(rows, batches, labels, before=before)
    sides = {
        side: np.mean(
            [found[k.name] for k in mixing.MIXING.values() if k.counts and k.side == side]
        )
        for side in ("biology", "batch")
    }
    assert found["biology"] == pytest.approx(sides["biology"])
    assert found["batch"] == pytest.approx(sides["batch"])
    assert found["total"] == pytest.approx(0.6 * sides["biology"] + 0.4 * sides["batch"])


def test_every_value_is_in_its_declared_range():
    rows, batches, labels, before = screen()
    for each in mixing.evaluate_mixing(rows, batches, labels, before=before):
        kind = mixing.MIXING[each.name]
        assert kind.low <= each.value <= kind.high
        assert each.side == kind.side


def test_what_is_not_defined_is_none_and_says_why():
    rows, batches, labels, _ = screen()
    one = ["x"] * len(rows)
    for each in mixing.evaluate_mixing(rows, one, labels):
        # A graph of one batch is still connected or not.
        undefined = each.side == "batch" and each.name != "graph-connectivity"
        assert (each.value is None) == undefined
        assert each.says or not undefined
    found = {each.name: each for each in mixing.evaluate_mixing(rows, batches, one)}
    assert found["clisi"].value is None
    assert found["total"].value is None
    assert "Without" in found["total"].says
    assert mixing.evaluate_mixing(rows, batches, labels, scores="pcr")[0].value is None


def test_three_rows_get_answers_or_reasons():
    found = mixing.evaluate_mixing([[0.0], [1.0], [2.0]], ["p", "q", "p"], ["x", "x", "y"])
    assert all(each.value is not None or each.says for each in found)


def test_noise_mixes_better_than_a_good_correction():
    rng = np.random.default_rng(0)
    labels, batches = np.repeat(np.arange(3), 50), np.tile(np.arange(2), 75)
    good = rng.normal(size=(150, 6)) + np.eye(6)[labels] * 4 + np.eye(6)[3 + batches] * 0.8
    noise = rng.normal(size=(150, 6))
    names = ["bras", "ilisi", "kbet", "silhouette-label", "kmeans-ari"]
    corrected = values(good, batches, labels, scores=names)
    empty = values(noise, batches, labels, scores=names)
    for name in ("bras", "ilisi", "kbet"):
        assert empty[name] > corrected[name]
    assert empty["kmeans-ari"] < 0.05
    assert empty["silhouette-label"] == pytest.approx(0.5, abs=0.03)


def test_rows_that_are_only_the_label_have_a_perfect_total():
    labels, batches = np.repeat(np.arange(3), 50), np.tile(np.arange(2), 75)
    before = np.random.default_rng(0).normal(size=(150, 3)) + batches[:, None]
    found = values(np.eye(3)[labels], batches, labels, before=before)
    assert found["biology"] == pytest.approx(1.0)
    assert found["total"] == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rows": np.zeros(4)}, r"rows has shape \(4,\)"),
        ({"labels": ["a", "b", None, "b"]}, "1 of 4 labels are missing"),
        ({"rows": [["one", "two"]] * 4}, "not an array of numbers"),
        ({"rows": np.full((4, 2), np.nan)}, "8 non-finite values"),
        ({"batches": ["p"]}, "1 batches for 4 rows"),
        ({"labels": ["p"] * 5}, "5 labels for 4 rows"),
        ({"scores": "brass"}, "no score 'brass'"),
        ({"scores": []}, "no scores to compute"),
        ({"before": np.zeros((3, 2))}, "3 rows before and 4 rows now"),
    ],
)
def test_what_cannot_be_scored_is_said(change, words):
    given = {"rows": np.eye(4), "batches": list("ppqq"), "labels": list("xyxy")} | change
    with pytest.raises(InputError, match=words):
        mixing.evaluate_mixing(**given)


def test_unknown_metrics_and_distances_are_said():
    with pytest.raises(InputError, match="no metric 'angle'"):
        mixing.silhouette_label(np.eye(4), list("xxyy"), metric="angle")
    with pytest.raises(InputError, match="no distance 'mean'"):
        mixing.bras(np.eye(4), list("pqpq"), list("xxyy"), between="mean")


def test_the_page_says_what_the_catalogue_declares():
    page = Path(__file__).parents[3] / "docs" / "mixing-scores.md"
    text = " ".join(page.read_text(encoding="utf-8").split())
    for kind in mixing.MIXING.values():
        assert f"### {kind.name} " in text
        assert f"{kind.says} It rewards {kind.rewards}. {kind.gamed}" in text
        assert f"{kind.source}.*" in text
