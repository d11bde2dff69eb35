from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression
from sklearn.metrics import mutual_info_score

from upto.core import InputError
from upto.disentanglement.mutual_information import (
    continuous_information,
    digammas,
    discrete_information,
    entropy,
    mixed_information,
    most_continuous,
)
from upto.disentanglement.shared_information import Estimator, information, informed
from upto.disentanglement.shares import beyond_chance
from upto.disentanglement.sorted_counts import Ascending

HISTOGRAM = Estimator(kind="histogram", size=20)


def ross(values, labels, neighbours):
    order = np.argsort(values, kind="stable")
    line = Ascending.of(values[order])
    return mixed_information(line, labels[order], neighbours, digammas(len(values)))


def counted_one_by_one(values, labels, neighbours):
    """Ross's estimate by its definition, all distances at once."""
    psi = digammas(len(values))
    kept = np.bincount(labels)[labels] > 1
    values, labels = values[kept], labels[kept]
    distances = np.abs(values[:, None] - values)
    terms = []
    for row, label in zip(distances, labels, strict=True):
        own = np.sort(row[labels == label])[1:]
        radius = own[min(neighbours, len(own)) - 1]
        near = np.count_nonzero(own <= radius)
        everywhere = np.count_nonzero(row <= radius) - 1
        terms.append(psi[near] - psi[len(own) + 1] - psi[everywhere])
    return psi[len(values)] + np.mean(terms)


def labelled(n_samples=800, classes=5, noise=0.7, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=n_samples)
    return labels + noise * rng.normal(size=n_samples), labels


def grid():
    """The fixture of the peers: all combinations of three factors, and codes without noise."""
    factors = np.array([[i, j, k] for i in range(4) for j in range(5) for k in range(6)])
    first, second, third = factors.T.astype(float)
    codes = np.column_stack(
        [first, second + third / 2, third**2 / 5, np.sin(first + second), 0 * first]
    )
    return codes, factors


@pytest.mark.parametrize("neighbours", [1, 3, 10])
@pytest.mark.parametrize("classes", [2, 5, 12])
def test_mixed_information_is_scikit_learns_where_values_do_not_tie(neighbours, classes):
    values, labels = labelled(classes=classes)
    theirs = mutual_info_classif(
        values[:, None], labels, n_neighbors=neighbours, discrete_features=False, random_state=0
    )
    assert max(0.0, ross(values, labels, neighbours)) == pytest.approx(theirs[0], abs=1e-12)


@pytest.mark.parametrize("decimals", [0, 1, 2, 9])
@pytest.mark.parametrize("classes", [3, 60])
def test_mixed_information_counts_neighbours_by_definition(decimals, classes):
    values, labels = labelled(300, classes, seed=1)
    # Multiples of a half are exact, so that distances tie exactly.
    values = np.round(values * 2**decimals) / 2**decimals
    assert ross(values, labels, 4) == pytest.approx(
        counted_one_by_one(values, labels, 4), abs=1e-12
    )


def test_mixed_information_does_not_change_with_sign_scale_or_order():
    values, labels = labelled()
    expected = ross(values, labels, 3)
    order = np.random.default_rng(1).permutation(len(values))
    assert ross(-values, labels, 3) == pytest.approx(expected, abs=1e-12)
    assert ross(values * 4, labels, 3) == pytest.approx(expected, abs=1e-12)
    assert ross(values[order], labels[order], 3) == pytest.approx(expected, abs=1e-12)


def test_tied_values_tell_no_more_than_there_is():
    _, labels = labelled(2000, 6)
    found = information(labels[:, None].astype(float), labels[:, None])
    assert found.shares[0, 0] == pytest.approx(1.0, abs=0.002)


def test_tied_values_tell_what_counts_tell():
    values, labels = labelled(20_000, 3, seed=2)
    values = np.round(values)
    counted = discrete_information(np.unique(values, return_inverse=True)[1], labels)
    assert ross(values, labels, 3) == pytest.approx(counted, abs=0.005)


def test_continuous_information_is_scikit_learns_where_values_do_not_tie():
    rng = np.random.default_rng(0)
    first = rng.normal(size=600)
    second = 3 * first + rng.normal(size=600)
    theirs = mutual_info_regression(first[:, None], second, n_neighbors=3, random_state=0)[0]
    assert continuous_information(first, second, 3, digammas(600)) == pytest.approx(
        theirs, abs=1e-12
    )


def test_continuous_information_of_gaussians_is_known():
    rng = np.random.default_rng(0)
    first = rng.normal(size=4000)
    second = 0.8 * first + 0.6 * rng.normal(size=4000)
    found = continuous_information(first, second, 5, digammas(4000))
    assert found == pytest.approx(-0.5 * np.log(1 - 0.64), abs=0.03)


def test_values_tell_all_of_themselves():
    values = np.random.default_rng(0).normal(size=500)
    table = digammas(500)
    assert continuous_information(values, values, 4, table) == pytest.approx(
        most_continuous(500, 4, table), abs=1e-12
    )


def test_continuous_information_of_tied_values_is_near_that_of_counts():
    rng = np.random.default_rng(0)
    first = rng.integers(3, size=3000)
    second = (first + rng.integers(2, size=3000)) % 3
    found = continuous_information(first * 1.0, second * 1.0, 3, digammas(3000))
    assert found == pytest.approx(discrete_information(first, second), abs=0.01)


def test_discrete_information_of_a_noisy_channel_is_known():
    first = np.repeat([0, 1], 500)
    second = first.copy()
    second[::10] = 1 - second[::10]
    expected = np.log(2) + 0.1 * np.log(0.1) + 0.9 * np.log(0.9)
    assert discrete_information(first, second) == pytest.approx(expected, abs=1e-12)


def test_discrete_information_of_many_labels_is_scikit_learns():
    rng = np.random.default_rng(0)
    first, second = rng.integers(3000, size=(2, 5000))
    assert discrete_information(first, second) == pytest.approx(
        mutual_info_score(first, second), abs=1e-9
    )
    assert entropy(np.arange(8)) == pytest.approx(np.log(8))


def test_information_of_the_grid_is_that_of_the_peers():
    codes, factors = grid()
    found = information(codes, factors, estimator=HISTOGRAM)
    expected = [
        [1.386294, 0, 0],
        [0, 0.765431, 0.947753],
        [0, 0, 1.560710],
        [0.333940, 0.557084, 0],
        [0, 0, 0],
    ]
    assert np.allclose(found.mutual.T, expected, rtol=0, atol=1e-6)
    assert found.entropies == pytest.approx(np.log([4, 5, 6]))


@pytest.mark.parametrize("estimator", [Estimator(size=3), HISTOGRAM])
def test_rows_without_a_label_do_not_count(estimator):
    values, labels = labelled()
    kept = np.random.default_rng(1).random(len(labels)) < 0.6
    # The range of the values, which bins are made of, is the same.
    kept[[values.argmin(), values.argmax()]] = True
    with_gaps = np.where(kept, labels, np.nan)[:, None]
    with_none = np.array(
        [[label if keep else None] for label, keep in zip(labels, kept, strict=True)]
    )
    alone = information(values[kept, None], labels[kept, None], estimator=estimator)
    for factors in (with_gaps, with_none):
        found = information(values[:, None], factors, estimator=estimator)
        assert found.mutual == pytest.approx(alone.mutual, abs=1e-12)
        assert found.entropies == pytest.approx(alone.entropies)
        assert found.labelled == (kept.sum(),)


def test_labels_of_any_type_tell_the_same():
    values, labels = labelled()
    words = np.array(["cube", "ball", "cone", "ring", "disc"])[labels]
    expected = information(values[:, None], labels[:, None]).mutual
    assert information(values[:, None], words[:, None]).mutual == pytest.approx(expected)


def test_permuted_rows_tell_nothing_on_average():
    values, labels = labelled(noise=0.1)
    found = information(values[:, None], labels[:, None], permutations=20)
    assert found.chance.shape == (20, 1, 1)
    assert abs(found.chance.mean()) < 0.02
    assert found.mutual[0, 0] > 1.5


def test_no_information_is_below_zero():
    _, labels = labelled()
    noise = np.random.default_rng(1).normal(size=(len(labels), 12))
    found = information(noise, labels[:, None], permutations=2)
    assert found.mutual.min() == 0.0
    # Chance is not cut off: its mean would be above zero.
    assert found.chance.min() < 0.0


def test_only_what_is_beyond_chance_is_shared():
    values, labels = labelled(noise=0.01)
    noise = np.random.default_rng(5).normal(size=(len(values), 4))
    found = information(np.column_stack([values, noise]), labels[:, None], permutations=10, seed=3)
    shares = beyond_chance(found)
    assert shares[0, 0] > 0.98
    assert not shares[0, 1:].any()
    assert np.array_equal(
        found.chance,
        information(
            np.column_stack([values, noise]), labels[:, None], permutations=10, seed=3
        ).chance,
    )


@pytest.mark.parametrize(("scale", "discrete_codes"), [(1.0, True), (2.0, False)])
@pytest.mark.parametrize("shape", [0.5, 50.0])
@pytest.mark.parametrize("n_codes", [1, 20])
def test_one_table_of_noise_in_a_thousand_is_beyond_chance(scale, discrete_codes, shape, n_codes):
    # Chance of counts is half a chi-squared law over the rows; of two rows of a label, twice that.
    rng = np.random.default_rng(0)
    factors, codes = np.arange(100)[:, None] % [2, 2, 2, 2, 2], np.arange(100)[:, None] % [3]
    like = information(np.tile(codes, n_codes), factors, discrete_codes=discrete_codes)
    alarms = 0
    for _ in range(200):
        drawn = rng.gamma(shape, scale / 100, size=(11, 5, n_codes))
        found = replace(like, mutual=drawn[0], chance=drawn[1:], entropies=np.full(5, 100.0))
        alarms += bool(beyond_chance(found).any())
    assert alarms <= 2


def test_no_two_values_of_noise_tell_of_two_labels():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        noise, factors = rng.random((300, 20)) < 0.3, rng.random((300, 5)) < 0.4
        found = information(noise, factors, discrete_codes=True, permutations=10, seed=seed)
        assert not beyond_chance(found).any()


def test_what_is_faint_but_no_chance_is_told():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=2000)
    codes = labels[:, None] + rng.normal(size=(2000, 1)) * [1.0, 2.0, 20.0]
    found = information(codes, labels[:, None], permutations=10)
    faint = beyond_chance(found)[0]
    assert 0.8 * found.shares[0, 0] < faint[0] < found.shares[0, 0]
    assert 0.0 < faint[1] < faint[0]
    assert faint[2] == 0.0


def test_constant_codes_do_not_narrow_the_chance_of_others():
    rng = np.random.default_rng(2)
    labels = rng.integers(4, size=(400, 2))
    codes = labels[:, :1] + 2.0 * rng.normal(size=(400, 1))
    alone = beyond_chance(information(codes, labels, permutations=10))
    beside = np.hstack([codes, np.zeros((400, 9))])
    found = beyond_chance(information(beside, labels, permutations=10))
    assert alone[0, 0] > 0.0
    assert found[:, :1] == pytest.approx(alone, abs=1e-12)


def test_factors_of_which_nothing_can_be_said_are_named():
    values, labels = labelled()
    factors = np.column_stack([labels, 0 * labels, np.arange(len(labels))])
    found = information(values[:, None], factors)
    assert list(found.told) == [True, False, False]
    assert found.faults[1] == "factor 2 has one value"
    assert "a different label on each of its 800 rows" in found.faults[2]


def test_information_that_a_score_is_not_made_of_is_refused():
    values, labels = labelled()
    found = information(values[:, None], labels[:, None])
    with pytest.raises(InputError, match="by 20 histogram, but it was estimated by 10 neighbours"):
        informed(found, values[:, None], labels[:, None], HISTOGRAM, "MIG")
    with pytest.raises(InputError, match="permutations is 0"):
        beyond_chance(found)
    with pytest.raises(InputError, match="0 neighbours or bins"):
        Estimator(size=0)
