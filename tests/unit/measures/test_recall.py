"""Exact search, and the recall of searches in one space judged by another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors

import upto
from upto.measures.nearest import METRICS, Searchable, nearest_rows
from upto.measures.recall import (
    depth_for,
    neighbour_recall,
    recall_estimates,
    recall_interval,
    search,
)

SKLEARN = {"cosine": "cosine", "euclidean": "euclidean"}


@pytest.mark.parametrize("metric", SKLEARN)
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_the_nearest_rows_are_those_of_scikit_learn(metric, offset, rng):
    rows = rng.normal(size=(300, 6)) + offset
    queries = rng.normal(size=(40, 6)) + offset
    oracle = NearestNeighbors(metric=SKLEARN[metric], algorithm="brute").fit(rows - 0.0)
    expected = oracle.kneighbors(queries, 7, return_distance=False)
    found = nearest_rows(queries, rows, 7, metric=metric)
    if metric == "euclidean":
        np.testing.assert_array_equal(found, expected)
    else:
        # Far from the origin cosines differ by rounding only, so neighbours may trade places.
        assert np.mean(found == expected) > 0.97


def test_inner_products_are_sorted(rng):
    rows, queries = rng.normal(size=(500, 4)), rng.normal(size=(30, 4))
    expected = np.argsort(-(queries @ rows.T), axis=1)[:, :9]
    np.testing.assert_array_equal(nearest_rows(queries, rows, 9, metric="inner-product"), expected)


def test_the_size_of_a_block_does_not_matter(rng, monkeypatch):
    rows, queries = rng.normal(size=(90, 4)), rng.normal(size=(33, 4))
    expected = nearest_rows(queries, rows, 5)
    monkeypatch.setattr("upto.measures.nearest._BLOCK_VALUES", 100)
    np.testing.assert_array_equal(nearest_rows(queries, rows, 5), expected)


@pytest.mark.parametrize("metric", METRICS)
def test_rows_that_differ_little_are_not_taken_for_ties(metric, rng):
    """All cosines are 1 within 1e-10, and unrelated rows still find no neighbours."""
    centre = rng.normal(size=8)
    first, second = (centre + 1e-5 * rng.normal(size=(300, 8)) for _ in range(2))
    assert neighbour_recall(first, first, 10, metric=metric).value == 1.0
    assert neighbour_recall(first, second, 10, metric=metric).value < 0.1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: nearest_rows(x, x, 0), "count is 0, but it must be from 1 to"),
        (lambda x: nearest_rows(x, x[:, :2], 1), "the queries have 3 coordinates"),
        (lambda x: nearest_rows(x, x, 1, metric="manhattan"), "metric is 'manhattan'"),
        (lambda x: neighbour_recall(x, x[:7]), "first has 8 rows but second has 7"),
        (lambda x: neighbour_recall(x, x, 8), "count is 8, but it must be from 1 to 7"),
    ],
)  # fmt: skip
def test_what_cannot_be_searched_is_one_sentence(call, message, rng):
    with pytest.raises(upto.InputError, match=message):
        call(rng.normal(size=(8, 3)))


def by_hand(first, second, count):
    """Recall by cosine, row by row."""
    shares = []
    for row in range(len(first)):
        others = np.delete(np.arange(len(first)), row)
        near = []
        for space in (first, second):
            unit = space / np.linalg.norm(space, axis=1, keepdims=True)
            near.append(set(others[np.argsort(-(unit[others] @ unit[row]))[:count]].tolist()))
        shares.append(len(near[0] & near[1]) / count)
    return float(np.mean(shares))


@pytest.mark.parametrize("count", [1, 3, 20])
def test_recall_is_that_of_a_loop(count, rng):
    first = rng.normal(size=(120, 5))
    second = first @ rng.normal(size=(5, 8)) + 0.5 * rng.normal(size=(120, 8))
    assert neighbour_recall(first, second, count).value == pytest.approx(
        by_hand(first, second, count)
    )


@given(st.integers(0, 2**32 - 1), st.sampled_from(METRICS), st.floats(0.1, 10.0))
def test_rotations_lose_nothing_and_scales_nothing_but_inner_products(seed, metric, scale):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(60, 4))
    turned = scale * rows @ np.linalg.qr(rng.normal(size=(4, 4)))[0]
    assert neighbour_recall(rows, turned, 5, metric=metric).value == 1.0


def test_equal_rows_count_whichever_is_found(rng):
    rows = np.repeat(rng.normal(size=(20, 3)), 5, axis=0)
    found = neighbour_recall(rows, rows[:, ::-1] * 2.0, 2)
    assert found.value == 1.0
    assert found.low == pytest.approx(1 - 3 / 100)


def test_unrelated_rows_have_the_recall_of_chance(rng):
    found = neighbour_recall(rng.normal(size=(400, 6)), rng.normal(size=(400, 6)), 10)
    assert found.low < 10 / 399 < found.high


@pytest.mark.parametrize("mean", [0.0, 0.004, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("error", [0.0, 0.01, 0.2])
def test_intervals_stay_inside_and_contain_the_mean(mean, error):
    found = recall_interval(mean, error, 100)
    assert 0.0 <= found.low <= mean <= found.high <= 1.0
    assert found.low < found.high or error == 0.0


def draw(rng, n_rows, noise, width=12):
    """Draw rows in five clusters, and the same with noise that differs from row to row."""
    centres = np.random.default_rng(1).normal(size=(5, width))
    rows = centres[rng.integers(5, size=n_rows)] + rng.normal(size=(n_rows, width))
    scale = noise * rng.gamma(1, 1, size=(n_rows, 1))
    return rows, rows + scale * rng.normal(size=rows.shape)


KINDS = ("gauss", "clusters", "heavy", "copies")


def draw_kind(kind, rng, n_rows):
    """Draw rows of a kind, and the same with noise: in `clusters`, of another size in each."""
    if kind == "clusters":
        cluster = rng.integers(12, size=n_rows)
        rows = 2 * np.random.default_rng(1).normal(size=(12, 6))[cluster]
        rows, noise = rows + 0.5 * rng.normal(size=(n_rows, 6)), 0.02 * (cluster + 1)[:, None]
    elif kind == "copies":
        rows, noise = np.repeat(rng.normal(size=(n_rows // 4, 6)), 4, axis=0), 0.2
    else:
        rows = rng.normal(size=(n_rows, 6)) if kind == "gauss" else rng.standard_t(2, (n_rows, 6))
        noise = 0.2
    return rows, rows + noise * rng.normal(size=rows.shape)


def covered_and_width(found):
    """Return the share that covers the mean, and the mean width over that which would just do."""
    values = np.array([each.value for each in found])
    truth = values.mean()
    covered = np.mean([each.low <= truth <= each.high for each in found])
    width = np.mean([each.high - each.low for each in found])
    return covered, width / (2 * 1.96 * values.std())


@pytest.mark.parametrize(("kind", "least"), [("clusters", 1.0), ("copies", 0.76)])
def test_intervals_are_wide_enough_for_groups_of_rows(kind, least, rng):
    found = [neighbour_recall(*draw_kind(kind, rng, 200), seed=trial) for trial in range(10)]
    values = []
    for _ in range(150):
        spaces = [Searchable.by("cosine", rows, rows) for rows in draw_kind(kind, rng, 200)]
        values.append(search(spaces[0], {"": spaces[1]}, 200, 20).recalls([10])[""].mean())
    width = np.mean([each.high - each.low for each in found]) / (2 * 1.96 * np.std(values))
    assert least < width < 1.5


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [200, 600])
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_cover_for_every_kind_of_rows(kind, n_rows, rng):
    found = [neighbour_recall(*draw_kind(kind, rng, n_rows), seed=trial) for trial in range(200)]
    covered, width = covered_and_width(found)
    assert covered >= (0.86 if kind == "copies" else 0.91)
    assert width < 1.5


def test_rows_of_one_kind_only_still_have_an_interval():
    """All rows are copies of one, or of two: none of them can stay in one half."""
    rows = np.repeat(np.eye(3), [100, 60, 1], axis=0)
    found = neighbour_recall(rows, np.ones_like(rows) + 0.1 * rows, 5)
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "n_queries"), [(300, 300), (1200, 300)])
@pytest.mark.parametrize("noise", [0.05, 0.6])
def test_intervals_cover_at_their_level(n_rows, n_queries, noise, rng):
    """Taken for independent, 300 queries among each other would cover in about three of four."""
    found, alone = [], []
    for trial in range(200):
        first, second = draw(rng, n_rows, noise)
        spaces = [Searchable.by("cosine", rows[:n_queries], rows) for rows in (first, second)]
        searches = search(spaces[0], {"": spaces[1]}, n_queries, depth_for(10))
        found.append(recall_estimates(searches, 10, trial)[""])
        alone.append(searches.recalls([10])[""].std(ddof=1) / np.sqrt(n_queries))
    covered, width = covered_and_width(found)
    assert covered >= 0.93
    assert width < 1.5
    if n_rows == n_queries and noise == 0.6:
        values = np.array([each.value for each in found])
        assert np.mean(np.abs(values - values.mean()) <= 1.96 * np.array(alone)) < 0.85


def test_no_more_rows_are_asked_than_there_are(rng, monkeypatch):
    """What is left over would be whatever the memory held."""
    rows, others = rng.normal(size=(2, 67, 5))
    monkeypatch.setattr(np, "empty", lambda shape, dtype=float: np.full(shape, 3, dtype))
    found = search(Searchable.by("cosine", rows, rows), {}, 70, 10)
    assert found.truth.rows.shape == (67, 10)
    wanted = search(Searchable.by("cosine", rows, rows), {}, 67, 10)
    np.testing.assert_array_equal(found.truth.rows, wanted.truth.rows)
    space = {"other": Searchable.by("cosine", others, others)}
    recalls = search(Searchable.by("cosine", rows, rows), space, 70, 10).recalls([10])
    assert recalls["other"].shape == (67, 1)
