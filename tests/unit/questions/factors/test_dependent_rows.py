"""Latents against factors on rows that depend on each other, and on rows that only seem to."""

import numpy as np
import pytest

import upto

QUICK = {"scores": "gaussian-tc", "forms": "raw", "half_samples": 0}
LEADS = "Rows depend on each other: chance levels and p-values assume independent rows"


def found_of(latents, factors):
    found = upto.factors(latents, factors, **QUICK)
    codes = {finding.code for finding in found.findings}
    return codes & {"UP036", "UP037"}, found.verdict


@pytest.fixture
def copies(rng):
    """Return forty samples, each ten times with a little noise, in a random order."""
    sample, order = np.repeat(np.arange(40), 10), rng.permutation(400)
    latents = rng.normal(size=(40, 3))[sample] + 0.05 * rng.normal(size=(400, 3))
    return sample[order], latents[order]


def test_near_copies_with_the_same_labels_are_said_first(rng, copies):
    sample, latents = copies
    labels = rng.integers(4, size=(40, 2))[sample].astype(str)
    codes, verdict = found_of(latents, {"a": labels[:, 0], "b": labels[:, 1]})
    assert codes == {"UP037"}
    assert verdict.startswith(LEADS)


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_near_copies_with_the_same_numbers_are_said_first(rng, copies, noise):
    sample, latents = copies
    numbers = rng.normal(size=(40, 2))[sample] + noise * rng.normal(size=(400, 2))
    codes, verdict = found_of(latents, numbers)
    assert codes == {"UP037"}
    assert verdict.startswith(LEADS)


def test_copies_with_labels_of_their_own_are_none(rng, copies):
    labels = rng.integers(4, size=(400, 2)).astype(str)
    assert found_of(copies[1], {"a": labels[:, 0], "b": labels[:, 1]})[0] == set()


def test_walks_are_said_to_follow_their_past(rng):
    walks = np.cumsum(rng.normal(size=(400, 5)), axis=0)
    codes, verdict = found_of(walks[:, :3], walks[:, 3:])
    assert codes == {"UP036"}
    assert verdict.startswith(LEADS)
    steps = np.diff(walks, axis=0)
    assert found_of(steps[:, :3], steps[:, 3:])[0] == set()


def test_a_sorted_grid_is_no_dependence(rng):
    steps = np.arange(8)
    grid = np.repeat(np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2), 10, axis=0)
    curved = np.column_stack([np.tanh(grid[:, 0] / 3 - 1), grid[:, 1] ** 2.0])
    factors = {"x": grid[:, 0] / 2, "y": grid[:, 1] / 2}
    for noise in (0.0, 0.01, 0.25):
        latents = curved + noise * rng.normal(size=curved.shape)
        assert found_of(latents, factors)[0] == set()


def test_rows_that_were_sorted_by_a_factor_are_no_dependence(rng):
    value = np.sort(rng.uniform(size=(400, 1)), axis=0)
    latents = value @ [[1.0, 0.5]] + 0.1 * rng.normal(size=(400, 2))
    assert found_of(latents, {"x": value[:, 0]})[0] == set()
    digit = np.sort(rng.integers(10, size=500))
    clusters = rng.normal(size=(10, 5))[digit] + 0.3 * rng.normal(size=(500, 5))
    assert found_of(clusters, {"digit": digit})[0] == set()
