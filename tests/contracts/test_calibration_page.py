"""The page of levels and coverage is written from committed records that keep their promises."""

import pytest
from checks import calibration, type_one
from doc_tools import load_tool


@pytest.fixture(scope="module")
def tool():
    return load_tool("calibration")


def test_every_level_and_interval_keeps_its_promise(tool):
    rates = tool._record("calibration")["rates"]
    kept = {rate["case"]: rate["kept"] for rate in rates if rate["nominal"] is not None}
    assert all(kept.values()), [case for case, fine in kept.items() if not fine]
    cells = {(rate["case"], rate["n_samples"]) for rate in rates if rate["check"] == "level"}
    assert cells >= {cell[:2] for cell in calibration.LEVEL_CELLS}


def test_every_similarity_keeps_its_level(tool):
    shares = tool._record("type_one")["shares"]
    broken = [(each["measure"], each["case"]) for each in shares if not each["kept"]]
    assert not broken
    assert {each["case"] for each in shares} >= {cell[0] for cell in type_one.CELLS}


def test_no_verdict_of_the_record_claims_too_much(tool):
    record = tool._record("verdicts")
    assert record["pairs"] >= 500
    assert record["claim_too_much"] == 0
    assert record["false_alarms"] <= record["false_alarms_allowed"]
