"""Which rows are held out: as many as asked for, whole units, whatever the order."""

from __future__ import annotations

import numpy as np
import pytest

from upto.engines import ThreadsEngine
from upto.evidence.memory import Memory
from upto.evidence.split import find_keys, hold_out, split_rows

ENGINE = ThreadsEngine(n_threads=1)


def shares(rows, held_out=0.2):
    return split_rows(ENGINE, [rows], held_out, 0).parts.mean()


@pytest.mark.parametrize("rate", [0.05, 0.2, 1.0])
def test_counts_are_held_out_as_asked_for(rate, rng):
    counts = rng.poisson(rate, (20_000, 5)) @ rng.normal(size=(5, 5))
    assert shares(counts) == pytest.approx(0.2, abs=1e-4)


@pytest.mark.parametrize("draw", ["bits", "three values", "one-hot"])
def test_codes_are_held_out_as_asked_for(draw, rng):
    rows = {
        "bits": (rng.random((5000, 5)) < 0.1).astype(float),
        "three values": rng.integers(0, 3, (5000, 5)).astype(float),
        "one-hot": np.eye(4)[rng.integers(0, 4, 5000)],
    }[draw]
    split = split_rows(ENGINE, [rows], 0.3, 0)
    assert split.parts.mean() == pytest.approx(0.3, abs=1e-3)
    assert split.n_duplicates == 0
    # Both sides hold the common values, about as often.
    held, kept = rows[split.parts == 1], rows[split.parts == 0]
    np.testing.assert_allclose(held.mean(axis=0), kept.mean(axis=0), atol=0.05)


@pytest.mark.parametrize("copies", [2, 4])
def test_copies_of_continuous_rows_stay_together(copies, rng):
    rows = np.repeat(rng.normal(size=(200, 3)), copies, axis=0)
    split = split_rows(ENGINE, [rows], 0.3, 0)
    assert split.n_duplicates == 200 * (copies - 1)
    assert (split.parts.reshape(200, copies) == split.parts[::copies, None]).all()
    assert len(split.distinct_held_out(1000)) == split.n_held_out // copies


def test_one_row_that_is_padded_everywhere_is_a_copy(rng):
    rows = rng.normal(size=(1000, 3))
    rows[:100] = 0
    split = split_rows(ENGINE, [rows], 0.3, 0)
    assert len(set(split.parts[:100])) == 1
    assert split.parts.mean() == pytest.approx(0.3, abs=0.01)


def test_the_order_of_rows_decides_nothing(rng):
    rows = rng.normal(size=(300, 4))
    order = rng.permutation(300)
    one, other = (split_rows(ENGINE, [each], 0.3, 0) for each in (rows, rows[order]))
    np.testing.assert_array_equal(one.parts[order], other.parts)


def test_equal_codes_fall_on_both_sides_in_every_order(rng):
    rows = rng.integers(0, 2, (1000, 2)).astype(float)
    order = rng.permutation(1000)
    for each in (rows, rows[order]):
        held = each[split_rows(ENGINE, [each], 0.3, 0).parts == 1]
        _, counts = np.unique(held, axis=0, return_counts=True)
        assert counts.sum() == 300
        assert len(counts) == 4


@pytest.mark.parametrize("sizes", [[500, 500], [900, 50, 50], [1] * 1000, [10] * 100, [300] * 3])
def test_whole_groups_come_as_close_to_the_share_as_they_can(sizes, rng):
    units = np.repeat(np.arange(len(sizes)), sizes)
    found = find_keys(ENGINE, [rng.normal(size=(len(units), 2))], 0)
    split = hold_out(found, 0.3, units=units)
    for unit in range(len(sizes)):
        assert len(set(split.parts[units == unit])) == 1
    assert 0 < split.n_held_out < len(units)
    if max(sizes) <= 10:
        assert split.parts.mean() == pytest.approx(0.3, abs=0.01)


def test_rows_with_memory_are_held_out_as_one_stretch(rng):
    found = find_keys(ENGINE, [rng.normal(size=(400, 2))], 0)
    split = hold_out(found, 0.25, memory=Memory(correlation=0.8, coefficients=(0.8,)), seed=3)
    held = np.flatnonzero(split.parts == 1)
    assert len(held) == 100
    assert (np.diff(held) == 1).all()
    tested = split.distinct_held_out(1000)
    assert (np.diff(tested) == 1).all()
    assert tested[0] > held[0]
    assert tested[-1] < held[-1]


@pytest.mark.parametrize("n_copies", [0, 1, 200])
def test_rows_are_in_the_order_of_their_keys_and_equal_ones_together(n_copies, rng):
    rows = rng.normal(size=(400, 2))
    rows[:n_copies] = rows[200 : 200 + n_copies]
    found = find_keys(ENGINE, [rows], 0)
    assert sorted(found.order) == list(range(400))
    assert found.copied
    ordered = found.equal[found.order]
    np.testing.assert_array_equal(np.unique(ordered), np.arange(400 - n_copies))
    assert (np.diff(ordered) >= 0).all()
    for first, second in ((0, 200), (n_copies - 1, 199 + n_copies)) if n_copies else ():
        assert found.equal[first] == found.equal[second]
