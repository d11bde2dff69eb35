"""Scores of held factors: closed forms, what must not change them, what must not break them."""

from __future__ import annotations

import numpy as np
import pytest

from upto.core import InputError
from upto.disentanglement.interventions import beta_vae_score, factor_vae_score
from upto.disentanglement.stability import irs_score

DRAWN = {"batch": 16, "fitted": 400, "scored": 400}
BOTH = pytest.mark.parametrize("score", [beta_vae_score, factor_vae_score])

pytestmark = pytest.mark.slow


def grid():
    factors = np.indices((4, 5, 6)).reshape(3, -1).T
    return factors.astype(float), factors


def noisy(seed=0):
    codes, factors = grid()
    rng = np.random.default_rng(seed)
    return codes @ np.linalg.qr(rng.normal(size=(3, 3)))[0] + rng.normal(size=codes.shape), factors


@BOTH
@pytest.mark.parametrize("variant", ["disentanglement_lib", "robust"])
def test_factors_themselves_score_one(score, variant):
    codes, factors = grid()
    found = score(codes, factors, variant=variant, **DRAWN)
    assert found.value == pytest.approx(1.0, abs=0.01)
    assert found.per_factor == pytest.approx([1.0, 1.0, 1.0], abs=0.03)
    found = score(codes, factors, variant=variant, from_chance=True, **DRAWN)
    assert found.value == pytest.approx(1.0, abs=0.02)


@BOTH
def test_noise_is_a_guess(score):
    factors = grid()[1]
    codes = np.random.default_rng(0).normal(size=(len(factors), 4))
    # Without any relation, a batch of rows tells nothing; few rows are told by their own mean.
    codes = np.tile(codes, (20, 1))[np.random.default_rng(1).permutation(20 * len(factors))]
    factors = np.tile(factors, (20, 1))
    found = score(codes, factors, variant="robust", from_chance=True, **DRAWN)
    assert found.value == pytest.approx(0.0, abs=0.12)
    assert score(codes, factors, variant="robust", **DRAWN).value == pytest.approx(1 / 3, abs=0.08)


@BOTH
def test_order_sign_scale_and_offset_of_codes_do_not_count(score):
    codes, factors = noisy()
    expected = score(codes, factors, variant="robust", **DRAWN)
    assert 0.4 < expected.value < 0.99
    found = score(5 - codes[:, ::-1] * [3.0, 40.0, 0.001], factors, variant="robust", **DRAWN)
    assert found.per_factor == pytest.approx(expected.per_factor, abs=0.01)


@BOTH
def test_a_dead_code_changes_nothing_and_is_told(score):
    codes, factors = noisy()
    found = score(np.insert(codes, 1, 0.1, axis=1), factors, **DRAWN)
    assert found.per_factor == pytest.approx(score(codes, factors, **DRAWN).per_factor, abs=0.01)
    assert found.says == "code 2 is constant."


@BOTH
def test_pairs_are_drawn_from_labelled_rows_only(score):
    codes, factors = grid()
    lacking = factors.astype(object)
    hidden = np.arange(len(codes)) % 3 == 0
    lacking[hidden] = None
    codes[hidden] = np.random.default_rng(0).normal(size=(hidden.sum(), 3), scale=2)
    assert score(codes, lacking, **DRAWN).value > 0.99
    assert score(codes, factors, **DRAWN).value < 0.99


@BOTH
def test_one_factor_that_can_be_held_is_not_enough(score):
    codes, factors = grid()
    factors = np.column_stack([factors[:, 0], np.zeros(len(codes)), np.arange(len(codes))])
    found = score(codes, factors, **DRAWN)
    assert found.value is None
    assert found.says == (
        "factor 2 has one value; factor 3 has no repeated value; "
        "two factors are needed and there are 1."
    )


@BOTH
def test_numbers_are_held_in_bins_and_discrete_codes_differ_or_do_not(score):
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(1500, 2))
    found = score(factors, factors, continuous=True, **DRAWN)
    assert found.value > 0.97
    codes, factors = grid()
    shuffled = np.array([3, 5, 0, 1, 4, 2])[codes.astype(int)]
    assert score(shuffled, factors, discrete_codes=True, **DRAWN).value > 0.98


@BOTH
def test_one_outlier_does_not_count_in_the_robust_variant(score):
    codes, factors = (np.tile(each, (5, 1)) for each in grid())
    codes[0, 0] = 1e4
    assert score(codes, factors, variant="robust", **DRAWN).value > 0.95


@BOTH
def test_the_seed_decides(score):
    codes, factors = noisy()
    assert score(codes, factors, seed=1, **DRAWN) == score(codes, factors, seed=1, **DRAWN)
    with pytest.raises(InputError, match="batch size is 1"):
        score(codes, factors, batch=1)


def test_a_factor_is_held_at_each_of_its_values():
    codes, factors = grid()
    noise = np.random.default_rng(0).normal(size=len(codes))
    codes[:, 0] = np.where(factors[:, 0] == 0, 0.0, noise)
    found = factor_vae_score(codes, factors, **DRAWN)
    # The first code is still at one of four values; at the others any code may vary least.
    assert 0.15 < found.per_factor[0] < 0.65
    assert found.per_factor[1:] == pytest.approx([1.0, 1.0], abs=0.02)


def test_codes_that_never_vary_have_no_vote():
    codes, factors = grid()
    found = factor_vae_score(np.ones_like(codes), factors, **DRAWN)
    assert found.value == 0.0
    assert "no code varies enough to vote" in found.says
    assert factor_vae_score(0.01 * codes, factors, **DRAWN).value == 0.0
    assert factor_vae_score(0.01 * codes, factors, variant="robust", **DRAWN).value > 0.99


@pytest.mark.parametrize("variant", ["disentanglement_lib", "robust"])
def test_a_code_that_its_factor_decides_is_robust(variant):
    codes, factors = grid()
    found = irs_score(codes, factors, variant=variant)
    assert found.score.per_code == pytest.approx([1.0, 1.0, 1.0], abs=1e-12)
    assert np.diag(found.matrix) == pytest.approx(np.ones(3), abs=1e-12)


def test_irs_is_that_of_the_formula():
    # Held at either value of the factor, the code is still 1 from its mean; overall it is 3.
    codes = np.array([-3.0, -1.0, 1.0, 3.0])[:, None]
    factors = np.array(["a", "a", "b", "b"])[:, None]
    assert irs_score(codes, factors, quantile=1.0).score.value == pytest.approx(2 / 3, abs=1e-12)


def test_irs_of_noise_is_small_in_the_robust_variant():
    rng = np.random.default_rng(0)
    codes, factors = rng.normal(size=(2000, 4)), rng.integers(5, size=(2000, 3))
    assert irs_score(codes, factors, variant="robust").score.value < 0.05
    assert irs_score(codes, factors).score.value > 0.2


def test_order_sign_scale_and_offset_do_not_count_in_the_robust_irs():
    codes, factors = noisy()
    expected = irs_score(codes, factors, variant="robust")
    found = irs_score(5 - codes[:, ::-1] * [3.0, 40.0, 0.01], factors, variant="robust")
    assert found.score.value == pytest.approx(expected.score.value, abs=1e-12)
    assert found.matrix[::-1] == pytest.approx(expected.matrix, abs=1e-12)


def test_an_outlier_makes_only_the_source_s_irs_certain():
    codes, factors = noisy()
    whole = irs_score(codes, factors, variant="robust").score.value
    codes[0, 0] = 1e4
    assert irs_score(codes, factors).score.value > whole + 0.3
    found = irs_score(codes, factors, variant="robust").score.value
    assert found == pytest.approx(whole, abs=0.03)


def test_dead_codes_and_lacking_labels_leave_no_hole_in_irs():
    codes, factors = noisy()
    found = irs_score(np.insert(codes, 1, 0.1, axis=1), factors)
    assert found.score.value == pytest.approx(irs_score(codes, factors).score.value, abs=1e-12)
    assert found.score.per_code[1] == 0.0
    assert irs_score(np.ones_like(codes), factors).score.value == 0.0
    lacking = factors.astype(float)
    lacking[:, 0] = np.nan
    lacking[:30, 1] = np.nan
    found = irs_score(codes, lacking)
    assert np.isnan(found.matrix[:, 0]).all()
    assert np.isfinite(found.matrix[:, 1:]).all()
    assert "factor 1 has no labels" in found.score.says
    alone = irs_score(codes, np.arange(len(codes))[:, None], variant="robust")
    assert alone.score.value is None
    assert irs_score(codes.astype(int), codes.astype(int), discrete_codes=True).score.value == 1.0


def test_a_quantile_outside_its_range_is_refused():
    with pytest.raises(InputError, match="above 0 and at most 1"):
        irs_score(*grid(), quantile=0.0)
