"""Adjusted scores: what tells is active, no row count and no scale decides, noise is zero."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from upto.disentanglement import (
    beta_vae_score,
    dcimig,
    evaluate_scores,
    explicitness,
    factor_vae_score,
    infomec,
    mig,
)

ADJUSTED = ("infomec@adjusted", "mig@adjusted", "mig-sup@adjusted", "dcimig@adjusted")
BARE = {"refits": 0, "half_samples": 0}
DRAWN = {"fitted": 300, "scored": 200}


def perfect(n_rows=600, seed=0):
    rng = np.random.default_rng(seed)
    factors = np.column_stack([rng.integers(count, size=n_rows) for count in (4, 6, 8)])
    return factors + 0.01 * rng.normal(size=factors.shape), factors


@pytest.mark.parametrize("width", [10.0, 50.0, 1e9])
def test_a_latent_of_noise_of_any_width_takes_nothing_from_perfect_latents(width):
    codes, factors = perfect()
    noise = width * np.random.default_rng(1).normal(size=(len(codes), 1))
    found = infomec(np.hstack([codes, noise]), factors)
    assert list(found.active) == [True, True, True, False]
    assert found.modularity.value > 0.98
    assert found.compactness.value > 0.98
    assert all(part > 0.98 for part in found.compactness.per_factor)


@pytest.mark.parametrize("scale", [0.001, 50.0])
def test_a_latent_of_another_scale_counts_like_the_others(scale):
    codes, factors = perfect()
    found = infomec(codes * [1.0, scale, 1.0], factors)
    assert found.active.all()
    assert found.compactness.value > 0.98
    # Their authors look at ranges.
    assert infomec(codes * [1.0, 50.0, 1.0], factors, variant="tripod").active.sum() == 1


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.integers(min_value=-8, max_value=8), min_size=4, max_size=4),
    st.booleans(),
)
def test_adjusted_scores_do_not_see_the_scales_of_latents(powers, continuous):
    codes, factors = perfect(n_rows=150, seed=3)
    rng = np.random.default_rng(4)
    codes = np.hstack([codes @ rng.normal(size=(3, 3)), rng.normal(size=(150, 1))])
    settings_ = {"scores": ADJUSTED, "continuous": continuous, **BARE}
    before = evaluate_scores(codes, factors, **settings_)
    after = evaluate_scores(codes * 2.0 ** np.array(powers), factors, **settings_)
    for one, other in zip(before, after, strict=True):
        assert one.value is not None, one.name
        assert other.score.value == pytest.approx(one.score.value, abs=1e-9), one.name


def test_what_rounding_leaves_of_a_constant_latent_is_not_active():
    codes, factors = perfect()
    left = 1.0 + 1e-12 * factors[:, :1]
    assert list(infomec(np.hstack([codes, left]), factors).active) == [True, True, True, False]


@pytest.mark.parametrize("score", [mig, dcimig])
def test_continuous_factors_score_the_same_whatever_the_number_of_rows(score):
    values = []
    for n_rows in (200, 800, 5000):
        rng = np.random.default_rng(n_rows)
        factors = rng.uniform(size=(n_rows, 2))
        codes = factors + 0.01 * rng.normal(size=factors.shape)
        values.append(score(codes, factors, variant="adjusted", continuous=True).value)
    assert min(values) > 0.98
    assert np.ptp(values) < 0.01


def test_the_share_of_a_number_is_the_r2_of_a_gaussian_one():
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(4000, 1))
    for r2 in (0.2, 0.5, 0.8, 0.95):
        codes = np.sqrt(r2) * factors + np.sqrt(1 - r2) * rng.normal(size=factors.shape)
        found = infomec(codes, factors, continuous=True).shares
        assert found.item() == pytest.approx(r2, abs=0.06)


def test_few_rows_do_not_raise_the_modularity_of_a_rotation():
    values = []
    for n_rows in (1000, 6000):
        rng = np.random.default_rng(n_rows)
        factors = rng.uniform(size=(n_rows, 2))
        turn = np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])
        values.append(infomec(factors @ turn, factors, continuous=True).modularity.value)
    assert values[0] == pytest.approx(values[1], abs=0.05)


@pytest.mark.parametrize("score", [beta_vae_score, factor_vae_score])
def test_from_chance_noise_scores_zero_on_average(score):
    found = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        noise, factors = rng.normal(size=(110, 4)), rng.integers(4, size=(110, 3))
        found.append(score(noise, factors, from_chance=True, seed=seed, **DRAWN).value)
    values = [value for value in found if value is not None]
    assert len(values) >= 4
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    assert abs(np.mean(values)) < 3 * error
    assert np.max(np.abs(values)) < 0.3


@pytest.mark.parametrize("score", [beta_vae_score, factor_vae_score])
def test_from_chance_is_not_told_of_few_rows(score):
    rng = np.random.default_rng(0)
    noise, factors = rng.normal(size=(60, 5)), rng.integers(4, size=(60, 2))
    found = score(noise, factors, variant="robust", from_chance=True, **DRAWN)
    assert found.value is None
    assert "rows are too few to distinguish the score from chance" in found.says


def test_rare_numbers_are_a_step_of_their_own():
    rng = np.random.default_rng(0)
    factor = np.where(rng.random(1000) < 0.05, rng.uniform(1, 2, size=1000), 0.0)
    codes = np.column_stack([factor, rng.normal(size=1000)])
    found = mig(codes, factor[:, None], variant="adjusted", continuous=True)
    assert found.value > 0.9


def test_a_factor_of_many_classes_is_predicted_as_well_as_one_of_few():
    labels = np.arange(1200) % 300
    rng = np.random.default_rng(0)
    turns = 2 * np.pi * labels / 300
    codes = np.column_stack([np.cos(turns), np.sin(turns)]) + 1e-4 * rng.normal(size=(1200, 2))
    assert explicitness(codes, labels[:, None], adjusted=True).value > 0.99


@pytest.mark.parametrize(("n_rows", "degrees"), [(60, 40), (200, 30), (100, 20)])
def test_what_few_rows_cannot_tell_from_chance_widens_ratios(n_rows, degrees):
    rng = np.random.default_rng(0)
    factors = rng.uniform(-1, 1, size=(n_rows, 2))
    turn = np.radians(degrees)
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    (found,) = evaluate_scores(
        factors @ rotation,
        factors,
        scores="infomec/modularity@adjusted",
        continuous=True,
        refits=0,
        half_samples=20,
    )
    # Half of it is lost with many rows; few do not tell it from none.
    assert found.value.value > 0.9
    assert found.value.low < 0.7


def test_many_rows_are_sure_of_good_codes(rng):
    factors = rng.uniform(-1, 1, size=(5000, 2))
    codes = factors + 0.01 * rng.normal(size=factors.shape)
    found = infomec(codes, factors, continuous=True)
    assert 0.8 < found.modularity.least < found.modularity.value
    assert 0.8 < found.compactness.least < found.compactness.value
    assert infomec(codes, factors, variant="tripod", continuous=True).modularity.least is None
