"""A pandas index names rows: of runs, and of labels, batches and columns given beside them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import upto
from upto.core import InputError
from upto.evidence.strata import with_strata
from upto.files import match_rows
from upto.files.accept import take_runs, with_column
from upto.questions.batches.named_columns import find_column
from upto.questions.factors.truth import with_factors

ROWS = np.random.default_rng(0).normal(size=(6, 3))
ORDER = [4, 0, 5, 2, 1, 3]
IDS = [f"s{number}" for number in range(6)]
KINDS = pd.Series(list("uvwxyz"), index=IDS, name="kind")


def frame(index=None):
    return pd.DataFrame(ROWS, columns=["a", "b", "c"], index=index)


def matched(*things):
    runs, found = match_rows(take_runs(things))
    return [np.asarray(run.rows[:]) for run in runs], [finding.code for finding in found]


# Runs


@pytest.mark.parametrize("number", ["int64", "Int64"])
def test_a_default_index_counts_as_ids_beside_integers(number):
    shuffled = frame().iloc[ORDER]
    shuffled.index = shuffled.index.astype(number)
    for pair in [(frame(), shuffled), (shuffled, frame())]:
        (first, second), found = matched(*pair)
        np.testing.assert_array_equal(first, second)
        np.testing.assert_array_equal(first, pair[0].to_numpy())
        assert found == []


def test_a_default_index_is_no_ids_beside_anything_else():
    for other in (frame(), frame(IDS).iloc[ORDER], frame().to_numpy()):
        runs = take_runs([frame(), other])
        assert runs[0].ids is None
    assert matched(frame(), frame(IDS))[1] == ["UP020"]
    with_column_of_ids = frame().iloc[ORDER].assign(id=IDS)
    assert take_runs([frame(), with_column_of_ids])[0].ids is None
    runs = take_runs([with_column_of_ids.reset_index(drop=True), frame().iloc[ORDER]])
    assert runs[0].ids.tolist() == IDS


def test_an_index_that_repeats_is_refused_only_to_match():
    twice = frame(["s0", "s0", *IDS[2:]])
    with pytest.raises(InputError, match=r"^first has 1 ids that .* more than once, such as 's0'"):
        matched(twice, twice.iloc[ORDER])
    assert upto.inspect(twice).has_ids


@pytest.mark.parametrize(
    "index",
    [
        [None, *IDS[1:]],
        [np.nan, 1, 2, 3, 4, 5],
        pd.array([None, 1, 2, 3, 4, 5], dtype="Int64"),
        pd.DatetimeIndex([None, *pd.date_range("2020-01-01", periods=5)]),
    ],
)
def test_an_index_with_missing_labels_is_refused_only_to_match(index):
    with pytest.raises(InputError, match=r"^first has no id in 1 of 6 rows: .*reset_index"):
        matched(frame(index), frame(index).iloc[ORDER])
    assert upto.inspect(frame(index)).has_ids


# Values beside a run


def _column_of_embeddings(run, values):
    return upto.as_embeddings(run, columns={"kind": values}).columns["kind"]


def _frame_of_embeddings(run, values):
    return upto.as_embeddings(run, columns=values.to_frame()).columns["kind"]


def _ids(run, values):
    return upto.as_embeddings(run, ids=values).ids


def _labels(run, values):
    return with_column(values, take_runs([run]), "labels", "label")[1][0].columns["label"]


def _within(run, values):
    name, runs = with_strata(values, take_runs([run]))
    return runs[0].columns[name]


def _batch(run, values):
    return find_column(take_runs([run])[0], values, argument="batch")[1]


def _factors(run, values):
    return with_factors(take_runs([run])[0], {"kind": values}, ids=None, names=None)[1]["kind"]


TAKERS = (_column_of_embeddings, _frame_of_embeddings, _ids, _labels, _within, _batch, _factors)


@pytest.mark.parametrize("take", TAKERS)
def test_values_follow_their_index(take):
    run = frame(IDS)
    assert list(take(run, KINDS)) == list("uvwxyz")
    assert list(take(run, KINDS.iloc[ORDER])) == list("uvwxyz")
    # By position: without an index of their own, or without ids.
    assert list(take(run, KINDS.iloc[ORDER].reset_index(drop=True))) == list("yuzwvx")
    assert list(take(frame(), KINDS.iloc[ORDER])) == list("yuzwvx")


@pytest.mark.parametrize("take", TAKERS)
def test_values_of_other_rows_are_refused(take):
    run, remedy = frame(IDS), r"pass its `\.(to_numpy\(\)|reset_index\(drop=True\))` to attach it"
    with pytest.raises(InputError, match=rf"1 of 6 labels .* no ids of \w+, such as 't': {remedy}"):
        take(run, KINDS.rename(index={"s3": "t"}))
    with pytest.raises(InputError, match=rf"more than once, such as 's1', in another .*: {remedy}"):
        take(run, KINDS.iloc[ORDER].rename(index={"s3": "s1"}))


def test_the_labels_of_a_repeated_index_stay_with_their_rows():
    twice = frame(["s0", "s0", *IDS[2:]])
    assert list(_labels(twice, KINDS.set_axis(twice.index))) == list("uvwxyz")


def test_values_follow_the_index_of_the_frame_rather_than_new_ids():
    run = frame(IDS).assign(well=list("ABCDEF"))
    for ids in ("well", list("ABCDEF"), pd.Series(list("ABCDEF"), index=IDS).iloc[::-1]):
        found = upto.as_embeddings(run, ids=ids, columns={"kind": KINDS.iloc[ORDER]})
        assert found.ids.tolist() == list("ABCDEF")
        assert list(found.columns["kind"]) == list("uvwxyz")


# What an argument could be


def test_a_correction_does_not_offer_the_name_of_a_column():
    from upto.corrections import ComBat

    with pytest.raises(InputError, match=r"^groups is a str: pass one value per row\.$"):
        ComBat().fit_transform(ROWS, groups="plate")
    with pytest.raises(InputError, match=r"^columns\['plate'\] is a str: pass .* per row\.$"):
        upto.as_embeddings(ROWS, columns={"plate": "A"})
    with pytest.raises(InputError, match=r"pass one value per row, or the name of a column\.$"):
        with_column(3, take_runs([ROWS]), "labels", "label")


def test_an_empty_path_is_named():
    for ask in (upto.inspect, upto.as_embeddings):
        with pytest.raises(InputError, match=r"^the path is empty: pass the path of a file\.$"):
            ask("")
