"""A quick version of ``checks/identifiable.py``, and what its record promises."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from checks import identifiable as check

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "checks" / "identifiable.py"


@pytest.fixture(scope="module")
def record():
    return json.loads(SOURCE.with_suffix(".json").read_text())


def test_every_promise_of_the_record_is_kept(record):
    assert record["share_of_trials"] == 1
    kept = [rate["kept"] for rate in record["rates"]]
    assert False not in kept
    assert kept.count(True) > 20


def test_the_page_has_the_numbers_of_the_record(record):
    page = (ROOT / "docs" / "calibration.md").read_text(encoding="utf-8")
    for rate in record["rates"]:
        if rate["trials"]:
            assert f"{rate['hits']}/{rate['trials']}" in page, rate


def test_components_that_are_called_identifiable_are_sources():
    flagged, best = check.recovered(
        lambda rng, n, d: rng.laplace(size=(n, d)), 1600, 16, (check.SEED, 0)
    )
    assert flagged.sum() >= 15
    assert best[flagged].min() > check.A_SOURCE


def test_autoregressive_rows_have_the_correlation_that_is_asked_for():
    rows = check.autoregressive(np.random.default_rng(0), 40_000, 2, 0.9)
    found = np.sum(rows[1:] * rows[:-1], axis=0) / np.sum(rows**2, axis=0)
    np.testing.assert_allclose(found, 0.9, atol=0.01)
    # The variance is that of about forty thousand over nineteen independent rows.
    np.testing.assert_allclose(rows.var(axis=0), 1, atol=0.12)
