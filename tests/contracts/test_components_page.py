"""The table of fitted components is that of the record, and the record keeps its level."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from checks.components import FALSE, SEED, SPURIOUS, TRUE

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool():
    path = ROOT / "docs" / "_tools" / "components.py"
    spec = importlib.util.spec_from_file_location("components_tool", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_shows_the_record(tool):
    assert tool.page() == tool.PAGE.read_text(encoding="utf-8")


def test_the_record_is_of_the_check_of_today(tool):
    record = json.loads(tool.RECORD.read_text(encoding="utf-8"))
    assert (record["seed"], record["share_of_trials"]) == (SEED, 1.0)
    # A record from before distinct components were counted is still one of P2.
    counted = any(rate["check"].startswith("distinct") for rate in record["rates"])
    asked = (*SPURIOUS * counted, *FALSE, *TRUE)
    laws = [(law.name, n_rows, trials) for law, n_rows, trials in asked]
    assert [(r["case"], r["n_samples"], r["trials"]) for r in record["rates"]] == laws


def test_what_is_not_there_is_claimed_no_more_often_than_the_level(tool):
    record = json.loads(tool.RECORD.read_text(encoding="utf-8"))
    levels = [rate for rate in record["rates"] if rate["nominal"] is not None]
    assert len(levels) in (len(FALSE), len(FALSE) + len(SPURIOUS))
    assert all(rate["kept"] for rate in levels)
