"""Plain tables are read by block, and mean what the reader of all tables says."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from upto.core import InputError
from upto.files import plain_tables, read_columns, read_labels, read_run
from upto.files.plain_tables import PlainTable

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr) | st.sampled_from(
    ["1.", ".5", "+1", "-0", "1e5", "1E-05", " 2", "2 ", "9" * 30, "4.9e-324", "1e-400", '"3"']
)
ODD = st.sampled_from(
    [
        *("", "NA", "nan", "-inf", "1e400", "nan(1)", "1_0", "007", "1d5", "0x10", "1,5", "١"),
        *('""', '"a""b"', '"a\nb"', '"a,b"', 'a"b', '"a"b', ' "a"', '"', "é", "a b", "\x00"),
        *("1\r", "x", "\u00a01"),
    ]
)
TEXT = st.sampled_from(["a", "b c", '"q"', '"u,v"', '"u;v"', "007", "12", "-3", "é", "2.5"])
READERS = ("arrow", "numpy")


@contextmanager
def reading(how, block_bytes=2**23):
    """Read by pyarrow, by NumPy, or by the reader of all tables alone."""
    sizes = {"_BLOCK_BYTES": block_bytes, "_COLUMN_BYTES": 0}
    with mock.patch.multiple(plain_tables, **sizes):
        if how == "arrow":
            yield
        elif how == "numpy":
            with mock.patch.dict(sys.modules, {"pyarrow": None}):
                yield
        else:
            with mock.patch.object(PlainTable, "read", return_value=None):
                yield


def outcome(read, path):
    """Return what a file contains, or what is said about it."""
    try:
        found = read(path)
    except InputError as error:
        return str(error)
    if isinstance(found, tuple):
        return {"labels": found[1]}
    ids = {} if found.ids is None else {"its ids": found.ids}
    rows = {"its rows": found.rows} if hasattr(found, "rows") else {}
    return {**found.columns, **ids, **rows}


def check_same(found, expected):
    if isinstance(expected, str):
        assert found == expected
        return
    assert not isinstance(found, str), found
    assert [*found] == [*expected]
    for name, values in expected.items():
        assert found[name].dtype == values.dtype
        if values.dtype.kind == "f":
            np.testing.assert_allclose(found[name], values, rtol=1e-15, atol=0)
            np.testing.assert_array_equal(np.signbit(found[name]), np.signbit(values))
        else:
            np.testing.assert_array_equal(found[name], values)


@st.composite
def tables(draw):
    delimiter = draw(st.sampled_from(",;\t"))
    columns = draw(st.lists(st.sampled_from([NUMBERS, NUMBERS, TEXT]), min_size=1, max_size=4))
    lines = []
    if draw(st.booleans()):
        names = [f"c{number}" for number in range(len(columns))]
        names[0] = draw(st.sampled_from(["c0", "id", "", '"a\nb"', '"a;b"', "label"]))
        lines.append(delimiter.join(names))
    for _ in range(draw(st.integers(1, 6))):
        lines.append(delimiter.join([draw(column) for column in columns]))
    # A few cells, lines and bytes that no plain table has.
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        place = draw(st.integers(0, len(lines) - 1))
        cells = lines[place].split(delimiter)
        cells[draw(st.integers(0, len(cells) - 1))] = draw(ODD)
        lines[place] = delimiter.join(cells[: draw(st.sampled_from([len(cells), 1]))])
        if draw(st.booleans()):
            lines.insert(place, draw(st.sampled_from(["", " ", delimiter, '""'])))
    mark = draw(st.sampled_from(["", "\ufeff"]))
    end = draw(st.sampled_from(["\n", "\r\n", "\n", "\r"]))
    text = mark + end.join(lines) + draw(st.sampled_from(["", end, 2 * end]))
    return text.encode() + draw(st.sampled_from([b"", b"", b"", b"\xff\n"]))


@pytest.mark.parametrize("read", [read_run, read_labels, read_columns])
@pytest.mark.parametrize("how", READERS)
@settings(max_examples=120)
@given(data=tables(), block_bytes=st.sampled_from([1, 12, 2**23]))
@example(data=b'c0\n1\n""\n2\n', block_bytes=2**23)
@example(data=b'a,b,c\n1,2,3\n"4,5",6\n', block_bytes=2**23)
@example(data=b'c0\nq\n"a\nb"\nc\n', block_bytes=2**23)
@example(data=b"a,b\n1,2\n3,1_0\n", block_bytes=1)
@example(data=b"a,b\n1,2\n3,nan(1)\n", block_bytes=1)
@example(data=b"a,b\n1,2\n3,4\r5,6\n", block_bytes=2**23)
def test_a_table_means_the_same_to_every_reader(tmp_path_factory, how, read, data, block_bytes):
    path = tmp_path_factory.getbasetemp() / f"{how}-{read.__name__}.csv"
    path.write_bytes(data)
    with reading("csv"):
        expected = outcome(read, path)
    with reading(how, block_bytes):
        check_same(outcome(read, path), expected)


@pytest.mark.parametrize("how", READERS)
def test_plain_tables_need_no_other_reader(tmp_path, rng, how, monkeypatch):
    values = rng.normal(size=(5000, 3))
    lines = [f'"w{i}","p, q",{x!r},{y!r},{z!r}\r\n' for i, (x, y, z) in enumerate(values.tolist())]
    if how == "numpy":
        lines = [line.replace("p, q", "p q") for line in lines]
    (tmp_path / "run.csv").write_text('\ufeff\nid,"well, row",x,y,z\n' + "".join(lines), newline="")
    monkeypatch.delattr("upto.files.delimited._Table._read")
    with reading(how, block_bytes=2**14):
        run = read_run(tmp_path / "run.csv")
    np.testing.assert_allclose(run.rows, values, rtol=1e-15)
    assert run.ids[-1] == "w4999"
    assert set(run.columns["well, row"]) == {"p, q" if how == "arrow" else "p q"}


def test_lines_that_get_shorter_need_more_rows_than_expected(tmp_path):
    cells = [f"{number:.12f}" for number in range(200)] + ["1"] * 5000
    (tmp_path / "run.csv").write_text("x,y\n" + "".join(f"{cell},2\n" for cell in cells))
    with reading("arrow", block_bytes=256):
        rows = read_run(tmp_path / "run.csv").rows
    np.testing.assert_allclose(rows, [[float(cell), 2] for cell in cells], rtol=1e-15)


@pytest.mark.parametrize("how", [*READERS, "csv"])
def test_a_number_with_an_underscore_is_never_a_feature(tmp_path, how):
    (tmp_path / "run.csv").write_text("x,y\n1,2\n3,1_10\n")
    with (
        reading(how),
        pytest.raises(InputError, match=r"line 3 has '1_10' in the feature column 'y', which is n"),
    ):
        read_run(tmp_path / "run.csv")


@pytest.mark.parametrize("how", [*READERS, "csv"])
def test_a_cell_too_long_for_a_label_is_refused_by_every_reader(tmp_path, how):
    (tmp_path / "run.csv").write_text(f"x,note\n1,a\n2,{'b' * 140_000}\n")
    with (
        reading(how),
        pytest.raises(InputError, match=r"line 3 cannot be read as a table: field l"),
    ):
        read_run(tmp_path / "run.csv")


@pytest.mark.parametrize("how", [*READERS, "csv"])
def test_a_value_far_below_missing_ones_decides_about_its_column(tmp_path, how):
    lines = "1,\n" * 1500 + "2,3\n"
    (tmp_path / "run.csv").write_text(f"x,y\n{lines}")
    with reading(how), pytest.raises(InputError, match="line 2 has no value in the feature column"):
        read_run(tmp_path / "run.csv")


def test_a_line_of_another_length_explains_columns_that_make_no_sense(tmp_path):
    (tmp_path / "run.csv").write_text("a,b\nq,r\ns\n")
    with pytest.raises(InputError, match=r"line 3 has 1 cells but the first line has 2: give"):
        read_run(tmp_path / "run.csv")
