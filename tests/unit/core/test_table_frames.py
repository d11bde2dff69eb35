"""Tables as data frames: columns, types and gaps, in pandas and in polars."""

from __future__ import annotations

import pickle
from copy import deepcopy

import pytest

from upto.core import Column, Estimate, InputError, Table, table_frames
from upto.core.table import Marked

TABLE = Table(
    title="T",
    columns=tuple(Column(name=name) for name in ("name", "n", "gap", "x", "none", "mixed", "x")),
    rows=(
        ("a", 1, None, None, None, 1, 0.5),
        ("b", 2, 7, Estimate(value=0.5, low=0.25, high=0.75), None, "many", 2),
    ),
)
FIELDS = ["name", "n", "gap", "x", "x low", "x high", "none", "mixed", "x (2)"]


def test_pandas_has_the_types_of_the_columns():
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = TABLE.to_frame("pandas")
    assert list(frame.columns) == FIELDS
    kinds = ["object", "int64", "Int64", *["float64"] * 4, "object", "float64"]
    assert [str(kind) for kind in frame.dtypes] == kinds
    assert frame["gap"].tolist()[1] == 7
    assert frame["x low"].tolist()[1] == 0.25
    assert frame.isna().sum().tolist() == [0, 0, 1, 1, 1, 1, 2, 0, 0]
    assert frame["mixed"].tolist() == ["1", "many"]


def test_polars_has_the_types_of_the_columns():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = TABLE.to_frame("polars")
    whole, real, text = polars.Int64, polars.Float64, polars.String
    assert dict(frame.schema) == dict(
        zip(FIELDS, [text, whole, whole, real, real, real, real, text, real], strict=True)
    )
    assert frame.row(1) == ("b", 2, 7, 0.5, 0.25, 0.75, None, "many", 2.0)
    assert frame.null_count().row(0) == (0, 0, 1, 1, 1, 1, 2, 0, 0)


def test_records_and_csv_have_the_same_fields():
    assert [list(record) for record in TABLE.records()] == [FIELDS, FIELDS]
    assert TABLE.to_csv().splitlines() == [
        ",".join(FIELDS),
        "a,1,,,,,,1,0.5",
        "b,2,7,0.5,0.25,0.75,,many,2",
    ]


@pytest.mark.parametrize(
    ("installed", "library", "said"),
    [
        ({"pandas", "polars"}, None, "pandas"),
        ({"polars"}, None, "polars"),
        ({"pandas", "polars"}, "polars", "polars"),
    ],
)
def test_the_first_installed_library_is_used(monkeypatch, installed, library, said):
    monkeypatch.setattr(table_frames, "find_spec", lambda name: name if name in installed else None)
    pytest.importorskip(said, reason=f"{said} is not installed")
    assert type(TABLE.to_frame(library)).__module__.startswith(said)


@pytest.mark.parametrize(
    ("library", "said"),
    [(None, "needs pandas or polars, and neither is installed"), ("polars", "needs polars, which")],
)
def test_a_missing_library_is_named(monkeypatch, library, said):
    monkeypatch.setattr(table_frames, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=said):
        TABLE.to_frame(library)


def test_another_library_is_refused():
    with pytest.raises(InputError, match="choose pandas or polars"):
        TABLE.to_frame("dask")


def test_a_table_without_rows_is_an_empty_frame():
    frame = Table(title="T", columns=(Column(name="a"), Column(name="b")), rows=()).to_frame()
    assert frame.shape == (0, 2)


def test_a_mark_is_a_column_of_truth_values_and_survives_a_copy():
    cells = [Marked(number, is_marked=number == 3, mark="*", says="rare") for number in (2, 3)]
    rows = (*((cell,) for cell in pickle.loads(pickle.dumps(deepcopy(cells)))), (None,))
    table = Table(title="T", columns=(Column(name="key"),), rows=rows)
    assert table.texts() == [["2"], ["3*"], ["–"]]
    assert table.fields() == {"key": [2, 3, None], "rare": [False, True, None]}
