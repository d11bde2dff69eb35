from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from upto.core import InputError
from upto.files import read_run


@pytest.fixture
def written(tmp_path):
    def write(text: str, name: str = "run.csv"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return write


def test_numbers_are_features_and_text_is_labels(written):
    run = read_run(written("id,x,cell type,y\na,1,T,2.5\nb,3,B,-4e1\n"))
    np.testing.assert_array_equal(run.rows[:], [[1, 2.5], [3, -40]])
    np.testing.assert_array_equal(run.ids, ["a", "b"])
    assert list(run.columns) == ["cell type"]
    np.testing.assert_array_equal(run.columns["cell type"], ["T", "B"])
    assert run.name == "run"


def test_feature_columns_leave_other_numbers_as_labels(written):
    run = read_run(written("feature_0,score,feature_1\n1,10,2\n3,30,4\n"))
    np.testing.assert_array_equal(run.rows[:], [[1, 2], [3, 4]])
    np.testing.assert_array_equal(run.columns["score"], [10, 30])


def test_metadata_and_well_known_labels_are_no_features(written):
    run = read_run(written("Metadata_Plate,label,Batch,x\n1,0,7,1\n2,1,8,2\n"))
    assert run.n_features == 1
    assert list(run.columns) == ["Metadata_Plate", "label", "Batch"]
    assert run.columns["Batch"].dtype == np.int64


def test_a_key_is_how_the_feature_columns_begin(written):
    path = written("a_0,a_1,b_0\n1,2,3\n4,5,6\n")
    run = read_run(f"{path}::a_")
    np.testing.assert_array_equal(run.rows[:], [[1, 2], [4, 5]])
    assert list(run.columns) == ["b_0"]
    assert run.name == "a"
    with pytest.raises(InputError, match=r"no column that begins with 'c_': its columns are a_0, "):
        read_run(path, key="c_")


def test_what_is_asked_for_as_ids_or_labels_is_no_feature(written):
    path = written("n,x,y,t\n5,1,2,q\n6,3,4,r\n")
    run = read_run(path, ids="n", columns=["y"])
    np.testing.assert_array_equal(run.ids, [5, 6])
    np.testing.assert_array_equal(run.rows[:], [[1], [3]])
    assert list(run.columns) == ["y"]
    with pytest.raises(InputError, match=r"has no column 'z': its columns are n, x, y, t\."):
        read_run(path, columns=["z"])


def test_a_column_asked_for_is_no_feature_even_with_the_prefix(written):
    run = read_run(written("feature_0,feature_n\n1,2\n3,4\n"), columns=["feature_n"])
    np.testing.assert_array_equal(run.rows[:], [[1], [3]])


def test_a_file_without_a_header_is_read_from_its_first_line(written):
    np.testing.assert_array_equal(read_run(written("1,2\n3,4\n")).rows[:], [[1, 2], [3, 4]])
    run = read_run(written("a,1.5,2\nb,3,4\n"))
    np.testing.assert_array_equal(run.rows[:], [[1.5, 2], [3, 4]])
    np.testing.assert_array_equal(run.columns["0"], ["a", "b"])


@pytest.mark.parametrize("index", [True, False])
def test_a_table_that_pandas_wrote_has_neither_header_nor_index_among_its_numbers(tmp_path, index):
    values = np.random.default_rng(1).normal(size=(6, 3))
    pd.DataFrame(values).to_csv(tmp_path / "run.csv", index=index)
    run = read_run(tmp_path / "run.csv")
    np.testing.assert_array_equal(run.rows[:], values)
    if index:
        np.testing.assert_array_equal(run.ids, np.arange(6))
    else:
        assert run.ids is None


@pytest.mark.parametrize(("mark", "name"), [(";", "run.csv"), ("\t", "run.csv"), ("\t", "run.tsv")])
def test_other_separators_are_recognised(written, mark, name):
    run = read_run(written(f'x{mark}"y{mark}z"\n1{mark}2\n', name))
    np.testing.assert_array_equal(run.rows[:], [[1, 2]])


def test_blank_lines_and_a_byte_order_mark_do_no_harm(written):
    run = read_run(written("\ufeffid,x\n\na,1\n\nb,2\n\n"))
    np.testing.assert_array_equal(run.ids, ["a", "b"])
    np.testing.assert_array_equal(run.rows[:], [[1], [2]])


def test_more_lines_than_a_chunk_are_all_read(written):
    lines = "\n".join(f"{row},{row / 2}" for row in range(5001))
    run = read_run(written(f"id,x\n{lines}\n"))
    np.testing.assert_array_equal(run.rows[:].ravel(), np.arange(5001) / 2)
    np.testing.assert_array_equal(run.ids, np.arange(5001))


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "-2"], np.array([1, -2])),
        (["0.5", "2"], np.array([0.5, 2.0])),
        (["1_1", "1_10"], np.array(["1_1", "1_10"])),
        (["007", "010"], np.array(["007", "010"])),
        (["1", "x"], np.array(["1", "x"])),
        (["1", ""], np.array(["1", ""])),
        (["9" * 30, "1"], np.array([1e30, 1.0])),
    ],
)
def test_labels_are_numbers_only_where_all_of_them_are(written, cells, expected):
    rows = "\n".join(f'1,"{cell}"' for cell in cells)
    labels = read_run(written(f"x,label\n{rows}\n")).columns["label"]
    np.testing.assert_array_equal(labels, expected)
    assert labels.dtype.kind == expected.dtype.kind


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,y\n1,2\n3\n", r"run\.csv line 3 has 1 cells but the first line has 2: give every"),
        ("x,y\n1,2\n3,4,5\n", r"line 3 has 3 cells but the first line has 2"),
        ("x,y\n1,2\n3,\n", r"line 3 has no value in the feature column 'y': fill the cell or drop"),
        ("x,y\n1,NA\n3,4\n", r"line 2 has no value in the feature column 'y'"),
        ("x,y\n1,2\n3,4..5\n", r"line 3 has '4\.\.5' in the feature column 'y', which is not a "),
        ("feature_0,feature_1\n1,q\n", r"text in the feature column 'feature_1': features are num"),
        ("a,b\nq,r\n", r"no numeric columns to use as features: its columns are a, b\. Write the"),
        ("x,x\n1,2\n", r"has two columns named 'x': give each column its own name"),
        ("x,y\n", r"has a header and no other lines: write one line per sample"),
        ("\n\n", r"has no lines with values: write a header and one line per sample"),
        ('x,y\n1,"2\n', r"run\.csv line 2 cannot be read as a table: unexpected end of data"),
    ],
)
def test_a_table_that_cannot_be_read_says_where(written, text, message):
    with pytest.raises(InputError, match=message):
        read_run(written(text))


def test_ids_stay_text_unless_they_are_whole_numbers(written):
    np.testing.assert_array_equal(read_run(written("id,x\n1.0,1\n1.00,2\n")).ids, ["1.0", "1.00"])
    assert read_run(written("id,x\n5,1\n6,2\n")).ids.dtype == np.int64


def test_a_column_without_any_value_is_text(written):
    run = read_run(written("x,note\n1,\n2,NA\n"))
    np.testing.assert_array_equal(run.columns["note"], ["", "NA"])


def test_a_bad_cell_in_a_later_chunk_has_its_own_line_number(written):
    lines = "\n".join("1,2" for _ in range(3000))
    with pytest.raises(InputError, match=r"line 3002 has 'oops' in the feature column 'y'"):
        read_run(written(f"x,y\n{lines}\n1,oops\n"))


def test_text_that_is_not_utf8_is_reported(tmp_path):
    (tmp_path / "run.csv").write_bytes("x,naïve\n1,2\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"is not UTF-8 text \(byte 4\): save it again as UTF-8"):
        read_run(tmp_path / "run.csv")
