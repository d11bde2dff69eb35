"""Measures of nearest rows where their value is known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from upto.core import InputError
from upto.measures import neighbours
from upto.measures.alignment import DEBIASED_LINEAR_CKA
from upto.measures.kinds import permuted
from upto.measures.near_rows import smallest
from upto.measures.neighbours import (
    JACCARD_COSINE_NEIGHBOURS,
    JACCARD_NEIGHBOURS,
    LOCAL_ALIGNMENT,
    MUTUAL_COSINE_NEIGHBOURS,
    MUTUAL_NEIGHBOURS,
    RANKED_COSINE_NEIGHBOURS,
    RANKED_NEIGHBOURS,
    SECOND_ORDER_COSINE,
)

pytestmark = pytest.mark.slow

MEASURES = (
    MUTUAL_NEIGHBOURS, MUTUAL_COSINE_NEIGHBOURS, JACCARD_NEIGHBOURS, JACCARD_COSINE_NEIGHBOURS,
    RANKED_NEIGHBOURS, RANKED_COSINE_NEIGHBOURS, SECOND_ORDER_COSINE, LOCAL_ALIGNMENT,
)  # fmt: skip
SINGLE = 1e-6


@pytest.fixture(params=MEASURES, ids=lambda each: each.name)
def measure(request):
    return request.param


def on_circle(degrees):
    angles = np.deg2rad(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


# The two nearest of each row are, nearest first: 1 2, 0 2, 1 0, 2 1.
FIRST = np.array([0.0, 1.0, 3.0, 7.0])
# And here: 2 1, 3 0, 0 1, 1 0.
SECOND = np.array([0.0, 4.0, -3.0, 7.5])
# Shared: 1 and 2 with exchanged ranks, 0 with ranks 1 and 2, 0 and 1 with exchanged ranks, 1 of
# rank 2 that has rank 1.
KNOWN = {
    "mutual-knn": np.mean([1, 1 / 2, 1, 1 / 2]),
    "jaccard-knn": np.mean([1, 1 / 3, 1, 1 / 3]),
    "rank-knn": np.mean([(2 / 3) / (3 / 2), 1 / 3, (2 / 3) / (3 / 2), 1 / 3]),
}


@pytest.mark.parametrize("stem", KNOWN)
def test_four_rows_have_known_neighbours(stem):
    plain, cosine = (
        next(each for each in MEASURES if each.name == f"{name}:10").with_parameter(2)
        for name in (stem, f"{stem}-cosine")
    )
    assert plain(FIRST[:, None], SECOND[:, None]) == pytest.approx(KNOWN[stem])
    # On an arc of less than half a circle angles are as distances on a line.
    value = cosine(3 * on_circle(10 * FIRST), on_circle(10 * SECOND))
    assert value == pytest.approx(KNOWN[stem])


def test_the_second_order_compares_distances_to_the_nearest_in_either_run():
    first, second = on_circle([0.0, 10.0, 90.0]), on_circle([0.0, 100.0, 30.0])
    near, far = 1 - np.cos(np.deg2rad([[10, 90, 80], [100, 30, 70]]))
    expected = []
    for pairs in ([0, 1], [0, 2], [1, 2]):
        x, y = near[pairs], far[pairs]
        expected.append(x @ y / (np.linalg.norm(x) * np.linalg.norm(y)))
    # Nearest are 1, 0, 1 and 2, 2, 0: the union of a row's nearest is both of the others.
    value = SECOND_ORDER_COSINE.with_parameter(1)(first, second)
    assert value == pytest.approx(np.mean(expected), abs=SINGLE)


def test_equal_rows_agree_in_the_second_order_only_with_equal_rows():
    same, apart = on_circle([20.0, 20.0, 20.0]), on_circle([0.0, 40.0, 80.0])
    measure = SECOND_ORDER_COSINE.with_parameter(1)
    assert measure(same, 2 * same) == 1
    assert measure(same, apart) == 0


def test_cknna_of_all_rows_is_debiased_cka_of_unit_rows(rng):
    first, second = rng.normal(size=(2, 30, 4)) + 1
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (first, second)]
    value = LOCAL_ALIGNMENT.with_parameter(29)(first, second)
    assert value == pytest.approx(DEBIASED_LINEAR_CKA(*unit), abs=SINGLE)


def test_exchanging_runs_changes_cknna_and_nothing_else(rng):
    first = rng.normal(size=(60, 4))
    second = first + rng.normal(size=(60, 4))
    for measure in MEASURES:
        gap = abs(measure(first, second) - measure(second, first))
        assert (gap < SINGLE) == measure.symmetric


def test_rows_that_tie_are_all_neighbours_and_share_the_harmonic_mean_of_their_ranks():
    rows = np.array([[0.0], [1.0], [-1.0], [2.0], [-2.0], [9.0]])
    is_near, counts = MUTUAL_NEIGHBOURS.with_parameter(3).related(rows)
    assert is_near[0].tolist() == [False, True, True, True, True, False]
    assert counts.tolist() == [4, 3, 3, 3, 3, 3]
    (ranks,) = RANKED_NEIGHBOURS.with_parameter(3).related(rows)
    np.testing.assert_allclose(ranks[0], [0, 4 / 3, 4 / 3, 24 / 7, 24 / 7, 0], rtol=SINGLE)
    np.testing.assert_allclose(ranks[5], [3, 2, 0, 1, 0, 0])


def test_equal_rows_are_neighbours_of_rank_shared():
    rows = np.repeat([[0.1, 0.7], [0.3, 0.2]], 4, axis=0)
    (ranks,) = RANKED_NEIGHBOURS.with_parameter(2).related(rows)
    expected = np.kron(np.eye(2), 1 - np.eye(4)) * 3 / (1 + 1 / 2 + 1 / 3)
    np.testing.assert_allclose(ranks, expected, rtol=SINGLE)


def test_distances_and_angles_tie_on_a_turned_grid_as_on_the_grid(measure, rng):
    measure = measure.with_parameter(5)
    grid = rng.integers(1, 4, size=(60, 3)).astype(np.float64)
    turned = grid @ np.linalg.qr(rng.normal(size=(8, 8)))[0][:3] / 3
    for found, wanted in zip(measure.related(turned), measure.related(grid), strict=True):
        np.testing.assert_allclose(found, wanted, atol=SINGLE)


def test_ranks_of_tied_rows_in_blocks_are_those_of_the_whole(monkeypatch, rng):
    rows = rng.integers(0, 3, size=(50, 3)).astype(np.float64)
    (whole,) = RANKED_NEIGHBOURS.with_parameter(5).related(rows)
    monkeypatch.setattr(neighbours, "_PLACES", 150)
    (parts,) = RANKED_NEIGHBOURS.with_parameter(5).related(rows)
    np.testing.assert_array_equal(parts, whole)


@pytest.mark.parametrize("stem", ["mutual-knn", "mutual-knn-cosine"])
def test_over_all_pairings_the_mean_of_mutual_neighbours_is_chance(stem, rng):
    measure = next(each for each in MEASURES if each.name == f"{stem}:10").with_parameter(2)
    first, second = (measure.related(rows) for rows in rng.normal(size=(2, 6, 3)))
    values = [
        measure.scored(first, permuted(second, np.array(order)))
        for order in itertools.permutations(range(6))
    ]
    assert np.mean(values) == pytest.approx(2 / 5)


def test_neighbours_are_as_many_as_asked_for(rng):
    rows = rng.normal(size=(30, 3))
    for k in (1, 7, 29):
        is_near, counts = MUTUAL_NEIGHBOURS.with_parameter(k).related(rows)
        assert (counts == k).all()
        assert not np.diag(is_near).any()


@pytest.mark.parametrize("k", [0, -1, 12, 50, 2.5, np.nan, np.inf])
def test_neighbours_that_cannot_be_counted_are_refused(measure, k, rng):
    first, second = rng.normal(size=(2, 12, 3))
    with pytest.raises(InputError, match="from 12 rows: give a whole number from 1 to less than"):
        measure.with_parameter(k)(first, second)


def test_all_rows_but_one_are_the_most_that_can_be_neighbours(measure, rng):
    first, second = rng.normal(size=(2, 12, 3))
    value = measure.with_parameter(11)(first, second)
    assert measure.low <= value <= measure.high
    if measure.name.startswith(("mutual", "jaccard")):
        assert value == 1


@pytest.mark.parametrize("levels", [3, 10**6])
@pytest.mark.parametrize(("n", "k"), [(2, 1), (40, 39), (97, 1), (300, 10), (301, 18), (301, 19)])
def test_the_kth_smallest_is_that_of_sorted_rows(n, k, levels, rng):
    distances = rng.integers(levels, size=(n, n)).astype(float)
    np.fill_diagonal(distances, np.inf)
    # The nearest are side by side, as among rows in the order of their classes.
    distances = np.vstack([distances, np.sort(distances[: n // 2], axis=1)])
    before = distances.copy()
    found = smallest(distances, k)
    np.testing.assert_array_equal(found, np.sort(distances, axis=1)[:, k - 1])
    np.testing.assert_array_equal(distances, before)
