"""Adjusted scores of codes that know nothing of the factors."""

from __future__ import annotations

import numpy as np
import pytest

from upto.disentanglement.info_scores import infomec

pytestmark = pytest.mark.slow

LAYOUTS = {
    "shapes": ((10, 10, 10, 8, 4, 15), 12),
    "few": ((4, 8, 10), 6),
    "two": ((2, 3), 20),
}
MOST = 0.02


def labels(rng, n_samples, counts, rare):
    if not rare:
        return np.column_stack([rng.integers(count, size=n_samples) for count in counts])
    # Of three values, two are on a twentieth of the rows each.
    return rng.choice(3, p=(0.9, 0.05, 0.05), size=(n_samples, len(counts)))


def drawn_codes(rng, kind, shape):
    if kind == "normal":
        return rng.normal(size=shape)
    if kind == "heavy tails":
        return rng.standard_t(1, size=shape)
    if kind == "unequal scales":
        return rng.uniform(size=shape) * np.geomspace(1.0, 0.1, shape[1])
    return rng.integers(10, size=shape).astype(np.float64)


def scores(codes, factors, **more):
    found = infomec(codes, factors, **more)
    return [each.value for each in (found.modularity, found.explicitness, found.compactness)]


@pytest.mark.parametrize("rare", [False, True])
@pytest.mark.parametrize("kind", ["normal", "heavy tails", "unequal scales", "tied"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("n_samples", "seeds"), [(1_000, 4), (3_000, 2), (10_000, 1)])
def test_noise_scores_next_to_nothing(n_samples, seeds, layout, kind, rare):
    counts, width = LAYOUTS[layout]
    for seed in range(seeds):
        rng = np.random.default_rng([seed, n_samples, width])
        factors = labels(rng, n_samples, counts, rare)
        codes = drawn_codes(rng, kind, (n_samples, width))
        assert max(scores(codes, factors, seed=seed)) <= MOST


@pytest.mark.parametrize("n_samples", [1_000, 10_000])
def test_discrete_noise_scores_next_to_nothing(n_samples):
    rng = np.random.default_rng(n_samples)
    factors = labels(rng, n_samples, (10, 10, 10, 8, 4, 15), rare=False)
    codes = rng.integers(10, size=(n_samples, 12))
    assert max(scores(codes, factors, discrete_codes=True)) <= MOST


@pytest.mark.parametrize("n_samples", [200, 500])
@pytest.mark.parametrize("kind", ["normal", "tied", "discrete", "two values"])
@pytest.mark.parametrize("rare", [False, True])
def test_noise_of_few_rows_scores_next_to_nothing_or_has_no_score(n_samples, kind, rare):
    # Few rows of two values or of a rare label: chance has a long tail.
    for seed in range(6):
        rng = np.random.default_rng([seed, n_samples, rare])
        factors = labels(rng, n_samples, (2, 2, 3, 7), rare)
        codes = drawn_codes(rng, kind, (n_samples, 20))
        if kind == "two values":
            codes = codes < 3
        discrete_codes = kind in ("discrete", "two values")
        found = scores(codes, factors, discrete_codes=discrete_codes, seed=seed)
        assert max(value for value in found if value is not None) <= MOST


def test_noise_scores_next_to_nothing_of_numbers():
    rng = np.random.default_rng(0)
    found = scores(rng.normal(size=(1_000, 6)), rng.uniform(size=(1_000, 3)), continuous=True)
    assert max(found) <= MOST
