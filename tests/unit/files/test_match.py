from __future__ import annotations

import numpy as np
import pytest

from upto.core import Embeddings, InputError, SelectedRows
from upto.files import match_rows, read_run


def run(name, ids=None, n_samples=None, **columns):
    count = len(ids) if ids is not None else n_samples
    rows = np.arange(count * 2.0).reshape(count, 2)
    ids = None if ids is None else np.asarray(ids)
    return Embeddings(rows=rows, name=name, ids=ids, columns=columns)


def test_rows_follow_the_order_of_the_first_run():
    first = run("first", ["a", "b", "c"])
    second = run("second", ["c", "a", "b"], label=np.array(["C", "A", "B"]))
    (same, matched), findings = match_rows([first, second])
    assert same is first
    assert findings == ()
    assert isinstance(matched.rows, SelectedRows)
    np.testing.assert_array_equal(matched.ids, ["a", "b", "c"])
    np.testing.assert_array_equal(matched.rows[:], [[2, 3], [4, 5], [0, 1]])
    np.testing.assert_array_equal(matched.columns["label"], ["A", "B", "C"])


def test_ids_that_are_not_everywhere_are_left_out_with_a_finding():
    runs = [run("first", [4, 3, 2, 1]), run("second", [1, 2, 3]), run("third", [9, 3, 1])]
    matched, (finding,) = match_rows(runs)
    for each in matched:
        np.testing.assert_array_equal(each.ids, [3, 1])
    np.testing.assert_array_equal(matched[2].rows[:], [[2, 3], [4, 5]])
    assert finding.code == "UP006"
    assert finding.message == (
        "2 ids are in every run; left out were 2 of 4 in first, such as '4'; "
        "1 of 3 in second, such as '2'; 1 of 3 in third, such as '9'."
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([1, 2], ["2", "1"]),
        ([1.0, 2.0], [2, 1]),
        (["ä".encode(), b"y"], ["y", "ä"]),
        (np.array(["x", "y"], dtype=object), ["y", "x"]),
    ],
)
def test_ids_of_different_kinds_are_compared_as_text(first, second):
    (_, matched), findings = match_rows([run("first", first), run("second", second)])
    assert findings == ()
    np.testing.assert_array_equal(matched.rows[:], [[2, 3], [0, 1]])


def test_repeated_ids_are_refused_with_an_example():
    with pytest.raises(
        InputError,
        match=r"second has 1 ids that occur more than once, such as 'b' in 3 rows: ids must be uni",
    ):
        match_rows([run("first", ["a", "b"]), run("second", ["b", "a", "b", "b"])])


def test_runs_without_a_shared_id_are_refused():
    with pytest.raises(
        InputError,
        match=r"first and second share no ids: first has ids such as 'a' and second such as 'b'",
    ):
        match_rows([run("first", ["a"]), run("second", ["b"])])


def test_without_ids_the_numbers_of_rows_must_be_equal():
    runs = [run("first", n_samples=500), run("second", n_samples=498)]
    with pytest.raises(InputError) as caught:
        match_rows(runs)
    assert str(caught.value) == (
        "first has 500 rows but second has 498: embeddings must describe the same samples in the "
        "same order. Pass ids to match them, or drop the extra rows."
    )


def test_ids_of_some_runs_only_are_not_used():
    runs = (run("first", ["a", "b"]), run("second", n_samples=2))
    matched, findings = match_rows(runs)
    assert matched == runs
    assert [finding.code for finding in findings] == ["UP020"]
    with pytest.raises(InputError, match=r"first has 2 rows but second has 3"):
        match_rows([runs[0], run("second", n_samples=3)])


def test_one_run_or_none_needs_no_matching():
    only = run("first", ["a", "a"])
    assert match_rows([only]) == ((only,), ())
    assert match_rows([]) == ((), ())


def test_matching_reads_no_rows(tmp_path, values, monkeypatch):
    ids = np.random.default_rng(0).permutation(37)
    np.savez(tmp_path / "a.npz", emb=values, ids=np.arange(37))
    np.savez(tmp_path / "b.npz", emb=values[ids], ids=ids)
    runs = [read_run(tmp_path / "a.npz"), read_run(tmp_path / "b.npz")]
    with monkeypatch.context() as patch:
        patch.setattr("upto.files.rows.StoredRows._read", lambda *_: pytest.fail("rows were read"))
        (_, matched), _ = match_rows(runs)
    np.testing.assert_array_equal(matched.rows[3:30], values[3:30])
