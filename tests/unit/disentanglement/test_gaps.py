from __future__ import annotations

import numpy as np
import pytest

from upto.core import InputError
from upto.disentanglement.code_gaps import dcimig, mig_sup
from upto.disentanglement.gaps import jemmig, mig, rmig
from upto.disentanglement.information_gaps import ESTIMATORS
from upto.disentanglement.modularity import ridgeway_modularity
from upto.disentanglement.shared_information import information

ALL = {"mig": mig, "mig-sup": mig_sup, "dcimig": dcimig, "modularity": ridgeway_modularity}
HAVING_GAPS = {key: score for key, score in ALL.items() if key != "modularity"}

each_score = pytest.mark.parametrize("score", ALL.values(), ids=ALL)
each_gap = pytest.mark.parametrize("score", HAVING_GAPS.values(), ids=HAVING_GAPS)
each_variant = pytest.mark.parametrize("variant", ESTIMATORS)


def grid():
    """The fixture of the peers: all combinations of three factors, and codes without noise."""
    factors = np.array([[i, j, k] for i in range(4) for j in range(5) for k in range(6)])
    first, second, third = factors.T.astype(float)
    codes = np.column_stack(
        [first, second + third / 2, third**2 / 5, np.sin(first + second), 0 * first]
    )
    return codes, factors


def independent(n_samples=900, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(count, size=n_samples) for count in (3, 5, 8)])


def test_scores_of_the_grid_are_those_of_the_peers():
    codes, factors = grid()
    assert mig(codes, factors).value == pytest.approx(0.4102216829683632, abs=1e-12)
    assert ridgeway_modularity(codes, factors).value == pytest.approx(0.698840549735097, abs=1e-12)


@each_score
@each_variant
def test_factors_themselves_score_one(score, variant):
    factors = np.array([[i, j] for i in range(4) for j in range(5)] * 20)
    assert score(factors, factors, variant=variant).value == pytest.approx(1.0, abs=0.005)
    discrete = score(factors, factors, variant=variant, discrete_codes=True)
    assert discrete.value == pytest.approx(1.0, abs=1e-9)


@each_score
def test_noise_scores_zero_when_adjusted(score):
    factors = independent()
    noise = np.random.default_rng(7).normal(size=(len(factors), 5))
    assert score(noise, factors, variant="adjusted").value <= 0.02


def test_noise_has_modularity_when_not_adjusted():
    factors = independent()
    noise = np.random.default_rng(7).normal(size=(len(factors), 5))
    assert ridgeway_modularity(noise, factors).value > 0.2


@each_variant
def test_a_code_twice_leaves_its_factor_no_gap(variant):
    factors = independent()
    twice = np.column_stack([factors, factors[:, 0]])
    found = mig(twice, factors, variant=variant)
    assert found.per_factor[0] == pytest.approx(0.0, abs=1e-9)
    assert found.per_factor[1] > 0.95
    # Codes are not compared with each other here.
    assert mig_sup(twice, factors, variant=variant).value > 0.95
    assert dcimig(twice, factors, variant=variant).value > 0.95


@each_variant
def test_a_code_of_two_factors_has_no_gap(variant):
    labels = np.array([[i, j] for i in range(2) for j in range(2)] * 100)
    both = (2 * labels[:, :1] + labels[:, 1:]) % 4
    codes = np.hstack([both, labels])
    found = mig_sup(codes, labels, variant=variant, discrete_codes=True)
    assert found.per_code[0] == pytest.approx(0.0, abs=1e-9)
    assert found.per_code[1] == pytest.approx(1.0, abs=0.005)
    modularity = ridgeway_modularity(codes, labels, variant=variant, discrete_codes=True)
    assert modularity.per_code == pytest.approx((0.0, 1.0, 1.0), abs=0.005)


def test_shares_are_of_factors_or_of_codes():
    labels = np.array([[i, j] for i in range(2) for j in range(4)] * 50)
    # A code of four values that tells all of a factor of two.
    fine = 2 * labels[:, 0] + labels[:, 1] % 2
    codes = np.column_stack([fine, np.zeros_like(fine)])
    own = mig(codes, labels[:, :1], variant="disentanglement_lib")
    of_code = mig(codes, labels[:, :1], variant="ubisoft")
    assert own.value == pytest.approx(1.0)
    assert of_code.value == pytest.approx(0.5)


def test_jemmig_punishes_what_the_best_code_tells_besides():
    labels = np.array([[i, j] for i in range(2) for j in range(5)] * 30)
    clean = np.column_stack([labels[:, 0], np.zeros(len(labels))])
    # All ten bins hold a tenth of the rows, and two halves of bins tell the factor.
    fine = np.column_stack([5 * labels[:, 0] + labels[:, 1], np.zeros(len(labels))])
    assert jemmig(clean, labels[:, :1]).value == pytest.approx(1.0)
    whole = np.log(2) + np.log(10)
    assert jemmig(fine, labels[:, :1]).value == pytest.approx(1 - np.log(5) / whole)
    # Of four values that are no bins, two tell the factor.
    four = np.column_stack([2 * labels[:, 0] + labels[:, 1] % 2, np.zeros(len(labels))])[
        labels[:, 1] < 4
    ]
    of_values = jemmig(four, labels[labels[:, 1] < 4, :1], discrete_codes=True)
    assert of_values.value == pytest.approx(1 - np.log(2) / (np.log(2) + np.log(4)))


def test_rmig_is_a_gap_in_nats():
    factors = np.array([[i, j] for i in range(4) for j in range(5)])
    found = rmig(factors, factors)
    assert found.per_factor == pytest.approx((np.log(4), np.log(5)))
    assert rmig(factors, factors, variant="disentanglement_lib").value == pytest.approx(found.value)


def test_dcimig_gives_each_factor_its_largest_gap():
    labels = np.array([[i, j] for i in range(2) for j in range(4)] * 25)
    codes = np.column_stack([labels[:, 0], labels[:, 1] // 2, labels[:, 1] % 2])
    found = dcimig(codes, labels, discrete_codes=True)
    # Two codes tell one of two bits of the second factor each; one of them counts.
    assert found.value == pytest.approx(2 / 3)
    assert found.per_factor == pytest.approx((1.0, 0.5))


@each_variant
def test_constant_codes_are_left_out_with_words(variant):
    factors = independent()
    dead = np.column_stack([factors, np.zeros(len(factors))])
    found = mig_sup(dead, factors, variant=variant)
    assert found.value == pytest.approx(mig_sup(factors, factors, variant=variant).value, abs=1e-3)
    assert found.per_code[3] is None
    assert "no factor information in 1 of 4 codes" in found.says


def test_noise_beside_factors_does_not_count_when_adjusted():
    factors = independent()
    noise = np.random.default_rng(4).normal(size=(len(factors), 3))
    for score in (mig_sup, ridgeway_modularity):
        assert score(np.hstack([factors, noise]), factors, variant="adjusted").value > 0.98


def test_constant_codes_alone_score_zero():
    factors = independent()
    dead = np.ones((len(factors), 3))
    for score in ALL.values():
        for variant in ESTIMATORS:
            assert score(dead, factors, variant=variant).value == pytest.approx(0.0, abs=1e-9)


@each_score
def test_a_constant_factor_is_dropped_with_words(score):
    factors = independent()
    more = np.column_stack([factors, np.zeros(len(factors))])
    found = score(factors, more)
    assert found.value == pytest.approx(score(factors, factors).value, abs=1e-12)
    assert "factor 4 has one value" in found.says


@each_score
def test_missing_labels_leave_scores_near_one(score):
    factors = independent()
    partial = np.where(np.random.default_rng(3).random(factors.shape) < 0.3, np.nan, factors)
    assert score(factors, partial, variant="adjusted").value > 0.98


@pytest.mark.parametrize("score", [mig_sup, dcimig, ridgeway_modularity])
def test_one_factor_cannot_share_codes(score):
    factors = independent()
    found = score(factors, factors[:, :1])
    assert found.value is None
    assert "one factor" in found.says


@pytest.mark.parametrize("score", [mig, rmig, jemmig])
def test_one_code_has_no_second_to_outdo(score):
    factors = independent()
    found = score(factors[:, :1], factors)
    assert found.value is None
    assert "one code" in found.says


@each_gap
def test_information_may_be_given(score):
    codes, factors = grid()
    for variant, estimator in ESTIMATORS.items():
        permutations = 10 if variant == "adjusted" else 0
        found = information(codes, factors, estimator=estimator, permutations=permutations)
        given = score(codes, factors, variant=variant, information=found)
        assert given == score(codes, factors, variant=variant)


def test_information_of_another_estimator_is_refused():
    codes, factors = grid()
    with pytest.raises(InputError, match="uses information estimated by 20 histogram"):
        mig(codes, factors, information=information(codes, factors))
    with pytest.raises(InputError, match="no variant of MIG 'other'"):
        mig(codes, factors, variant="other")
