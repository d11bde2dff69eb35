"""Every number below a verdict speaks of the verdict's group, or names another."""

import re
from dataclasses import replace

import numpy as np
import pytest
from browser import sample_results as sample

import upto
from upto.core import Group, Supremum
from upto.questions.compare.facts import comparison_facts, worst_error
from upto.report import Report


def bracketed(up_to: Group | None):
    """Return a comparison with this verdict, in which each row has an ε of its own."""
    result = sample.comparison(up_to=up_to)
    fits = tuple(
        replace(fit, supremum=Supremum(low=0.1 + place / 100, high=0.5 + place / 100))
        for place, fit in enumerate(result.fits)
    )
    return replace(result, fits=fits)


def shown(result) -> list[tuple[str, str, str]]:
    """Return the lower end, the group and the upper end of each ε on the page."""
    page = Report([result]).html()
    formula = (
        r'<p class="formula">(?:<span>([\d.]+) <small>proved</small></span> ≤ )?'
        r"<span>ε <small>up to ([\w-]+), worst row</small></span> ≤ <span>([\d.]+)"
    )
    return re.findall(formula, page)


ROWS = [fit.up_to for fit in sample.comparison().fits if not fit.unmixed]


@pytest.mark.parametrize("group", ROWS)
def test_the_worst_error_is_that_of_the_verdict_and_a_rigid_one_is_named(group):
    result = bracketed(group)
    (label, value, _), (_, error, _), *_ = comparison_facts(result)
    fit = result.fit(group)
    assert (label, value) == ("up to", str(group))
    assert error == f"{fit.error.value:.4f}"
    first, *others = shown(result)
    assert first == (f"{fit.supremum.low:.4f}", str(group), f"{fit.supremum.high:.4f}")
    rigid = result.rigid.supremum
    expected = [(f"{rigid.low:.4f}", "rigid", f"{rigid.high:.4f}")]
    assert others == ([] if group is Group.RIGID else expected)


def test_without_a_verdict_it_is_that_of_the_smallest_error():
    result = bracketed(None)
    best = min((fit for fit in result.fits if not fit.unmixed), key=lambda fit: fit.error.value)
    assert comparison_facts(result)[0] == ("up to", "none", f"smallest error: {best.name}")
    assert shown(result)[0][1] == best.name


def test_what_is_not_proved_is_not_shown_as_a_bound():
    result = bracketed(Group.AFFINE)
    fits = tuple(
        replace(fit, supremum=Supremum(low=None, high=0.4)) if fit.up_to is Group.AFFINE else fit
        for fit in result.fits
    )
    assert shown(replace(result, fits=fits))[0] == ("", "affine", "0.4000")


def test_a_group_whose_worst_error_was_not_measured_leaves_the_rigid_one():
    fits = tuple(
        replace(fit, supremum=None) if fit.up_to is Group.AFFINE else fit
        for fit in bracketed(Group.AFFINE).fits
    )
    found = worst_error(replace(bracketed(Group.AFFINE), fits=fits))
    assert found is not None
    assert found.own is None
    assert found.rigid is not None


def test_a_real_affine_pair_speaks_of_affine(rng):
    first = rng.laplace(size=(400, 3))
    result = upto.compare(first, first @ np.array([[3.0, 1, 0], [0, 0.2, 1], [0, 0, 1]]))
    assert result.up_to is Group.AFFINE
    assert [name for _, name, _ in shown(result)] == ["affine", "rigid"]
