"""The table of fitted components is that of the record, and the record keeps its level."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from checks.components import CASES, SEED

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
    asked = [(case.law.name, case.n_rows, case.trials) for case in CASES]
    assert [(r["case"], r["n_samples"], r["trials"]) for r in record["rates"]] == asked


def test_what_is_not_there_is_claimed_no_more_often_than_the_level(tool):
    record = json.loads(tool.RECORD.read_text(encoding="utf-8"))
    levels = [rate for rate in record["rates"] if rate["nominal"] is not None]
    assert len(levels) == sum(case.nominal is not None for case in CASES)
    assert all(rate["kept"] for rate in levels)
