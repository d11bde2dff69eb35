"""Rounding of stored numbers is no direction, no error and no bound."""

from __future__ import annotations

import numpy as np
import pytest

import upto
from upto.alignment import fit_map, smallest_worst_error
from upto.core import Group
from upto.engines import Moments, ThreadsEngine, cross_moments
from upto.engines.directions import find_span, stored_rounding

FAST = {"ica": False, "refits": 0}
RANK, WIDTH = 5, 16


def rotation(d, rng):
    return np.linalg.qr(rng.normal(size=(d, d)))[0]


def written(form):
    def through_text(rows):
        return np.array([[float(form % value) for value in row] for row in rows])

    return through_text


STORED = {
    "double": lambda rows: rows,
    "single": lambda rows: rows.astype(np.float32),
    "single as doubles": lambda rows: rows.astype(np.float32).astype(np.float64),
    "half": lambda rows: rows.astype(np.float16),
    "half as doubles": lambda rows: rows.astype(np.float16).astype(np.float64),
    "six decimals": lambda rows: rows.round(6),
    "three decimals": lambda rows: rows.round(3),
    "six digits": written("%.6g"),
    "digits of single": lambda rows: written("%s")(rows.astype(np.float32)),
    "far from zero": lambda rows: rows + 1e6,
    "single far from zero": lambda rows: (rows + 1e3).astype(np.float32),
}


@pytest.fixture
def low_rank(rng):
    """Two runs of few directions, equal up to a rotation, in full precision."""
    rows = rng.laplace(size=(300, RANK)) @ rng.normal(size=(RANK, WIDTH))
    return rows, rows @ rotation(WIDTH, rng)


@pytest.mark.parametrize("store", STORED.values(), ids=STORED)
def test_stored_runs_of_low_rank_are_the_same(store, low_rank):
    result = upto.compare(*map(store, low_rank), **FAST)
    assert (result.agreement, result.up_to) == ("same", Group.RIGID)
    assert result.exact is Group.RIGID
    assert (result.first.rank, result.second.rank) == (RANK, RANK)
    assert result.shared.is_bijective
    assert result.r2_per_direction > 0.999


@pytest.mark.parametrize("store", ["single as doubles", "six decimals", "half"])
def test_rows_that_keep_a_sum_have_one_direction_less(store, rng):
    rows = np.exp(2 * rng.normal(size=(400, 10)))
    rows = STORED[store](rows / rows.sum(axis=1, keepdims=True))
    result = upto.compare(rows, rows[:, ::-1], **FAST)
    assert (result.agreement, result.first.rank) == ("same", 9)


@pytest.mark.parametrize("width", [1e-7, 1e-10])
def test_directions_are_counted_alike_everywhere(width, rng):
    """A narrow coordinate in full precision is a direction, and here an unrelated one."""
    shared = rng.laplace(size=(400, 4))
    first, second = (np.c_[shared, width * rng.normal(size=400)] for _ in range(2))
    result = upto.compare(first, second, **FAST)
    assert (result.agreement, result.exact) == ("partial", None)
    assert (result.shared.n_shared, result.shared.n_first) == (4, 5)
    assert result.r2_per_direction == pytest.approx(0.8, abs=0.02)
    assert [len(each.r2) for each in result.along] == [5, 5]
    assert "less than 0.1% of the variance" in result.verdict


def test_what_numbers_were_rounded_to_is_seen(rng):
    values = rng.normal(size=300)
    columns = {
        "double": (values, 2e-16),
        "single": (values.astype(np.float32), 1e-7),
        "half": (values.astype(np.float16), 1e-3),
        "three decimals": (values.round(3), 3e-4),
        "with zeros": (np.where(values > 0, values.round(2), 0), 3e-3),
        "tiny": (np.where(values > 0, 5e-324, values), 2e-16),
        "whole": (np.rint(100 * values), 2e-14),
        "few values": (0.1 * (values > 1), 1e-17),
        "constant": (np.zeros(300), 0.0),
    }
    found = stored_rounding(np.stack([each[0] for each in columns.values()], axis=1))
    wanted = np.array([each[1] for each in columns.values()])
    assert (found <= 4 * wanted).all(), dict(zip(columns, found, strict=True))
    assert (4 * found >= wanted).all(), dict(zip(columns, found, strict=True))


def test_narrow_directions_of_coarse_numbers_are_kept(rng):
    """A rare value of a discrete coordinate is no rounding, though others have few decimals."""
    rows = np.c_[rng.normal(size=(400, 3)).round(1), 0.1 * (rng.random((400, 2)) < 0.02)]
    result = upto.compare(rows, rows @ rotation(5, rng), **FAST)
    assert (result.agreement, result.first.rank, result.second.rank) == ("same", 5, 5)


def test_rows_that_do_not_vary_have_no_directions():
    span = find_span(Moments(3.0, np.ones(2), np.zeros((2, 2))), np.ones((3, 2)), np.zeros(2))
    assert (span.rank, span.axes.shape) == (0, (2, 0))


@pytest.mark.parametrize("ratio", [1e2, 1e3, 1e4, 1e5])
@pytest.mark.parametrize("seed", range(2))
def test_what_is_proved_is_true_of_ill_conditioned_runs(ratio, seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(300, 3))
    x, y = (z * [ratio, 1, 1]) @ rotation(3, rng), z @ rng.normal(size=(3, 3))
    result = upto.compare(x, y, **FAST)
    wide = np.c_[x, np.ones(300)]
    left = y - wide @ np.linalg.lstsq(wide, y, rcond=None)[0]
    reached = np.linalg.norm(left, axis=1).max() / result.second.diameter.value
    assert (result.affine.supremum.low or 0.0) <= reached
    assert result.affine.supremum.high < 1e-6


@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-10])
def test_rounded_distances_prove_nothing(noise, rng):
    x = rng.laplace(size=(300, 4))
    y = x @ rotation(4, rng) + noise * rng.normal(size=x.shape)
    result = upto.compare(x, y, **FAST)
    assert result.defect.lower_bound <= result.rigid.in_sample.worst
    assert (result.rigid.supremum.low or 0.0) <= 0.995 * result.rigid.supremum.high


def test_errors_above_rounding_still_have_a_bound(rng):
    z = rng.normal(size=(300, 3))
    x, y = (z * [1e3, 1, 1]) @ rotation(3, rng), z + 1e-3 * rng.normal(size=z.shape)
    found = upto.compare(x, y, **FAST).affine.supremum
    assert found.low > 0.9 * found.high


@pytest.mark.parametrize("seed", range(4))
def test_one_row_is_enough_not_to_be_exact(seed):
    x = np.random.default_rng(seed).laplace(size=(200, 4))
    y = x.copy()
    y[7, 0] += 3
    result = upto.compare(x, y, **FAST)
    assert (result.up_to, result.exact) == (Group.IDENTITY, None)


def test_equal_runs_are_exactly_equal(rng):
    x = rng.laplace(size=(200, 4))
    assert upto.compare(x, x, **FAST).exact is Group.IDENTITY


def test_an_exact_part_is_exact_in_both_orders(rng):
    x = rng.laplace(size=(200, 4))
    for runs in ((x, x[:, :2]), (x[:, :2], x)):
        result = upto.compare(*runs, **FAST)
        assert (result.agreement, result.exact) == ("image", Group.SIGNED_PERMUTATION)


def test_without_a_tolerance_rounding_does_not_choose_the_group(rng):
    x = rng.laplace(size=(300, 4))
    result = upto.compare(x, 1.01 * x, tolerance=0.0, **FAST)
    assert result.up_to is result.exact is Group.SIGNED_SIMILARITY
    assert "exactly" not in result.verdict


@pytest.mark.parametrize("seed", range(3))
def test_no_verdict_contradicts_itself_about_a_far_row(seed):
    rng = np.random.default_rng(seed)
    x = rng.laplace(size=(300, 4))
    y = x.copy()
    y[7, 0] = 1e8
    result = upto.compare(x, y, seed=seed, **FAST)
    assert result.exact is None
    assert not ("unrelated" in result.verdict and "100% per direction" in result.verdict)
    assert "e+" not in result.verdict
    if result.shared is not None and result.shared.is_bijective:
        assert result.shared.variance_first == result.shared.variance_second == 1.0


@pytest.mark.parametrize("decades", [6, 7, 9])
@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_an_exact_rotation_is_found_however_narrow_directions_are(decades, scale, rng):
    x = rng.laplace(size=(300, 12)) * np.logspace(0, -decades, 12) @ rotation(12, rng)
    result = upto.compare(x, scale * x @ rotation(12, rng), **FAST)
    wanted = Group.RIGID if scale == 1.0 else Group.SIMILARITY
    assert (result.agreement, result.up_to, result.exact) == ("same", wanted, wanted)
    assert result.fit(wanted).supremum.low is None
    assert result.fit(wanted).in_sample.worst < 1e-12


def test_a_narrow_rotation_into_more_coordinates_is_found(rng):
    x = rng.laplace(size=(300, 6)) * np.logspace(0, -8, 6) @ rotation(6, rng)
    result = upto.compare(x, x @ rotation(10, rng)[:6], **FAST)
    assert result.rigid.in_sample.worst < 1e-12


@pytest.mark.parametrize("width", [20, 140])
@pytest.mark.parametrize("decades", [2, 4, 5, 7, 9])
@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-9, 1e-7])
@pytest.mark.parametrize("group", [Group.RIGID, Group.SIMILARITY])
def test_what_is_proved_is_true_of_rotations(width, decades, noise, group, rng):
    x = rng.laplace(size=(300, width)) * np.logspace(0, -decades, width) @ rotation(width, rng)
    turn = rotation(width, rng)
    y = x @ turn + noise * rng.normal(size=x.shape)
    start = fit_map(group, cross_moments(ThreadsEngine(), x, y))
    found = smallest_worst_error(group, x, y, start, max_iterations=3)
    left = y - x.astype(np.longdouble) @ turn.astype(np.longdouble)
    assert found.bound <= float(np.sqrt((left**2).sum(axis=1)).max())


@pytest.mark.parametrize(
    "group", [Group.SIGNED_PERMUTATION, Group.SIGNED_SIMILARITY, Group.SCALED_PERMUTATION]
)
@pytest.mark.parametrize("seed", range(4))
def test_columns_too_alike_to_be_told_apart_prove_nothing(group, seed):
    rng = np.random.default_rng(seed)
    x = np.repeat(rng.laplace(size=(100, 4)), 3, axis=1)
    x += 1e-9 * rng.normal(size=x.shape)
    y = x[:, rng.permutation(12)]
    start = fit_map(group, cross_moments(ThreadsEngine(), x, y))
    assert smallest_worst_error(group, x, y, start, max_iterations=3).bound == 0.0


@pytest.mark.parametrize(("noise", "exact"), [(1e-10, Group.RIGID), (1e-8, None)])
def test_exact_is_what_the_page_says(noise, exact, rng):
    """Errors below a billionth of those of the mean, which are about as large as the spread."""
    x = rng.laplace(size=(200, 4))
    y = x @ rotation(4, rng) + noise * rng.normal(size=x.shape)
    result = upto.compare(x, y, **FAST)
    assert (result.agreement, result.exact) == ("same", exact)


def test_small_errors_of_an_even_rotation_still_have_a_bound(rng):
    x = rng.laplace(size=(300, 5))
    y = x @ rotation(5, rng) + 1e-9 * rng.normal(size=x.shape)
    found = upto.compare(x, y, **FAST).rigid.supremum
    assert found.low > 0.9 * found.high
