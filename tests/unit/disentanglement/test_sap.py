"""SAP: closed forms, what must not change it, and what must not break it."""

from __future__ import annotations

import numpy as np
import pytest

from upto.core import InputError
from upto.disentanglement.sap import sap_score

N_SAMPLES = 300


def planted(seed=0, noise=0.2):
    rng = np.random.default_rng(seed)
    factors = np.column_stack([rng.integers(count, size=N_SAMPLES) for count in (2, 3)])
    codes = np.column_stack([factors, rng.normal(size=N_SAMPLES)])
    return codes + noise * rng.normal(size=codes.shape), factors


def test_the_gap_of_numbers_is_that_of_squared_correlations():
    turn = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    factor = np.cos(turn)
    codes = np.column_stack([np.sin(turn), 3 * np.cos(turn) + 4 * np.sin(turn)])
    found = sap_score(codes, factor[:, None], continuous=True)
    assert found.matrix[:, 0] == pytest.approx([0.0, 0.36], abs=1e-12)
    assert found.score.value == pytest.approx(0.36, abs=1e-12)


def test_a_factor_in_two_codes_has_no_gap():
    codes, factors = planted()
    twice = np.hstack([codes[:, :2], codes[:, :2]])
    assert sap_score(twice, factors).score.value == 0.0


@pytest.mark.parametrize("continuous", [True, False])
def test_order_sign_scale_and_offset_of_codes_do_not_count(continuous):
    codes, factors = planted()
    options = {"continuous": continuous, "variant": "robust"}
    expected = sap_score(codes, factors, **options)
    found = sap_score(5 - 30 * codes[:, ::-1], factors, **options)
    assert found.score.per_factor == pytest.approx(expected.score.per_factor, abs=1e-12)
    assert found.matrix[::-1] == pytest.approx(expected.matrix, abs=1e-12)
    # The source's own machine sees no scale below its penalty, and says so.
    alone = sap_score(1e-3 * codes, factors)
    assert alone.score.value != pytest.approx(sap_score(codes, factors).score.value, abs=0.01)


def test_a_dead_code_is_told_and_predicts_no_number():
    codes, factors = planted()
    codes[:, 1] = 0.1
    found = sap_score(codes, factors, continuous=True)
    assert not found.matrix[1].any()
    assert found.score.says == "code 2 is constant."
    found = sap_score(np.ones((N_SAMPLES, 3)), factors)
    assert found.score.value == 0.0
    assert "codes 1, 2, 3 are constant" in found.score.says


def test_one_code_has_no_second_best():
    codes, factors = planted()
    found = sap_score(codes[:, :1], factors)
    assert found.score.value is None
    assert "only one code, so no second one" in found.score.says


def test_one_outlier_does_not_count_in_the_robust_variant():
    codes, factors = planted(noise=0.05)
    options = {"continuous": True, "variant": "robust"}
    expected = sap_score(codes, factors, **options).score.value
    codes[0, 0] = 1e4
    assert sap_score(codes, factors, **options).score.value == pytest.approx(expected, abs=0.03)
    assert sap_score(codes, factors, continuous=True).score.value < expected - 0.3


def test_noise_scores_near_zero():
    factors = planted()[1]
    codes = np.random.default_rng(3).normal(size=(N_SAMPLES, 5))
    assert sap_score(codes, factors, continuous=True).score.value < 0.02


def test_rows_without_a_label_are_left_out_of_their_factor_only():
    codes, factors = planted()
    lacking = factors.astype(float)
    lacking[::4, 0] = np.nan
    kept = np.arange(N_SAMPLES) % 4 != 0
    found = sap_score(codes, lacking, continuous=True)
    first = sap_score(codes[kept], factors[kept], continuous=True)
    second = sap_score(codes, factors, continuous=True)
    expected = [first.score.per_factor[0], second.score.per_factor[1]]
    assert found.score.per_factor == pytest.approx(expected, abs=1e-12)


def test_a_label_that_is_no_number_among_words_is_missing():
    codes, factors = planted()
    words = [["low", "high"][label] for label in factors[:, 0]]
    kept = np.arange(N_SAMPLES) % 4 != 0
    lacking = [
        [word if is_kept else float("nan")] for word, is_kept in zip(words, kept, strict=True)
    ]
    held = np.arange(N_SAMPLES) % 3 == 0
    found = sap_score(codes, lacking, held_out=held)
    expected = sap_score(codes[kept], factors[kept, :1], held_out=held[kept])
    assert found.matrix == pytest.approx(expected.matrix, abs=1e-12)


def test_a_factor_without_labels_or_change_is_left_out():
    codes, factors = planted()
    table = np.column_stack([factors, np.full(N_SAMPLES, np.nan), np.zeros(N_SAMPLES)])
    found = sap_score(codes, table)
    assert found.score.per_factor[2:] == (None, None)
    assert found.score.value == pytest.approx(sap_score(codes, factors).score.value, abs=1e-12)
    assert found.score.says == "factor 3 has no labels; factor 4 has one value."


def test_discrete_codes_have_no_order():
    factors = planted()[1]
    codes = np.column_stack([np.array([2, 0, 1])[factors[:, 1]], factors[:, 0]])
    found = sap_score(codes, factors, discrete_codes=True)
    assert found.matrix[[1, 0], [0, 1]].tolist() == [1.0, 1.0]
    found = sap_score(codes, factors, discrete_codes=True, continuous=True)
    assert found.matrix[[1, 0], [0, 1]] == pytest.approx([1.0, 1.0], abs=1e-12)


def test_an_unknown_variant_is_refused():
    with pytest.raises(InputError, match="robust"):
        sap_score(*planted(), variant="best")
