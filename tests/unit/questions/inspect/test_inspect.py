"""`inspect` reports Gaussianity, and reports when it was not tested."""

from __future__ import annotations

import numpy as np

import upto
from upto import ThreadsEngine

ENGINE = ThreadsEngine(n_threads=1)


def test_gaussian_rows_too_few_to_judge_are_said_not_to_be_judged():
    result = upto.inspect(np.random.default_rng(0).normal(size=(300, 6)), engine=ENGINE)
    assert result.verdict.endswith("; Gaussianity of components not tested.")
    assert result.n_near_gaussian is None
    (finding,) = (found for found in result.findings if found.code == "UP015")
    assert finding.message == (
        "90 held-out rows of run are too few to test components for Gaussianity, which takes 100."
    )
    assert dict(result.tables()[0].rows)["near-Gaussian components"] is None


def test_gaussian_rows_that_are_many_enough_are_counted():
    result = upto.inspect(np.random.default_rng(0).normal(size=(3000, 6)), engine=ENGINE)
    assert result.verdict.endswith("; 6 of 6 components are near-Gaussian.")
    assert result.n_near_gaussian == 6
    assert [finding.code for finding in result.findings] == ["UP003"]


def test_one_gaussian_component_is_one():
    rng = np.random.default_rng(0)
    rows = np.hstack([rng.laplace(size=(2000, 2)), rng.normal(size=(2000, 1))])
    result = upto.inspect(rows, engine=ENGINE)
    assert result.verdict.endswith("; 1 of 3 components is near-Gaussian.")


def test_gaussianity_that_was_not_asked_for_is_no_finding():
    result = upto.inspect(np.random.default_rng(0).normal(size=(1000, 6)), ica=False, engine=ENGINE)
    assert result.findings == ()
    assert "Gaussian" not in result.verdict
    assert result.n_near_gaussian is None
