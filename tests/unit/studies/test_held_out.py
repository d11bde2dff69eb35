"""What studies of held-out batches share: data that are found, signs, rotations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from upto.core import Embeddings, InputError
from upto_studies.cell_painting_data import read_profiles
from upto_studies.held_out_data import data_folder, find_file, read_arrays
from upto_studies.held_out_plates import Question, difference, gain, gaining, turn_rows
from upto_studies.held_out_tables import conditions_panel, paper_table, questions_table
from upto_studies.rxrx3_data import Chosen, read_rxrx3
from upto_studies.speakers import read_speech


@pytest.fixture(scope="module")
def question():
    stream = np.random.default_rng(0)
    label = np.tile(["one", "two"], 60)
    rows = stream.normal(size=(120, 4))
    rows[:, 0] += 2.0 * (label == "two")
    return Question(
        name="q",
        says="one against two",
        run=Embeddings(
            rows=rows, columns={"plate": np.repeat(np.arange(6).astype(str), 20), "label": label}
        ),
        batch="plate",
        label="label",
        folds=3,
    )


@pytest.fixture(scope="module")
def result(question):
    return question.judge(("base", "pca", "ica", "random"), seed=0, classifier="linear")


def test_a_gain_turned_round_changes_its_sign_and_its_interval(result):
    forward, back = gain(result, "pca", "base"), gain(result, "base", "pca")
    assert forward == result.difference("pca", "base").value
    assert (back.value, back.low, back.high) == (-forward.value, -forward.high, -forward.low)


def test_a_linear_classifier_on_whitened_rows_does_not_see_a_rotation(result):
    assert abs(gain(result, "random", "pca").value) < 1e-3
    assert abs(gain(result, "ica", "pca").value) < 1e-3


def test_nothing_gains_where_the_label_is_on_an_axis_already(result):
    assert gaining({"q": result}) == []


def test_tables_and_plots_have_every_condition(question, result):
    table = questions_table({"q": question}, {"q": result})
    assert [row[1] for row in table.rows] == ["Base", "PCA", "PCA + ICA", "PCA + Rand"]
    assert table.rows[0][3] is None
    quick = dict.fromkeys(("base", "pca", "ica", "random"), 0.9)
    assert paper_table(result, quick).rows[2][3] == 0.750
    panel = conditions_panel("p", {"q": result})
    assert panel.x_names == ("Base", "PCA", "PCA + ICA", "PCA + Rand")
    assert panel.marks[0].y[0] == result.score("base").auroc.value


def test_a_difference_of_what_is_not_known_is_not_known(result):
    value = result.score("base").auroc
    assert difference(None, value) is None
    assert difference(value, value).value == 0.0


@given(st.integers(0, 10))
def test_rows_that_are_turned_keep_their_distances(seed):
    stream = np.random.default_rng(seed)
    rows = stream.normal(size=(12, 5))
    turned = turn_rows(Embeddings(rows=rows, columns={"a": np.arange(12)}), seed=seed)
    assert np.allclose(
        np.linalg.norm(turned.rows[0] - turned.rows[1:], axis=1),
        np.linalg.norm(rows[0] - rows[1:], axis=1),
    )
    assert not np.allclose(turned.rows, rows - rows.mean(axis=0))
    assert turned.columns["a"].tolist() == list(range(12))


def test_a_file_is_found_in_the_folder_or_one_folder_below(tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "a.npz").write_text("")
    assert find_file(tmp_path, "b.npz", "a.npz") == tmp_path / "below" / "a.npz"
    assert find_file(tmp_path, "b.npz") is None


def test_a_file_that_is_not_the_published_one_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, X=np.eye(2))
    with pytest.raises(InputError, match=r"it is another file or damaged: get it again"):
        read_arrays(path, ("X",), sha256="0" * 64, how="get it again")
    assert read_arrays(path, ("X",), sha256=None, how="")["X"].shape == (2, 2)
    with pytest.raises(InputError, match="does not contain the arrays X, digit"):
        read_arrays(path, ("X", "digit"), sha256=None, how="get it again")


READERS = {
    "profiling-resistance-mechanisms": read_profiles,
    "free-spoken-digit-dataset": read_speech,
    "recursionpharma/rxrx3-core": lambda data: read_rxrx3(
        data, Chosen(genes=("MTOR",), kind="guides", n_experiments=0), seed=0
    ),
}


@pytest.mark.parametrize("source", READERS)
def test_data_that_are_missing_are_said_where_to_get(source, tmp_path, monkeypatch):
    monkeypatch.delenv("UPTO_DATA", raising=False)
    with pytest.raises(InputError, match=rf"do not come with upto: .*{source}.*--data"):
        READERS[source](None)
    with pytest.raises(
        InputError, match=rf"{tmp_path.name} (has no|lacks 7 of 7).*{source}.*--data"
    ):
        READERS[source](tmp_path)


def test_the_folder_of_all_datasets_is_used_where_none_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("UPTO_DATA", str(tmp_path))
    assert data_folder(None, "how") == tmp_path
    assert data_folder(tmp_path / "mine", "how") == tmp_path / "mine"
