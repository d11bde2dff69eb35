"""Near copies and memory: found where they are, and not where they are not."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal

from upto.engines import ThreadsEngine
from upto.evidence.memory import LONGEST, Memory
from upto.evidence.row_dependence import find_memory, find_near_copies
from upto.evidence.split import find_keys

ENGINE = ThreadsEngine(n_threads=1)


def near_copies(*runs):
    return find_near_copies(ENGINE, runs, find_keys(ENGINE, runs, 0))


def repeated(rng, each, jitter, n=600, d=5):
    base = np.repeat(rng.normal(size=(n // each, d)), each, axis=0)
    return base + jitter * rng.normal(size=base.shape)


@pytest.mark.parametrize("each", [2, 3, 5])
@pytest.mark.parametrize("jitter", [1e-9, 1e-3, 0.03])
def test_groups_of_near_copies_are_found_as_they_were_made(each, jitter, rng):
    x, y = (repeated(rng, each, jitter) for _ in range(2))
    found = near_copies(x, y)
    assert found.share > 0.9
    truth = np.repeat(np.arange(600 // each), each)
    same = found.units[:, None] == found.units
    assert (same == (truth[:, None] == truth)).mean() > 0.999


@pytest.mark.parametrize("jitter", [0.1, 0.15])
def test_rough_copies_are_told_by_the_gap_after_them(jitter):
    truth = np.repeat(np.arange(40), 5)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x, y = (repeated(rng, 5, jitter, n=200, d=4) for _ in range(2))
        found = near_copies(x, y)
        same = found.units[:, None] == found.units
        assert (same == (truth[:, None] == truth)).mean() > 0.99


def test_rows_close_in_one_run_only_are_no_copies(rng):
    assert near_copies(repeated(rng, 3, 1e-6), rng.normal(size=(600, 5))) is None


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.normal(size=(1000, 1)),
        lambda rng: rng.normal(size=(1000, 20)),
        lambda rng: rng.standard_cauchy(size=(1000, 4)),
        lambda rng: rng.lognormal(size=(1000, 3)),
        lambda rng: rng.poisson(1.0, (1000, 4)).astype(float),
        lambda rng: np.eye(5)[rng.integers(0, 5, 1000)] * 9 + rng.normal(size=(1000, 5)),
        lambda rng: np.c_[t := rng.uniform(0, 9, 1000), np.sin(t), np.cos(t)],
    ],
    ids=["line", "wide", "Cauchy", "lognormal", "counts", "clusters", "curve"],
)
def test_independent_rows_are_no_copies(draw, rng):
    rows = draw(rng)
    assert near_copies(rows, rows + 0.1 * rng.normal(size=rows.shape)) is None
    assert near_copies(rows) is None


def test_too_many_rows_to_sort_are_said(rng, monkeypatch):
    monkeypatch.setattr("upto.evidence.row_dependence.GROUPED", 500)
    assert near_copies(repeated(rng, 5, 1e-6)).units is None


@pytest.mark.parametrize("memory", [0.5, 0.9, 0.99])
def test_memory_is_measured(memory, rng):
    runs = [
        scipy.signal.lfilter([1], [1, -memory], rng.normal(size=(3000, 6)), axis=0)
        for _ in range(2)
    ]
    found = find_memory(ENGINE, runs)
    assert found.correlation == pytest.approx(memory, abs=0.05)
    assert found.lag == 1
    assert found.coefficients[0] == pytest.approx(memory, abs=0.1)
    assert np.abs(found.coefficients[1:]).max(initial=0.0) < 0.1
    assert find_memory(ENGINE, [runs[0], rng.normal(size=(3000, 6))]) is None
    order = rng.permutation(3000)
    assert find_memory(ENGINE, [run[order] for run in runs]) is None


@pytest.mark.parametrize(("memory", "lag"), [(-0.9, 1), (0.9, 7), (-0.6, 3), (0.95, 20)])
def test_memory_of_either_sign_and_at_any_lag_is_found(memory, lag, rng):
    runs = [
        scipy.signal.lfilter([1], [1, *[0] * (lag - 1), -memory], noise, axis=0)[500:]
        for noise in rng.normal(size=(2, 1000, 3))
    ]
    found = find_memory(ENGINE, runs)
    # Of a negative one, the square at twice the lag may come out larger by chance.
    assert found.lag % lag == 0
    new = found.what_is_new(runs[0])
    for back in range(1, 25):
        assert abs(np.mean(new[back:] * new[:-back])) < 0.15 * np.mean(new**2)
    assert new.var() < 1.2
    assert find_memory(ENGINE, [runs[0], rng.normal(size=(500, 3))]) is None


def test_what_is_new_in_a_walk_of_walks_is_its_noise(rng):
    noise = rng.normal(size=(400, 3))
    found = find_memory(ENGINE, [noise.cumsum(axis=0).cumsum(axis=0)])
    new = found.what_is_new(noise.cumsum(axis=0).cumsum(axis=0))
    correlation = np.corrcoef(new.ravel(), noise[found.order :].ravel())[0, 1]
    assert correlation > 0.95


@pytest.mark.parametrize("draw", ["normal", "standard_cauchy", "lognormal", "poisson", "sparse"])
def test_independent_rows_have_no_memory(draw):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        if draw == "sparse":
            rows = rng.normal(size=(300, 6)) * (rng.random((300, 6)) < 0.05)
        else:
            rows = getattr(rng, draw)(size=(300, 6)).astype(float)
        assert find_memory(ENGINE, [rows]) is None


def test_a_memory_fades_as_its_powers_do():
    assert Memory(correlation=0.9, coefficients=(0.9,)).fading == 29
    assert Memory(correlation=-0.9, coefficients=(-0.9,)).fading == 29
    assert Memory(correlation=0.5, coefficients=(0.0, 0.5), lag=2).fading == 9
    assert Memory(correlation=1.0, coefficients=(2.0, -1.0)).fading == LONGEST + 1


def test_what_is_new_needs_all_the_rows_before():
    memory = Memory(correlation=0.5, coefficients=(0.5, 0.25))
    rows = np.arange(5.0)[:, None]
    np.testing.assert_allclose(
        memory.what_is_new(rows)[:, 0], [2 - 0.5, 3 - 1 - 0.25, 4 - 1.5 - 0.5]
    )
    marked = np.array([True, False, True, True, True])
    assert memory.known_throughout(marked).tolist() == [False, False, True]


def test_sorted_classes_are_no_memory_where_they_are_known(rng):
    classes = np.sort(rng.integers(0, 8, 1000))
    rows = 5 * rng.normal(size=(8, 4))[classes] + rng.normal(size=(1000, 4))
    assert find_memory(ENGINE, [rows]).correlation > 0.5
    assert find_memory(ENGINE, [rows], classes=classes) is None


def test_copies_that_stand_together_are_no_memory(rng):
    rows = repeated(rng, 5, 0.0)
    units = np.repeat(np.arange(120), 5)
    assert find_memory(ENGINE, [rows]).correlation > 0.5
    assert find_memory(ENGINE, [rows], units=units) is None


def test_a_broad_direction_that_runs_share_makes_no_copies():
    # Where rows are few along it, their distances are its own: a line, and no copies beside it.
    for seed in range(5):
        rng = np.random.default_rng(seed)
        first, second = rng.normal(size=(2, 1000, 32))
        first[:, 0] = second[:, 0] = 30 * rng.normal(size=1000)
        assert near_copies(first, second) is None


def test_sparse_rows_have_no_copies_by_their_zeros():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(500, 32)) * (rng.random((500, 32)) < 0.1)
        assert near_copies(rows, rows + 0.0) is None


def test_few_copies_link_few_rows():
    # Far rows of a Cauchy distribution lie along its axes, and some of them close to each other.
    for seed in range(6):
        found = near_copies(np.random.default_rng(seed).standard_cauchy(size=(1000, 16)))
        assert found is None or found.units.max() + 1 > 800
