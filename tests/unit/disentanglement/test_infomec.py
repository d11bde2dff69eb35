from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from upto.core import InputError
from upto.disentanglement.info_scores import infomec
from upto.disentanglement.info_variants import VARIANTS, active_codes
from upto.disentanglement.predictive import explicitness
from upto.disentanglement.shared_information import information

N_SAMPLES = 1500
CLASSES = (4, 8, 10)

each_variant = pytest.mark.parametrize("variant", VARIANTS)


@pytest.fixture(name="rng")
def generator():
    return np.random.default_rng(0)


@pytest.fixture(name="factors")
def drawn_factors(rng):
    return np.column_stack([rng.integers(count, size=N_SAMPLES) for count in CLASSES])


@pytest.fixture(name="codes")
def near_factors(rng, factors):
    return factors + 1e-3 * rng.normal(size=factors.shape)


def values(found):
    return [each.value for each in (found.modularity, found.explicitness, found.compactness)]


@each_variant
def test_factors_themselves_score_one(codes, factors, variant):
    least = 0.98 if variant == "adjusted" else 0.95
    assert min(values(infomec(codes, factors, variant=variant))) > least


@pytest.mark.parametrize("seed", range(2))
def test_noise_scores_zero_when_adjusted(seed):
    rng = np.random.default_rng(seed)
    factors = np.column_stack([rng.integers(count, size=N_SAMPLES) for count in CLASSES])
    found = infomec(rng.normal(size=(N_SAMPLES, 6)), factors, seed=seed)
    assert max(values(found)) <= 0.02
    assert "no code is active" in found.modularity.says


def test_noise_scores_as_much_as_its_chance_when_not_adjusted(rng, factors):
    noise = rng.normal(size=(N_SAMPLES, 6))
    found = infomec(noise, factors, variant="latent_quantization", permutations=3)
    assert found.modularity.value > 0.4
    assert found.chance_modularity == pytest.approx(found.modularity.value, abs=0.3)
    assert found.chance_compactness > 0.1
    assert found.strength < 0.02


def test_noise_with_a_rare_label_scores_zero_when_adjusted(rng, factors):
    factors[:, 0] = rng.choice(3, size=N_SAMPLES, p=[0.9, 0.05, 0.05])
    assert max(values(infomec(rng.normal(size=(N_SAMPLES, 6)), factors))) <= 0.02


def test_explicitness_is_a_share_of_the_entropy_of_rare_labels(rng):
    labels = rng.choice(3, size=N_SAMPLES, p=[0.9, 0.05, 0.05])
    other = rng.integers(4, size=N_SAMPLES)
    codes = np.column_stack([(labels == 0) + 0.01 * rng.normal(size=N_SAMPLES), other])
    found = infomec(codes, np.column_stack([labels, other])).explicitness.per_factor[0]
    shares = np.bincount(labels) / N_SAMPLES
    whole = -(shares @ np.log(shares))
    assert found == pytest.approx(1 - 0.1 * np.log(2) / whole, abs=0.02)


def test_a_regression_that_finds_half_of_permuted_labels_says_nothing():
    rng = np.random.default_rng(12)
    noise, factors = rng.normal(size=(300, 30)), rng.choice(3, p=(0.96, 0.02, 0.02), size=(300, 2))
    found = infomec(noise, factors).explicitness
    assert found.value is None
    assert "factor 1 has 300 labels, too few for 30 codes" in found.says


def test_one_code_predicts_no_permuted_labels():
    # One permutation alone may predict nothing, and the labels of noise then seem predicted.
    for seed in range(25):
        rng = np.random.default_rng(seed)
        noise, labels = rng.normal(size=(100, 1)), rng.integers(2, size=(100, 1))
        assert explicitness(noise, labels, adjusted=True, seed=seed).value == 0.0


def test_noise_beside_factors_does_not_count_when_adjusted(rng, codes, factors):
    both = np.hstack([codes, 3 * rng.normal(size=(N_SAMPLES, 3))])
    found = infomec(both, factors)
    assert list(found.active) == [True] * 3 + [False] * 3
    assert min(values(found)) > 0.98
    # Without the adjustment it does.
    assert infomec(both, factors, variant="latent_quantization").modularity.value < 0.95


def test_codes_are_active_by_the_share_of_the_largest_spread_that_each_source_asks_for(factors):
    column = factors[:, :1] + 0.01 * np.random.default_rng(4).normal(size=(len(factors), 1))
    codes = column * [1.0, 0.13, 0.12, 0.11, 0.09, 0.051, 0.049]
    found = information(codes, factors)
    kept = {
        name: int(active_codes(found, variant.active).sum()) for name, variant in VARIANTS.items()
    }
    assert kept == {
        "adjusted": 7,
        "latent_quantization": 6,
        "latent_quantization_training": 2,
        "tripod": 4,
    }


def test_one_outlier_changes_little_when_adjusted(codes, factors):
    before = values(infomec(codes, factors))
    codes[7, 1] = 1e4
    found = infomec(codes, factors)
    assert found.active.all()
    assert values(found) == pytest.approx(before, abs=0.02)
    assert infomec(codes, factors, variant="latent_quantization").active.sum() == 1


@each_variant
def test_one_active_code_has_no_compactness(codes, factors, variant):
    codes[:, 1:] = 0.0
    found = infomec(codes, factors, variant=variant)
    assert found.compactness.value is None
    assert "one code is active" in found.compactness.says
    assert found.modularity.value > 0.98
    assert found.explicitness.value == pytest.approx(1 / 3, abs=0.02)
    assert found.modularity.per_code[1:] == (None, None)


@each_variant
def test_constant_codes_score_zero(factors, variant):
    found = infomec(np.ones((N_SAMPLES, 3)), factors, variant=variant)
    assert values(found) == [0.0, 0.0, 0.0]
    assert "no code is active" in found.explicitness.says
    assert found.strength is None


@each_variant
def test_one_factor_has_no_modularity(codes, factors, variant):
    found = infomec(codes, factors[:, :1], variant=variant)
    assert found.modularity.value is None
    assert "one factor" in found.modularity.says
    assert found.explicitness.value > 0.98


def test_discrete_codes_that_are_factors_score_one(factors):
    assert min(values(infomec(factors, factors, discrete_codes=True))) > 0.98


def test_discrete_noise_scores_zero_when_adjusted(rng, factors):
    noise = rng.integers(20, size=(N_SAMPLES, 6))
    assert max(values(infomec(noise, factors, discrete_codes=True))) <= 0.02


@each_variant
def test_tied_codes_tell_no_more_than_there_is(factors, variant):
    tied = factors.astype(float)
    found = infomec(tied, factors, variant=variant)
    assert found.shares.max() <= 1.01
    assert values(found) == values(infomec(tied, factors, variant=variant))
    assert min(values(found)) > 0.98


def test_a_constant_factor_is_dropped_with_words(codes, factors):
    more = np.column_stack([factors, np.zeros(N_SAMPLES)])
    found = infomec(codes, more)
    assert values(found) == pytest.approx(values(infomec(codes, factors)), abs=1e-3)
    assert found.compactness.per_factor[3] is None
    for score in (found.modularity, found.explicitness, found.compactness):
        assert "factor 4 has one value" in score.says


def test_a_factor_of_unique_labels_is_dropped_with_words(codes, factors):
    found = infomec(codes, np.column_stack([factors, np.arange(N_SAMPLES)]))
    assert min(values(found)) > 0.98
    assert "a different label on each" in found.modularity.says


def test_a_factor_of_very_many_classes_is_told_but_not_predicted(rng, codes, factors):
    many = np.arange(2400) // 2
    rows = rng.integers(4, size=2400)
    found = infomec(
        np.column_stack([many / 1000 + 1e-6 * rng.normal(size=2400), rows]),
        np.column_stack([many, rows]),
    )
    assert found.shares[0, 0] > 0.98
    assert found.explicitness.per_factor[0] is None
    assert "1,200 classes" in found.explicitness.says


def test_duplicated_codes_lose_compactness_only(codes, factors):
    found = infomec(np.hstack([codes, codes]), factors)
    assert found.modularity.value > 0.98
    # Half of the share of each factor is the other copy's: (1/2 - 1/6) / (1 - 1/6).
    assert found.compactness.value == pytest.approx(0.4, abs=0.01)


def test_missing_labels_leave_scores_as_they_are(rng, codes, factors):
    partial = np.where(rng.random(factors.shape) < 0.3, np.nan, factors)
    assert min(values(infomec(codes, partial))) > 0.98


def test_continuous_factors_are_measured_and_noise_is_not(rng):
    numbers = rng.random((500, 2))
    own = infomec(numbers**2, numbers, continuous=True)
    assert own.modularity.value > 0.98
    assert own.compactness.value > 0.98
    assert own.explicitness.value == pytest.approx(15 / 16, abs=0.02)
    assert max(values(infomec(rng.random((500, 3)), numbers, continuous=True))) <= 0.02


@each_variant
def test_information_may_be_given(rng, factors, variant):
    codes = factors @ rng.normal(size=(3, 3)) + rng.normal(size=factors.shape)
    rule = VARIANTS[variant]
    found = information(codes, factors, estimator=rule.estimator, permutations=10, seed=4)
    given = infomec(codes, factors, variant=variant, information=found, seed=4)
    alone = infomec(codes, factors, variant=variant, permutations=10, seed=4)
    assert values(given) == values(alone)


def test_the_regression_takes_the_steps_of_scikit_learn(rng, factors):
    codes = factors @ rng.normal(size=(3, 4)) + 4 * rng.normal(size=(N_SAMPLES, 4))
    inputs = (codes - codes.mean(axis=0)) / codes.std(axis=0)
    expected = []
    for labels, classes in zip(factors.T, CLASSES, strict=True):
        model = LogisticRegression(C=np.inf, class_weight="balanced", max_iter=100)
        chances = model.fit(inputs, labels).predict_proba(inputs)
        expected.append(1 - log_loss(labels, chances) / np.log(classes))
    found = infomec(codes, factors, variant="tripod").explicitness
    assert found.per_factor == pytest.approx(expected, abs=1e-9)


def test_an_unknown_variant_is_refused(codes, factors):
    with pytest.raises(InputError, match="no variant of InfoMEC 'mine'"):
        infomec(codes, factors, variant="mine")


def test_without_a_factor_that_varies_there_is_no_score(codes):
    found = infomec(codes, np.full((N_SAMPLES, 2), np.nan))
    assert values(found) == [None, None, None]
    assert "factor 1 has no labels" in found.modularity.says


@each_variant
@pytest.mark.parametrize("n_samples", [2, 3, 5, 12])
def test_few_rows_give_scores_or_words(n_samples, variant):
    rng = np.random.default_rng(n_samples)
    labels = np.column_stack([np.arange(n_samples) % 2, np.arange(n_samples) // 2 % 3])
    found = infomec(rng.normal(size=(n_samples, 3)), labels, variant=variant)
    for score in (found.modularity, found.explicitness, found.compactness):
        assert score.says if score.value is None else np.isfinite(score.value)


def test_permutations_that_tell_nothing_are_refused(codes, factors):
    for permutations in (-1, 0, 1):
        with pytest.raises(InputError, match=f"permutations is {permutations}"):
            infomec(codes, factors, permutations=permutations)


def test_the_codes_of_rare_labels_are_no_outliers():
    rng = np.random.default_rng(0)
    rare = rng.choice(3, size=(4000, 1), p=(0.9, 0.05, 0.05))
    labels = np.hstack([rare, rng.integers(4, size=(4000, 1))])
    found = infomec(labels + 0.01 * rng.normal(size=labels.shape), labels)
    assert found.explicitness.value > 0.98
    assert found.modularity.value > 0.98
