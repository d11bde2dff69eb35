"""Measures that match coordinates, against the numbers of their authors' own programs."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from upto.measures.matching import (
    HARD_CORRELATION_MATCH,
    MCC,
    MCC_RDC,
    MCC_SPEARMAN,
    SOFT_CORRELATION_MATCH,
    WEAK_MCC,
)
from upto.measures.moments import pair_moments
from upto.measures.udr import UDR, udr_scores

ROOT = Path(__file__).resolve().parents[2]
CASES = json.loads((ROOT / "tests" / "golden" / "measures_matching.json").read_text("utf-8"))[
    "cases"
]
MEASURES = {
    each.name.split(":")[0]: each
    for each in (
        MCC,
        MCC_SPEARMAN,
        MCC_RDC,
        WEAK_MCC,
        HARD_CORRELATION_MATCH,
        SOFT_CORRELATION_MATCH,
        UDR,
    )
}
AGREE = 1e-6


@pytest.fixture(scope="module")
def oracles():
    source = ROOT / "checks" / "oracles_matching.py"
    spec = importlib.util.spec_from_file_location("oracles_matching", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def named(name):
    stem, _, number = name.partition(":")
    return MEASURES[stem].with_parameter(int(number)) if number else MEASURES[stem]


def moments_of(measure, runs):
    first, second = (measure.prepared(run) for run in runs[:2])
    return pair_moments(first, second)


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case["measure"] != "udr of runs"],
    ids=lambda case: f"{case['measure']}, {case['peer']}, {case['seed']}, {case['held_out']}",
)
def test_a_value_is_that_of_the_authors(case, oracles):
    measure = named(case["measure"])
    runs = oracles.runs_of(case["seed"], tuple(case["widths"]), tied=case["tied"])
    fit, held = oracles.halves(runs)
    if case["held_out"]:
        found = measure.scored(moments_of(measure, fit), moments_of(measure, held))
    elif "fitted_on" in case:
        found = measure(*fit)
    else:
        found = measure(*runs[:2])
    assert found == pytest.approx(case["value"], abs=AGREE)


@pytest.mark.parametrize("case", [case for case in CASES if case["measure"] == "udr of runs"])
def test_runs_are_ranked_as_by_the_authors(case, oracles):
    runs = oracles.runs_of(case["seed"], tuple(case["widths"]))
    found = udr_scores(runs, np.array(case["informative"], dtype=bool))
    np.testing.assert_allclose(found, case["value"], atol=AGREE)


def test_every_peer_and_measure_has_a_value():
    assert {case["peer"].split(",")[0] for case in CASES} == {
        "icebeem", "cl-ica", "identifiability-guard", "ReSi", "disentanglement_lib",
    }  # fmt: skip
    assert {case["measure"].split(":")[0] for case in CASES} == {*MEASURES, "udr of runs"}
