"""Restarts and bootstraps: many at once give what each gives alone, and say what is stable."""

from __future__ import annotations

import numpy as np
import pytest
from mixtures import amari, mixed, planted, some_gaussian

from upto import ICA, ThreadsEngine
from upto.ica import bootstrapped, find_components, restarts, stability_of
from upto.ica.components import pose, whitening_for
from upto.ica.contrasts import LogCosh
from upto.ica.restarts import random_starts, restart_many

ENGINE = ThreadsEngine(n_threads=1)
STABLE, UNSTABLE = 0.9, 0.8


def posed(rows):
    whitening = whitening_for(ENGINE, rows, None)
    return pose(ENGINE, rows, whitening, LogCosh()), whitening


@pytest.mark.parametrize("columns", [8, 20, 1024], ids=["two at once", "five", "all"])
def test_restarts_together_are_the_restarts_alone(columns, monkeypatch, rng):
    monkeypatch.setattr(restarts, "COLUMNS", columns)
    _, rows = mixed(rng, 800)
    problem, whitening = posed(rows)
    starts = random_starts(whitening, 7, seed=0)
    together, contrasts, converged = restart_many(problem, starts, tolerance=1e-8)
    assert converged.all()
    for start, rotation, contrast in zip(starts, together, contrasts, strict=True):
        (alone,), (value,), _ = restart_many(problem, [start], tolerance=1e-8)
        np.testing.assert_allclose(rotation, alone, atol=1e-9)
        np.testing.assert_allclose(contrast, value, rtol=1e-9)


def test_restarts_differ_and_follow_their_seed(rng):
    _, whitening = posed(mixed(rng, 500)[1])
    first, again = (random_starts(whitening, 3, seed=1) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first[0] - first[1]).max() > 0.1
    assert np.abs(first[0] - random_starts(whitening, 3, seed=2)[0]).max() > 0.1


def test_a_limit_of_steps_ends_restarts(rng):
    problem, whitening = posed(mixed(rng, 500)[1])
    found, _, converged = restart_many(
        problem, random_starts(whitening, 3, 0), tolerance=1e-14, max_iterations=2
    )
    assert len(found) == 3
    assert not converged.any()


def test_restarts_tell_of_the_best_rotation_so_far(rng):
    problem, whitening = posed(mixed(rng, 800)[1])
    seen = []
    _, contrasts, _ = restart_many(
        problem,
        random_starts(whitening, 4, 0),
        tolerance=1e-8,
        listener=lambda step, rotation: seen.append((step, rotation)),
    )
    steps = [step for step, _ in seen]
    assert [step.iteration for step in steps] == list(range(1, len(steps) + 1))
    assert max(step.contrast for step in steps) >= max(contrasts) - 1e-12
    for step, rotation in seen[:: len(seen) // 2]:
        (point,) = problem.evaluate([rotation])
        assert point.contrast == pytest.approx(step.contrast)


@pytest.mark.parametrize("seed", range(3))
def test_separate_sources_are_found_from_every_start(seed):
    _, rows = mixed(np.random.default_rng(seed), 3000, some_gaussian(3, 7))
    ica = ICA(restarts=5, random_state=seed).fit(rows)
    assert ica.stability_[:4].min() > STABLE


def test_one_start_has_no_stability(rng):
    assert ICA(random_state=0).fit(mixed(rng, 500)[1]).stability_ is None


def test_several_starts_give_the_components_of_one(rng):
    _, rows = mixed(rng, 2000)
    one = ICA(random_state=0, tolerance=1e-8).fit(rows)
    many = ICA(random_state=0, tolerance=1e-8, restarts=5).fit(rows)
    np.testing.assert_allclose(many.components_, one.components_, atol=1e-6)
    np.testing.assert_allclose(many.stability_, 1.0, atol=1e-6)
    assert many.n_iter_ <= 1


def test_the_index_is_the_likeness_within_less_the_likeness_between():
    """Icasso's Iq, worked out by hand for components of white rows."""
    reference = np.eye(3)
    turn = np.array([[0.8, 0.6, 0.0], [-0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
    unmixing = type("Found", (), {"components": reference, "mixing": np.eye(3)})
    stability = stability_of(unmixing, [turn[[2, 0, 1]] * [[-1], [1], [-1]]])
    # Clusters of two: likeness 0.8 within; between the first two 0, 0.6, 0.6 and 0.
    np.testing.assert_allclose(stability.index[:2], 0.8 - (0.6 + 0.6) / 8, atol=1e-12)
    np.testing.assert_allclose(stability.index[2], 1.0, atol=1e-12)
    np.testing.assert_allclose(stability.similarity, [[0.8, 0.8, 1.0]], atol=1e-12)


def test_order_and_signs_of_repetitions_do_not_matter(rng):
    _, rows = mixed(rng, 1000)
    found = find_components(ENGINE, rows)
    wanted = stability_of(found, [found.components] * 3)
    shuffled = [found.components[rng.permutation(4)] * rng.choice([-1.0, 1.0], (4, 1)) * 3.0]
    np.testing.assert_allclose(stability_of(found, shuffled * 3).index, wanted.index, atol=1e-9)
    np.testing.assert_allclose(wanted.index, 1.0, atol=1e-9)


def test_a_single_component_is_stable(rng):
    rows = rng.laplace(size=(300, 1))
    np.testing.assert_allclose(ICA(restarts=3, random_state=0).fit(rows).stability_, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_resampled_rows_have_the_same_sources_but_not_the_same_gaussian_axes(seed):
    """Every start may end at the axes a sample happens to prefer; another sample has others."""
    _, rows = mixed(np.random.default_rng(seed), 2000, some_gaussian(5, 8))
    found = find_components(ENGINE, rows)
    again = bootstrapped(ENGINE, rows, found, LogCosh(), bootstraps=6, seed=seed, tolerance=1e-5)
    assert len(again) == 6
    index = stability_of(found, again).index
    assert index[:3].min() > STABLE
    assert index[3:].max() < UNSTABLE
    for components in again:
        assert amari(components[:3], found.components[:3]) > 1e-4


def test_bootstraps_follow_their_seed(rng):
    rows = planted(rng, 400)
    found = find_components(ENGINE, rows)
    options = {"bootstraps": 2, "tolerance": 1e-6}
    first, again, other = (
        bootstrapped(ENGINE, rows, found, LogCosh(), seed=seed, **options) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert np.abs(first[0] - first[1]).max() > 1e-4
    assert np.abs(first[0] - other[0]).max() > 1e-4
