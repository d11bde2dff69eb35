"""The study of misspecified regression finds what is known, and notices what is not so."""

from __future__ import annotations

import dataclasses

import pytest

from upto.core import InputError, SilentProgress, StudyResult
from upto_studies import regressions
from upto_studies.misspecified_regression import Settings, run
from upto_studies.outcome import Work
from upto_studies.run import run_study

SETTINGS = Settings(
    problems=["line", "cubic+absolute"],
    row_counts=[100, 1000],
    n_repeats=60,
    noise=0.1,
    n_unseen=1,
)


@pytest.fixture
def work(tmp_path):
    return Work(
        seed=1, device="cpu", folder=tmp_path, resume=False, data=None, progress=SilentProgress()
    )


@pytest.mark.slow
def test_every_claim_holds_at_the_tiny_size():
    result = run_study("misspecified-regression", size="tiny")
    assert result.missed == ()
    assert StudyResult.from_json(result.to_json()) == result
    assert len(result.quantities) == 9


def test_every_rate_has_an_interval_and_every_closed_form_is_met(work):
    measured = run(SETTINGS, work).measured
    for name in ("statistical-rate", "nearest-rate", "unseen-rate", "well-specified-rate"):
        assert measured[name].low < -0.5 + 0.1
        assert measured[name].high > -0.5 - 0.1
    assert measured["structural-size"].value == pytest.approx(1, abs=0.1)
    assert measured["same-rows-gap"].value < 1e-12
    assert measured["unseen-gap"].value == pytest.approx(1, abs=1e-9)


def test_a_wrong_closed_form_is_noticed(work, monkeypatch):
    cubic = dataclasses.replace(regressions.CURVES["cubic"], slope=0.5)
    monkeypatch.setitem(regressions.CURVES, "cubic", cubic)
    measured = run(dataclasses.replace(SETTINGS, problems=["line", "cubic"]), work).measured
    # Fits now stay away from what is taken for the best model.
    assert measured["nearest-rate"].value > -0.4


def test_without_a_line_there_is_no_control(work):
    measured = run(dataclasses.replace(SETTINGS, problems=["sine"], n_repeats=10), work).measured
    assert "well-specified-rate" not in measured
    assert "structural-rate" in measured


def test_the_same_seed_gives_the_same_numbers(work):
    settings = dataclasses.replace(SETTINGS, n_repeats=5)
    assert run(settings, work).measured == run(settings, work).measured


@pytest.mark.parametrize(
    "wrong",
    [
        {"problems": []},
        {"row_counts": [100]},
        {"row_counts": [0, 10]},
        {"n_repeats": 0},
        {"noise": 0.0},
        {"n_unseen": 0},
    ],
)
def test_fits_of_nothing_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        run_study("misspecified-regression", size="tiny", settings=wrong)
