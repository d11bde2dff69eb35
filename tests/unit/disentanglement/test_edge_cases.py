"""Codes that the reference of InfoMEC scores wrongly, or not at all: n = 2,000, sources 4/8/10."""

from __future__ import annotations

import math

import numpy as np
import pytest

from upto.disentanglement.calibrate import evaluate_scores
from upto.disentanglement.catalogue import find_scores
from upto.disentanglement.codes_and_classes import SIMILARITIES
from upto.disentanglement.info_scores import infomec
from upto.disentanglement.shared_information import information

N_SAMPLES = 2000
CLASSES = (4, 8, 10)
PARTS = ("modularity", "explicitness", "compactness")
COSTLY = ("dci/", "downstream")
OUTLIER = 1e4


@pytest.fixture(name="rng")
def generator():
    return np.random.default_rng(0)


@pytest.fixture(name="factors")
def drawn_factors(rng):
    return np.column_stack([rng.integers(count, size=N_SAMPLES) for count in CLASSES])


@pytest.fixture(name="codes")
def near_factors(rng, factors):
    return factors + 1e-3 * rng.normal(size=factors.shape)


def by_both(codes, factors, variant="adjusted", **settings):
    """The three scores by name, after they were seen to be those of `infomec`."""
    names = [f"infomec/{part}@{variant}" for part in PARTS]
    found = evaluate_scores(codes, factors, scores=names, refits=0, half_samples=0, **settings)
    alone = infomec(codes, factors, variant=variant, **settings)
    assert [each.score for each in found] == [getattr(alone, part) for part in PARTS]
    values = [None if each.value is None else each.value.value for each in found]
    return values, [each.says for each in found], alone


def test_factors_with_little_noise_score_one(codes, factors):
    values, says, _ = by_both(codes, factors)
    assert min(values) > 0.98
    assert says == ["", "", ""]


def test_a_rotation_scores_as_the_reference_has_it(rng, factors):
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turned = (factors - factors.mean(axis=0)) / factors.std(axis=0) @ turn
    modularity, explicit, compactness = by_both(turned, factors, "latent_quantization")[0]
    assert modularity < 0.45
    assert explicit == pytest.approx(1.0, abs=0.01)
    assert compactness < 0.45


def test_noise_scores_zero_once_adjusted(rng, factors):
    noise = rng.normal(size=(N_SAMPLES, 6))
    values, says, _ = by_both(noise, factors)
    assert max(values) <= 0.02
    assert "no code is active" in says[0]
    reference, _, _ = by_both(noise, factors, "latent_quantization")
    assert reference[0] > 0.4
    assert reference[2] > 0.2


def test_noise_beside_factors_is_not_active(rng, codes, factors):
    both = np.hstack([codes, 3 * rng.normal(size=(N_SAMPLES, 3))])
    values, _, alone = by_both(both, factors)
    assert list(alone.active) == [True] * 3 + [False] * 3
    assert min(values) > 0.98


def test_noise_beside_a_rare_label_scores_zero(rng, factors):
    factors[:, 0] = rng.choice(3, size=N_SAMPLES, p=[0.9, 0.05, 0.05])
    noise = rng.normal(size=(N_SAMPLES, 6))
    assert max(by_both(noise, factors)[0]) <= 0.02
    guess = np.log(3) - information(noise, factors).entropies[0]
    assert guess > 0.5


def test_an_outlier_leaves_three_active_codes_and_a_score_of_one(codes, factors):
    codes[0, 0] = OUTLIER
    values, _, alone = by_both(codes, factors)
    assert alone.active.all()
    assert min(values) > 0.98


def test_one_active_code_has_no_compactness_and_says_so(codes, factors):
    codes[:, 1:] = 0.0
    values, says, alone = by_both(codes, factors)
    assert list(alone.active) == [True, False, False]
    assert values[0] > 0.98
    assert values[2] is None
    assert "one code is active" in says[2]


def test_constant_codes_score_zero_and_say_so(factors):
    values, says, _ = by_both(np.ones((N_SAMPLES, 3)), factors)
    assert values == [0.0, 0.0, 0.0]
    assert all("no code is active" in each for each in says)


def test_one_factor_has_no_modularity_and_says_so(rng, factors):
    codes = np.column_stack(
        [factors[:, 0] + 0.1 * rng.normal(size=N_SAMPLES), rng.normal(size=N_SAMPLES)]
    )
    values, says, _ = by_both(codes, factors[:, :1])
    assert values[0] is None
    assert "one factor" in says[0]
    noise = by_both(rng.normal(size=(N_SAMPLES, 3)), factors[:, :1])[0]
    assert noise[1] <= 0.02
    assert noise[2] == 0.0


def test_integer_codes_score_one_in_discrete_mode(rng, factors):
    names = np.column_stack(
        [rng.permutation(count)[column] for count, column in zip(CLASSES, factors.T, strict=True)]
    )
    for variant in ("adjusted", "latent_quantization"):
        values, says, _ = by_both(names, factors, variant, discrete_codes=True)
        # A table of 8 × 10 counts of 2,000 rows has some information by chance.
        assert min(values) > (0.98 if variant == "adjusted" else 0.9)
        assert says == ["", "", ""]


def test_tied_values_tell_no_more_than_the_entropy_and_always_the_same(rng, factors):
    tied = np.column_stack([rng.integers(6, size=N_SAMPLES) + 0.0, factors[:, 1] + 0.0])
    first, _, alone = by_both(tied, factors)
    assert alone.shares.max() <= 1.0
    # Counts of classes are estimated by digammas, and their entropy is not: theirs are more.
    assert information(tied, factors).shares.max() == pytest.approx(1.0, abs=1e-12)
    assert first == by_both(tied, factors)[0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_noise_is_calibrated_to_nothing_by_every_cheap_score(seed):
    rng = np.random.default_rng(seed)
    factors = np.column_stack([rng.integers(count, size=N_SAMPLES) for count in CLASSES])
    noise = rng.normal(size=(N_SAMPLES, 6))
    found = evaluate_scores(noise, factors, scores=CHEAP, half_samples=0, seed=seed)
    for each in found:
        assert each.calibrated is None or each.calibrated <= 0.02, each
        without = each.name.startswith(("rmig", "gaussian-tc", "wasserstein"))
        assert (each.calibrated is None) == without, each


@pytest.mark.slow
def test_noise_is_calibrated_to_nothing_by_costly_scores(rng):
    factors = np.column_stack([rng.integers(count, size=600) for count in CLASSES])
    names = ["dci@ubisoft/lasso", "dci@canonical", "downstream@linear"]
    found = evaluate_scores(rng.normal(size=(600, 4)), factors, scores=names, half_samples=0)
    for each in found:
        assert each.refits == 4
        assert each.limit is None
        assert each.calibrated <= 0.02, each


EDGES = {
    "constant codes": lambda codes, factors: (np.zeros_like(codes), factors),
    "one code": lambda codes, factors: (codes[:, :1], factors),
    "one factor": lambda codes, factors: (codes, factors[:, :1]),
    "no labels": lambda codes, factors: (codes, np.full(factors.shape, np.nan)),
    "a constant factor": lambda codes, factors: (codes, factors * 0),
    "an outlier": lambda codes, factors: (np.vstack([codes[1:], codes[:1] + OUTLIER]), factors),
    "ties": lambda codes, factors: (np.round(codes / 3), factors),
    "a label for each row": lambda codes, factors: (
        codes,
        np.arange(factors.size).reshape(factors.shape),
    ),
    "one row": lambda codes, factors: (codes[:1], factors[:1]),
    "two rows": lambda codes, factors: (codes[:2], factors[:2]),
    "four rows": lambda codes, factors: (codes[:4], factors[:4]),
}
QUICK = ("infomec@adjusted", "infomec@tripod", "mig@ubisoft", "mig-sup@adjusted", "dcimig")
QUICK += ("jemmig", "ridgeway/modularity", "linear-probe", "irs@robust", "independence")
QUICK += tuple(f"drvi@{similarity}" for similarity in SIMILARITIES)
CHEAP = tuple(each.name for each in find_scores("all") if not each.name.startswith(COSTLY))


def edge_case(rng, case, discrete_codes):
    factors = np.column_stack([rng.integers(count, size=40) for count in (2, 3)])
    codes, factors = EDGES[case](factors + 0.1 * rng.normal(size=factors.shape), factors)
    return np.round(codes) if discrete_codes else codes, factors


@pytest.mark.parametrize("case", EDGES)
@pytest.mark.parametrize("discrete_codes", [False, True])
@pytest.mark.parametrize("scores", [QUICK, pytest.param(CHEAP, marks=pytest.mark.slow)])
def test_no_score_breaks_or_is_silent_about_what_it_cannot_say(rng, case, discrete_codes, scores):
    codes, factors = edge_case(rng, case, discrete_codes)
    found = evaluate_scores(
        codes, factors, scores=scores, discrete_codes=discrete_codes, refits=1, half_samples=0
    )
    for each in found:
        assert each.value is not None or each.says, each.name
        parts = (each.chance, each.calibrated, *each.score.per_factor, *each.score.per_code)
        assert all(part is None or math.isfinite(part) for part in parts), each
