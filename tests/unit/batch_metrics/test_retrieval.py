"""Average precision: closed forms, ties, exact p-values and who is sought among whom."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from upto.batch_metrics import retrieval
from upto.batch_metrics import retrieval_nulls as nulls
from upto.batch_metrics.retrieval import average_precision, mean_average_precision
from upto.batch_metrics.retrieval_nulls import (
    _drawn_by_keys,
    _drawn_one_by_one,
    average_precision_of,
    chance_precision,
    mean_p_value,
)
from upto.core import InputError


def precision_of_order(order):
    """Average precision of a list of True (sought) and False, by its definition."""
    hits = [sum(order[: place + 1]) / (place + 1) for place, hit in enumerate(order) if hit]
    return sum(hits) / len(hits)


def precision_over_ties(sought, between):
    """Mean over every order of rows that tie."""
    pairs = [(value, True) for value in sought] + [(value, False) for value in between]
    values = []
    for order in itertools.permutations(pairs):
        if all(first[0] >= second[0] for first, second in itertools.pairwise(order)):
            values.append(precision_of_order([hit for _, hit in order]))
    return np.mean(values)


@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=3),
    st.lists(st.integers(0, 2), min_size=1, max_size=3),
)
def test_ties_give_the_mean_over_all_their_orders(sought, between):
    found = average_precision_of(np.array(sought, dtype=float), np.array(between, dtype=float))
    assert found == pytest.approx(precision_over_ties(sought, between), abs=1e-12)


@pytest.mark.parametrize(("n_positives", "n_pairs"), [(1, 4), (2, 5), (3, 7), (4, 6)])
def test_chance_is_the_mean_over_all_orders(n_positives, n_pairs):
    places = itertools.combinations(range(n_pairs), n_positives)
    values = [precision_of_order([at in place for at in range(n_pairs)]) for place in places]
    found = chance_precision(np.array([n_positives]), np.array([n_pairs]))
    assert found == pytest.approx(np.mean(values), abs=1e-12)


@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 10**6))
def test_exact_p_values_count_every_order(n_positives, n_negatives, draw):
    n_pairs = n_positives + n_negatives
    orders = [
        precision_of_order([at in place for at in range(n_pairs)])
        for place in itertools.combinations(range(n_pairs), n_positives)
    ]
    observed = orders[draw % len(orders)]
    counted = np.mean([value >= observed - 1e-12 for value in orders])
    found, exact = mean_p_value(observed, np.array([n_positives]), np.array([n_pairs]))
    assert exact
    assert found == pytest.approx(counted, abs=1e-12)


def test_rows_with_different_numbers_of_pairs_have_independent_orders():
    first = [precision_of_order([at == place for at in range(3)]) for place in range(3)]
    second = [
        precision_of_order([at in place for at in range(4)])
        for place in itertools.combinations(range(4), 2)
    ]
    means = [(2 * a + b) / 3 for a, b in itertools.product(first, second)]
    found, exact = mean_p_value(0.7, np.array([1, 1, 2]), np.array([3, 3, 4]))
    assert exact
    assert found == pytest.approx(np.mean(np.array(means) >= 0.7), abs=1e-12)


def test_drawn_p_values_are_near_the_exact_ones():
    pairs = np.array([3]), np.array([12])
    exact, is_exact = mean_p_value(0.6, *pairs, null_size=1000)
    drawn, is_drawn = mean_p_value(0.6, *pairs, null_size=200)
    assert (is_exact, is_drawn) == (True, False)
    assert drawn == pytest.approx(exact, abs=4 * np.sqrt(exact / 200))


@pytest.mark.parametrize("draw", [_drawn_one_by_one, _drawn_by_keys])
def test_every_set_of_places_is_drawn_as_often(draw):
    places = np.sort(draw(np.random.default_rng(0), 6000, 2, 4), axis=1)
    sets, counts = np.unique(places, axis=0, return_counts=True)
    assert sets.tolist() == [list(pair) for pair in itertools.combinations(range(4), 2)]
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(1000 * 5 / 6)


def test_orders_are_drawn_once_for_all_labels_and_for_few_positives_without_the_others(monkeypatch):
    asked = []
    drawn = nulls.drawn_orders
    monkeypatch.setattr(nulls, "drawn_orders", lambda *kind: asked.append(kind) or drawn(*kind))
    monkeypatch.delattr(nulls, "_drawn_by_keys")
    rows = np.random.default_rng(0).normal(size=(60, 3))
    found = mean_average_precision(rows, list("abcdef") * 10, null_size=50)
    assert not any(each.exact for each in found.labels)
    assert asked == [(9, 59, 50, 0)]


def test_corrected_p_values_are_those_of_the_labels_that_have_one():
    rows, labels, _ = noisy(1)
    labels[[0, 9, 10]] = ["one", "d", "d"]
    found = mean_average_precision(rows, labels)
    known = [each for each in found.labels if each.p_value is not None]
    assert len(known) == len(found.labels) - 1
    adjusted = false_discovery_control([each.p_value for each in known])
    assert [each.q_value for each in known] == pytest.approx(adjusted)


def noisy(seed=0):
    rng = np.random.default_rng(seed)
    labels = np.array(list("aaaabbbb") + ["ctrl"] * 8)
    rows = rng.normal(size=(16, 5))
    rows[labels == "a", 0] += 8.0
    return rows, labels, np.array(list("pq") * 8)


def test_a_label_with_a_direction_is_retrieved_and_noise_is_not():
    rows, labels, _ = noisy()
    found = mean_average_precision(rows, labels, control="ctrl")
    a, b = found.labels
    assert a.value == 1.0
    assert a.normalised == 1.0
    assert a.p_value == pytest.approx(1 / 165)  # 3 of 11: one order of C(11, 3) is perfect
    assert a.exact
    assert b.p_value > 0.05
    assert found.fraction_retrieved == 0.5


@pytest.mark.parametrize("similarity", retrieval.SIMILARITIES)
def test_nothing_depends_on_the_order_of_rows_or_on_blocks(monkeypatch, similarity):
    rows, labels, batches = noisy(1)
    rows[9] = rows[10]
    settings = {"positives": "other-batches", "similarity": similarity}
    whole = average_precision(rows, labels, batches=batches, **settings)
    order = np.random.default_rng(2).permutation(len(rows))
    monkeypatch.setattr(retrieval, "_BLOCK_VALUES", 1)
    other = average_precision(rows[order], labels[order], batches=batches[order], **settings)
    np.testing.assert_allclose(other.values, whole.values[order], atol=1e-12)


def test_a_turn_keeps_average_precision():
    rows, labels, _ = noisy(1)
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(5, 5)))[0]
    turned = average_precision(rows @ turn * 3.0, labels).values
    np.testing.assert_allclose(turned, average_precision(rows, labels).values, atol=1e-12)


def test_rows_of_the_own_batch_are_neither_sought_nor_in_between():
    rows, labels, batches = noisy()
    found = average_precision(
        rows,
        labels,
        batches=batches,
        control="ctrl",
        positives="other-batches",
        negatives="same-batch",
    )
    assert found.n_positives.tolist() == [2] * 8 + [0] * 8
    assert found.n_pairs.tolist() == [6] * 8 + [0] * 8
    assert np.isnan(found.values[8:]).all()


def test_copies_of_a_negative_count_alike_wherever_they_stand():
    rows = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    found = average_precision(rows, ["a", "a", "b"])
    assert found.values[0] == pytest.approx(0.75)  # the first or the second of two places


def test_a_label_of_one_row_has_no_value_and_says_why():
    rows, labels, _ = noisy()
    labels[0] = "one"
    found = {each.label: each for each in mean_average_precision(rows, labels).labels}
    assert found["one"].value is None
    assert "no row of one" in found["one"].says.lower()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"control": "dmso"}, "none of 16 rows has the control label 'dmso'"),
        ({"positives": "other-batches"}, "batches are needed to choose pairs"),
        ({"similarity": "cosin"}, "no similarity 'cosin'"),
        ({"positives": "some"}, "no positives 'some'"),
        ({"negatives": "some"}, "no negatives 'some'"),
        ({"batches": ["p"]}, "1 batches for 16 rows"),
        ({"batches": [None, *"pqpqpqpqpqpqpqp"]}, "1 of 16 batches are missing"),
    ],
)
def test_what_cannot_be_asked_is_said(settings, words):
    rows, labels, _ = noisy()
    with pytest.raises(InputError, match=words):
        average_precision(rows, labels, **settings)
