"""Probes of all codes: closed forms, what must not change them, and what must not break them."""

from __future__ import annotations

import numpy as np
import pytest

from upto.core import InputError
from upto.disentanglement.gaussian_tc import gaussian_total_correlation, wasserstein_correlation
from upto.disentanglement.predictive import explicitness
from upto.disentanglement.probes import downstream_probe, linear_probe, ridgeway_explicitness

N_SAMPLES = 240


def ubisoft_explicitness(*given, **more):
    return ridgeway_explicitness(*given, variant="ubisoft", **more)


PROBES = (
    explicitness,
    ridgeway_explicitness,
    ubisoft_explicitness,
    linear_probe,
)


def planted(seed=0, noise=0.4):
    rng = np.random.default_rng(seed)
    factors = np.column_stack([rng.integers(count, size=N_SAMPLES) for count in (2, 3)])
    codes = factors @ np.array([[1.0, 0.4, 0.2], [-0.3, 1.0, 0.5]])
    return codes + noise * rng.normal(size=codes.shape), factors


def test_labels_that_can_be_read_off_are_explicit():
    codes, factors = planted(noise=0.01)
    assert explicitness(codes, factors).value == pytest.approx(1.0, abs=0.01)
    assert ridgeway_explicitness(codes, factors).value > 0.95
    assert downstream_probe(codes, factors).value > 0.95


def test_knowing_nothing_scores_zero_whatever_the_frequencies():
    labels = np.repeat([0, 1, 2], [200, 20, 20])[:, None]
    for adjusted in (False, True):
        found = explicitness(np.ones((N_SAMPLES, 2)), labels, adjusted=adjusted)
        assert found.value == pytest.approx(0.0, abs=1e-3)
        assert found.says == "codes 1, 2 are constant."


def test_explicitness_of_a_binary_code_is_its_information():
    # A code that is right in three of four rows leaves h(1/4) of one bit unknown.
    label = np.tile([0, 1], 120)
    code = np.where(np.arange(N_SAMPLES) % 8 < 6, label, 1 - label).astype(float)
    left = -(0.25 * np.log(0.25) + 0.75 * np.log(0.75)) / np.log(2)
    found = explicitness(code[:, None], label[:, None])
    assert found.value == pytest.approx(1 - left, abs=1e-4)


def test_explicitness_of_numbers_is_the_share_of_variance():
    turn = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    factor = 3 * np.cos(turn) + 4 * np.sin(turn)
    found = explicitness(np.cos(turn)[:, None], factor[:, None], continuous=True)
    assert found.value == pytest.approx(0.36, abs=1e-12)


@pytest.mark.parametrize("probe", PROBES)
@pytest.mark.parametrize("continuous", [True, False])
def test_order_sign_scale_and_offset_of_codes_do_not_count(probe, continuous):
    codes, factors = planted()
    expected = probe(codes, factors, continuous=continuous)
    found = probe(5 - 30 * codes[:, ::-1], factors, continuous=continuous)
    assert found.per_factor == pytest.approx(expected.per_factor, abs=2e-3)


@pytest.mark.parametrize("probe", PROBES)
def test_a_dead_code_changes_nothing_and_is_told(probe):
    codes, factors = planted()
    found = probe(np.insert(codes, 1, 0.1, axis=1), factors)
    assert found.per_factor == pytest.approx(probe(codes, factors).per_factor, abs=2e-3)
    assert found.says == "code 2 is constant."


@pytest.mark.parametrize("probe", PROBES)
def test_rows_without_a_label_are_as_if_they_were_not_there(probe):
    codes, factors = planted()
    kept = np.arange(N_SAMPLES) % 4 != 0
    lacking = np.where(kept[:, None], factors, np.nan)
    options = {}
    if probe in (ridgeway_explicitness, linear_probe):
        options = {"held_out": np.arange(N_SAMPLES) % 3 == 0}
    found = probe(codes, lacking, **options)
    shorter = {name: mask[kept] for name, mask in options.items()}
    expected = probe(codes[kept], factors[kept], **shorter)
    assert found.per_factor == pytest.approx(expected.per_factor, abs=1e-9)


@pytest.mark.parametrize("probe", PROBES)
def test_a_factor_with_one_value_is_left_out(probe):
    codes, factors = planted()
    found = probe(codes, np.insert(factors, 0, 1, axis=1))
    assert found.per_factor[0] is None
    assert found.value == pytest.approx(probe(codes, factors).value, abs=1e-12)
    assert found.says == "factor 1 has one value."


def test_noise_scores_near_chance():
    rng = np.random.default_rng(1)
    codes = rng.normal(size=(2000, 6))
    factors = np.column_stack([rng.choice(3, p=[0.9, 0.05, 0.05], size=2000), np.arange(2000) % 8])
    for adjusted in (False, True):
        assert 0.0 <= explicitness(codes, factors, adjusted=adjusted).value < 0.02
    assert ridgeway_explicitness(codes, factors).value == pytest.approx(0.5, abs=0.05)
    found = ridgeway_explicitness(codes, factors, variant="ubisoft")
    assert found.value == pytest.approx(0.1, abs=0.1)
    assert -0.05 < linear_probe(codes, factors).value < 0.01


def test_one_outlier_costs_the_source_half_a_factor_and_the_adjusted_one_nothing():
    rng = np.random.default_rng(0)
    factors = np.column_stack([rng.integers(count, size=2000) for count in (4, 8, 10)])
    codes = factors + 1e-3 * rng.normal(size=factors.shape)
    codes[0, 2] = 1e4
    assert explicitness(codes, factors).value < 0.9
    assert explicitness(codes, factors, adjusted=True).value > 0.98


def test_one_outlier_does_not_count():
    codes, factors = planted(noise=0.02)
    whole = linear_probe(codes, factors).value
    codes[0, 0] = 1e4
    assert explicitness(codes, factors, adjusted=True).value > 0.9
    assert linear_probe(codes, factors).value == pytest.approx(whole, abs=0.1)


def test_integer_codes_are_explicit_in_any_numbering():
    factors = planted()[1]
    codes = np.column_stack([np.array([5, -2, 9])[factors[:, 1]], factors[:, 0]])
    for probe in PROBES:
        assert probe(codes, factors, discrete_codes=True).value == pytest.approx(1.0, abs=0.01)


def test_held_out_r2_is_that_of_a_line():
    rng = np.random.default_rng(0)
    code = rng.normal(size=4000)
    factor = code + rng.normal(size=4000)
    found = linear_probe(code[:, None], factor[:, None], continuous=True)
    assert found.value == pytest.approx(0.5, abs=0.04)


@pytest.mark.slow
def test_more_rows_help_downstream():
    codes, factors = planted()
    few = downstream_probe(codes, factors, train_rows=12, predictor="boosted-trees")
    many = downstream_probe(codes, factors, predictor="boosted-trees")
    assert few.value < many.value
    assert few.name == "downstream/boosted-trees/12 rows"


def test_downstream_probes_take_numbers():
    codes, factors = planted(noise=0.05)
    for predictor in ("linear", "boosted-trees"):
        found = downstream_probe(codes, factors, continuous=True, predictor=predictor)
        assert found.value > 0.9


def test_too_few_labels_for_folds_are_told():
    codes, factors = planted()
    found = downstream_probe(codes, factors, train_rows=3)
    assert found.value is None
    assert "factor 1" in found.says
    with pytest.raises(InputError, match="2 or more"):
        downstream_probe(codes, factors, train_rows=1)


def test_total_correlation_is_that_of_the_formula():
    turn = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    codes = np.column_stack([np.cos(turn), 3 * np.cos(turn) + 4 * np.sin(turn)])
    expected = -0.5 * np.log(1 - 0.6**2)
    for changed in (codes, codes[:, ::-1] * [-1e-4, 1e3] + 5, np.insert(codes, 1, 2.0, axis=1)):
        assert gaussian_total_correlation(changed).value == pytest.approx(expected, abs=1e-9)


def test_wasserstein_correlation_of_two_codes_is_that_of_the_formula():
    turn = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    codes = np.column_stack([np.cos(turn), 0.6 * np.cos(turn) + 0.8 * np.sin(turn)])
    variance = 100 / 199
    expected = 2 * variance * (2 - np.sqrt(1.6) - np.sqrt(0.4))
    assert wasserstein_correlation(codes).value == pytest.approx(expected, abs=1e-12)
    found = wasserstein_correlation(-7 * codes[:, ::-1], normalised=True)
    assert found.value == pytest.approx(expected / (2 * variance), abs=1e-12)


def test_codes_that_depend_on_each_other_have_no_total_correlation():
    codes = np.random.default_rng(0).normal(size=(50, 2))
    found = gaussian_total_correlation(np.column_stack([codes, codes.sum(axis=1)]))
    assert found.value is None
    assert "infinite" in found.says
    assert gaussian_total_correlation(codes[:, :1]).value == pytest.approx(0.0, abs=1e-12)
    for dead in (gaussian_total_correlation, wasserstein_correlation):
        assert dead(np.ones((50, 2))).value == 0.0
