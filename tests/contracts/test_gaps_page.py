"""The table of what a spectrum shows is that of the record; heads of full rank are left alone."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from checks.gaps import BY_STEP, FULL, LEFT_ALONE, LOW, SEED, SHAPES, STEPS, TRIALS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool():
    path = ROOT / "docs" / "_tools" / "gaps.py"
    spec = importlib.util.spec_from_file_location("gaps_tool", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_shows_the_record(tool):
    assert tool.page() == tool.PAGE.read_text(encoding="utf-8")


def test_the_record_is_of_the_check_of_today(tool):
    record = json.loads(tool.RECORD.read_text(encoding="utf-8"))
    assert (record["seed"], record["share_of_trials"]) == (SEED, 1.0)
    asked = [
        (check, name, n_classes, TRIALS)
        for check, laws in ((LEFT_ALONE, FULL), ("seen", LOW), (BY_STEP, STEPS))
        for name, _ in laws
        for n_classes, _ in SHAPES
    ]
    rates = record["rates"]
    assert [(r["check"], r["case"], r["n_samples"], r["trials"]) for r in rates] == asked


def test_heads_of_full_rank_are_left_alone(tool):
    record = json.loads(tool.RECORD.read_text(encoding="utf-8"))
    alone = [rate for rate in record["rates"] if rate["check"] == LEFT_ALONE]
    assert len(alone) == len(FULL) * len(SHAPES)
    assert all(rate["kept"] for rate in alone)
