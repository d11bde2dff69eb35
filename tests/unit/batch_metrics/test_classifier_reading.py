"""What is read off a classifier: areas, sparsity, concentration."""

from __future__ import annotations

from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from upto.batch_metrics.classifiers import (
    auroc,
    auroc_within,
    concentration_difference,
    concentration_ratio,
    hoyer_sparsity,
    normalised_concentration,
    top_features,
)
from upto.core import InputError

ROWS = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=40)


@settings(max_examples=15, deadline=None)
@given(rows=ROWS)
def test_the_area_is_the_share_of_pairs_in_order_with_ties_as_halves(rows):
    above = [score for label, score in rows if label]
    below = [score for label, score in rows if not label]
    found = auroc([label for label, _ in rows], [score for _, score in rows])
    if not above or not below:
        assert found is None
    else:
        wins = sum((a > b) + 0.5 * (a == b) for a in above for b in below)
        assert found == wins / (len(above) * len(below))


def test_the_area_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    labels, scores = rng.random(500) < 0.1, rng.integers(0, 30, size=500) / 7
    assert auroc(labels, scores) == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)


def test_a_shift_of_each_batch_changes_the_area_but_not_that_within_batches():
    rng = np.random.default_rng(1)
    batches = np.repeat(["a", "b", "c"], 40)
    labels = rng.random(120) < np.repeat([0.2, 0.5, 0.8], 40)
    scores = labels + rng.normal(size=120)
    moved = scores + np.repeat([0.0, 64.0, -128.0], 40)
    assert auroc(labels, moved) != pytest.approx(auroc(labels, scores), abs=0.01)
    assert auroc_within(labels, moved, batches) == auroc_within(labels, scores, batches)


def test_batches_count_by_their_pairs_and_those_of_one_class_do_not():
    labels = [True, False, True, True, False, False, True]
    scores = [1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 5.0]
    batches = ["x", "x", "y", "y", "y", "y", "z"]
    assert auroc_within(labels, scores, batches) == pytest.approx(1 / 5)
    assert auroc_within(labels[-1:], scores[-1:], batches[-1:]) is None


def test_a_thousand_batches_are_ranked_at_once():
    rng = np.random.default_rng(3)
    labels, batches = rng.random(6000) < 0.3, rng.integers(0, 1000, 6000)
    scores = rng.integers(0, 4, 6000)
    above, below = np.zeros((2, 4, 1000))
    np.add.at(above, (scores[labels], batches[labels]), 1)
    np.add.at(below, (scores[~labels], batches[~labels]), 1)
    wins = sum((above[a] * below[b]).sum() for a in range(4) for b in range(a))
    wins += 0.5 * (above * below).sum()
    n_pairs = (above.sum(axis=0) * below.sum(axis=0)).sum()
    names = batches.astype(str)
    start = process_time()
    found = auroc_within(labels, scores, names)
    at_once = process_time() - start
    assert found == wins / n_pairs
    start = process_time()
    for batch in range(1000):
        auroc(labels[batches == batch], scores[batches == batch])
    assert at_once < (process_time() - start) / 4


def test_sparsity_has_its_closed_forms():
    assert hoyer_sparsity(np.full(9, 3.0)) == pytest.approx(0.0, abs=1e-12)
    assert hoyer_sparsity([0.0, 7.0, 0.0, 0.0]) == 1.0
    # k equal weights of d: (√d − √k) / (√d − 1).
    assert hoyer_sparsity([1.0] * 4 + [0.0] * 12) == pytest.approx(2 / 3)
    assert hoyer_sparsity([1e300, 1e300, 0.0, 0.0]) == hoyer_sparsity([1.0, -1.0, 0.0, 0.0])
    assert hoyer_sparsity([2.0]) is None
    assert hoyer_sparsity(np.zeros(5)) is None


def test_concentration_has_three_readings():
    assert concentration_difference(0.8, 0.6) == pytest.approx(0.2)
    assert concentration_ratio(0.8, 0.6) == pytest.approx(1 / 3)
    assert normalised_concentration(0.8, 0.6) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    "reading", [concentration_difference, concentration_ratio, normalised_concentration]
)
def test_concentration_is_undefined_where_an_area_is(reading):
    assert reading(None, 0.6) is None
    assert reading(0.6, None) is None


def test_concentration_is_undefined_over_nothing():
    assert concentration_ratio(0.6, 0.0) is None
    assert normalised_concentration(0.5, 0.4) is None


def test_top_features_are_the_first_of_those_that_tie():
    assert top_features([0, 3, 1, 3, 3, 0, 0, 0], 25).tolist() == [1, 3]
    assert top_features(np.zeros(10), 10).tolist() == [0]


def test_there_is_always_a_top_and_a_rest():
    assert top_features([5, 1, 1], 1).tolist() == [0]
    assert top_features([5, 1, 1], 99).tolist() == [0, 1]
    assert len(top_features(np.arange(384), 25)) == 96


@pytest.mark.parametrize(("splits", "percent"), [([1], 25), ([1, 2], 0), ([1, 2], 100)])
def test_what_has_no_top_is_refused(splits, percent):
    with pytest.raises(InputError):
        top_features(splits, percent)


def test_scores_that_are_not_numbers_are_refused():
    with pytest.raises(InputError, match="1 scores are NaN"):
        auroc([True, False], [np.nan, 1.0])
    with pytest.raises(InputError, match="neither true nor false"):
        auroc([2, 0], [0.0, 1.0])
    with pytest.raises(InputError, match="2 scores and 1 batches"):
        auroc_within([True, False], [0.0, 1.0], ["a"])
