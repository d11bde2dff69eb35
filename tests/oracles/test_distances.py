"""Diameters, quantiles and defects against all pairs at once."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

import upto
from upto.core import Group
from upto.engines import ThreadsEngine
from upto.measures import diameter, distance_quantile, near_isometry_defect
from upto.testing import embeddings_strategy, random_element

ROUNDING = 1e-12
# Squared distances are expanded, so distances near zero carry the square root of rounding.
NEAR_ZERO = 1e-7
# Distances between rows far from the origin are those of rows already rounded.
FAR_AWAY = 1e-9

seeds = st.integers(0, 2**32 - 1)


def cloud(name: str) -> np.ndarray:
    rng = np.random.default_rng(sum(name.encode()))
    normal = rng.normal(size=(400, 6))
    return {
        "normal": normal,
        "one dimension": normal[:, :1],
        "two rows": normal[:2],
        "three rows": normal[:3],
        "more columns than rows": rng.normal(size=(20, 100)),
        "duplicated rows": np.repeat(normal[:40], 10, axis=0),
        "two places": np.repeat([[0.0, 0.0], [3.0, 4.0]], [399, 1], axis=0),
        "heavy tails": rng.standard_cauchy(size=(400, 3)),
        "far away": normal + 1e6,
        "far in one coordinate": normal + 1e9 * np.eye(6)[0],
        "sphere": normal / np.linalg.norm(normal, axis=1, keepdims=True),
        "cube corners": np.array(list(itertools.product([0.0, 1.0], repeat=8))),
        "simplex": np.eye(50),
        "tiny": 1e-9 * normal,
        "huge": 1e9 * normal,
        "outlier": np.vstack([normal, [[50, 0, 0, 0, 0, 0]]]),
        "two clusters": np.vstack([normal, normal[:, ::-1] + 30]),
        "line": np.arange(3000.0)[:, None] * [[1.0, 2.0]],
        "triangle": np.array([[0, 0], [1, 0], [0.5, np.sqrt(0.75)]]),
        "many rows": rng.normal(size=(2600, 2)),
        # The farthest pair has one row well inside the smallest ball around all rows.
        "kite": np.array([[0, 0], [1, 0], [0.5, np.sqrt(0.75)], [0.5, np.sqrt(0.75) - 1.01]]),
    }[name]


CLOUDS = [
    "normal", "one dimension", "two rows", "three rows", "more columns than rows",
    "duplicated rows", "two places", "heavy tails", "far away", "far in one coordinate", "sphere",
    "cube corners", "simplex", "tiny", "huge", "outlier", "two clusters", "line", "triangle",
    "many rows", "kite",
]  # fmt: skip


def measured(rows, *, block_rows=None, **options):
    engine = ThreadsEngine(n_threads=1, block_rows=block_rows)
    return diameter(engine, rows, rows.mean(axis=0), rows[:500], **options)


@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.parametrize("block_rows", [None, 37])
def test_the_diameter_is_the_largest_of_all_distances(name, block_rows):
    rows = cloud(name)
    found = measured(rows, block_rows=block_rows)
    assert found.exact
    np.testing.assert_allclose(found.value, pdist(rows).max(), rtol=ROUNDING)
    assert found.upper == found.value
    assert 0 <= found.quantile <= found.value


@pytest.mark.parametrize("name", CLOUDS)
def test_without_the_work_the_diameter_is_bracketed(name):
    rows = cloud(name)
    found = measured(rows, exact_work=0)
    true = pdist(rows).max()
    assert found.value <= true * (1 + ROUNDING)
    assert true <= found.upper * (1 + ROUNDING)
    assert found.upper <= 2 * found.value * (1 + ROUNDING)
    assert found.quantile <= found.upper


@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_a_poor_first_guess_does_not_change_the_diameter(name, share, monkeypatch):
    rows = cloud(name)
    true = pdist(rows).max()
    monkeypatch.setattr("upto.measures.distances._sweeps", lambda *_: share * true)
    found = measured(rows)
    assert found.exact
    np.testing.assert_allclose(found.value, true, rtol=ROUNDING)


def test_without_the_work_it_is_not_called_exact():
    found = measured(cloud("sphere"), exact_work=0)
    assert not found.exact
    assert found.value < found.upper


@given(rows=embeddings_strategy(), block_rows=st.integers(1, 50))
def test_the_diameter_of_any_data_is_the_largest_of_all_distances(rows, block_rows):
    true = pdist(rows).max()
    found = measured(rows, block_rows=block_rows)
    assert found.exact
    np.testing.assert_allclose(found.value, true, rtol=ROUNDING)
    bracket = measured(rows, block_rows=block_rows, exact_work=0)
    assert bracket.value <= true * (1 + ROUNDING)
    assert true <= bracket.upper * (1 + ROUNDING)


@given(rows=embeddings_strategy(), which=st.integers(0, 39))
def test_any_centre_gives_the_diameter(rows, which):
    found = diameter(ThreadsEngine(n_threads=1), rows, rows[which % len(rows)], rows)
    np.testing.assert_allclose(found.value, pdist(rows).max(), rtol=ROUNDING)


@pytest.mark.parametrize("n_rows", [1, 2, 100])
def test_equal_rows_have_no_diameter(n_rows):
    found = measured(np.full((n_rows, 3), 7.5))
    assert (found.value, found.upper, found.exact, found.quantile) == (0.0, 0.0, True, 0.0)


@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.parametrize("level", [0.0, 0.5, 0.9, 0.999, 1.0])
def test_the_quantile_of_distances_lies_between_the_neighbouring_distances(name, level):
    rows = cloud(name)[:300]
    distances = pdist(rows)
    low, high = (np.quantile(distances, level, method=side) for side in ("lower", "higher"))
    slack = NEAR_ZERO * distances.max()
    assert low - slack <= distance_quantile(rows, level) <= high + slack


def test_one_row_has_no_distances():
    assert distance_quantile(np.zeros((1, 3)), 0.999) == 0.0


def brute_force_defect(source, target) -> float:
    change = pdist(target) - pdist(source)
    if source.shape[1] > target.shape[1]:
        return max(0.0, float(change.max()))
    return float(np.abs(change).max())


@pytest.mark.parametrize("widths", [(1, 1), (5, 5), (3, 6), (6, 3), (4, 1)])
@pytest.mark.parametrize("n_rows", [2, 3, 50, 300])
def test_the_defect_is_the_largest_change_of_a_distance(widths, n_rows, rng):
    source, target = (rng.normal(size=(n_rows, width)) for width in widths)
    np.testing.assert_allclose(
        near_isometry_defect(source, target), brute_force_defect(source, target), atol=NEAR_ZERO
    )


def test_the_defect_in_blocks_is_that_of_the_whole(rng):
    source, target = rng.normal(size=(2, 3000, 2))
    np.testing.assert_allclose(
        near_isometry_defect(source, target), brute_force_defect(source, target), atol=NEAR_ZERO
    )


def wide_cloud(name: str, rng) -> np.ndarray:
    """Rows wide enough for products in single precision."""
    rows = rng.laplace(size=(1300, 70))
    return {
        "laplace": rows,
        "near copies": np.repeat(rows[:325], 4, axis=0) + 1e-6 * rng.normal(size=rows.shape),
        "outlier": np.vstack([rows[:-1], 1e4 * rows[-1:]]),
        "far away": rows + 1e6,
        "one place": rows[:1] + 1e-7 * rng.normal(size=rows.shape),
        "one-hot": np.eye(70)[rng.integers(70, size=1300)],
        "nearly equal distances": np.eye(70) + 1e-7 * rng.normal(size=(70, 70)),
        "tiny": 1e-60 * rows,
        "huge": 1e60 * rows,
        "two rows": rows[:2],
        "equal": np.ones((50, 70)),
    }[name]


WIDE = [
    "laplace", "near copies", "outlier", "far away", "one place", "one-hot",
    "nearly equal distances", "tiny", "huge", "two rows", "equal",
]  # fmt: skip


@pytest.mark.parametrize("name", WIDE)
def test_distances_of_wide_rows_are_those_of_all_pairs(name, rng):
    rows = wide_cloud(name, rng)
    every = pdist(rows)
    found = diameter(ThreadsEngine(), rows, rows.mean(axis=0), rows)
    np.testing.assert_allclose(found.value, every.max(), rtol=FAR_AWAY)
    # A quantile is the only distance that is left in single precision.
    np.testing.assert_allclose(found.quantile, np.quantile(every, 0.999), rtol=1e-6)


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-3])
@pytest.mark.parametrize("other", [64, 70, 75])
def test_the_defect_of_wide_rows_is_that_of_all_pairs(name, noise, other, rng):
    rows = wide_cloud(name, rng)
    if len(rows) > 400:
        rows = rows[-400:]
    size = np.abs(rows - rows.mean(axis=0)).max() or 1.0
    turned = np.pad(rows, ((0, 0), (0, 5))) @ np.linalg.qr(rng.normal(size=(75, 75)))[0]
    target = turned[:, :other] + noise * size * rng.normal(size=(len(rows), other))
    wanted = brute_force_defect(rows, target)
    rounding = NEAR_ZERO * max(
        np.linalg.norm(each - each.mean(axis=0), axis=1).max() for each in (rows, target)
    )
    np.testing.assert_allclose(
        near_isometry_defect(rows, target), wanted, rtol=FAR_AWAY, atol=rounding
    )


@pytest.mark.parametrize("noise", [1e-4, 1e-5, 1e-6, 1e-7])
def test_a_defect_below_single_precision_is_that_of_all_pairs(noise, rng):
    source = rng.laplace(size=(300, 70))
    turned = source @ np.linalg.qr(rng.normal(size=(70, 70)))[0]
    target = turned + noise * rng.normal(size=source.shape)
    wanted = brute_force_defect(source, target)
    np.testing.assert_allclose(near_isometry_defect(source, target), wanted, atol=ROUNDING)


@pytest.mark.parametrize("width", [3, 40, 700])
@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-9])
def test_the_defect_of_all_but_exact_runs_is_no_rounding(width, noise, rng):
    source = rng.normal(size=(100, width))
    target = source[:, rng.permutation(width)] + noise * rng.normal(size=source.shape)
    wanted = brute_force_defect(source, target)
    rounding = 1e-15 * width
    np.testing.assert_allclose(near_isometry_defect(source, target), wanted, atol=rounding)


def test_an_exact_permutation_of_many_columns_has_no_defect(rng):
    rows = rng.laplace(size=(60, 4096))
    assert near_isometry_defect(rows, rows[:, ::-1]) < 1e-12 * pdist(rows).max()


def test_no_bound_of_an_exact_rotation_is_proved(rng):
    rows = rng.laplace(size=(60, 5))
    turned = rows @ random_element(Group.RIGID, 5, rng)[0]
    found = upto.compare(rows, turned, ica=False, refits=0).defect
    assert found.value < 1e-13
    assert found.lower_bound == 0.0


def test_the_defect_of_runs_of_very_different_scales(rng):
    source = rng.laplace(size=(200, 70))
    target = 1e-60 * rng.laplace(size=(200, 70))
    np.testing.assert_allclose(near_isometry_defect(source, target), pdist(source).max())
    np.testing.assert_allclose(near_isometry_defect(target, source), pdist(source).max())


def test_the_defect_of_a_projection_counts_only_distances_that_grew():
    source = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
    # Losing a coordinate is what any projection does; no distance grew.
    np.testing.assert_allclose(near_isometry_defect(source, source[:, :1]), 0, atol=NEAR_ZERO)
    np.testing.assert_allclose(near_isometry_defect(source[:, :1], source), 2.0, atol=NEAR_ZERO)
    grown = np.array([[0.0], [7.0], [0.0]])
    np.testing.assert_allclose(near_isometry_defect(source, grown), 7 - np.sqrt(18), atol=NEAR_ZERO)


@pytest.mark.parametrize("extra", [0, 2])
def test_an_isometry_has_no_defect(extra, rng):
    source = rng.normal(size=(100, 4)) + 1e3
    linear, translation = random_element(Group.RIGID, 4, rng, n_out=4 + extra)
    defect = near_isometry_defect(source, source @ linear + translation)
    np.testing.assert_allclose(defect, 0, atol=NEAR_ZERO * 10)


@given(source=embeddings_strategy(max_samples=15), width=st.integers(1, 6), seed=seeds)
def test_half_the_defect_is_below_the_worst_error_of_every_rigid_map(source, width, seed):
    rng = np.random.default_rng(seed)
    wider = max(width, source.shape[1])
    linear, translation = random_element(Group.RIGID, wider, rng)
    moved = (np.pad(source, ((0, 0), (0, wider - source.shape[1]))) @ linear + translation)[
        :, :width
    ]
    target = moved + rng.choice([0.0, 1e-3, 1.0]) * rng.normal(size=moved.shape)
    worst = np.linalg.norm(target - moved, axis=1).max()
    slack = NEAR_ZERO * (1 + np.abs(source).max())
    assert near_isometry_defect(source, target) / 2 <= worst + slack


def test_the_far_mean_costs_only_what_the_data_lost(rng):
    near = rng.normal(size=(200, 4))
    np.testing.assert_allclose(measured(near + 1e6).value, measured(near).value, rtol=FAR_AWAY)
