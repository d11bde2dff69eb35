"""A column that is chosen by name, or whose values are given, is no coordinate."""

import re

import numpy as np
import pandas as pd
import pytest

import upto
from upto.core import InputError
from upto.files.accept import with_column
from upto.files.named_coordinates import refuse_coordinate_of, take_out
from upto.questions.batches.remove_batch import keep_biology

N = 240
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(N, 4))
TREATED = RNG.integers(2, size=N)
DAY = np.repeat(np.arange(6), 40)
FRAME = pd.DataFrame(ROWS, columns=list("abcd")).assign(treated=TREATED, day=DAY)
QUICK = {"classifier": "linear", "conditions": ["pca"], "mixing": False, "maps": False}
BRIEF = {"permutations": 19, "refits": 0, "ica": False}


@pytest.fixture(params=["frame", "csv", "parquet", "read"])
def given(request, tmp_path):
    """The same table as users pass it."""
    if request.param == "frame":
        return FRAME
    path = tmp_path / ("wells.parquet" if request.param == "parquet" else "wells.csv")
    (FRAME.to_parquet if request.param == "parquet" else FRAME.to_csv)(path, index=False)
    return upto.read_run(path) if request.param == "read" else path


def test_columns_named_as_batch_and_label_are_no_coordinates(given):
    found = upto.batches(given, batch="day", label="treated", **QUICK)
    assert found.n_features == 4
    assert found.labels == ("0", "1")
    # The label has no effect on the coordinates.
    assert found.score("base").auroc.value < 0.75


@pytest.mark.parametrize("argument", ["labels", "groups", "within"])
def test_a_column_named_in_a_comparison_is_a_coordinate_of_no_run(given, argument):
    column = "day" if argument == "groups" else "treated"
    other = FRAME.assign(a=-FRAME["a"])
    found = upto.compare(given, other, **{argument: column}, **BRIEF)
    assert found.runs[0].n_features == found.runs[1].n_features == 5


def test_classes_named_in_a_similarity_are_no_coordinate(given):
    found = upto.similarity(
        given, FRAME * 2, within="treated", measures="linear-cka", permutations=19, half_samples=0
    )
    assert [run.n_features for run in found.runs] == [5, 5]


def test_factors_named_among_the_columns_are_no_latents(given):
    found = upto.factors(
        given, names=["treated", "day"], scores="sap", forms=["raw"], half_samples=0
    )
    assert [each.name for each in found.factors] == ["treated", "day"]
    assert found.forms[0].n_latents == 4


def test_biology_is_kept_of_the_other_columns(tmp_path):
    source, out = tmp_path / "wells.csv", tmp_path / "clean.csv"
    FRAME.to_csv(source, index=False)
    keep_biology(source, out, batch="day", label="treated")
    kept = pd.read_csv(out)
    assert set(kept.columns) == {*"abcd", "treated", "day"}
    assert np.array_equal(kept["treated"], TREATED)


@pytest.mark.parametrize("label", [TREATED, np.where(TREATED, "drug", "none"), TREATED == 1])
def test_values_that_a_coordinate_has_are_refused_with_its_name(label):
    message = "the column 'treated' of run is one of its coordinates, and has the values of label"
    with pytest.raises(InputError, match=message):
        upto.batches(FRAME.drop(columns="day"), batch=DAY, label=label, **QUICK)
    message = "the column 'day' of run is one of its coordinates, and has the values of batch"
    with pytest.raises(InputError, match=message):
        upto.batches(FRAME, batch=np.char.add("P", DAY.astype(str)), label=label, **QUICK)
    with pytest.raises(InputError, match="coordinate 4 of run, counted from 0"):
        upto.batches(np.column_stack([ROWS, TREATED]), batch=DAY, label=label, **QUICK)


@pytest.mark.parametrize("argument", ["labels", "groups", "within"])
def test_values_that_a_coordinate_has_are_refused_in_a_comparison(argument):
    with pytest.raises(InputError, match=re.escape(f"pass {argument}='treated' instead")):
        upto.compare(ROWS, FRAME, **{argument: TREATED}, **BRIEF)


def test_other_coordinates_are_not_taken_for_the_values():
    counts = RNG.poisson(3, size=(N, 50))
    half = np.arange(N) % 2
    some = half.copy()
    some[-1] = 1 - some[-1]
    rows = np.column_stack([ROWS, counts, np.zeros(N), some, half * 0.5 + 0.1])
    run = upto.as_embeddings(rows)
    name, (kept,) = with_column(half, (run,), "labels", "given")
    np.testing.assert_array_equal(kept.columns[name], half)
    assert kept.n_features == run.n_features
    # Every row has a value of its own, and so has every coordinate.
    own, distinct = np.arange(N).astype(str), upto.as_embeddings(np.argsort(rows, 0))
    name, (kept,) = with_column(own, (distinct,), "labels", "given")
    np.testing.assert_array_equal(kept.columns[name], own)


def test_values_far_apart_in_the_file_are_told_from_a_constant_beginning(monkeypatch):
    monkeypatch.setattr("upto.files.named_coordinates._BLOCK_VALUES", 64)
    late = (np.arange(N) >= 150).astype(int)
    run = upto.as_embeddings(np.column_stack([ROWS, np.zeros(N), late]))
    with pytest.raises(InputError, match="coordinate 5 of run"):
        refuse_coordinate_of(np.where(late, "a", "b"), [run], "labels")


def test_a_run_needs_a_coordinate_beside_those_that_are_named():
    run = upto.as_embeddings(FRAME[["treated", "day"]])
    with pytest.raises(InputError, match="run has no coordinates besides treated and day"):
        take_out(run, ("treated", "day"))


def test_ids_named_among_the_coordinates_of_embeddings_are_no_coordinate():
    run = upto.as_embeddings(FRAME.assign(row=np.arange(N) * 3))
    found = upto.as_embeddings(run, ids="row")
    assert found.n_features == 6
    assert np.array_equal(found.ids, np.arange(N) * 3)


def test_numbers_that_are_not_exact_among_coordinates_are_refused():
    run = upto.as_embeddings(FRAME.assign(patient=2**60 + DAY))
    with pytest.raises(InputError, match="more than 15 digits"):
        take_out(run, ("patient",))
