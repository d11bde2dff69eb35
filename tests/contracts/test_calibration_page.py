"""The page of levels and coverage is written from committed records that keep their promises."""

import pytest
from checks import batch_intervals, calibration, kept_biology, type_one
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


def test_every_interval_of_batches_covers_or_is_not_given(tool):
    rates = tool._record("batch_intervals")["rates"]
    broken = [rate["case"] for rate in rates if not rate["kept"]]
    assert not broken
    assert len(rates) == len(batch_intervals.CELLS)


def test_dropping_components_loses_nothing_on_sets_it_was_not_chosen_on(tool):
    record = tool._record("kept_biology")
    assert {each["set"] for each in record["judging"]} > set(kept_biology.JUDGING)
    gains = [each["biology"]["gain"] for each in record["judging"]]
    assert min(gains) >= -0.005
    assert max(gains) > 0.005
    chosen = [each["limit 0.2"]["gain"] for each in record["choosing"]]
    assert min(chosen) >= -0.005
    # The rule it replaces loses much more, or the check could not fail.
    assert min(each["found"]["gain"] for each in record["choosing"] + record["judging"]) < -0.01
