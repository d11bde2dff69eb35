"""What may be hidden in chance: intervals of scores reach as far, and few rows claim nothing."""

import numpy as np
import pytest

from upto.disentanglement import evaluate_scores
from upto.disentanglement.code_gaps import dcimig
from upto.disentanglement.gaps import mig
from upto.disentanglement.info_scores import infomec
from upto.disentanglement.shared_information import ADJUSTED, information
from upto.disentanglement.shares import beyond_chance, tellable
from upto.disentanglement.undetected import unseen_shares

NAMES = ["mig@adjusted", "dcimig@adjusted", "infomec/compactness@adjusted"]
TURN = np.array([[np.cos(0.35), -np.sin(0.35)], [np.sin(0.35), np.cos(0.35)]])
"""By 20 degrees."""


def uniform(rng, n_rows):
    factors = rng.uniform(size=(n_rows, 2))
    return factors @ TURN + 0.01 * rng.normal(size=(n_rows, 2)), factors, {"continuous": True}


def gaussian(rng, n_rows):
    factors = rng.normal(size=(n_rows, 2))
    return factors @ TURN + 0.01 * rng.normal(size=(n_rows, 2)), factors, {"continuous": True}


def labels(rng, n_rows):
    factors = rng.integers(8, size=(n_rows, 2))
    return factors @ TURN + 0.25 * rng.normal(size=(n_rows, 2)), factors, {}


def code_words(rng, n_rows):
    codes, factors, _ = labels(rng, n_rows)
    return np.round(codes), factors, {"discrete_codes": True}


def found_of(make, seed, n_rows, **options):
    codes, factors, kinds = make(np.random.default_rng(seed), n_rows)
    return evaluate_scores(codes, factors, scores=NAMES, refits=0, **kinds, **options)


@pytest.mark.slow
@pytest.mark.parametrize("make", [uniform, gaussian, labels, code_words])
def test_intervals_of_turned_codes_with_few_rows_cover_what_many_rows_find(make):
    truth = [each.value.value for each in found_of(make, 999, 10_000, half_samples=0)]
    for n_rows in (100, 200, 400):
        tables = [found_of(make, seed, n_rows, half_samples=10) for seed in range(10)]
        covered = np.mean(
            [
                [each.value.low <= true <= each.value.high + 0.005 for each, true in line]
                for line in (list(zip(table, truth, strict=True)) for table in tables)
            ],
            axis=0,
        )
        assert covered.min() >= 0.9


def test_what_hides_in_chance_moves_the_ends_of_a_score_and_not_its_value():
    codes, factors, kinds = uniform(np.random.default_rng(0), 200)
    found = information(codes, factors, estimator=ADJUSTED, permutations=10, **kinds)
    shares, unseen = beyond_chance(found), unseen_shares(found)
    assert (unseen.lowest <= shares).all()
    assert (shares <= unseen.highest).all()
    # The diagonal is told by half of the rows too; the rest is not told by all of them.
    assert (shares > 0).tolist() == [[True, False], [False, True]]
    assert unseen.lowest[1, 0] == 0
    assert unseen.highest[0, 1] > 0.2
    for score in (mig, dcimig):
        ends = score(codes, factors, variant="adjusted", information=found)
        gap = shares.diagonal() - unseen.highest[[0, 1], [1, 0]]
        assert ends.value == pytest.approx(shares.diagonal().mean())
        assert ends.least == pytest.approx(gap.mean())
        assert ends.value <= ends.most < ends.value + 0.05


def test_nothing_hides_in_codes_that_never_change():
    rng = np.random.default_rng(0)
    factors = rng.integers(4, size=(300, 2))
    alone = mig(np.hstack([factors, np.zeros((300, 3))]), factors, variant="adjusted")
    assert alone.least == pytest.approx(mig(factors, factors, variant="adjusted").least, abs=0.05)
    constant = mig(np.zeros((300, 2)), factors, variant="adjusted")
    assert (constant.value, constant.least, constant.most) == (0, 0, 0)


def test_what_is_within_chance_may_still_be_much_of_few_rows_and_little_of_many():
    for n_rows, most in ((60, 0.5), (500, 0.2), (5000, 0.05)):
        rng = np.random.default_rng(0)
        noise, factors = rng.normal(size=(n_rows, 2)), rng.normal(size=(n_rows, 2))
        names = ["mig@adjusted", "infomec/modularity@adjusted"]
        gap, ratio = evaluate_scores(noise, factors, scores=names, continuous=True, half_samples=10)
        assert (gap.value.value, gap.calibrated, gap.chance, ratio.value.value) == (0, 0, 0, 0)
        assert most < gap.value.high < most + 0.4
        # A ratio of what is hidden may be any, unless what is hidden is next to nothing.
        assert ratio.value.high == (1 if n_rows < 5000 else 0)


@pytest.mark.parametrize("n_rows", [30, 60, 150])
def test_no_score_of_good_codes_is_surely_zero_for_want_of_rows(n_rows):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        factors = rng.normal(size=(n_rows, 2))
        codes = factors + (1.5 if n_rows == 150 else 0.5) * rng.normal(size=(n_rows, 2))
        names = ["mig@adjusted", "dcimig@adjusted", "infomec/modularity@adjusted"]
        found = evaluate_scores(
            codes, factors, scores=names, continuous=True, refits=0, half_samples=10
        )
        assert all(each.value is None or each.value.high > 0.3 for each in found)


def test_a_factor_that_no_code_could_tell_has_no_score():
    factors = np.random.default_rng(1).normal(size=(16, 2))
    found = information(factors, factors, estimator=ADJUSTED, permutations=10, continuous=True)
    assert found.faults == ("", "")
    assert all(
        "too few to distinguish even a perfect code" in fault for fault in tellable(found).faults
    )
    scores = infomec(factors, factors, continuous=True)
    assert scores.modularity.value is None
    assert "factor 1 has 16 labels, too few" in scores.modularity.says
    assert mig(factors, factors, variant="adjusted", continuous=True).value is None
