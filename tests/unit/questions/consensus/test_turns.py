"""Coordinates that are matched as they are have to agree better than turned ones would."""

from __future__ import annotations

import numpy as np
import pytest

from upto import consensus
from upto.alignment.consensus import Scatters, synchronise
from upto.questions.consensus.turns import cannot_turn, match_cosines, turned_limit


def rotation(rng, width):
    return np.linalg.qr(rng.normal(size=(width, width)))[0]


def correlations_of(runs):
    unit = [(run - run.mean(axis=0)) / run.std(axis=0) / np.sqrt(len(run)) for run in runs]
    pairs = [(i, j) for i in range(len(runs)) for j in range(i + 1, len(runs))]
    return Scatters(
        own=tuple(run.T @ run for run in unit),
        cross={(i, j): unit[i].T @ unit[j] for i, j in pairs},
    )


def held(runs):
    found = correlations_of(runs)
    deviations = [run.std(axis=0) for run in runs]
    return cannot_turn(found, synchronise(found).elements, deviations, seed=0)


def permuted(rng, *, width, noise, n_runs=3, n_rows=1500):
    rows = rng.laplace(size=(n_rows, width)) / np.sqrt(2)
    return [
        (rows + noise * rng.normal(size=rows.shape))[:, rng.permutation(width)]
        * rng.choice([-1.0, 1.0], width)
        for _ in range(n_runs)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("width", [3, 8])
@pytest.mark.parametrize("n_runs", [2, 3])
def test_turned_coordinates_appear_in_no_run(width, n_runs):
    """They did in nearly all: the best matching of random bases correlates by more than half."""
    rng = np.random.default_rng(0)
    n_appearing = 0
    for _ in range(2):
        rows = rng.laplace(size=(800, width))
        runs = [rows @ rotation(rng, width) for _ in range(n_runs)]
        result = consensus(*runs, up_to="signed-permutation", permutations=19)
        n_appearing += sum(run.n_appearing for run in result.runs)
    assert n_appearing <= 0.25 * 2 * width * n_runs
    assert "so do randomly rotated" in result.verdict


def test_turned_runs_of_a_falling_spectrum_share_no_coordinates():
    """All coordinates lean to the widest directions, and so to each other."""
    rng = np.random.default_rng(0)
    n_held = 0
    for _ in range(4):
        rows = rng.laplace(size=(1500, 12)) * 0.6 ** np.arange(12)
        n_held += held([rows @ rotation(rng, 12) for _ in range(3)]).sum()
    assert n_held <= 0.05 * 4 * 36


@pytest.mark.parametrize(("width", "noise"), [(3, 0.3), (4, 0.7), (8, 1.0), (24, 1.0)])
def test_permuted_coordinates_are_held_however_noisy_they_are(width, noise):
    runs = permuted(np.random.default_rng(1), width=width, noise=noise)
    assert held(runs).all()


def test_in_the_plane_only_coordinates_that_hardly_differ_are_told_from_turned_ones(rng):
    assert held(permuted(rng, width=2, noise=0.0)).all()
    first, _ = permuted(rng, width=2, noise=0.0, n_runs=2)
    turn = np.deg2rad(10)
    turned = first @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    assert not held([first, turned]).any()


def test_noise_leaves_the_cosine_of_a_match_as_it_is(rng):
    runs = permuted(rng, width=5, noise=1.0, n_rows=6000)
    found = correlations_of(runs)
    cosines = match_cosines(found, synchronise(found).elements)
    assert cosines.min() > 0.99
    assert cosines.max() <= 1 + 1e-9


def test_one_coordinate_cannot_turn(rng):
    assert held(permuted(rng, width=1, noise=0.5, n_rows=200)).all()


def test_narrower_runs_have_no_cosine_where_they_have_no_coordinate(rng):
    wide, narrow, other = permuted(rng, width=6, noise=0.1)
    runs = [wide, narrow[:, :4], other]
    found = correlations_of(runs)
    cosines = match_cosines(found, synchronise(found).elements)
    assert np.isnan(cosines).sum(axis=1).tolist() == [0, 2, 0]
    np.testing.assert_array_equal(held(runs), np.isfinite(cosines))


def test_coordinates_that_repeat_another_or_never_meet_are_no_error(rng):
    (first,) = permuted(rng, width=3, noise=0.0, n_runs=1)
    twice = np.hstack([first, first[:, :1]])
    assert np.isfinite(turned_limit(correlations_of([twice, twice]), [np.ones(4)] * 2, 0))
    strange = rng.laplace(size=first.shape)
    assert not held([first, strange]).all()


def test_the_limit_does_not_depend_on_the_order_of_runs(rng):
    runs = permuted(rng, width=6, noise=0.2)
    runs[0] = runs[0] @ rotation(rng, 6)
    limits = [
        turned_limit(correlations_of(each), [np.ones(6)] * 3, 0) for each in (runs, runs[::-1])
    ]
    assert limits[0] == pytest.approx(limits[1], abs=1e-6)
