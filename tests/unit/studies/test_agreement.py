"""Agreement of two runs against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from upto_studies.agreement import GROUPS, agreement_of, over_pairs, over_runs, split_rows


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).laplace(size=(600, 4))


def turned(rows, seed=1):
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(4, 4)))
    return rows @ rotation


def test_a_rotation_is_found_up_to_rigid_motions_and_undone_by_ica(rows):
    found = agreement_of(rows, turned(rows) + 3.0, ica=True)
    for errors in (found.held_out, found.in_sample):
        assert list(errors) == [*GROUPS, "ica"]
        assert errors["rigid"] == pytest.approx(0.0, abs=1e-9)
        assert errors["signed-permutation"] > 0.05
        assert errors["ica"] < 0.5 * errors["signed-permutation"]
    assert found.r2["rigid"] == pytest.approx(1.0)
    assert found.efficiency is not None
    assert 0.5 < found.efficiency <= 1.0
    assert 0.5 < found.efficiency_in_sample <= 1.0


def test_errors_are_mean_distances_over_the_diameter(rows):
    noise = np.random.default_rng(2).normal(size=rows.shape)
    target = rows + 0.1 * noise
    found = agreement_of(rows, target)
    design = np.hstack([rows, np.ones((len(rows), 1))])
    left = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
    apart = np.linalg.norm(target[:, None] - target[None], axis=2).max()
    assert found.in_sample["affine"] == pytest.approx(
        np.linalg.norm(left, axis=1).mean() / apart, rel=1e-6
    )
    assert found.held_out["affine"] == pytest.approx(found.in_sample["affine"], rel=0.2)
    assert found.held_out["affine"] < 0.2 * found.chance["affine"]


def test_measures_keep_the_names_that_were_asked_for(rows):
    found = agreement_of(rows, turned(rows), measures=("mean-cca", "svcca-2", "svcca-20"))
    assert list(found.measures) == ["mean-cca", "svcca-2", "svcca-20"]
    assert found.measures["mean-cca"] == pytest.approx(1.0)
    assert found.measures_in_sample["mean-cca"] == pytest.approx(1.0)
    assert abs(found.measures_chance["mean-cca"]) < 0.1
    assert found.measures_chance_in_sample["mean-cca"] > found.measures_chance["mean-cca"]


def test_unrelated_runs_are_at_chance(rows):
    found = agreement_of(rows, np.random.default_rng(5).laplace(size=rows.shape))
    assert abs(found.measures["mean-cca"]) < 0.15
    assert found.r2["affine"] < 0.05
    assert found.held_out["affine"] == pytest.approx(found.chance["affine"], rel=0.05)
    assert found.efficiency is None


def test_intervals_over_pairs_are_those_of_student(rng):
    values = rng.normal(size=5)
    found = over_pairs(values)
    known = scipy.stats.ttest_1samp(values, 0.0).confidence_interval()
    assert (found.low, found.high) == pytest.approx((known.low, known.high))
    assert over_pairs(values[:2]).low is None


def test_intervals_of_bounded_values_stay_within_their_range():
    shares = [1.0, 1.0, 0.5, 0.9]
    assert over_pairs(shares).high > 1
    found = over_pairs(shares, low=0.0, high=1.0)
    assert (found.value, found.high) == (pytest.approx(0.85), 1.0)
    assert found.low == over_pairs(shares).low
    runs = [(("a", "b"), 0.1), (("b", "c"), 0.2), (("c", "a"), 0.9)]
    assert over_runs(runs).low < 0
    assert over_runs(runs, low=0.0, high=1.0).low == 0.0
    by_rounding = over_pairs([1 + 1e-12] * 3, high=1.0)
    assert by_rounding.value <= by_rounding.high


def test_groups_are_split_whole():
    groups = np.repeat(np.arange(40), np.arange(40) % 5 + 1)
    first, second = split_rows(len(groups), groups, share=0.3, seed=0)
    assert not np.intersect1d(groups[first], groups[second]).size
    assert sorted([*first, *second]) == list(range(len(groups)))
    assert len(first) == pytest.approx(0.3 * len(groups), abs=5)
    pair = split_rows(4, np.array([7, 7, 9, 9]), share=0.01, seed=0)
    assert sorted(map(len, pair)) == [2, 2]


def test_copies_of_unrelated_rows_agree_only_if_they_may_be_on_both_sides(rows):
    # Each row five times with a little noise of its own: what a map learns of one tells the others.
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(40), 5)
    first, second = (
        rng.normal(size=(40, 30))[groups] + 0.01 * rng.normal(size=(200, 30)) for _ in range(2)
    )
    found = agreement_of(first, second, groups=groups)
    assert found.r2["affine"] < 0
    assert abs(found.measures["mean-cca"]) < 0.2
    single = agreement_of(first, second, groups=np.arange(200))
    assert single.r2["affine"] > 0.5
    assert single.measures["mean-cca"] > 0.5
    assert abs(single.measures_chance["mean-cca"]) < 0.2
