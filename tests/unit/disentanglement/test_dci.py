"""DCI: closed forms, what must not change it, and what must not break it."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

from upto.core import InputError
from upto.disentanglement.dci import dci_scores, importance_completeness, importance_disentanglement

N_SAMPLES = 60

pytestmark = pytest.mark.slow


def planted(seed=0, noise=0.05):
    rng = np.random.default_rng(seed)
    factors = np.column_stack([rng.integers(count, size=N_SAMPLES) for count in (2, 2)])
    return factors + noise * rng.normal(size=factors.shape), factors


def numbers(seed=0):
    rng = np.random.default_rng(seed)
    factors = rng.uniform(size=(N_SAMPLES, 2))
    codes = factors @ np.array([[1.0, 0.3, 0.0], [0.0, 0.5, 1.0]])
    return codes + 0.05 * rng.normal(size=codes.shape), factors


def values(found):
    three = (found.disentanglement, found.completeness, found.informativeness)
    return [each.value for each in three]


def test_a_permutation_of_importances_scores_one_and_equal_ones_score_zero():
    matrix = np.eye(5)[[3, 1, 4, 0, 2]] * np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    assert importance_disentanglement(matrix).value == pytest.approx(1.0, abs=1e-9)
    assert importance_completeness(matrix).value == pytest.approx(1.0, abs=1e-9)
    for flat in (np.ones((5, 3)), np.zeros((5, 3))):
        assert importance_disentanglement(flat).value == pytest.approx(0.0, abs=1e-12)
        assert importance_completeness(flat).value == pytest.approx(0.0, abs=1e-12)


def test_two_codes_for_one_factor_cost_completeness_only():
    doubled = np.vstack([np.eye(5), np.eye(5)])
    assert importance_disentanglement(doubled).value == pytest.approx(1.0, abs=1e-9)
    expected = 1 - np.log(2) / np.log(10)
    assert importance_completeness(doubled).value == pytest.approx(expected, abs=1e-9)
    assert importance_completeness(doubled.T).value == pytest.approx(1.0, abs=1e-9)
    assert importance_disentanglement(doubled.T).value == pytest.approx(expected, abs=1e-9)


def test_weights_of_factors_count_only_where_they_are_asked_for():
    matrix = np.array([[9.0, 1.0], [0.0, 1.0]])
    assert importance_completeness(matrix).value == pytest.approx(9 / 11, abs=1e-9)
    assert importance_completeness(matrix, weighted=False).value == pytest.approx(0.5, abs=1e-9)


def test_each_factor_in_its_own_code_scores_one():
    codes, factors = planted()
    found = dci_scores(codes, factors)
    assert values(found) == pytest.approx([1.0, 1.0, 1.0], abs=0.02)
    assert found.importance == pytest.approx(np.eye(2), abs=0.02)
    assert "scikit-learn" in found.predictor


def test_order_sign_scale_and_offset_of_codes_do_not_count():
    codes, factors = planted(noise=0.6)
    changed = 5 - 30 * codes[:, ::-1]
    expected = dci_scores(codes, factors, variant="canonical")
    found = dci_scores(changed, factors, variant="canonical")
    assert values(found) == pytest.approx(values(expected), abs=1e-12)
    assert found.importance[::-1] == pytest.approx(expected.importance, abs=1e-12)
    # It is what the source's trees say, but for the ties that these break by the order of columns.
    assert values(expected) == pytest.approx(values(dci_scores(codes, factors)), abs=0.05)


@pytest.mark.slow
def test_they_do_not_count_with_the_lasso_but_for_its_tolerance():
    codes, factors = numbers()
    options = {"continuous": True, "variant": "ubisoft/lasso"}
    expected = dci_scores(codes, factors, **options)
    found = dci_scores(5 - 30 * codes[:, ::-1], factors, **options)
    assert values(found) == pytest.approx(values(expected), abs=5e-3)


@pytest.mark.parametrize(
    "variant",
    [
        "disentanglement_lib",
        "canonical",
        "ubisoft/lasso",
        pytest.param("ubisoft/random-forest", marks=pytest.mark.slow),
    ],
)
def test_a_dead_code_is_told_and_changes_no_disentanglement(variant):
    codes, factors = numbers()
    dead = np.insert(codes, 0, 7.0, axis=1)
    options = {"continuous": True, "variant": variant}
    expected = dci_scores(codes, factors, **options)
    found = dci_scores(dead, factors, **options)
    assert np.isfinite(found.importance).all()
    assert not found.importance[0].any()
    assert found.disentanglement.per_code[0] == pytest.approx(0.0, abs=1e-9)
    assert "code 1 is constant" in found.disentanglement.says
    within = 1e-9 if variant in {"canonical", "ubisoft/lasso"} else 0.05
    assert found.disentanglement.value == pytest.approx(expected.disentanglement.value, abs=within)


@pytest.mark.parametrize("variant", ["disentanglement_lib", "canonical", "ubisoft/lasso"])
def test_codes_that_are_all_constant_score_zero(variant):
    factors = planted()[1]
    found = dci_scores(np.ones((N_SAMPLES, 3)), factors, variant=variant)
    assert found.disentanglement.value == pytest.approx(0.0, abs=1e-9)
    assert found.completeness.value == pytest.approx(0.0, abs=1e-9)
    assert "codes 1, 2, 3 are constant" in found.completeness.says


def test_one_outlier_does_not_count():
    codes, factors = planted()
    codes[0, 0] = 1e4
    assert values(dci_scores(codes, factors)) == pytest.approx([1.0, 1.0, 1.0], abs=0.05)


def test_noise_scores_near_zero():
    factors = planted()[1]
    codes = np.random.default_rng(5).normal(size=(N_SAMPLES, 4))
    found = dci_scores(codes, factors)
    assert found.disentanglement.value < 0.1
    assert found.completeness.value < 0.1


def test_rows_without_a_label_are_as_if_they_were_not_there():
    codes, factors = planted(noise=0.6)
    held = np.arange(N_SAMPLES) % 3 == 0
    lacking = factors.astype(object)
    lacking[::5] = None
    kept = np.arange(N_SAMPLES) % 5 != 0
    expected = dci_scores(codes[kept], factors[kept], held_out=held[kept])
    for missing in (lacking, np.where(kept[:, None], factors, np.nan)):
        found = dci_scores(codes, missing, held_out=held)
        assert values(found) == pytest.approx(values(expected), abs=1e-12)


def test_a_factor_with_one_value_is_left_out_and_told():
    codes, factors = planted()
    found = dci_scores(codes, np.insert(factors, 1, 4, axis=1))
    expected = dci_scores(codes, factors)
    assert values(found) == pytest.approx(values(expected), abs=1e-12)
    assert np.isnan(found.importance[:, 1]).all()
    assert found.completeness.per_factor[1] is None
    assert found.informativeness.per_factor[1] is None
    assert "factor 2 has one value" in found.completeness.says


def test_labels_of_any_type_and_numbers_mix():
    rng = np.random.default_rng(0)
    words = np.array(["low", "high", "other"], dtype=object)[rng.integers(3, size=N_SAMPLES)]
    level = rng.uniform(size=N_SAMPLES)
    places = np.array([{"low": 0.0, "high": 1.0, "other": 2.0}[word] for word in words])
    codes = np.column_stack([level, places + 0.05 * rng.normal(size=N_SAMPLES)])
    table = [[word, number] for word, number in zip(words, level, strict=True)]
    found = dci_scores(codes, table, continuous=[False, True])
    assert found.importance == pytest.approx(np.eye(2)[::-1], abs=0.03)
    assert found.informativeness.value > 0.95


def test_discrete_codes_have_no_order():
    factors = np.random.default_rng(0).integers((2, 3), size=(N_SAMPLES, 2))
    codes = np.column_stack([np.array([1, 2, 0])[factors[:, 1]], factors[:, 0]])
    found = dci_scores(codes, factors, discrete_codes=True)
    assert values(found) == pytest.approx([1.0, 1.0, 1.0], abs=1e-6)
    assert found.importance == pytest.approx(np.eye(2)[::-1], abs=1e-6)


def test_one_factor_has_no_disentanglement_and_one_code_no_completeness():
    codes, factors = planted()
    found = dci_scores(codes, factors[:, :1])
    assert found.disentanglement.value is None
    assert "two factors" in found.disentanglement.says
    found = dci_scores(codes[:, :1], factors)
    assert found.completeness.value is None
    assert "two codes" in found.completeness.says


@pytest.mark.slow
def test_the_same_seed_gives_the_same_scores():
    codes, factors = planted(noise=0.6)
    assert values(dci_scores(codes, factors, seed=3)) == values(dci_scores(codes, factors, seed=3))


def test_the_booster_that_was_used_is_named(monkeypatch):
    def seeded(kind):
        return lambda *, random_state, **_: kind(random_state=random_state)

    library = SimpleNamespace(
        LGBMClassifier=seeded(GradientBoostingClassifier),
        LGBMRegressor=seeded(GradientBoostingRegressor),
        __version__="9.9",
    )
    monkeypatch.setitem(sys.modules, "lightgbm", library)
    codes, factors = planted()
    found = dci_scores(codes, factors, variant="lightgbm")
    assert "LightGBM 9.9" in found.predictor
    assert values(found) == values(dci_scores(codes, factors))
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(InputError, match=r"pip install 'upto\[boost\]'"):
        dci_scores(codes, factors, variant="lightgbm")


def test_what_cannot_be_read_is_refused():
    codes, factors = planted()
    with pytest.raises(InputError, match="no variant of DCI 'trees'"):
        dci_scores(codes, factors, variant="trees")
    with pytest.raises(InputError, match="not a finite, non-negative codes × factors table"):
        importance_disentanglement([[1.0, -1.0], [0.0, 1.0]])
    with pytest.raises(InputError, match="59 rows of codes"):
        dci_scores(codes[1:], factors)
    with pytest.raises(InputError, match="mask of held-out rows"):
        dci_scores(codes, factors, held_out=np.arange(3))
    with pytest.raises(InputError, match="non-finite"):
        dci_scores(np.where(codes > 1, np.nan, codes), factors)
    with pytest.raises(InputError, match="`continuous` has 3 flags"):
        dci_scores(codes, factors, continuous=[True, False, True])
    with pytest.raises(InputError, match="labels that are not numbers"):
        dci_scores(codes, [["a", "b"]] * N_SAMPLES, continuous=True)
    with pytest.raises(InputError, match="not whole numbers"):
        dci_scores(codes, factors, discrete_codes=True)
    with pytest.raises(InputError, match="needs at least 10"):
        dci_scores(codes[:9], factors[:9], variant="ubisoft/lasso")
