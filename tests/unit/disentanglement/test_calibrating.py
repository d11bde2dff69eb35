from __future__ import annotations

import itertools
import math
from collections import Counter
from contextlib import contextmanager

import numpy as np
import pytest

from upto.core import InputError
from upto.disentanglement import calibrate as calibrating
from upto.disentanglement import views
from upto.disentanglement.calibrate import evaluate_scores
from upto.disentanglement.catalogue import DEFAULT_SCORES
from upto.disentanglement.class_matching import most_similar_averaging_score
from upto.disentanglement.gaps import mig
from upto.disentanglement.score import FactorScore

N_SAMPLES = 200
SHARING = ("infomec", "infomec@tripod", "infomec@latent_quantization", "mig@adjusted")
SHARING += ("dcimig@adjusted", "ridgeway/modularity@adjusted", "mig", "drvi@spn")


@pytest.fixture(name="rng")
def generator():
    return np.random.default_rng(0)


@pytest.fixture(name="factors")
def drawn_factors(rng):
    return np.column_stack([rng.integers(count, size=N_SAMPLES) for count in (3, 4)])


@pytest.fixture(name="codes")
def near_factors(rng, factors):
    return np.hstack([factors, rng.normal(size=(N_SAMPLES, 1))]) + 0.3 * rng.normal(
        size=(N_SAMPLES, 3)
    )


def test_what_scores_share_is_computed_once_for_every_order_and_half(monkeypatch, codes, factors):
    calls = Counter()

    def counting(name):
        original = getattr(views, name)

        def wrapped(*given, **settings):
            calls[name, str(settings.get("estimator", settings.get("chance") is not None))] += 1
            return original(*given, **settings)

        monkeypatch.setattr(views, name, wrapped)

    for name in ("information", "predictive_shares", "predictive_chance", "class_similarities"):
        counting(name)
    evaluate_scores(codes, factors, scores=SHARING, refits=2, half_samples=10)
    looks = 1 + 2 + 10
    assert calls == {
        ("information", "10 neighbours in 10 steps"): looks,
        ("information", "20 histogram"): looks,
        ("predictive_shares", "False"): looks,
        ("predictive_shares", "True"): looks,
        # Permuted labels of all rows serve the shuffles, and those of one half all halves.
        ("predictive_chance", "False"): 2,
        ("class_similarities", "False"): looks,
    }


def test_the_p_value_counts_all_orders_of_few_rows():
    codes = np.array([[0.1], [0.9], [0.4], [0.7]])
    factors = np.array([[0], [1], [0], [1]])
    (found,) = evaluate_scores(codes, factors, scores="msas@bmmi", refits=100)
    scores = [
        most_similar_averaging_score(codes[list(order)], factors, similarity="bmmi").value
        for order in itertools.permutations(range(4))
    ]
    assert found.refits == 23
    assert found.p_value == pytest.approx(np.mean(np.array(scores) >= scores[0] - 1e-9))
    assert found.chance == pytest.approx(np.mean(scores[1:]))
    assert found.value.low is None
    assert "4 rows are too few for an interval" in found.says


def test_p_values_of_noise_are_below_five_percent_one_time_in_twenty():
    smallest = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        codes, factors = rng.normal(size=(20, 2)), rng.integers(3, size=(20, 1))
        (found,) = evaluate_scores(codes, factors, scores="msas@smi", half_samples=0, seed=seed)
        smallest += found.p_value <= 0.05
    # Four standard deviations of a binomial with 100 draws.
    assert smallest <= 100 * 0.05 + 4 * math.sqrt(100 * 0.05 * 0.95)
    assert smallest >= 1


def test_shuffles_are_of_rows_of_codes_and_missing_labels_stay_where_they_are(codes, factors):
    partly = factors.astype(float)
    partly[: N_SAMPLES // 2, 0] = np.nan
    # Codes of rows without a label are far away: only a shuffle brings them into sight.
    codes[: N_SAMPLES // 2, 0] += 50.0
    (found,) = evaluate_scores(codes, partly, scores="mig", half_samples=0)
    assert found.score == mig(codes, partly)
    assert found.value.value > found.limit
    assert found.refits == 19


def test_the_same_seed_gives_the_same_and_another_seed_another(codes, factors):
    def intervals(seed):
        return evaluate_scores(
            codes,
            factors,
            scores=("mig", "mig@adjusted"),
            refits=2,
            half_samples=10,
            seed=seed,
        )

    assert intervals(1) == intervals(1)
    first, second = intervals(1)[0], intervals(2)[0]
    assert first.value.value == second.value.value
    assert first.chance != second.chance
    assert first.value.low != second.value.low


def test_an_interval_contains_its_value_and_stays_in_the_range(codes, factors):
    for each in evaluate_scores(codes, factors, scores=SHARING, refits=0, half_samples=10):
        assert each.value.low <= each.value.value <= each.value.high
        assert each.value.high <= 1.0
        assert each.half_samples == 10


@pytest.mark.slow
def test_an_interval_covers_the_value_of_many_more_rows():
    def drawn(rng, count):
        factors = rng.integers(4, size=(count, 2))
        return factors + 0.6 * rng.normal(size=(count, 2)), factors

    settings = {"scores": "mig@ubisoft", "refits": 0}
    samples = [drawn(np.random.default_rng(seed), 500) for seed in range(30)]
    found = [evaluate_scores(*each, seed=0, **settings)[0].value for each in samples]
    widths = np.array([each.high - each.low for each in found]) / 2 / 1.96
    spread = np.std([each.value for each in found], ddof=1)
    assert widths.mean() == pytest.approx(spread, rel=0.4)


def test_calibrated_is_the_share_of_the_way_from_the_limit(codes, factors):
    (found,) = evaluate_scores(codes, factors, scores="mig", half_samples=0)
    assert found.chance < found.limit < found.value.value
    assert found.calibrated == pytest.approx((found.value.value - found.limit) / (1 - found.limit))
    assert found.p_value == pytest.approx(1 / 20)


def test_adjusted_scores_are_not_calibrated_a_second_time(codes, factors, rng):
    for each in evaluate_scores(codes, factors, scores="infomec@adjusted", half_samples=0):
        assert each.calibrated == each.value.value
        assert each.chance == pytest.approx(0.0, abs=0.02)
    noise = rng.normal(size=codes.shape)
    for each in evaluate_scores(noise, factors, scores="infomec@adjusted", half_samples=0):
        assert each.calibrated == 0.0
        assert each.p_value == 1.0


def with_values(monkeypatch, value, shuffled):
    """Let every score have one value of the true order, and another of every shuffle."""
    values = iter([value])

    def scored(each, _):
        return FactorScore(name=each.name, value=next(values, shuffled))

    monkeypatch.setattr(calibrating, "_score", scored)


def test_an_adjusted_value_beyond_a_limit_above_zero_is_left_as_it_is(monkeypatch, codes, factors):
    for variant, calibrated in (("adjusted", 0.6), ("ubisoft", 0.5)):
        with_values(monkeypatch, 0.6, 0.2)
        (found,) = evaluate_scores(codes, factors, scores=f"mig@{variant}", half_samples=0)
        assert found.calibrated == pytest.approx(calibrated)
    with_values(monkeypatch, 0.1, 0.2)
    (found,) = evaluate_scores(codes, factors, scores="mig@adjusted", half_samples=0)
    assert found.calibrated == 0.0


def test_a_shuffle_without_a_value_counts_as_the_worst(monkeypatch, codes, factors):
    with_values(monkeypatch, -0.5, None)
    (found,) = evaluate_scores(codes, factors, scores="linear-probe", half_samples=0)
    assert found.p_value == pytest.approx(1 / 20)
    assert found.chance is None
    assert found.limit is None


def test_scores_without_factors_stand_beside_independent_codes(rng):
    codes = rng.normal(size=(300, 3)) @ np.array([[1, 0.8, 0], [0, 0.6, 0], [0, 0, 1]])
    found = evaluate_scores(codes, rng.integers(3, size=(300, 1)), scores="independence")
    for each in found:
        assert each.value.value > 5 * each.chance
        assert each.limit is each.p_value is each.calibrated is None
        assert "The score uses no factors" in each.says


@pytest.mark.slow
def test_costly_scores_say_how_few_shuffles_they_had(codes, factors):
    kept = slice(40)
    (found,) = evaluate_scores(
        codes[kept, :2],
        factors[kept, :1] > 0,
        scores="dci/completeness@ubisoft/lasso",
        half_samples=0,
    )
    assert found.refits == 4
    assert "4 permutations" in found.says
    assert found.limit is None
    assert found.p_value >= 0.2


def test_a_score_that_cannot_take_the_data_says_so_and_others_go_on(factors, rng):
    codes = rng.integers(3, size=(9, 2))
    names = ("dci/completeness@ubisoft/lasso", "gaussian-tc", "mig")
    refused, discrete, counted = evaluate_scores(
        codes, factors[:9], scores=names, discrete_codes=True
    )
    assert refused.value is None
    assert "needs at least 10" in refused.says
    assert discrete.value is None
    assert "discrete" in discrete.says
    assert counted.value is not None


def test_halves_that_are_too_small_for_a_score_are_told(rng):
    codes, factors = rng.normal(size=(50, 4)), rng.integers(4, size=(50, 1))
    name = "infomec/explicitness@adjusted"
    (found,) = evaluate_scores(codes, factors, scores=name, refits=0, half_samples=10)
    assert found.value.low is None
    assert found.half_samples == 0
    assert "defined on 0 half-samples, too few for an interval" in found.says


def test_progress_is_told_of_every_order_and_half(codes, factors):
    steps = []

    class Watcher:
        @contextmanager
        def task(self, label, total):
            steps.append(total)
            yield lambda count: steps.append(-count)

    evaluate_scores(codes, factors, scores="mig", refits=3, half_samples=10, progress=Watcher())
    assert steps[0] == 14
    assert sum(steps) == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"refits": -1}, "refits is -1"),
        ({"half_samples": 5}, "an interval needs at least 10"),
        ({"scores": "none"}, "there is no score 'none'"),
        ({"continuous": [True]}, "`continuous` has 1 flags"),
        ({"discrete_codes": True}, "not whole numbers"),
    ],
)
def test_what_no_score_can_take_is_refused(codes, factors, settings, message):
    with pytest.raises(InputError, match=message):
        evaluate_scores(codes, factors, **settings)


def test_the_scores_by_default_are_all_defined_and_beyond_chance(codes, factors):
    found = evaluate_scores(codes, factors)
    assert [each.name for each in found] == list(DEFAULT_SCORES)
    for each in found[:-1]:
        assert each.p_value == pytest.approx(0.05)
        assert each.value.low > each.limit
