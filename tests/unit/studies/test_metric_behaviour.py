"""The study of scores finds closed forms, and notices scores that reward noise."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from upto.core import InputError, SilentProgress, StudyResult
from upto.disentanglement import CalibratedScore, FactorScore, find_scores, infomec
from upto_studies import metric_cases
from upto_studies.metric_behaviour import SCORES, Settings, run
from upto_studies.metric_cases import CASES
from upto_studies.metric_claims import (
    Draw,
    case_claims,
    compressed_modularity,
    doubled_compactness,
    shared_modularity,
)
from upto_studies.metric_sweeps import Layout, over_draws, sweep
from upto_studies.metric_tables import reading
from upto_studies.outcome import Work
from upto_studies.run import run_study

CLASSES = (3, 4, 5)
SETTINGS = Settings(
    classes=list(CLASSES),
    n_rows=300,
    n_draws=1,
    n_permutations=2,
    slow_scores=[],
    costly_scores=[],
    n_slow_permutations=1,
    image_classes=list(CLASSES),
    row_counts=[100, 300],
    leaks=[0.01, 0.1],
    noises=[0.001, 0.05],
    angles=[0.0, 45.0],
    blurs=[0.01, 1.0],
    correlations=[0.0, 0.8],
)


@pytest.fixture
def work(tmp_path):
    return Work(
        seed=1, device="cpu", folder=tmp_path, resume=False, data=None, progress=SilentProgress()
    )


def said(value):
    score = FactorScore(name="", value=value)
    return CalibratedScore(
        name="",
        score=score,
        value=None,
        chance=0.0,
        limit=None,
        calibrated=value,
        p_value=None,
        refits=2,
        half_samples=0,
        says="",
    )


QUICK = [each.name for each in find_scores(SCORES)]


def drawn(name, n_rows=1000):
    (case,) = (each for each in CASES if each.name == name)
    return case.make(n_rows, CLASSES, np.random.default_rng(0))


@pytest.mark.slow
def test_every_claim_holds_at_the_tiny_size():
    result = run_study("metric-behaviour", size="tiny")
    assert result.missed == ()
    assert StudyResult.from_json(result.to_json()) == result


def test_cases_of_one_stream_differ_by_their_fault_alone():
    good, outlier, dead = drawn("good"), drawn("outlier"), drawn("dead")
    changed = np.argwhere(good.codes != outlier.codes)
    assert changed.tolist() == [[0, 0]]
    assert np.array_equal(good.codes, dead.codes[:, : len(CLASSES)])
    assert all(np.array_equal(good.factors, each.factors) for each in (outlier, dead))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_case_has_its_number_of_codes_and_finite_values(case):
    sample = case.make(200, CLASSES, np.random.default_rng(0))
    width = {"noise": 6, "imbalanced noise": 6, "doubled": 6, "dead": 6, "unused": 6}
    width |= {"compressed": 2}
    assert sample.codes.shape == (200, width.get(case.name, 3))
    assert sample.factors.shape == (200, 3)
    assert np.isfinite(sample.codes).all()
    assert sample.discrete_codes == (case.name == "discrete")


def test_a_turn_keeps_lengths_and_a_right_angle_exchanges_codes():
    straight, turned = (
        metric_cases.turned_by(500, CLASSES, np.random.default_rng(0), degrees=degrees)
        for degrees in (0.0, 90.0)
    )
    assert np.allclose(turned.codes[:, 1], straight.codes[:, 0], atol=0.1)
    assert np.allclose(turned.codes[:, 0], -straight.codes[:, 1], atol=0.1)


def test_compressed_codes_tell_of_two_factors_without_loss():
    sample = drawn("compressed")
    pairs = np.unique(np.column_stack([sample.factors[:, :2]]), axis=0)
    order = np.argsort(sample.codes[:, 0])
    seen = sample.factors[order, 0] * CLASSES[1] + sample.factors[order, 1]
    assert len(pairs) == CLASSES[0] * CLASSES[1]
    assert np.all(np.diff(seen) >= 0)


def test_factors_correlate_as_asked_and_have_equal_shares():
    sample = metric_cases.correlated(20_000, (10, 10, 4), np.random.default_rng(0), correlation=0.7)
    # Spearman's rank correlation of a Gaussian pair.
    expected = 6 / np.pi * np.arcsin(0.35)
    found = np.corrcoef(sample.factors[:, 0], sample.factors[:, 1])[0, 1]
    assert found == pytest.approx(expected, abs=0.02)
    assert np.allclose(np.bincount(sample.factors[:, 0]) / 20_000, 0.1, atol=0.01)


def test_closed_forms_are_those_of_the_score():
    assert doubled_compactness(3) == pytest.approx(0.4)
    assert compressed_modularity(3) == pytest.approx(0.625)
    doubled, compressed = drawn("doubled", 2000), drawn("compressed", 2000)
    assert infomec(doubled.codes, doubled.factors).compactness.value == pytest.approx(
        doubled_compactness(3), abs=0.01
    )
    assert infomec(compressed.codes, compressed.factors).modularity.value == pytest.approx(
        compressed_modularity(3), abs=0.02
    )


def test_independent_factors_share_almost_nothing(monkeypatch):
    real = metric_cases.correlated
    assert shared_modularity(2000, CLASSES, seed=0, draw=0) < 0.9
    monkeypatch.setattr(metric_cases, "correlated", lambda *args: real(*args, correlation=0.0))
    assert shared_modularity(2000, CLASSES, seed=0, draw=0) > 0.98


def test_scores_that_reward_noise_or_break_on_an_outlier_would_be_noticed():
    def measured(by=None):
        readings = {
            (case.name, name): said(0.0 if "noise" in case.name else 1.0)
            for case in CASES
            for name in QUICK
        }
        return case_claims([readings | (by or {})], CLASSES, 300, seed=0)

    kind = measured()
    assert kind["noise-adjusted"].value == kind["outlier-adjusted"].value == 0.0
    assert kind["order-adjusted"].value == kind["good-adjusted"].value == 1.0
    generous = measured(by={("imbalanced noise", "mig@adjusted"): said(0.3)})
    assert generous["noise-adjusted"].value == pytest.approx(0.3)
    broken = measured(by={("outlier", "infomec/compactness@adjusted"): said(None)})
    assert broken["outlier-adjusted"].value == pytest.approx(1.0)


@pytest.mark.slow
def test_the_table_of_all_scores_has_every_case_and_slow_scores_if_asked(work):
    asked = dataclasses.replace(SETTINGS, slow_scores=["sap"], n_rows=120)
    outcome = run(asked, work)
    names = [table.title for table in outcome.tables]
    every = outcome.tables[names.index("Every score of every case")]
    assert {row[0] for row in every.rows} == {case.name for case in CASES}
    assert {row[1] for row in every.rows} >= {"sap@disentanglement_lib", "irs@robust"}
    assert "good-sap" in outcome.measured
    assert "dci-good" not in outcome.measured


def test_draws_have_their_mean_and_ends():
    found = over_draws([0.1, 0.2, 0.6])
    assert (found.value, found.low, found.high) == pytest.approx((0.3, 0.1, 0.6))
    assert found.level == pytest.approx(0.75)
    assert over_draws([0.5]).low is None


def test_a_score_that_was_not_computed_is_left_out():
    assert Draw({}).all_of("good", ["mig@adjusted"]).size == 0
    assert reading([{}], "good", "mig@adjusted") is None


def test_a_sweep_scores_the_same_draw_at_every_strength():
    layout = Layout(n_rows=200, classes=CLASSES, n_draws=2, seed=3)
    seen = []

    def make(strength, rng):
        seen.append(rng.random())
        return metric_cases.good(200, CLASSES, rng, noise=strength)

    found = sweep(make, [0.01, 100.0], ["mig@adjusted"], layout)
    assert seen[0] == seen[1] != seen[2] == seen[3]
    assert found.at("mig@adjusted", 0.01).value > 0.95
    assert found.at("mig@adjusted", 100.0).value == 0.0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"classes": [4, 8]}, "classes"),
        ({"n_rows": 10}, "n_rows"),
        ({"n_permutations": 1}, "n_permutations"),
        ({"correlations": [0.0, 1.0]}, "correlations"),
        ({"leaks": [0.02, 0.1]}, "the leaks lack 0.01"),
        ({"slow_scores": ["sapp"]}, "no score 'sapp'"),
        ({"costly_scores": ["dci@forest"]}, "no variant 'forest'"),
    ],
)
def test_settings_that_cannot_be_are_refused(wrong, words):
    with pytest.raises(InputError, match=words):
        run_study("metric-behaviour", size="tiny", settings=wrong)
