"""Measures of relations against the code of their authors and of packages."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import pearsonr, spearmanr

from upto.measures import dissimilarities, kernels, neighbours
from upto.measures.kinds import RelationMeasure

pytestmark = pytest.mark.slow

GOLDEN = json.loads(
    (Path(__file__).parents[1] / "golden" / "measures_relations.json").read_text("utf-8")
)
MEASURES = {
    value.name.split(":")[0]: value
    for module in (kernels, dissimilarities, neighbours)
    for value in vars(module).values()
    if isinstance(value, RelationMeasure)
}
TOLERANCE = 1e-6


def runs(case):
    """Return the runs of ``checks/oracles_relations.py``."""
    rng = np.random.default_rng(case["seed"])
    n, (width, other) = case["rows"], case["widths"]
    first = rng.normal(size=(n, width)) + 0.5
    second = first @ rng.normal(size=(width, other)) / np.sqrt(width)
    return first, second + case["noise"] * rng.normal(size=(n, other))


@pytest.fixture(params=GOLDEN, ids=lambda case: f"seed {case['seed']}")
def pair(request):
    return runs(request.param)


@pytest.mark.parametrize(
    ("case", "name"),
    [(case, name) for case in GOLDEN for name in case["values"]],
    ids=lambda each: each if isinstance(each, str) else f"seed {each['seed']}",
)
def test_values_are_those_of_the_code_of_the_authors(case, name):
    stem, _, number = name.partition(":")
    measure = MEASURES[stem].with_parameter(float(number)) if number else MEASURES[stem]
    assert measure(*runs(case)) == pytest.approx(case["values"][name]["value"], abs=TOLERANCE)


@pytest.mark.parametrize("inner", ["correlation", "euclidean"])
@pytest.mark.parametrize("outer", ["pearson", "spearman"])
def test_representational_similarity_is_that_of_scipy(pair, inner, outer):
    correlate = {"pearson": pearsonr, "spearman": spearmanr}[outer]
    expected = correlate(*(pdist(rows, inner) for rows in pair)).statistic
    assert MEASURES[f"rsa-{inner}-{outer}"](*pair) == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.slow  # dcor compiles itself as it is imported
def test_distance_correlations_are_those_of_dcor(pair):
    dcor = pytest.importorskip("dcor")
    assert MEASURES["distance-correlation"](*pair) == pytest.approx(
        dcor.distance_correlation(*pair), abs=TOLERANCE
    )
    assert MEASURES["distance-correlation-unbiased"](*pair) == pytest.approx(
        dcor.u_distance_correlation_sqr(*pair), abs=TOLERANCE
    )
