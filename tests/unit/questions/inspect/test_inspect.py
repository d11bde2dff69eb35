"""`inspect` reports Gaussianity, and reports when it was not tested."""

from __future__ import annotations

import numpy as np
import pytest

import upto
from upto import ThreadsEngine
from upto.core import InputError
from upto.questions.inspect import wide_rows

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


def in_all_coordinates(monkeypatch, rows, **options):
    """Inspect rows by products of all their coordinates."""
    with monkeypatch.context() as patch:
        patch.setattr(wide_rows, "WIDE", rows.shape[1])
        return upto.inspect(rows, engine=ENGINE, **options)


def test_more_coordinates_than_rows_are_summarised_in_those_the_rows_span(monkeypatch, rng):
    rows = (rng.laplace(size=(400, 6)) @ rng.normal(size=(6, 500))).astype(np.float32)
    rows[:, 3] = 2.5
    expected = in_all_coordinates(monkeypatch, rows)
    found = upto.inspect(rows, engine=ENGINE)
    assert (found.run.rank, found.run.n_features, found.run.n_dead) == (6, 500, 1)
    assert found.findings == expected.findings
    assert found.run.n_components == expected.run.n_components
    for one, other in (
        (found.effective_dimension, expected.effective_dimension),
        (found.run.spread, expected.run.spread),
        (found.run.diameter.value, expected.run.diameter.value),
    ):
        assert one == pytest.approx(other, rel=1e-6)
    np.testing.assert_allclose(found.spectrum, expected.spectrum, atol=1e-7)


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows,
        lambda rows: rows.astype(np.float32),
        lambda rows: rows.round(3),
        lambda rows: rows + 1e4,
        lambda rows: rows * np.logspace(0, -6, rows.shape[1]),
        lambda rows: (100 * rows).astype(int),
        lambda rows: rows[np.arange(len(rows)) // 2],
    ],
    ids=["double", "single", "decimals", "far", "scales", "integers", "copies"],
)
def test_few_rows_have_the_rank_and_the_spectrum_of_all_coordinates(monkeypatch, rng, change):
    rows = change(rng.laplace(size=(60, 300)))
    expected = in_all_coordinates(monkeypatch, rows, ica=False)
    found = upto.inspect(rows, ica=False, engine=ENGINE)
    assert found.run.rank == expected.run.rank
    assert found.findings == expected.findings
    assert found.verdict == expected.verdict
    assert found.run.diameter.value == pytest.approx(expected.run.diameter.value, rel=1e-9)
    np.testing.assert_allclose(found.spectrum, expected.spectrum, atol=1e-10)


def test_few_rows_are_not_multiplied_by_all_their_coordinates(monkeypatch, rng):
    seen = []
    kept = wide_rows.take_rows

    def watch(engine, rows, index):
        seen.append(rows.shape)
        return kept(engine, rows, index)

    monkeypatch.setattr(wide_rows, "take_rows", watch)
    upto.inspect(rng.normal(size=(40, 300)), ica=False, engine=ENGINE)
    upto.inspect(rng.normal(size=(400, 300)), ica=False, engine=ENGINE)
    assert seen == [(40, 300)]


def test_the_spectrum_is_that_of_the_covariance(rng):
    rows = rng.normal(size=(300, 5)) * [3, 2, 1, 0.1, 0]
    rows[:, 3] = rows[:, 0]
    values = np.linalg.eigvalsh(np.cov(rows.T))[::-1]
    found = upto.inspect(rows, ica=False, engine=ENGINE)
    np.testing.assert_allclose(found.spectrum, values / values.sum(), atol=1e-12)


def test_a_run_whose_directions_do_not_fit_is_refused_before_they_are_computed(monkeypatch):
    monkeypatch.setattr(wide_rows, "MOST_BYTES", 8 * 8 * 30**2)
    with pytest.raises(InputError, match="at most 30 rows, or 30 of the coordinates"):
        upto.inspect(np.zeros((40, 31)), engine=ENGINE)
    upto.inspect(np.random.default_rng(0).normal(size=(30, 50)), engine=ENGINE)
