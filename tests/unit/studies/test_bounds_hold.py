"""The study bounds-hold counts what it should, and its claims can fail."""

from __future__ import annotations

import pytest

from upto.core import InputError
from upto_studies import bounds_hold, trials
from upto_studies.run import run_study

pytestmark = pytest.mark.slow

FEW = {
    "pairs": 6,
    "sets": 12,
    "white_pairs": 16,
    "perturbed": 8,
    "unmixed": 8,
    "searched": 4,
    "stars": 8,
    "structures": 4,
    "searched_structures": 4,
    "maps": 4,
    "shared": 4,
    "networks": 4,
    "sprites": 2,
    "compared": 5,
    "models": 40,
    "grids": 100,
    "heads": 189,
}


@pytest.fixture(scope="module")
def result():
    return run_study("bounds-hold", size="tiny", settings=FEW, seed=1)


def test_every_claim_but_the_control_counts_no_violation(result):
    claims = {each.name: each for each in result.quantities if each.fixed}
    for control in (
        "control",
        "star-searched-elsewhere",
        "printed-prior",
        "printed-decoder",
        "diversity-by-type",
    ):
        assert claims.pop(f"violations of {control}").measured.value >= 1
    assert claims.pop("star searches in other optima").measured.value >= 1
    assert {each.measured.value for each in claims.values()} == {0.0}
    assert result.missed == ()


def test_every_statement_has_a_row_and_a_name(result):
    named = [row[0] for row in result.details[0].rows]
    assert set(named) <= set(bounds_hold.NAMES.values())
    assert "Theorem 3, components found by ICA" in named
    counted = {
        each.name.removeprefix("violations of ")
        for each in result.quantities
        if each.name.startswith("violations of ")
    }
    assert counted <= set(bounds_hold.NAMES)


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
    assert "violations of appendix-a6" in result.missed
    assert ": 2 of" in result.verdict


def test_a_second_optimum_is_counted_and_is_no_violation(monkeypatch):
    def elsewhere(rng, count, dimensions):
        case = trials.Case(
            statement="theorem-2-searched" + trials.ELSEWHERE,
            kind="planted",
            n_dimensions=2,
            measured=2.0,
            bound=1.0,
        )
        return [case] * 3, 0

    monkeypatch.setattr(trials, "searched_cases", elsewhere)
    result = run_study("bounds-hold", size="tiny", settings=FEW, seed=1)
    counts = {each.name: each.measured for each in result.quantities}
    assert counts["searches in other optima"].value == 3
    assert "0 of" in result.verdict
    # Where no search was in a corresponding optimum, nothing bears the claim out.
    assert counts["violations of theorem-2-searched"] is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"dimensions": []},
        {"dimensions": [0]},
        {"component_dimensions": [1]},
        {"source_dimensions": [1]},
        {"pairs": -5},
        {"compared": 0},
        {"steps": -1},
    ],
)
def test_cases_that_cannot_be_made_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        run_study("bounds-hold", size="tiny", settings=wrong)
