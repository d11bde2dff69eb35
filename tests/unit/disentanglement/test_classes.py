from __future__ import annotations

import itertools

import numpy as np
import pytest

from upto.core import InputError
from upto.disentanglement.class_matching import (
    latent_matching_score,
    most_similar_averaging_score,
    most_similar_gap_score,
    score_classes,
)
from upto.disentanglement.codes_and_classes import SIMILARITIES, class_similarities

KINDS = np.arange(120) % 3
ONE_EACH = (KINDS[:, None] == np.arange(3)) + 0.0

each_similarity = pytest.mark.parametrize("similarity", SIMILARITIES)


@pytest.fixture(name="rng")
def generator():
    return np.random.default_rng(0)


@each_similarity
def test_a_code_for_each_class_scores_one_or_its_chance_of_a_neighbour(similarity):
    codes = ONE_EACH + 1e-3 * np.arange(120)[:, None] / 120
    scores = [
        score(codes, KINDS[:, None], similarity=similarity).value
        for score in (latent_matching_score, most_similar_averaging_score)
    ]
    assert scores == pytest.approx([1.0, 1.0], abs=1e-12)


@each_similarity
def test_two_equal_codes_leave_no_gap(similarity):
    codes = np.hstack([ONE_EACH, ONE_EACH])
    assert most_similar_gap_score(codes, KINDS[:, None], similarity=similarity).value == 0.0


def test_classes_without_a_code_of_their_own_score_zero():
    found = latent_matching_score(KINDS[:, None], KINDS[:, None])
    assert found.value == pytest.approx(1 / 3)
    assert most_similar_averaging_score(KINDS[:, None], KINDS[:, None]).value == pytest.approx(1.0)


def test_neighbours_of_rows_that_tie_are_the_mean_over_their_orders():
    code = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0])
    label = np.array([1, 0, 1, 1, 1, 0, 0])
    shares = []
    for orders in itertools.product(*map(itertools.permutations, ((0, 1, 2), (3, 4), (5, 6)))):
        shown = label[[row for order in orders for row in order]]
        shares.append((shown[:-1] * shown[1:]).sum() / (label.sum() - 1))
    common = label.mean()
    expected = (np.mean(shares) - common) / (1 - common)
    assert expected > 0.1
    found = class_similarities(code[:, None], label[:, None], similarity="spn").table
    assert found[0, 0] == pytest.approx(expected, abs=1e-12)


def test_the_best_threshold_is_found(rng):
    code, label = rng.normal(size=40), rng.integers(2, size=40)

    def information(threshold):
        table = np.array([[np.sum((code > threshold) == a) for a in (0, 1)]])
        joint = np.array(
            [[np.sum(((code > threshold) == a) & (label == b)) for b in (0, 1)] for a in (0, 1)]
        )
        joint = joint / 40
        expected = table.T / 40 * np.array([[np.mean(label == b) for b in (0, 1)]])
        kept = joint > 0
        return (joint[kept] * np.log(joint[kept] / expected[kept])).sum()

    share = label.mean()
    whole = -(share * np.log(share) + (1 - share) * np.log(1 - share))
    best = max(information(threshold) for threshold in np.sort(code)[:-1])
    found = class_similarities(code[:, None], label[:, None], similarity="bmmi").table
    assert found[0, 0] == pytest.approx(best / whole, abs=1e-12)


@each_similarity
def test_rows_without_a_label_do_not_count(similarity, rng):
    codes = rng.normal(size=(200, 3))
    labels = (codes[:, :1] > 0).astype(float) + (codes[:, 1:2] > 1)
    labels[::3] = np.nan
    # Bins are of all rows, so the outermost ones are kept.
    labels[[codes.argmin(axis=0)], 0] = labels[[codes.argmax(axis=0)], 0] = 1.0
    known = ~np.isnan(labels[:, 0])
    found = class_similarities(codes, labels, similarity=similarity).table
    alone = class_similarities(codes[known], labels[known], similarity=similarity).table
    assert found == pytest.approx(alone, abs=1e-12)


def test_discrete_codes_are_counted_and_have_no_order(rng):
    labels = rng.integers(4, size=(300, 1))
    names = np.array([7, 2, 9, 4])[labels]
    found = most_similar_averaging_score(names, labels, discrete_codes=True)
    assert found.value == pytest.approx(1.0)
    ordered = most_similar_averaging_score(names, labels, similarity="spn", discrete_codes=True)
    assert ordered.value is None
    assert "order" in ordered.says


def test_numbers_become_classes_of_equal_counts(rng):
    values = rng.exponential(size=(1000, 1))
    found = class_similarities(values, values, similarity="spn", continuous=True)
    assert found.table.shape == (1, 10)
    assert found.table.min() > 0.98


def test_what_cannot_be_scored_is_said():
    rare = np.array([0, 1, 2, 2, 2, 2])[:, None]
    found = class_similarities(np.arange(6.0)[:, None], rare, similarity="spn")
    assert found.table.shape == (1, 1)
    assert "2 of 3 classes of factor 1 have one row" in score_classes("msas", found).says
    alone = score_classes("msgs", found)
    assert alone.value is None
    assert "no second" in alone.says
    constant = latent_matching_score(np.zeros((6, 2)), rare)
    assert constant.value == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(InputError, match="no similarity of codes and classes 'asc'"):
        class_similarities(rare, rare, similarity="asc")
