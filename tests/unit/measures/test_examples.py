"""The examples in docstrings of measures run and print what they say."""

from __future__ import annotations

import doctest

import pytest

from upto.measures import densities, density_matching, udr

FINDER = doctest.DocTestFinder(exclude_empty=True)
EXAMPLES = [
    example
    for module in (densities, density_matching, udr)
    for example in FINDER.find(module)
    if example.examples
]


def test_what_a_page_shows_has_an_example():
    assert {each.name.rpartition(".")[2] for each in EXAMPLES} == {
        "Mixture",
        "affine_l2_distance",
        "fit_mixture",
        "match_densities",
        "udr_scores",
    }


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each.name)
def test_an_example_prints_what_it_says(example):
    report = []
    failed, _ = doctest.DocTestRunner(verbose=False).run(example, out=report.append)
    assert failed == 0, "".join(report)
