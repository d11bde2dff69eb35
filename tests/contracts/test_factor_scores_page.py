"""The page of scores is written by a script; here it is shown to be up to date."""

import json

import numpy as np
import pytest
from doc_tools import load_tool

from upto.disentanglement import evaluate_scores, find_scores

CHECKED = ("mig", "mig@ubisoft", "ridgeway/modularity", "drvi@spn", "irs", "independence")


@pytest.fixture(scope="module")
def tool():
    return load_tool("factor_scores")


def test_what_noise_scores_is_recorded_for_every_score_and_still_so(tool):
    recorded = json.loads(tool.RECORD.read_text(encoding="utf-8"))
    assert list(recorded) == [each.name for each in find_scores("all")], (
        "run `python docs/_tools/factor_scores.py --measure`"
    )
    for each in evaluate_scores(*tool.noise(), scores=CHECKED, refits=0, half_samples=0):
        assert each.score.value == pytest.approx(recorded[each.name], abs=1e-6)


def test_adjusted_scores_of_noise_are_recorded_as_nothing(tool):
    recorded = json.loads(tool.RECORD.read_text(encoding="utf-8"))
    adjusted = [value for name, value in recorded.items() if name.endswith("@adjusted")]
    assert len(adjusted) == 7
    assert max(adjusted) <= 0.02
    assert np.isfinite([value for value in recorded.values() if value is not None]).all()
