"""The study of held-out plates finds what was planted, and notices what was not."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from upto.core import InputError, SilentProgress, StudyResult
from upto.simulate import CONTROL, PlateLayout, ScreenEffects
from upto_studies import plate_holdout_synthetic as study
from upto_studies.outcome import Work
from upto_studies.plate_cases import CASES, MAIN, draw_case
from upto_studies.plate_tables import mean_of
from upto_studies.run import run_study, study_folder, study_plan

SETTINGS = study.Settings(
    cases=[MAIN],
    n_experiments=1,
    n_plates=4,
    n_wells=60,
    n_guides=1,
    controls_per_guide=4.0,
    n_features=8,
    shift=2.0,
    plate_offset=1.0,
    noise=0.1,
    n_folds=2,
    n_repeats=2,
)


@pytest.fixture
def work(tmp_path):
    return Work(
        seed=1, device="cpu", folder=tmp_path, resume=False, data=None, progress=SilentProgress()
    )


def drawn(name, seed=0):
    layout = PlateLayout(n_experiments=1, n_plates=4, n_wells=40)
    return draw_case(
        CASES[name], layout, ScreenEffects(shift=1.2), n_features=40, noise=0.1, seed=seed
    )


@pytest.mark.slow
def test_every_claim_holds_at_the_tiny_size():
    result = run_study("plate-holdout-synthetic", size="tiny")
    assert result.missed == ()
    assert len(result.quantities) == 12
    assert StudyResult.from_json(result.to_json()) == result


@pytest.mark.slow
def test_the_same_seed_gives_the_same_numbers(work):
    first = study.run(SETTINGS, work)
    assert first.measured == study.run(SETTINGS, work).measured
    assert first.measured["mixed/auroc-truth"].value > 0.7


def test_every_case_can_be_drawn_and_is_what_it_says():
    main = drawn(MAIN)
    for name in CASES:
        screen = drawn(name)
        assert screen.rows.shape[1] == 40
        assert np.isfinite(screen.rows).all()
    assert np.abs(drawn("axis-aligned").rows - drawn("axis-aligned").factors).max() < 1.0
    assert len(drawn("an eighth").rows) * 8 == len(main.rows)
    assert len(drawn("double").rows) == 2 * len(main.rows)
    assert not drawn("confounded").shifts.any()
    assert drawn("shared").shared == (0, 1, 2, 3)
    assert drawn("noise, all kept").factors.shape[1] == 10
    assert np.abs(drawn("many axes").shifts[:, :4]) == pytest.approx(0.6)
    assert not drawn("no plates").offsets.any()
    assert drawn("strong plates").offsets == pytest.approx(3 * main.offsets)


def test_cases_of_a_repeat_differ_by_what_they_are_about_only():
    main, mixed_otherwise = drawn(MAIN), drawn("any matrix")
    assert np.array_equal(main.factors, mixed_otherwise.factors)
    assert np.array_equal(main.treatment, mixed_otherwise.treatment)
    assert not np.allclose(main.rows, mixed_otherwise.rows)


def test_planted_factors_are_found_and_lost_ones_are_missed():
    layout = PlateLayout(n_experiments=2, n_plates=6, n_wells=150, guides=("A", "B", "C", "D"))
    effects = ScreenEffects(shift=2.0)
    found, lost = (
        study._planted(
            draw_case(CASES[name], layout, effects, n_features=10, noise=0.05, seed=0), None, 0
        )
        for name in (MAIN, "gaussian")
    )
    assert found[0] > 0.95
    assert found[1] >= 0.8
    assert lost[0] < 0.9


def test_a_factor_carries_what_moves_it():
    screen = drawn("shared")
    assert CONTROL in screen.treatment
    assert [study._truth_of(factor, screen) for factor in (0, 5)] == ["both", "neither"]
    screen = drawn(MAIN)
    assert [study._truth_of(factor, screen) for factor in (0, 5, 9)] == [
        "label",
        "batch",
        "neither",
    ]


def test_a_mean_has_an_interval_from_three_screens_on():
    assert mean_of([0.1, 0.3]).low is None
    found = mean_of([0.1, 0.2, 0.3])
    # Student's t of two degrees of freedom is 4.3027, the standard error 0.1/√3.
    assert (found.low, found.high) == pytest.approx((-0.048414, 0.448414), abs=1e-5)
    assert mean_of([0.8, 0.9, 1.0], most=1.0).high == 1.0


def test_claims_are_about_quantities_that_are_measured():
    plan = study_plan("plate-holdout-synthetic")
    assert plan.settings["cases"] == list(CASES)
    few = {"auroc": {}, "within": {}, "sparsity": {}}
    for name in (*study.CONDITIONS, study.TRUTH):
        for values in few.values():
            values[name] = 0.5
    reading = study.Reading(rows_per_dimension=9.0, shuffled=0.5, matched=1.0, carried=1.0, **few)
    measured = study._measured({name: [reading] * 3 for name in CASES})
    text = (study_folder("plate-holdout-synthetic") / "expected.json").read_text(encoding="utf-8")
    assert {each["name"] for each in json.loads(text)} <= set(measured)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"cases": ["mixed", "sideways"]}, "there is no case 'sideways'"),
        ({"cases": ["gaussian"]}, "the cases lack 'mixed'"),
    ],
)
def test_cases_that_do_not_exist_are_refused(work, wrong, says):
    with pytest.raises(InputError, match=says):
        study.run(dataclasses.replace(SETTINGS, **wrong), work)
