"""The study bounds-hold counts what it should, and its claims can fail."""

from __future__ import annotations

import pytest

from upto.studies import bounds_hold
from upto.studies.running import run_study
from upto.theory import trials

FEW = {
    "pairs": 6,
    "sets": 12,
    "white_pairs": 16,
    "perturbed": 8,
    "unmixed": 8,
    "structures": 4,
    "maps": 4,
    "shared": 4,
    "networks": 4,
    "sprites": 2,
}


@pytest.fixture(scope="module")
def result():
    return run_study("bounds-hold", size="tiny", settings=FEW, seed=1)


def test_every_claim_but_the_control_counts_no_violation(result):
    counts = {claim.quantity: claim.measured.value for claim in result.claims}
    assert counts.pop("violations of control") >= 1
    assert set(counts.values()) == {0.0}
    assert result.n_held == len(result.claims)


def test_every_statement_has_a_row_and_a_name(result):
    named = [row[0] for row in result.details[0].rows]
    assert set(named) <= set(bounds_hold.NAMES.values())
    assert "Theorem 3, components" in named
    expected = {claim.quantity.removeprefix("violations of ") for claim in result.claims}
    assert expected <= set(bounds_hold.NAMES)


def test_plots_rise_to_all_cases(result):
    *distributions, by_dimension = result.panels()
    curves = [marks for panel in distributions for marks in panel.marks]
    assert len(curves) >= 17
    assert all(marks.y[-1] == 1.0 for marks in curves)
    assert all(list(marks.x) == sorted(marks.x) for marks in curves)
    assert by_dimension.marks[0].x == (1.0, 2.0, 3.0, 4.0, 6.0, 8.0)


def test_the_same_seed_makes_the_same_cases(result):
    again = run_study("bounds-hold", size="tiny", settings=FEW, seed=1)
    assert again.details == result.details


def test_a_bound_that_fails_fails_its_claim(monkeypatch):
    def too_small(rng, count):
        case = trials.Case(
            statement="appendix-a6", kind="planted", n_dimensions=2, measured=1.1, bound=1.0
        )
        return [case] * count

    monkeypatch.setattr(trials, "sprite_cases", too_small)
    result = run_study("bounds-hold", size="tiny", settings=FEW, seed=1)
    failed = [claim.quantity for claim in result.claims if not claim.holds]
    assert "violations of appendix-a6" in failed
    assert "2 of" in result.verdict
