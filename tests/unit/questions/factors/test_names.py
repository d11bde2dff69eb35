"""What the names of factors and of labels say: classes, steps on a line, and look-alikes."""

import numpy as np
import pytest

import upto
from upto.batch_metrics.value_names import look_alikes, reads_as_missing
from upto.questions.factors.truth import as_factors

QUICK = {"scores": "gaussian-tc", "forms": "raw", "half_samples": 0}


def kind_of(name, values):
    (factor,) = as_factors({name: np.asarray(values, dtype=np.float64)})
    return factor.kind, factor.in_truth, factor.why_not


@pytest.mark.parametrize(
    ("name", "start"), [("person", 100), ("colour", 7), ("hue", 0), ("background", 1)]
)
def test_whole_numbers_without_a_gap_are_categories_wherever_they_begin(name, start):
    kind, in_truth, why_not = kind_of(name, start + np.arange(300) % 10)
    assert (kind, in_truth) == ("discrete", False)
    assert why_not in (f"numbered from {start} to {start + 9}", "name contains person")


@pytest.mark.parametrize(
    "name", ["kind", "Kinds", "cell type", "cellType", "donor_id", "subject", "condition"]
)
def test_numbers_with_gaps_are_categories_where_the_name_says_so(name):
    kind, in_truth, why_not = kind_of(name, np.array([0, 2, 5])[np.arange(300) % 3])
    assert (kind, in_truth) == ("discrete", False)
    assert why_not.startswith("name contains ")


def test_ids_of_many_people_are_no_numbers_on_a_line():
    assert kind_of("subject", np.arange(300) % 150)[:2] == ("discrete", False)
    assert kind_of("subject", np.arange(300) / 7)[0] == "continuous"


@pytest.mark.parametrize(
    "name", ["rating", "score", "level", "dose", "age", "count", "size", "scale", "position x",
             "angle", "y", "Levels"],
)  # fmt: skip
def test_names_of_ordered_numbers_stay_coordinates(name):
    assert kind_of(name, 1 + np.arange(300) % 5) == ("discrete", True, "")


def test_names_that_differ_by_marks_look_alike():
    names = ["cat", "cat.", "ca\u200bt", "a/b", "a b", "A-1", "A1", "\uff211"]
    assert look_alikes(names) == [
        ("A-1", "A1", "\uff211"),
        ("a b", "a/b"),
        ("cat", "cat.", "ca\u200bt"),
    ]
    assert look_alikes(["CD4", "CD4+", "CD4-", "1.5", "15", "1 5", "-1", "1", "ab"]) == []
    assert reads_as_missing(["N/A", "#n/a", "unknown", "nano"]) == ["#n/a", "N/A", "unknown"]


def test_words_for_a_missing_label_are_asked_about(rng):
    labels = np.array(["none", "Unknown", "cat", "cat."])[rng.integers(4, size=200)]
    found = upto.factors(rng.normal(size=(200, 2)), {"animal": labels}, **QUICK)
    said = [each.message for each in found.findings if each.code == "UP085"]
    assert said == [
        "animal has 'Unknown', 'none' as a value, not as missing.",
        "animal has 'cat' and 'cat.' as separate values.",
    ]


def test_a_factor_without_a_name_of_its_own_is_named_once(rng):
    factor = rng.uniform(size=300)
    found = upto.factors(np.column_stack([factor, rng.uniform(size=300)]), factor, **QUICK)
    assert "factor factor" not in found.verdict
    assert "the factor up to" in found.verdict
